"""What values of a Program have beside what all tensors have, and what is one for both."""

from argosy import _core
from argosy._core import Tensor
from argosy._programs.mode import default_main_program
from argosy._support import ArgumentError, dtype_name, no_effect
from argosy.tensor.array import array_write, length_of
from argosy.tensor.registry import method


def _program_of(self):
    from argosy._programs.registry import program_of

    return program_of(self)


def _of_program(self, name):
    if not self._symbolic:
        raise AttributeError(
            f"'Tensor' object has no attribute '{name}': only variables of a Program have."
        )


def block(self):
    """The block that the variable is in; of an eager tensor the default main Program's."""
    program = _program_of(self) if self._symbolic else default_main_program()
    return program.global_block()


def op(self):
    """The Operator that makes the variable; None for inputs and state."""
    _of_program(self, "op")
    place = _core.program_about(self)[3]
    block = _program_of(self).global_block()
    first = block._inputs()
    if place >= 0:
        return block.ops[len(first) + place]
    return next((o for o in first if is_same(o.results()[0], self)), None)


def lod_level(self):
    """1 for an input that is a batch of sequences, else 0."""
    _of_program(self, "lod_level")
    lengths = f"{self.name}@LENGTHS"
    return int(_core.program_first(_program_of(self)._handle, lengths) is not None)


def is_data(self):
    """Whether it is an input."""
    _of_program(self, "is_data")
    return _core.program_about(self)[0] == "input"


def is_parameter(self):
    """Whether it is a Parameter."""
    return False  # Parameter says otherwise


def grad_name(self):
    """Name of the gradient that append_backward makes."""
    return self.name + "@GRAD"


def attr_names(self):
    """Names of further attributes: none."""
    _of_program(self, "attr_names")
    return []


def dist_attr(self):
    """How it is spread over devices: None, it is not."""
    _of_program(self, "dist_attr")


def append(self):
    """append(var) adds a variable at the end of this tensor array."""
    _of_program(self, "append")
    if self._layout != "tensor_array":
        raise AttributeError("[Variable.append] only a tensor array grows; see create_array.")
    return lambda var: array_write(var, length_of(self), self)


def attr(self, name):
    """An attribute of the operation that makes the variable.

    Args:
        name (str): Which.

    Returns:
        The value.

    Raises:
        ValueError: No operation makes the variable, or it has no such attribute.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.nn.functional.softmax(argosy.static.data("x", [2, 3], "float32"), axis=0)
        >>> y.attr("axis"), y.get_defining_op().type
        (0, 'softmax')
    """
    producer = op(self)
    if producer is None:
        raise ValueError(
            f"[Variable.attr] '{self.name}' is made by no operation."
            " Do this: ask a value that an operation gives."
        )
    return producer.attr(name)


def get_defining_op(self):
    """The operation that makes the variable, as :attr:`op`.

    Returns:
        Operator | None: None for an input or state.

    Example:
        >>> argosy.enable_static()
        >>> argosy.static.data("x", [2], "float32").get_defining_op() is None
        True
    """
    return op(self)


def is_same(self, other):
    """Whether two handles mean the same value of a Program.

    Args:
        other (Variable): The other one.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = argosy.exp(x)
        >>> y.get_defining_op().operand_source(0).is_same(x), x.is_same(y)
        (True, False)
    """
    _of_program(self, "is_same")
    if not getattr(other, "_symbolic", False):
        return False
    return _core.program_value_key(self) == _core.program_value_key(other)


def initialized(self):
    """Whether there is a value: variables of a Program always are one.

    Returns:
        bool: True.

    Example:
        >>> argosy.enable_static()
        >>> argosy.static.data("x", [2], "float32").initialized()
        True
    """
    _of_program(self, "initialized")
    return True


def index(self):
    """Its number among the results of the operation that makes it.

    Returns:
        int: 0 for inputs and state.

    Example:
        >>> argosy.enable_static()
        >>> values, places = argosy.topk(argosy.static.data("x", [2], "float32"), 1)
        >>> values.index(), places.index()
        (0, 1)
    """
    _of_program(self, "index")
    maker = op(self)
    made = [] if maker is None else maker.results()
    return next((i for i, v in enumerate(made) if is_same(self, v)), 0)


