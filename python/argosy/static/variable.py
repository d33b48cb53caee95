"""What values of a Program have beside what all tensors have."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy.base.parameter import Parameter, Variable


def _of_program(self, name):
    if not self._symbolic:
        raise AttributeError(
            f"'Tensor' object has no attribute '{name}': only variables of a Program have."
        )


def block(self):
    """The block that the variable is in; of an eager tensor the default main Program's."""
    from .mode import default_main_program
    from .program import program_of

    program = program_of(self) if self._symbolic else default_main_program()
    return program.global_block()


def op(self):
    """The Operator that makes the variable; None for inputs and state."""
    from .program import program_of

    _of_program(self, "op")
    place = _core.program_about(self)[3]
    return None if place < 0 else program_of(self).global_block().ops[place]


def lod_level(self):
    """1 for an input that is a batch of sequences, else 0."""
    from .program import program_of

    _of_program(self, "lod_level")
    lengths = f"{self.name}@LENGTHS"
    return int(_core.program_first(program_of(self)._handle, lengths) is not None)


def is_data(self):
    """Whether it is an input."""
    _of_program(self, "is_data")
    return _core.program_about(self)[0] == "input"


def is_parameter(self):
    """Whether it is a Parameter."""
    return isinstance(self, Parameter)


def grad_name(self):
    """Name of the gradient that append_backward makes."""
    return self.name + "@GRAD"


def attr_names(self):
    """Names of further attributes: none."""
    _of_program(self, "attr_names")
    return []


def attr(self, name):
    """The attribute `name` of the operation that makes the variable."""
    producer = op(self)
    if producer is None:
        raise ValueError(
            f"[Variable.attr] '{self.name}' is made by no operation."
            " Do this: ask a value that an operation gives."
        )
    return producer.attr(name)


def dist_attr(self):
    """How it is spread over devices: None, it is not."""
    _of_program(self, "dist_attr")


def get_defining_op(self):
    """The Operator that makes the variable, as :attr:`op`."""
    return op(self)


def to_string(self, throw_on_error=False, with_details=False):
    """Name, shape and dtype in one line."""
    from .program import to_text

    _of_program(self, "to_string")
    return to_text(self)


def get_value(self, scope=None):
    """The value of state in a scope (the global one if None).

    Raises:
        ValueError: it has none.
    """
    from .scope import DenseTensor

    return DenseTensor(value_in_scope(self, scope)) if self._symbolic else self


def value_in_scope(self, scope=None):
    """The tensor that get_value shows."""
    from .scope import global_scope

    value = (global_scope() if scope is None else scope)._value(self.name)
    if value is None:
        raise ValueError(
            f"[Variable.get_value] '{self.name}' is not found in the scope. Do this: run the startup"
            " program first; variables that are no state are fetched by Executor.run."
        )
    return value


def setitem(x, index, value):
    """x with x[index] set to value, as a new variable: what `x[index] = value` does to x itself.

    Args:
        x (Variable | Tensor): any dtype.
        index: What may stand between the brackets.
        value (Variable | Tensor | float | ndarray): Broadcasts to what is set.
    """
    found = x.clone()
    found[index] = value
    return found


_eager_set_value = Tensor.set_value


def set_value(self, value, scope=None):
    """Copies value (array, Tensor or number of the same shape) into this tensor's memory; of state of
    a static Program: into its variable in a scope, the global one if None."""
    from .program import set_state
    from .scope import global_scope

    value = getattr(value, "_tensor", value)
    if not self._symbolic or (isinstance(value, Tensor) and value._symbolic):
        return _eager_set_value(self, value)
    if _core.program_about(self)[0] != "state":
        raise TypeError(
            f"[set_value] '{self.name}' is computed by the Program: expected a Parameter or other"
            " state. Do this: use assign(value, output=variable) while building."
        )
    return set_state(self, value, global_scope() if scope is None else scope)


def append(self):
    """append(var) adds a variable at the end of this tensor array."""
    from argosy.tensor.array import array_length, array_write

    _of_program(self, "append")
    if self._layout != "tensor_array":
        raise AttributeError("[Variable.append] only a tensor array grows; see create_array.")
    return lambda var: array_write(var, array_length(self), self)


_PROPERTIES = (
    block, op, lod_level, is_data, is_parameter, grad_name, attr_names, dist_attr,
    append,
)  # fmt: skip
_METHODS = (attr, get_defining_op, to_string, get_value, set_value)

for _f in _PROPERTIES:
    for _class in (Tensor, Variable):
        setattr(_class, _f.__name__, property(_f, doc=_f.__doc__))
for _f in _METHODS:
    for _class in (Tensor, Variable):
        setattr(_class, _f.__name__, _f)
