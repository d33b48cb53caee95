"""Making parameters: names, default initializers and dtypes shared by all layers."""

from __future__ import annotations

import copy

from argosy import _core, tensor
from argosy._dtypes import COMPLEX, FLOATING
from argosy._programs.mode import static_mode
from argosy._support import ArgumentError
from argosy.autograd import no_grad
from argosy.base import static_parameter, unique_name
from argosy.base.param_attr import ParamAttr, WeightNormParamAttr
from argosy.base.parameter import EagerParamBase, set_data
from argosy.nn import functional


def dtype_name(dtype):
    """``'float32'`` for a dtype object, a NumPy dtype or a string."""
    text = str(dtype)
    return text.rsplit(".", 1)[-1]


_FLOATING = tuple(map(dtype_name, (*FLOATING, *COMPLEX)))


def make_parameter(prefix, shape, attr, dtype, is_bias, default_initializer):
    """Create and fill one parameter, or return None when ``attr`` is False.

    The initializer is, first found: the attribute's, the global one (``set_global_initializer``),
    ``default_initializer``, Xavier uniform for weights and zero for biases.
    """
    from argosy.nn import initializer as init

    attr = ParamAttr._to_attr(attr)
    if not attr:
        return None
    _check_shape(shape)
    dtype = _core.get_default_dtype() if dtype is None else dtype
    chosen = attr.initializer
    if chosen is None:
        chosen = init.initializer._global_initializer(is_bias) or default_initializer
    if chosen is None:
        if isinstance(dtype, str) and dtype == "float":
            dtype = "float32"
        if dtype_name(dtype) not in _FLOATING:
            raise TypeError(
                "[create_parameter] there is no default initializer for this dtype: expected "
                f"one of {_FLOATING}, got {dtype_name(dtype)} for a parameter of shape "
                f"{list(shape)}. Do this: set default_initializer to fit the dtype."
            )
        chosen = init.Constant(0.0) if is_bias else init.XavierUniform()
    name = attr.name or unique_name.generate(f"{prefix}.{'b' if is_bias else 'w'}")
    attributes = {
        "name": name,
        "trainable": attr.trainable,
        "optimize_attr": {"learning_rate": attr.learning_rate},
        "regularizer": attr.regularizer,
        "do_model_average": attr.do_model_average,
        "need_clip": attr.need_clip,
    }
    if static_mode():
        if isinstance(attr, WeightNormParamAttr):
            return static_parameter.make_normalized_weight(
                prefix, attr.dim, shape=shape, dtype=dtype, initializer=chosen, **attributes
            )
        return static_parameter.make_parameter(
            shape=shape, dtype=dtype, initializer=chosen, **attributes
        )
    if attr.name and unique_name.dygraph_parameter_name_checker(attr.name):
        raise ValueError(
            f"[create_parameter] the name '{attr.name}' was given to another parameter: expected a"
            " name of its own, as optimizers keep states by name. Do this: change it, leave it out, or"
            " make the layer within utils.unique_name.guard()."
        )
    param = EagerParamBase.from_tensor(tensor.empty(shape, dtype), **attributes)
    if init.lazy_init.lazy_init_helper()._state:
        param.set_init_func(chosen)
    else:
        chosen(param)
    return param


def set_first_value(param, compute):
    """Lets a parameter start as compute()."""
    if param._symbolic:
        static_parameter.initialize(param, lambda p: p._copy_from(compute()))
        return
    with no_grad():
        param.set_value(compute())


def create_parameter(
    shape,
    dtype=None,
    name=None,
    attr=None,
    is_bias=False,
    default_initializer=None,
    device=None,
):
    """A parameter outside of any layer.

    Args:
        shape: list of int.
        dtype: None takes the default dtype.
        name: name, unless ``attr`` has one.
        attr: ParamAttr, initializer or name; None for the defaults.
        is_bias: zeros by default instead of Xavier uniform.
        default_initializer: used unless ``attr`` or ``set_global_initializer`` names one.
        device: where it lives; None takes the current device.

    Returns:
        Parameter: It; None if attr is False.

    Example:
        >>> weight = argosy.create_parameter([2, 3], "float32")
        >>> weight.shape, weight.stop_gradient
        (paddle.Size([2, 3]), False)
    """
    attr = ParamAttr._to_attr(attr)
    if name is not None and attr and attr.name is None:
        attr = copy.copy(attr)
        attr.name = name
    prefix = unique_name.generate("create_parameter")
    param = make_parameter(prefix, shape, attr, dtype, is_bias, default_initializer)
    if device is not None and param is not None:
        set_data(param, param.detach().to(device))
    return param


# Activations that Paddle names by their ops, which have other names or defaults than the functions.
_OP_ACTIVATIONS = {
    "brelu": lambda x: functional.hardtanh(x, 0.0, 24.0),
    "hard_shrink": functional.hardshrink,
    "hard_sigmoid": lambda x: functional.hardsigmoid(x, 0.2, 0.5),
    "hard_swish": functional.hardswish,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.02),
    "soft_relu": lambda x: functional.softplus(tensor.clip(x, -40.0, 40.0)),
    "tanh_shrink": functional.tanhshrink,
}


def activated(owner, x, act):
    """x after the activation called ``act`` by the name of its function or of its op; None: x."""
    if act is None:
        return x
    function = (
        _OP_ACTIVATIONS.get(act) or getattr(functional, act, None) or getattr(tensor, act, None)
    )
    if function is None:
        raise ValueError(
            f"[{owner}] there is no activation '{act}'. Do this: name a function of"
            " nn.functional, such as 'relu' or 'softmax'."
        )
    return function(x)


class LayerObjectHelper:
    """What a layer knows of its own name when it makes parameters."""

    def __init__(self, name):
        self._name = name
        self._layer_type = name

    @property
    def name(self):
        return self._name

    @property
    def layer_type(self):
        return self._layer_type

    def get_default_dtype(self):
        return _core.get_default_dtype()

    def create_parameter(self, attr, shape, dtype=None, is_bias=False, default_initializer=None):
        return make_parameter(self._name, shape, attr, dtype, is_bias, default_initializer)

    def append_activation(self, x, act=None):
        """Apply the activation called ``act`` (None: none) to ``x``."""
        return activated(self._name, x, act)


def _check_shape(shape):
    sizes = shape if isinstance(shape, (list, tuple)) else ()
    wrong = [size for size in sizes if isinstance(size, (int, float)) and size < 0]
    if isinstance(shape, str) or any(isinstance(size, str) for size in sizes):
        raise TypeError(
            f"[create_parameter] shape: expected a list of ints, got {shape!r}. Do this: pass sizes."
        )
    if wrong:
        raise ArgumentError(
            f"[create_parameter] shape: expected sizes of 0 or more, got {list(shape)}. Do this: check"
            " how the size was computed."
        )
