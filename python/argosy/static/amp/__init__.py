"""Mixed precision of static Programs."""

from __future__ import annotations

from contextlib import contextmanager

from argosy._support import check_choice, no_effect

from . import bf16
from ._rewrite import OptimizerWithMixedPrecision, cast_program, check_parameters, takes_effect

__all__ = [
    "AutoMixedPrecisionLists",
    "CustomOpLists",
    "OptimizerWithMixedPrecision",
    "bf16",
    "cast_model_to_fp16",
    "cast_parameters_to_fp16",
    "decorate",
    "fp16_guard",
]


class AutoMixedPrecisionLists:
    """Ops by name, Paddle's or ours, that run otherwise than their descriptions say.

    Args:
        custom_white_list (set, optional): In 16 bits.
        custom_black_list (set, optional): In float32.
        custom_black_varnames (set, optional): Operands by name whose ops run in float32: not
            supported.
        dtype (str): ``"float16"`` or ``"bfloat16"``.

    Raises:
        ValueError: The lists overlap.
        NotImplementedError: Names of variables.

    Example:
        >>> lists = argosy.static.amp.CustomOpLists(custom_black_list={"matmul"}, dtype="bfloat16")
        >>> sorted(lists.black_list), lists.amp_dtype
        (['matmul'], 'bfloat16')
    """

    def __init__(
        self,
        custom_white_list=None,
        custom_black_list=None,
        custom_black_varnames=None,
        dtype="float16",
    ):
        check_choice("AutoMixedPrecisionLists", "dtype", dtype, ("float16", "bfloat16"))
        if custom_black_varnames:
            raise NotImplementedError(
                "[AutoMixedPrecisionLists] custom_black_varnames is not supported. Do this: name"
                " the ops in custom_black_list."
            )
        self.white_list = set(custom_white_list or ())
        self.black_list = set(custom_black_list or ())
        both = self.white_list & self.black_list
        if both:
            raise ValueError(
                f"[AutoMixedPrecisionLists] custom_white_list and custom_black_list overlap: "
                f"{sorted(both)}. Do this: name each op in one of them."
            )
        self.amp_dtype = dtype


CustomOpLists = AutoMixedPrecisionLists


def decorate(
    optimizer,
    amp_lists=None,
    level="O1",
    dtype="float16",
    master_weight=None,
    master_grad=False,
    init_loss_scaling=2**16,
    incr_every_n_steps=2000,
    decr_every_n_nan_or_inf=1,
    incr_ratio=2.0,
    decr_ratio=0.5,
    use_dynamic_loss_scaling=None,
    use_amp_guard=False,
    use_promote=False,
    use_pure_fp16=False,
    use_fp16_guard=None,
    use_bf16=False,
):
    """An optimizer that trains in mixed precision.

    Its ``minimize`` casts the operands of the loss's Program before it appends gradients (the pass
    ``autocast``). Parameters stay float32 at all levels: they are what is updated, each run reads
    them in 16 bits. float16 has no effect on CPUs, as amp.auto_cast says.

    Args:
        optimizer (Optimizer): What updates the parameters.
        amp_lists (CustomOpLists, optional): Ops that run otherwise.
        level (str): ``"O0"``, ``"OD"``, ``"O1"`` or ``"O2"``.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        master_weight, master_grad (bool): Both are always so.
        init_loss_scaling, incr_every_n_steps, decr_every_n_nan_or_inf, incr_ratio, decr_ratio:
            For float16. bfloat16 has float32's range: its losses are not scaled.
        use_dynamic_loss_scaling (bool, optional): True is refused with bfloat16.
        use_amp_guard, use_fp16_guard (bool): True is refused: all of the Program is cast.
        use_promote (bool): At O2, ops that may run in either run in the widest dtype.
        use_pure_fp16, use_bf16 (bool): Older words for level O2 and bfloat16.

    Returns:
        OptimizerWithMixedPrecision: With ``minimize``, ``backward``, ``apply_gradients`` and
        ``amp_init``.

    Raises:
        ValueError: Another level or dtype.
        NotImplementedError: See there.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> loss = argosy.static.nn.fc(x, 1).mean()
        >>> sgd = argosy.static.amp.decorate(argosy.optimizer.SGD(0.1), dtype="bfloat16")
        >>> operations, pairs = sgd.minimize(loss)
        >>> len(pairs)
        2
    """
    no_effect(
        "static.amp.decorate", "parameters and their gradients are float32",
        master_weight=(master_weight, None), master_grad=(master_grad, False),
    )  # fmt: skip
    no_effect(
        "static.amp.decorate", "losses are not scaled",
        init_loss_scaling=(init_loss_scaling, 2**16), incr_every_n_steps=(incr_every_n_steps, 2000),
        decr_every_n_nan_or_inf=(decr_every_n_nan_or_inf, 1), incr_ratio=(incr_ratio, 2.0),
        decr_ratio=(decr_ratio, 0.5),
    )  # fmt: skip
    if not isinstance(level, str):  # the older order: the third argument is init_loss_scaling
        level = "O1"
    level = "O2" if use_pure_fp16 else level
    dtype = "bfloat16" if use_bf16 else dtype
    check_choice("static.amp.decorate", "level", level, ("O0", "OD", "O1", "O2"))
    check_choice("static.amp.decorate", "dtype", dtype, ("float16", "bfloat16"))
    if takes_effect(dtype):
        if use_dynamic_loss_scaling:
            raise NotImplementedError(
                "[static.amp.decorate] use_dynamic_loss_scaling=True is not supported: bfloat16 has"
                " the range of float32. Do this: leave it out."
            )
        if use_amp_guard or use_fp16_guard:
            raise NotImplementedError(
                "[static.amp.decorate] use_amp_guard=True is not supported: all of the Program is"
                " cast. Do this: leave it out, and name ops that stay in amp_lists."
            )
    return OptimizerWithMixedPrecision(optimizer, amp_lists, level, dtype, use_promote)


