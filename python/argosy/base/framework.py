"""Names of parameters and of the global state that programs look for under ``base.framework``."""

from __future__ import annotations

import contextlib
import functools

from argosy import _core
from argosy._core import Tensor, get_default_dtype, set_default_dtype  # noqa: F401
from argosy._framework import get_flags, in_dynamic_mode, set_flags  # noqa: F401
from argosy._programs.representation import REPRESENTATION as _representation
from argosy.autograd import no_grad  # noqa: F401
from argosy.device import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    get_device,
    is_compiled_with_cuda,
    is_compiled_with_xpu,
    set_device,
    to_place,
)
from argosy.nn.layer._helper import create_parameter  # noqa: F401

from . import unique_name  # noqa: F401
from .dtype_tables import dtype_to_str, paddle_type_to_proto_type  # noqa: F401
from .param_attr import ParamAttr  # noqa: F401
from .parameter import (  # noqa: F401  (_rebuild_parameter: pickled files name it here)
    EagerParamBase,
    Parameter,
    Variable,
    _rebuild_parameter,
    set_data,
)

__all__ = ["EagerParamBase", "Parameter", "Variable", "in_dygraph_mode", "set_data"]


def in_dygraph_mode():
    """Whether ops run at once.

    Returns:
        bool: True unless a static Program is being built.

    Example:
        >>> argosy.base.framework.in_dygraph_mode()
        True
    """
    return in_dynamic_mode()


def static_only(func):
    """Decorator of functions that are for static Programs only: called in dynamic graph mode they raise
    AssertionError.

    Args:
        func (callable): It.

    Returns:
        callable: The function with this check.

    Raises:
        AssertionError: A call of what was returned, in dynamic graph mode.

    Example:
        >>> argosy.base.framework.static_only(abs)(-1)
        Traceback (most recent call last):
        AssertionError: [abs] works in static mode only. Do this: call paddle.enable_static() first.
    """

    @functools.wraps(func)
    def checked(*args, **kwargs):
        assert not in_dygraph_mode(), (
            f"[{func.__name__}] works in static mode only. Do this: call paddle.enable_static() first."
        )
        return func(*args, **kwargs)

    return checked


def use_pir_api():
    """Whether a static Program counts as one of values, not of named variables. It is both here, so this
    is what programs said last: False within pir_utils.OldIrGuard."""
    return _representation["pir"]


def in_pir_mode():
    """Whether a static Program is being built that counts as one of values."""
    return not in_dygraph_mode() and use_pir_api()


def in_dynamic_or_pir_mode():
    """Whether ops run at once, or a static Program of values is being built."""
    return in_dygraph_mode() or in_pir_mode()


def grad_var_name(var_name):
    """The name of the gradient of a variable of a Program.

    Args:
        var_name (str): The variable's name.

    Returns:
        str: It with ``@GRAD``.

    Example:
        >>> argosy.base.framework.grad_var_name("x")
        'x@GRAD'
    """
    return var_name + "@GRAD"


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
    """Marks a function that is for ops that run at once; it works in both modes.

    Args:
        func (callable): It.

    Returns:
        callable: The function itself.

    Example:
        >>> argosy.base.framework.dygraph_only(abs) is abs
        True
    """
    return func


def _current_expected_place():
    return to_place(get_device())


_current_expected_place_ = _current_expected_place


def _get_paddle_place(place):
    """The place that a text names; places and None stay what they are. Others raise ValueError."""
    if place is None:
        return None
    try:
        return to_place(place)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"[_get_paddle_place] place: expected None, a Place, or a text such as 'cpu' or 'gpu:0', got"
            f" {place!r}. Do this: pass one of them."
        ) from error


def _set_expected_place(place):
    """Chooses the device that results are put on."""
    set_device(place)


def _global_flags():
    """The switches of the process, as `core.globals` gives them."""
    from .core import globals as flags

    return flags()


@contextlib.contextmanager
def _no_check_dy2st_diff():
    """Nothing is checked here that this could turn off; programs enter it around code that differs
    between eager calls and capture."""
    yield


def convert_np_dtype_to_dtype_(np_dtype):
    """The dtype of a NumPy dtype.

    Args:
        np_dtype (numpy.dtype | type | str): It, or a name such as ``'float32'``.

    Returns:
        dtype: Of this package.

    Example:
        >>> argosy.base.framework.convert_np_dtype_to_dtype_(np.float32)
        paddle.float32
    """
    return _core.dtype(np_dtype)


convert_np_dtype_to_proto_type = convert_to_proto_type = convert_np_dtype_to_dtype_

EMPTY_VAR_NAME, TEMP_VAR_NAME = "@EMPTY@", "@TEMP@"
GRAD_VAR_SUFFIX, ZERO_VAR_SUFFIX = "@GRAD", "@ZERO"
CONTROL_DEP_VAR_PREFIX = "__control_var"


