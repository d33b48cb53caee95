"""Parameters and other state of static Programs."""

from __future__ import annotations

import weakref

from argosy import _core
from argosy._core import Tensor
from argosy._programs import mode
from argosy.autograd import no_grad

from . import unique_name
from .parameter import EagerParamBase

# Every state variable that was made, by name; the newest of a name counts.
_handles = weakref.WeakValueDictionary()


def named(name):
    """The state variable called so, or None."""
    return _handles.get(name)


def remember(name, handle):
    """Makes `handle` the state variable called so, unless there is one."""
    _handles.setdefault(name, handle)


def _adopt(cls, name, shape, dtype, trainable, persistable):
    shape = [int(s) for s in shape]
    state = _core.program_state(name, shape, dtype, bool(trainable), bool(persistable))
    handle = Tensor.__new__(cls)
    handle._set_data(state)
    return handle


def _initialize(handle, fill):
    """Records fill() -> value into the startup Program, as the first value of `handle`."""
    startup = mode.default_startup_program()
    if handle.name in startup._states:  # of a parameter that two Programs share by name
        _core.program_forget_state(startup._handle, handle.name)
    startup._states[handle.name] = handle
    with mode.recording(startup), no_grad():
        fill()


def make_parameter(name, shape, dtype, initializer, **attributes):
    """A Parameter whose value is in the scope of a run; `initializer` runs with the startup Program,
    which gives it a first value already if None.

    attributes: trainable, optimize_attr, regularizer, do_model_average, need_clip.
    """
    trainable = attributes.get("trainable", True)
    parameter = _adopt(EagerParamBase, name, shape, dtype, trainable, True)
    parameter._describe(name=name, **attributes)
    _handles[name] = parameter
    mode.default_main_program()._states[name] = parameter
    if initializer is not None:
        _initialize(parameter, lambda: initializer(parameter))
    return parameter


def make_variable(name, shape, dtype, value, persistable=True, program=None):
    """A state variable that is not trained. value: a number, or a function that returns the first
    value, recorded into the startup Program."""
    handle = _adopt(Tensor, name, shape, dtype, False, persistable)
    handle.name = name
    handle.persistable = bool(persistable)
    handle.stop_gradient = True
    _handles[name] = handle
    (program or mode.default_main_program())._states[name] = handle

    def fill():
        first = value() if callable(value) else _core.ops.full(list(shape), value, dtype)
        _core.program_rebind(handle, first)

    _initialize(handle, fill)
    return handle


def initialize(handle, initializer):
    """Lets the startup Program give state its first value by an Initializer."""
    _initialize(handle, lambda: initializer(handle))


def copy_parameter(source, attributes):
    """A Parameter that starts with the first value of `source`."""

    def fill(parameter):
        _core.program_rebind(parameter, _core.ops.assign(source))

    name = unique_name.generate(source.name + "_deepcopy")
    known = ("trainable", "optimize_attr", "regularizer", "do_model_average", "need_clip")
    kept = {k: attributes[k] for k in known}
    return make_parameter(name, source.shape, source.dtype, fill, **kept)


def make_normalized_weight(prefix, dim, shape, dtype, initializer, name, **attributes):
    """A weight made of its direction and its length, two Parameters; dim: the axis that lengths are
    apart along, None for one length (arXiv:1602.07868)."""
    axis = -1 if dim is None else int(dim)
    label = unique_name.generate(f"{prefix}.weight_norm_v")
    direction = make_parameter(label, shape, dtype, initializer, **attributes)

    def fill(length):
        _core.program_rebind(length, _core.ops.norm_except_dim(direction, axis))

    sizes = [shape[axis]] if axis >= 0 else []
    label = unique_name.generate(f"{prefix}.weight_norm_g")
    length = make_parameter(label, sizes, dtype, fill, **attributes)
    weight = _core.ops.weight_norm(direction, length, axis)
    weight.name = name
    return weight
