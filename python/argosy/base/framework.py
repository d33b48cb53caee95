"""Parameters, and the names of the global state that programs look for under ``base.framework``."""

from __future__ import annotations

import contextlib
import copy
import functools

from argosy import _core

from . import unique_name

Tensor = _core.Tensor


class _VariableType(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance._symbolic


class Variable(metaclass=_VariableType):
    """The type that values of a Program have in `isinstance`: they are Tensors without data.

    They are made by calls in static mode and by ``static.data``, not by this class.
    """

    def __new__(cls, *args, **kwargs):
        raise TypeError(
            "[Variable] values of a Program are not made by their type. Do this: call static.data "
            "for an input, or Block.create_var."
        )


__all__ = ["EagerParamBase", "Parameter", "Variable", "in_dygraph_mode", "set_data"]


def set_data(tensor, value):
    """Make ``tensor`` hold the storage, shape and dtype of ``value`` (no copy, no gradient)."""
    tensor._set_data(value)


class EagerParamBase(Tensor):
    """A tensor that a model learns. Layers make them through ``Layer.create_parameter``.

    Args:
        data: a tensor whose storage is taken over, or a shape (list of int, values undefined).
        requires_grad: dtype when ``data`` is a shape; else whether the parameter is trained.
        kwargs: name, trainable, optimize_attr, regularizer, do_model_average, need_clip.
    """

    def __new__(cls, *args, **kwargs):
        return Tensor.__new__(cls)

    def __init__(self, data=None, requires_grad=True, **kwargs):
        import argosy

        shape = kwargs.pop("shape", None)
        dtype = kwargs.pop("dtype", None)
        if shape is None and isinstance(data, (list, tuple)) and not isinstance(data, Tensor):
            shape, data = data, None
            if not isinstance(requires_grad, bool):
                dtype, requires_grad = requires_grad, True
        if data is None:
            data = argosy.empty([0] if shape is None else shape, dtype)
        elif not isinstance(data, Tensor):
            data = argosy.to_tensor(data)
        self._setup(data, bool(requires_grad), **kwargs)

    def _setup(self, data, trainable=True, **attributes):
        set_data(self, data)
        self._describe(trainable, **attributes)

    def _describe(
        self,
        trainable=True,
        name=None,
        optimize_attr=None,
        regularizer=None,
        do_model_average=None,
        need_clip=True,
        **kwargs,
    ):
        self.name = unique_name.generate("_eager_param_base") if name is None else name
        self.persistable = True
        self.stop_gradient = not trainable
        self.optimize_attr = {"learning_rate": 1.0} if optimize_attr is None else optimize_attr
        self.regularizer = regularizer
        self.do_model_average = do_model_average
        self.need_clip = need_clip
        self.is_distributed = kwargs.pop("is_distributed", False)
        self._init_func = None

    @classmethod
    def from_tensor(cls, tensor, **kwargs):
        """A parameter on the storage of ``tensor``; keywords as for the constructor."""
        param = Tensor.__new__(cls)
        param._setup(tensor, kwargs.pop("trainable", True), **kwargs)
        return param

    @property
    def trainable(self):
        """Whether gradients are computed for this parameter (the negation of stop_gradient)."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value):
        if not isinstance(value, bool):
            raise ValueError(
                f"[Parameter.trainable] expected a bool, got {type(value).__name__}. Do this: "
                "set True or False."
            )
        self.stop_gradient = not value

    def set_init_func(self, obj):
        """Let :meth:`initialize` call ``obj(self)``."""
        self._init_func = obj

    def initialize(self):
        """Fill a parameter that was made under ``LazyGuard``."""
        if self._init_func is None:
            raise ValueError(
                f"[Parameter.initialize] '{self.name}' has nothing to run: it was not created "
                "under LazyGuard, or is initialized already. Do this: call initialize() once."
            )
        func, self._init_func = self._init_func, None
        func(self)

    def _attributes(self):
        return {
            "trainable": self.trainable,
            "optimize_attr": self.optimize_attr,
            "regularizer": self.regularizer,
            "do_model_average": self.do_model_average,
            "need_clip": self.need_clip,
            "is_distributed": self.is_distributed,
        }

    def __deepcopy__(self, memo):
        import argosy

        if self._symbolic:
            from argosy.static.state import copy_parameter

            memo[id(self)] = result = copy_parameter(self, self._attributes())
            return result
        with argosy.no_grad():
            data = self.detach().clone()
        kwargs = copy.deepcopy(self._attributes(), memo)
        name = self.name + unique_name.generate("_deepcopy")
        result = type(self).from_tensor(data, name=name, **kwargs)
        result._init_func = self._init_func
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), self.detach(), self.name, self._attributes())

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


Parameter = EagerParamBase


def _rebuild_parameter(cls, data, name, attributes):
    return cls.from_tensor(data, name=name, **attributes)


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
    """
    from argosy.nn.layer._helper import make_parameter

    from .param_attr import ParamAttr

    attr = ParamAttr._to_attr(attr)
    if name is not None and attr and attr.name is None:
        attr = copy.copy(attr)
        attr.name = name
    prefix = unique_name.generate("create_parameter")
    param = make_parameter(prefix, shape, attr, dtype, is_bias, default_initializer)
    if device is not None and param is not None:
        set_data(param, param.detach().to(device))
    return param


def in_dygraph_mode():
    """Whether ops run at once (True unless a static Program is being built)."""
    import argosy

    return argosy.in_dynamic_mode()


in_dynamic_mode = in_dygraph_mode
in_dynamic_or_pir_mode = in_dygraph_mode


def in_pir_mode():
    """Whether a static Program is being built."""
    return not in_dygraph_mode()


def non_static_only(func):
    """Decorator of functions that cannot be part of a static Program: while one is built, a call
    raises AssertionError."""

    @functools.wraps(func)
    def checked(*args, **kwargs):
        assert in_dygraph_mode(), (
            f"[{func.__name__}] works in dynamic graph mode only."
            " Do this: call paddle.disable_static() first."
        )
        return func(*args, **kwargs)

    return checked


def dygraph_only(func):
    return func


def use_pir_api():
    """True: a static Program is made of values, not of named variables."""
    return True


def _current_expected_place():
    import argosy

    return argosy.device.to_place(argosy.get_device())


_current_expected_place_ = _current_expected_place


@contextlib.contextmanager
def _no_check_dy2st_diff():
    """Nothing is checked here that this could turn off; programs enter it around code that differs
    between eager calls and capture."""
    yield


def convert_np_dtype_to_dtype_(np_dtype):
    """The dtype of the package for a NumPy dtype, or for a name such as ``'float32'``."""
    return _core.dtype(np_dtype)


def __getattr__(name):
    """Names that live elsewhere in the package, found when somebody asks for them."""
    import argosy

    if name in ("default_main_program", "default_startup_program", "program_guard", "Program",
                "Block", "Operator", "device_guard", "name_scope", "cpu_places", "cuda_places",
                "switch_main_program", "switch_startup_program"):  # fmt: skip
        return getattr(argosy.static, name)
    if name in ("get_flags", "set_flags", "get_default_dtype", "set_default_dtype", "no_grad",
                "CPUPlace", "CUDAPlace", "CUDAPinnedPlace", "is_compiled_with_cuda",
                "is_compiled_with_xpu", "ParamAttr"):  # fmt: skip
        return getattr(argosy, name)
    raise AttributeError(f"module 'argosy.base.framework' has no attribute '{name}'")