def cast_model_to_fp16(
    program,
    amp_lists=None,
    use_fp16_guard=True,
    dest_type="float16",
    level="O2",
    use_promote=False,
):
    """Casts the operands of a Program without gradients, in place. float16: see decorate.

    Args:
        program (Program): It.
        amp_lists (CustomOpLists, optional): Ops that run otherwise.
        use_fp16_guard (bool): Has no effect: all of the Program is cast.
        dest_type (str): ``"float16"`` or ``"bfloat16"``.
        level (str): ``"O0"``, ``"OD"``, ``"O1"`` or ``"O2"``.
        use_promote (bool): At O2, ops that may run in either run in the widest dtype.

    Returns:
        set: Names of parameters in 16 bits: none are.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.matmul(x, argosy.ones([3, 2]))
        >>> program = argosy.static.default_main_program()
        >>> argosy.static.amp.cast_model_to_fp16(program, dest_type="bfloat16")
        set()
    """
    no_effect(
        "cast_model_to_fp16", "all of the Program is cast", use_fp16_guard=(use_fp16_guard, True)
    )
    return cast_program(
        "cast_model_to_fp16", program, amp_lists, level, str(dest_type), use_promote
    )


def cast_parameters_to_fp16(
    place, program, scope=None, to_fp16_var_names=None, dest_type="float16"
):
    """Casts parameters of a Program to 16 bits: none need it, runs read them so.

    Args:
        place (Place): Where the parameters are; checked.
        program (Program): Whose they are; checked.
        scope (Scope, optional): Has no effect, as the others.
        to_fp16_var_names (set, optional): Which ones.
        dest_type (str): As what.

    Example:
        >>> program = argosy.static.Program()
        >>> argosy.static.amp.cast_parameters_to_fp16(argosy.CPUPlace(), program)
    """
    check_parameters("cast_parameters_to_fp16", place, program, scope, to_fp16_var_names)
    no_effect("cast_parameters_to_fp16", "parameters are float32", dest_type=(dest_type, "float16"))


@contextmanager
def fp16_guard():
    """Marks what is built inside as what pure 16-bit training may cast: all of a Program may be.

    Returns:
        A context manager.

    Example:
        >>> with argosy.static.amp.fp16_guard():
        ...     pass
    """
    yield