def in_pir_executor_mode():
    """Whether the executor turns Programs of named variables into ones of values: they are such already.

    Returns:
        bool: False.
    """
    return False


def _get_paddle_place_list(places):
    """Places of a list of places and their names.

    Args:
        places (list[Place | str]): They.

    Returns:
        list[Place]: They.

    Raises:
        TypeError: It is no list or tuple.
        ValueError: A name means no place.
    """
    if not isinstance(places, (list, tuple)):
        raise TypeError(
            f"[places] expected a list or tuple, got {type(places).__name__}. Do this: put it into a list."
        )
    return [_get_paddle_place(place) for place in places]


@contextlib.contextmanager
def flag_guard(flag_name, flag_value):
    """Gives a switch of the process a value within the context.

    Args:
        flag_name (str): The switch.
        flag_value (object): Its value within.

    Example:
        >>> with argosy.base.framework.flag_guard("FLAGS_check_nan_inf", True):
        ...     print(argosy.get_flags("FLAGS_check_nan_inf"))
        {'FLAGS_check_nan_inf': True}
    """
    before = get_flags(flag_name)
    set_flags({flag_name: flag_value})
    try:
        yield
    finally:
        set_flags(before)


# What values of each kind of attribute are made of; other kinds stay as they are.
_ATTRIBUTES = {
    "BOOL": bool, "INT": int, "LONG": int, "FLOAT": float, "FLOAT64": float, "STRING": str,
    "BOOLS": (bool,), "INTS": (int,), "LONGS": (int,), "FLOATS": (float,), "FLOAT64S": (float,),
    "STRINGS": (str,),
}  # fmt: skip


def canonicalize_attrs(attrs, op_proto):
    """Attributes of an operation as values of the types that it declares.

    Args:
        attrs (dict): Values by name; dtypes count as the numbers that files give them.
        op_proto (OpProto): The kind of operation.

    Returns:
        dict: A copy. None, and names that the kind does not have, stay as they are.

    Example:
        >>> proto = argosy.base.framework.OpProtoHolder.instance().get_op_proto("softmax")
        >>> argosy.base.framework.canonicalize_attrs({"axis": np.int64(1)}, proto)
        {'axis': 1}
    """
    made = dict(attrs)
    for attr in op_proto.attrs:
        value, make = made.get(attr.name), _ATTRIBUTES.get(attr.type.name)
        if value is None or make is None or isinstance(value, _core.dtype):
            continue
        made[attr.name] = [make[0](v) for v in value] if isinstance(make, tuple) else make(value)
    return made


class _Tracer:
    """State of eager mode that programs read or set through the tracer."""

    _train_mode = True

    def _get_kernel_signature(self, op_type, inputs, outputs, attrs):
        """How a function over a kind of operation takes its arguments: names of inputs, of attributes (or of
        the inputs that are given instead), and of results."""
        from argosy.static.op_protos import call_signature

        return call_signature(op_type, [name for name, given in inputs.items() if given])

    @property
    def _has_grad(self):
        return _core.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, value):
        _core.set_grad_enabled(bool(value))

    @property
    def _expected_place(self):
        return _current_expected_place()

    def _generate_unique_name(self, key="eager_tmp"):
        return unique_name.generate(key)

    def train_mode(self):
        """Layers that ask the tracer are told that they are trained."""
        self._train_mode = True

    def eval_mode(self):
        """Layers that ask the tracer are told that they are evaluated."""
        self._train_mode = False


_tracer = _Tracer()


def _dygraph_tracer():
    """What records eager calls; None while a static Program is built."""
    return _tracer if in_dygraph_mode() else None


@contextlib.contextmanager
def _dygraph_guard(tracer):
    """Within the context ops run at once; with None they are added to the default Program."""
    from argosy._framework import disable_static, enable_static

    was_dynamic = in_dygraph_mode()
    (enable_static if tracer is None else disable_static)()
    try:
        yield
    finally:
        (disable_static if was_dynamic else enable_static)()


_STATIC = (
    "Block", "Operator", "Program", "cpu_places", "cuda_places", "default_main_program",
    "default_startup_program", "device_guard", "name_scope", "program_guard", "switch_main_program",
    "switch_startup_program",
)  # fmt: skip


def __getattr__(name):
    """Names of the static API, which is loaded when somebody asks for them."""
    if name in _STATIC:
        from argosy import static

        return getattr(static, name)
    if name == "OpProtoHolder":
        from argosy.static.op_protos import OpProtoHolder

        return OpProtoHolder
    raise AttributeError(f"module 'argosy.base.framework' has no attribute '{name}'")
