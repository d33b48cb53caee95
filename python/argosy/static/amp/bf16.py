"""bfloat16 in static Programs."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from argosy._support import no_effect

from ._rewrite import OptimizerWithMixedPrecision, cast_program, check_parameters

__all__ = [
    "AutoMixedPrecisionListsBF16",
    "bf16_guard",
    "cast_model_to_bf16",
    "cast_parameters_to_bf16",
    "convert_float_to_uint16",
    "decorate_bf16",
    "rewrite_program_bf16",
]


class AutoMixedPrecisionListsBF16:
    """Ops by name, Paddle's or ours, that run otherwise than their descriptions say.

    Args:
        custom_bf16_list (set, optional): In bfloat16.
        custom_fp32_list (set, optional): In float32.
        custom_fp32_varnames (set, optional): Operands by name: not supported.

    Raises:
        ValueError: The lists overlap.
        NotImplementedError: Names of variables.

    Example:
        >>> lists = argosy.static.amp.bf16.AutoMixedPrecisionListsBF16(custom_fp32_list={"matmul"})
        >>> sorted(lists.fp32_list)
        ['matmul']
    """

    def __init__(self, custom_bf16_list=None, custom_fp32_list=None, custom_fp32_varnames=None):
        if custom_fp32_varnames:
            raise NotImplementedError(
                "[AutoMixedPrecisionListsBF16] custom_fp32_varnames is not supported. Do this: name"
                " the ops in custom_fp32_list."
            )
        self.bf16_list = self.white_list = set(custom_bf16_list or ())
        self.fp32_list = self.black_list = set(custom_fp32_list or ())
        both = self.bf16_list & self.fp32_list
        if both:
            raise ValueError(
                "[AutoMixedPrecisionListsBF16] custom_bf16_list and custom_fp32_list overlap: "
                f"{sorted(both)}. Do this: name each op in one of them."
            )


@contextmanager
def bf16_guard():
    """Marks what is built inside as what pure bfloat16 training may cast: all of a Program may be.

    Returns:
        A context manager.

    Example:
        >>> with argosy.static.amp.bf16.bf16_guard():
        ...     pass
    """
    yield


def _no_guard(what, use_bf16_guard):
    if use_bf16_guard:
        raise NotImplementedError(
            f"[{what}] use_bf16_guard=True is not supported: all of the Program is cast. Do this:"
            " leave it out, and name ops that stay in amp_lists."
        )


def decorate_bf16(optimizer, amp_lists=None, use_pure_bf16=False, use_bf16_guard=None):
    """An optimizer that trains in bfloat16: level O1 of static.amp.decorate, or O2.

    Args:
        optimizer (Optimizer): What updates the parameters, which stay float32.
        amp_lists (AutoMixedPrecisionListsBF16, optional): Ops that run otherwise.
        use_pure_bf16 (bool): Level O2.
        use_bf16_guard (bool, optional): True is refused.

    Returns:
        OptimizerWithMixedPrecision: It.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> sgd = argosy.static.amp.bf16.decorate_bf16(argosy.optimizer.SGD(0.1))
        >>> operations, pairs = sgd.minimize(argosy.static.nn.fc(x, 1).mean())
        >>> len(pairs)
        2
    """
    _no_guard("decorate_bf16", use_bf16_guard)
    level = "O2" if use_pure_bf16 else "O1"
    return OptimizerWithMixedPrecision(optimizer, amp_lists, level, "bfloat16")


def rewrite_program_bf16(main_prog, amp_lists=None):
    """Casts the operands of a Program without gradients, in place, as level O1 does.

    Args:
        main_prog (Program): It.
        amp_lists (AutoMixedPrecisionListsBF16, optional): Ops that run otherwise.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.matmul(x, argosy.ones([3, 2]))
        >>> argosy.static.amp.bf16.rewrite_program_bf16(argosy.static.default_main_program())
    """
    cast_program("rewrite_program_bf16", main_prog, amp_lists, "O1", "bfloat16", True)


def cast_model_to_bf16(program, startup_prog=None, amp_lists=None, use_bf16_guard=None):
    """Casts the operands of a Program without gradients, in place, as level O2 does.

    Args:
        program (Program): It.
        startup_prog (Program, optional): Has no effect: parameters begin as float32.
        amp_lists (AutoMixedPrecisionListsBF16, optional): Ops that run otherwise.
        use_bf16_guard (bool, optional): True is refused.

    Returns:
        set: Names of parameters in bfloat16: none are, runs read them so.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.matmul(x, argosy.ones([3, 2]))
        >>> argosy.static.amp.bf16.cast_model_to_bf16(argosy.static.default_main_program())
        set()
    """
    _no_guard("cast_model_to_bf16", use_bf16_guard)
    no_effect(
        "cast_model_to_bf16", "parameters begin as float32", startup_prog=(startup_prog, None)
    )
    return cast_program("cast_model_to_bf16", program, amp_lists, "O2", "bfloat16", False)


def cast_parameters_to_bf16(place, program, scope=None, to_bf16_var_names=None):
    """Casts parameters of a Program to bfloat16: none need it, runs read them so.

    Args:
        place (Place): Where the parameters are; checked.
        program (Program): Whose they are; checked.
        scope (Scope, optional): Has no effect, as the next.
        to_bf16_var_names (set, optional): Which ones.

    Example:
        >>> program = argosy.static.Program()
        >>> argosy.static.amp.bf16.cast_parameters_to_bf16(argosy.CPUPlace(), program)
    """
    check_parameters("cast_parameters_to_bf16", place, program, scope, to_bf16_var_names)


def convert_float_to_uint16(in_list):
    """float32 numbers as the bits of bfloat16, cut off.

    Args:
        in_list (array-like): Numbers.

    Returns:
        numpy.ndarray: uint16, of the same shape.

    Example:
        >>> argosy.static.amp.bf16.convert_float_to_uint16([1.0, -2.0]).tolist()
        [16256, 49152]
    """
    bits = np.asarray(in_list, dtype="float32").view("uint32")
    return (bits >> 16).astype("uint16")
