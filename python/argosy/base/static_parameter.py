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
    """The state variable of a name.

    Args:
        name (str): It.

    Returns:
        Tensor | None: None if there is none.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> argosy.static.state.named("w") is weight
        True
    """
    return _handles.get(name)


def remember(name, handle):
    """Makes something the state variable of a name, unless there is one.

    Args:
        name (str): The name.
        handle (Tensor): The variable.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> argosy.static.state.remember("w", weight)
    """
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
    """A Parameter whose value is in the scope of a run.

    Args:
        name (str): Its name.
        shape (list[int]): Its sizes.
        dtype (dtype | str): Of the elements.
        initializer (Initializer | None): Runs with the startup Program; None: that Program gives it a first
            value already.
        attributes: trainable, optimize_attr, regularizer, do_model_average, need_clip.

    Returns:
        Parameter: It.

    Raises:
        ValueError: The Program has a Parameter of that name, with another shape or dtype.

    Example:
        >>> argosy.enable_static()
        >>> one = argosy.nn.initializer.Constant(1.0)
        >>> argosy.static.state.make_parameter("w", [2], "float32", one).name
        'w'
    """
    _check_same(mode.default_main_program()._states.get(name), name, shape, dtype)
    trainable = attributes.get("trainable", True)
    parameter = _adopt(EagerParamBase, name, shape, dtype, trainable, True)
    parameter._describe(name=name, **attributes)
    _handles[name] = parameter
    mode.default_main_program()._states[name] = parameter
    if initializer is not None:
        _initialize(parameter, lambda: initializer(parameter))
    return parameter


def _check_same(known, name, shape, dtype):
    """Parameters of one name are one value, so they have one form."""
    if not isinstance(known, EagerParamBase):
        return
    have, wanted = (list(known.shape), known.dtype), ([int(s) for s in shape], _core.dtype(dtype))
    if have != wanted:
        raise ValueError(
            f"(InvalidArgument) [create_parameter] the Program has a parameter '{name}' of another"
            f" form: it is {have[1]}{have[0]}, the new one would be {wanted[1]}{wanted[0]}. Do this:"
            " give it another name, or that form to share its value."
        )


def make_variable(name, shape, dtype, value, persistable=True, program=None, stop_gradient=True):
    """A state variable that optimizers do not train.

    Args:
        name (str): Its name.
        shape (list[int]): Its sizes.
        dtype (dtype | str): Of the elements.
        value (number | callable): The first value, of all elements; or a function that returns it, recorded
            into the startup Program.
        persistable (bool): Whether it is saved with the Program.
        program (Program, optional): Whose it is; the default main Program if None.
        stop_gradient (bool): Whether gradients end here.

    Returns:
        Variable: It.

    Example:
        >>> argosy.enable_static()
        >>> step = argosy.static.state.make_variable("step", [], "int64", 3)
        >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
        >>> int(step.get_value().numpy())
        3
    """
    handle = _adopt(Tensor, name, shape, dtype, not stop_gradient, persistable)
    handle.name = name
    handle.persistable = bool(persistable)
    handle.stop_gradient = bool(stop_gradient)
    _handles[name] = handle
    (program or mode.default_main_program())._states[name] = handle

    def fill():
        first = value() if callable(value) else _core.ops.full(list(shape), value, dtype)
        _core.program_rebind(handle, first)

    _initialize(handle, fill)
    return handle


def initialize(handle, initializer):
    """Lets the startup Program give state its first value.

    Args:
        handle (Variable): The state.
        initializer (Initializer): What makes the value.

    Example:
        >>> argosy.enable_static()
        >>> step = argosy.static.state.make_variable("step", [1], "float32", 0)
        >>> argosy.static.state.initialize(step, argosy.nn.initializer.Constant(5.0))
        >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
        >>> float(step.get_value().numpy()[0])
        5.0
    """
    _initialize(handle, lambda: initializer(handle))


def copy_parameter(source, attributes):
    """A Parameter that starts with the first value of another.

    Args:
        source (Parameter): The other.
        attributes (dict): trainable, optimize_attr, regularizer, do_model_average and need_clip.

    Returns:
        Parameter: The new one.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> names = ("trainable", "optimize_attr", "regularizer", "do_model_average", "need_clip")
        >>> known = {name: getattr(weight, name) for name in names}
        >>> list(argosy.static.state.copy_parameter(weight, known).shape)
        [2]
    """

    def fill(parameter):
        _core.program_rebind(parameter, _core.ops.assign(source))

    name = unique_name.generate(source.name + "_deepcopy")
    known = ("trainable", "optimize_attr", "regularizer", "do_model_average", "need_clip")
    kept = {k: attributes[k] for k in known}
    return make_parameter(name, source.shape, source.dtype, fill, **kept)


def make_normalized_weight(prefix, dim, shape, dtype, initializer, name, **attributes):
    """A weight made of its direction and its length, two Parameters.

    Args:
        prefix (str): What the Parameters' names begin with.
        dim (int | None): The axis that lengths are apart along; None for one length.
        shape (list[int]): Its sizes.
        dtype (dtype | str): Of the elements.
        initializer (Initializer): What makes the direction.
        name (str): Of the weight.
        attributes: As of make_parameter.

    Returns:
        Variable: The weight.

    Paper: Weight Normalization (https://arxiv.org/abs/1602.07868).

    Example:
        >>> argosy.enable_static()
        >>> one = argosy.nn.initializer.Constant(1.0)
        >>> weight = argosy.static.state.make_normalized_weight("fc", 0, [2, 3], "float32", one, "w")
        >>> len(argosy.static.default_main_program().all_parameters())
        2
    """
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
