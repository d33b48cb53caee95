"""Functions and layers that only predict."""

from __future__ import annotations

import functools

from argosy import nn
from argosy._support import no_effect, unsupported
from argosy.autograd import no_grad
from argosy.jit import to_static

__all__ = ["inference"]


class _Predicting:
    """A captured function that is run without gradients; as a method, too."""

    def __init__(self, captured, original):
        self._captured = captured
        functools.update_wrapper(self, original)

    def __call__(self, *args, **kwargs):
        with no_grad():
            result = self._captured(*args, **kwargs)
        return list(result) if isinstance(result, tuple) else result

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return _Predicting(self._captured.__get__(owner, kind), self.__wrapped__)


def inference(
    function=None,
    cache_static_model=False,
    save_model_dir=None,
    memory_pool_init_size_mb=1000,
    precision_mode="float32",
    switch_ir_optim=True,
    switch_ir_debug=False,
    enable_cinn=False,
    with_trt=False,
    trt_precision_mode="float32",
    trt_use_static=False,
    collect_shape=False,
    enable_new_ir=False,
    exp_enable_use_cutlass=False,
    delete_pass_lists=None,
    skip_prune_program=False,
):
    """A function, a method or a layer that is captured whole at its first call, and run without gradients.

    Args:
        function (callable | Layer, optional): it; without it, a decorator is given.
        cache_static_model (bool): only False.
        save_model_dir (str, optional): only None.
        precision_mode, trt_precision_mode (str): only 'float32'.
        switch_ir_optim (bool): only True.
        with_trt, enable_cinn, collect_shape, trt_use_static (bool): only False.
        delete_pass_lists (list, optional): only None.
        memory_pool_init_size_mb (int): no effect.
        switch_ir_debug, enable_new_ir (bool): no effect.
        exp_enable_use_cutlass, skip_prune_program (bool): no effect.

    Returns:
        callable | Layer: what gives the same values as function; several results are a list. A layer is the
        same one, its forward replaced.

    Raises:
        TypeError: function cannot be called.
        NotImplementedError: another option.

    Examples:
        >>> @argosy.incubate.inference
        ... def double(x):
        ...     return x * 2
        >>> y = double(argosy.to_tensor([1.0], stop_gradient=False))
        >>> y.tolist(), y.stop_gradient
        ([2.0], True)
    """
    unsupported(
        "inference", "leave it out; save the function by jit.save and run it by inference.Config",
        cache_static_model=(cache_static_model, False), save_model_dir=(save_model_dir, None),
        precision_mode=(precision_mode, "float32"), switch_ir_optim=(switch_ir_optim, True),
        with_trt=(with_trt, False), trt_precision_mode=(trt_precision_mode, "float32"),
        trt_use_static=(trt_use_static, False), enable_cinn=(enable_cinn, False),
        collect_shape=(collect_shape, False), delete_pass_lists=(delete_pass_lists, None),
    )  # fmt: skip
    no_effect(
        "inference", "the function is captured and run as it is",
        memory_pool_init_size_mb=(memory_pool_init_size_mb, 1000),
        switch_ir_debug=(switch_ir_debug, False), enable_new_ir=(enable_new_ir, False),
        exp_enable_use_cutlass=(exp_enable_use_cutlass, False),
        skip_prune_program=(skip_prune_program, False),
    )  # fmt: skip

    def predicting(one):
        if isinstance(one, nn.Layer):
            one.forward = predicting(one.forward)
            return one
        if not callable(one):
            raise TypeError(
                f"[inference] function: expected a function or a Layer, got {type(one).__name__}. Do this:"
                " pass one."
            )
        return _Predicting(to_static(one, full_graph=True), one)

    return predicting if function is None else predicting(function)