def is_dense_tensor_type(self):
    """Whether it is a tensor with all its elements.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> argosy.static.data("x", [2], "float32").is_dense_tensor_type()
        True
    """
    _of_program(self, "is_dense_tensor_type")
    return self._layout == "strided"


def is_selected_row_type(self):
    """Whether it is some rows of a table, as gradients of sparse look-ups are.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> argosy.static.data("x", [2], "float32").is_selected_row_type()
        False
    """
    _of_program(self, "is_selected_row_type")
    return self._layout == "row_sparse"


def is_dense_tensor_array_type(self):
    """Whether it is a tensor array.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> argosy.tensor.create_array("float32").is_dense_tensor_array_type()
        True
    """
    _of_program(self, "is_dense_tensor_array_type")
    return self._layout == "tensor_array"


def all_used_ops(self):
    """The operations that read the variable.

    Returns:
        list[Operator]: In order, each once.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = x * x + 1
        >>> [op.type for op in x.all_used_ops()], y.use_empty(), x.has_one_use()
        (['elementwise_mul'], True, False)
    """
    return list(dict((id(op), op) for op, _ in _uses(self)).values())


def _uses(self):
    """(Operator, number of the operand) for each use by an operation."""
    _of_program(self, "all_used_ops")
    own = _core.program_value_key(self)
    return [
        (op, i)
        for block in _program_of(self).blocks
        for op in block.ops
        for i, source in enumerate(op.operands_source())
        if source is not None and _core.program_value_key(source) == own
    ]


def use_empty(self):
    """Whether no operation reads the variable.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> argosy.static.data("x", [2], "float32").use_empty()
        True
    """
    return not _uses(self)


def has_name(self):
    """Whether a program has given the variable its name: inputs and state have one."""
    _of_program(self, "has_name")
    return _core.program_about(self)[0] != "result"


def first_use(self):
    """The first use of the variable by an operation.

    Returns:
        OpOperand: It; its owner() is the operation.

    Raises:
        ValueError: There is none.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = argosy.tanh(x)
        >>> x.first_use().owner().type
        'tanh'
    """
    uses = _uses(self)
    if not uses:
        raise ValueError(
            "[first_use] no operation reads the variable. Do this: ask use_empty() first."
        )
    op, place = uses[0]
    return op.operand(place)


def has_one_use(self):
    """Whether it is one operand of one operation.

    Returns:
        bool: That.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = x * x
        >>> x.has_one_use()
        False
    """
    return len(_uses(self)) == 1


def replace_all_uses_with(self, value):
    """What reads this variable reads another one instead.

    Args:
        value (Variable): Of the same type, made before all that would read it.

    Raises:
        TypeError: It has another type. ValueError: It is made too late.

    Example:
        >>> argosy.enable_static()
        >>> x, y = argosy.static.data("x", [2], "float32"), argosy.static.data("y", [2], "float32")
        >>> z = argosy.exp(x)
        >>> x.replace_all_uses_with(y)
        >>> z.get_defining_op().operand_source(0).name
        'y'
    """
    _of_program(self, "replace_all_uses_with")
    _core.program_redirect_uses(_program_of(self)._handle, self, value)


def to_string(self, throw_on_error=False, with_details=False):
    """Name, shape and dtype of a variable.

    Args:
        throw_on_error (bool): Has no effect; True gives a warning.
        with_details (bool): Has no effect; True gives a warning.

    Returns:
        str: One line.

    Example:
        >>> argosy.enable_static()
        >>> "float32" in argosy.static.data("x", [2], "float32").to_string()
        True
    """
    no_effect(
        "Variable.to_string", "a value is shown in one line", throw_on_error=(throw_on_error, False),
        with_details=(with_details, False),
    )  # fmt: skip
    _of_program(self, "to_string")
    return to_text(self)


def to_text(variable):
    """A variable in one line."""
    head = "var"
    if variable.is_parameter:
        head = "persist trainable param" if variable.trainable else "persist param"
    elif variable.persistable:
        head = "persist var"
    return (
        f"{head} {variable.name} : DENSE_TENSOR.shape{tuple(variable.shape)}"
        f".dtype({dtype_name(variable.dtype)}).stop_gradient({variable.stop_gradient})"
    )


def get_value(self, scope=None):
    """The value of state of a Program in a scope.

    Args:
        scope (Scope, optional): The global one if None.

    Returns:
        DenseTensor | Tensor: The value; of an eager tensor itself.

    Raises:
        ValueError: it has none.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32")
        >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
        >>> weight.set_value(np.float32([1, 2]))
        >>> weight.get_value().numpy().tolist()
        [1.0, 2.0]
    """
    from argosy._programs.scope import DenseTensor

    return DenseTensor(value_in_scope(self, scope)) if self._symbolic else self


def value_in_scope(self, scope=None):
    """The tensor that get_value shows."""
    from argosy._programs.scope import global_scope

    value = (global_scope() if scope is None else scope)._value(self.name)
    if value is None:
        raise ValueError(
            f"[Variable.get_value] '{self.name}' is not found in the scope. Do this: run the startup"
            " program first; variables that are no state are fetched by Executor.run."
        )
    return value


def set_value(self, value, scope=None):
    """Copies a value into this tensor's memory; of state of a static Program: into its variable in a scope.

    Args:
        value (Tensor | numpy.ndarray | number): It, of the same shape and dtype; numbers and lists
            have none. Arrays carry bfloat16 as uint16.
        scope (Scope, optional): The global one if None.

    Returns:
        None.

    Raises:
        AssertionError: The shape or the dtype is another one.
        TypeError: The Program computes the variable.

    Example:
        >>> x = argosy.zeros([2])
        >>> x.set_value(np.float32([1, 2]))
        >>> x.tolist()
        [1.0, 2.0]
    """
    value = getattr(value, "_tensor", value)
    if not self._symbolic or (isinstance(value, Tensor) and value._symbolic):
        return _copy_value(self, value)
    if _core.program_about(self)[0] != "state":
        raise TypeError(
            f"[set_value] '{self.name}' is computed by the Program: expected a Parameter or other"
            " state. Do this: use assign(value, output=variable) while building."
        )
    from argosy._programs.scope import global_scope, set_state

    return set_state(self, value, global_scope() if scope is None else scope)


def _copy_value(self, value):
    value = _core.to_tensor(value, None if hasattr(value, "dtype") else self.dtype, False)
    if list(value.shape) != list(self.shape):
        raise ArgumentError(
            f"[set_value] the new value must have the tensor's shape: expected {list(self.shape)},"
            f" got {list(value.shape)}. Do this: reshape it first."
        )
    if value.dtype != self.dtype:
        name = dtype_name(self.dtype)
        raise ArgumentError(
            f"[set_value] the new value must have the tensor's dtype: expected {name}, got"
            f" {dtype_name(value.dtype)}. Do this: convert it with astype({name!r})."
        )
    self._copy_from(value)


@method
def copy_(self, other, blocking=True):
    """Copies the values of another tensor into this one.

    Args:
        other (Tensor): Of the same shape; another dtype is converted.
        blocking (bool): Has no effect; False gives a warning.

    Returns:
        Tensor: This one.

    Example:
        >>> argosy.zeros([2]).copy_(argosy.ones([2])).tolist()
        [1.0, 1.0]
    """
    if blocking is not True:
        no_effect("copy_", "copies on the CPU are done when it returns", blocking=(blocking, True))
    self.set_value(_core.to_tensor(other, self.dtype, False))
    return self


# What static.Variable has as well.
METHODS = {
    **{
        function.__name__: property(function, doc=function.__doc__)
        for function in (
            block, op, lod_level, is_data, is_parameter, grad_name, attr_names, dist_attr, append,
            has_name,
        )
    },
    **{
        function.__name__: function
        for function in (
            attr, get_defining_op, all_used_ops, first_use, use_empty, has_one_use, replace_all_uses_with,
            is_same, initialized, index, is_dense_tensor_type, is_selected_row_type,
            is_dense_tensor_array_type,
            to_string, get_value, set_value,
        )
    },
}  # fmt: skip
for _name, _value in METHODS.items():
    method(_value, _name)
