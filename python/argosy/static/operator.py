"""One operation of a Program, as the static API shows it."""

from __future__ import annotations

import ast

from argosy import _core
from argosy._support import no_effect

from . import names
from .attr_types import attr_type_of

__all__ = []


def _check_details(owner, throw_on_error, with_details):
    no_effect(
        f"{owner}.to_string", "there is one form of the text, and no part can be missing",
        throw_on_error=(throw_on_error, False), with_details=(with_details, False),
    )  # fmt: skip


class Operator:
    """One operation of a Block, under the names that Paddle gives types and operands. `Block.ops` has them.

    Args:
        block (Block): Whose.
        described (dict): What the core says of it.
        index (int): Its number in the block.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.nn.functional.softmax(x, axis=1)
        >>> (op,) = argosy.static.default_main_program().global_block().ops
        >>> op.type, op.name(), op.id()
        ('softmax', 'pd_op.softmax', 0)
        >>> op.input("X"), op.output("Out") == [y.name], op.attr("axis"), op.has_attr("beta")
        (['x'], True, 1, False)
        >>> op.attr_type("axis").name
        'INT'
        >>> op.num_operands(), op.num_results(), op.attrs() == op.all_attrs()
        (1, 1, True)
        >>> op.operand_source(0).name, op.operands_source()[0].name, op.get_parent_block().idx
        ('x', 'x', 0)
        >>> op.operand(0).index() == op.operands()[0].index() == 0
        True
        >>> op.result(0).name == op.results()[0].name == y.name
        True
        >>> op.get_input_names(), op.get_output_names(), op.blocks()
        (['x'], ['out'], [])
        >>> op.set_bool_attr("seen", True)
        >>> "seen" in op.get_attr_names(), callable(op.as_if_op), callable(op.as_while_op)
        (True, True, True)
        >>> "softmax" in op.to_string()
        True
        >>> z = argosy.exp(y)
        >>> op.replace_all_uses_with([x])
        >>> z.get_defining_op().operand_source(0).name
        'x'
    """

    def __init__(self, block, described, index):
        self.block = block
        self.idx = index
        self._described = described
        self._inputs = names.shown(described["type"], described["inputs"])
        self._outputs = names.shown(described["type"], described["outputs"])

    @property
    def type(self):
        """Name of what it computes."""
        return names.type_of(self._described)

    def name(self):
        """The operation's own name.

        Returns:
            str: As 'pd_op.matmul'.
        """
        return "pd_op." + self._described["type"]

    def _key(self):
        """What tells operations apart."""
        results = self.results()
        if results:
            return _core.program_value_key(results[0])
        return id(self.block.program), self.block.idx, self.idx

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, Operator) else NotImplemented

    def __hash__(self):
        return hash(self._key())

    def get_input_names(self):
        """The operation's own names of its operands.

        Returns:
            list[str]: As ['x', 'y'].
        """
        return [name for name, values in self._described["inputs"].items() if values]

    def get_output_names(self):
        """The operation's own names of its results.

        Returns:
            list[str]: As ['out'].
        """
        return list(self._described["outputs"])

    def get_attr_names(self):
        """Names of the attributes that say what it computes, and of those that were set.

        Returns:
            list[str]: Names for :meth:`attrs`.
        """
        return [*self._described["attrs"], *self._remarks()]

    def _remarks(self):
        """Attributes that programs set: they are kept and have no effect."""
        return self.block.program._remarks.get(self._key(), {})

    def _remark(self, name, value):
        if name in self._described["attrs"] or name in ("op_role", "is_test"):
            raise NotImplementedError(
                f"[Operator] attribute '{name}' of '{self.type}' says what is computed, which stays as it"
                " was built. Do this: append another operation, and let what reads this one read that."
            )
        self.block.program._remarks.setdefault(self._key(), {})[name] = value

    def _set_attr(self, name, value):
        """Keeps an attribute that has no effect on what is computed, e.g. a remark of a pass.

        Args:
            name (str): Its name.
            value (object): What it is.

        Raises:
            NotImplementedError: it has one.
        """
        self._remark(name, value)

    set_bool_attr = set_int_attr = set_str_attr = set_float_attr = _set_attr
    set_int_array_attr = set_str_array_attr = _set_attr

    def blocks(self):
        """The blocks of a choice or a loop.

        Returns:
            list[Block]: In order; none for other operations.
        """
        number = self.block.idx + 1
        for earlier in self.block._fresh()["operations"][: self._place()]:
            number += sum(map(_count_blocks, earlier["blocks"]))
        found = []
        for described in self._described["blocks"]:
            found.append(type(self.block)(self.block.program, number, self.block.idx, described))
            number += _count_blocks(described)
        return found

    def _place(self):
        """Its number among the operations that compute."""
        return self.idx - len(self.block._inputs())

    def as_if_op(self):
        """A choice, as such.

        Returns:
            IfOp: With its condition and its blocks.

        Raises:
            TypeError: It is none.
        """
        return IfOp(self)

    def as_while_op(self):
        """A loop, as such.

        Returns:
            WhileOp: With its block.

        Raises:
            TypeError: It is none.
        """
        return WhileOp(self)

    def id(self):
        """Its number in the Program.

        Returns:
            int: Counting through all blocks.
        """
        return sum(len(b.ops) for b in self.block.program.blocks[: self.block.idx]) + self.idx

    def results(self):
        """The variables it makes.

        Returns:
            list[Variable]: All of them.
        """
        return [v for group in self._described["outputs"].values() for v in group]

    def result(self, index):
        """One of the variables it makes.

        Args:
            index (int): Its number.

        Returns:
            Variable: It.
        """
        return self.results()[index]

    def operands_source(self):
        """The variables it reads.

        Returns:
            list[Variable]: All of them.
        """
        return [v for group in self._described["inputs"].values() for v in group]

    def operand_source(self, index):
        """One of the variables it reads.

        Args:
            index (int): Its number.

        Returns:
            Variable: It.
        """
        return self.operands_source()[index]

    def operands(self):
        """The uses of variables that it reads.

        Returns:
            list[OpOperand]: All of them.
        """
        return [OpOperand(self, i) for i in range(self.num_operands())]

    def operand(self, index):
        """One use of a variable that it reads.

        Args:
            index (int): Its number.

        Returns:
            OpOperand: It.
        """
        return self.operands()[index]

    def get_parent_block(self):
        """The block it stands in.

        Returns:
            Block: It.
        """
        return self.block

    def replace_all_uses_with(self, values):
        """What reads its results reads others instead.

        Args:
            values (list[Variable]): One for each result, of its type.

        Raises:
            ValueError: Another number of them, or one that is made too late.
            TypeError: One of another type.
        """
        results = self.results()
        if len(values) != len(results):
            raise ValueError(
                f"[Operator.replace_all_uses_with] '{self.name()}' has {len(results)} results, got"
                f" {len(values)} values. Do this: pass one for each."
            )
        for old, new in zip(results, values):
            _core.program_redirect_uses(self.block.program._handle, old, new)

    def _handle(self):
        """A result, which names the operation to the core."""
        results = self.results()
        if not results:
            raise NotImplementedError(
                f"[Operator] '{self.name()}' makes nothing, and such operations stay where they are."
                " Do this: build the Program without it."
            )
        return results[0]

    def erase(self):
        """Takes the operation out of its block.

        Raises:
            ValueError: Somebody uses a result.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.tanh(argosy.static.data("x", [2], "float32"))
            >>> y.get_defining_op().erase()
            >>> argosy.static.default_main_program().num_ops()
            0
        """
        self.get_parent_block().remove_op(self)

    def num_operands(self):
        """How many variables it reads.

        Returns:
            int: That.
        """
        return len(self.operands_source())

    def num_results(self):
        """How many variables it makes.

        Returns:
            int: That.
        """
        return len(self.results())

    def attrs(self):
        """The attributes.

        Returns:
            dict: Values by name.
        """
        return self.all_attrs()

    @property
    def input_names(self):
        """Names of the operands."""
        return list(self._inputs)

    @property
    def output_names(self):
        """Names of the results."""
        return list(self._outputs)

    def input(self, name):
        """Names of the variables that are an operand.

        Args:
            name (str): What Paddle calls it.

        Returns:
            list[str]: One for each variable.
        """
        return [v.name for v in self._get(self._inputs, name, "input")]

    def output(self, name):
        """Names of the variables that are a result.

        Args:
            name (str): What Paddle calls it.

        Returns:
            list[str]: One for each variable.
        """
        return [v.name for v in self._get(self._outputs, name, "output")]

    def _get(self, table, name, what):
        if name not in table:
            raise ValueError(
                f"[Operator.{what}] '{self.type}' has no {what} '{name}': it has {list(table)}."
                " Do this: use one of these."
            )
        return [v for v in table[name] if v is not None]

    @property
    def input_arg_names(self):
        """Names of all variables it reads."""
        return [v.name for group in self._inputs.values() for v in group if v is not None]

    @property
    def output_arg_names(self):
        """Names of all variables it makes."""
        return [v.name for group in self._outputs.values() for v in group if v is not None]

    def all_attrs(self):
        """The attributes.

        Returns:
            dict: Values by name.
        """
        values = {}
        for key, text in self._described["attrs"].items():
            try:
                values[key] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                values[key] = text
        values.update(self._remarks())
        values["op_role"] = self._described["role"]
        if "training" in values or "batch_stats" in values:
            values["is_test"] = not values.get("training", values.get("batch_stats"))
        return values

    @property
    def attr_names(self):
        """Names of the attributes."""
        return list(self.all_attrs())

    def has_attr(self, name):
        """Whether there is an attribute.

        Args:
            name (str): Its name.

        Returns:
            bool: That.
        """
        return name in self.all_attrs()

    def attr_type(self, name):
        """The kind of an attribute.

        Args:
            name (str): Its name.

        Returns:
            AttrType: The kind.

        Raises:
            ValueError: there is none.
        """
        return attr_type_of(self.attr(name))

    def attr(self, name):
        """The value of an attribute.

        Args:
            name (str): Its name.

        Returns:
            The value.

        Raises:
            ValueError: there is none.
        """
        values = self.all_attrs()
        if name not in values:
            raise ValueError(
                f"[Operator.attr] '{self.type}' has no attribute '{name}': it has {list(values)}."
                " Do this: use one of these."
            )
        return values[name]

    @property
    def callstack(self):
        """The line of the user's program that made it, 'file.py:12'."""
        return self._described["location"]

    @property
    def desc(self):
        """The operation as programs ask Paddle's description of it."""
        return OperatorDescription(self)

    def to_string(self, throw_on_error=False):
        """The operation for people.

        Args:
            throw_on_error (bool): Has no effect; True gives a warning.

        Returns:
            str: One line.
        """
        _check_details("Operator", throw_on_error, False)

        def group(table):
            parts = (
                f"{k}={[v.name for v in values if v is not None]}" for k, values in table.items()
            )
            return ", ".join(parts)

        attrs = ", ".join(f"{k} = {v}" for k, v in self.all_attrs().items())
        inputs = f"inputs={{{group(self._inputs)}}}"
        return f"{{{group(self._outputs)}}} = {self.type}({inputs}, {attrs})"

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


def _count_blocks(described):
    """A described block and those inside of it."""
    return 1 + sum(_count_blocks(b) for o in described["operations"] for b in o["blocks"])


class InputOperation(Operator):
    """An input or a state of a Program, shown as an operation that reads nothing.

    Args:
        block (Block): The outermost.
        value (Variable): The input or state.
        index (int): Its number in the block.

    Example:
        >>> with argosy.pir_utils.IrGuard():
        ...     program = argosy.static.Program()
        ...     with argosy.static.program_guard(program):
        ...         x = argosy.static.data("x", [2], "float32")
        ...         y = argosy.exp(x)
        ...     [op.name() for op in program.global_block().ops], x.get_defining_op().attrs()["name"]
        (['pd_op.data', 'pd_op.exp'], 'x')
    """

    def __init__(self, block, value, index):
        kind = "data" if value.is_data else "parameter"
        of_name = "name" if kind == "data" else "parameter_name"
        attrs = {of_name: repr(value.name)}
        if kind == "data":
            attrs.update(shape=repr(list(value.shape)), dtype=str(value.dtype))
        described = {
            "type": kind, "inputs": {}, "outputs": {"out": [value]}, "attrs": attrs, "role": 0,
            "blocks": [], "location": "",
        }  # fmt: skip
        super().__init__(block, described, index)

    def name(self):
        """The operation's own name.

        Returns:
            str: 'pd_op.data' or 'builtin.parameter'.
        """
        return "pd_op.data" if self._described["type"] == "data" else "builtin.parameter"

    def _handle(self):
        raise NotImplementedError(
            f"[Operator] '{self.name()}' is an input or state of the Program, which stays where it is. Do"
            " this: build the Program without it."
        )


class _OfKind:
    """A choice or a loop."""

    def __init__(self, operator):
        if operator._described["type"] != self._kind:
            raise TypeError(
                f"[Operator] '{operator.name()}' is no '{self._kind}'. Do this: ask op.name() first."
            )
        self._operator = operator

    def as_operation(self):
        """The operation.

        Returns:
            Operator: It.
        """
        return self._operator

    def cond(self):
        """What decides.

        Returns:
            Variable: One bool, when the operation begins.
        """
        return self._operator.operand_source(0)

    def results(self):
        """The variables it makes.

        Returns:
            list[Variable]: All of them.
        """
        return self._operator.results()

    def name(self):
        """The operation's own name.

        Returns:
            str: It.
        """
        return self._operator.name()


class IfOp(_OfKind):
    """A choice between two blocks. `Operator.as_if_op` gives it.

    Args:
        operator (Operator): An 'if'.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1], "float32")
        >>> y = argosy.static.nn.cond(x.sum() > 0, lambda: argosy.exp(x), lambda: argosy.tanh(x))
        >>> choice = y.get_defining_op().as_if_op()
        >>> [op.type for op in choice.true_block().ops], [op.type for op in choice.false_block().ops]
        (['exp'], ['tanh'])
    """

    _kind = "if"

    def true_block(self):
        """What is done where the condition holds.

        Returns:
            Block: It.
        """
        return self._operator.blocks()[0]

    def false_block(self):
        """What is done elsewhere.

        Returns:
            Block: It.
        """
        return self._operator.blocks()[1]


class WhileOp(_OfKind):
    """A loop. `Operator.as_while_op` gives it.

    Args:
        operator (Operator): A 'while'.

    Example:
        >>> argosy.enable_static()
        >>> i = argosy.full([1], 0, "int64")
        >>> (i,) = argosy.static.nn.while_loop(lambda i: i < 3, lambda i: [i + 1], [i])
        >>> "elementwise_add" in [op.type for op in i.get_defining_op().as_while_op().body().ops]
        True
    """

    _kind = "while"

    def body(self):
        """What is done each time.

        Returns:
            Block: It.
        """
        return self._operator.blocks()[-1]


class OpOperand:
    """The use of a variable by an operation. `Operator.operands` gives them.

    Args:
        owner (Operator): Which operation.
        index (int): Which of its operands.

    Example:
        >>> argosy.enable_static()
        >>> x, y = argosy.static.data("x", [2], "float32"), argosy.static.data("y", [2], "float32")
        >>> z = argosy.exp(x)
        >>> operand = z.get_defining_op().operand(0)
        >>> operand.index(), operand.owner().type, operand.source().name
        (0, 'exp', 'x')
        >>> operand.set_source(y)
        >>> z.get_defining_op().operand_source(0).name
        'y'
    """

    def __init__(self, owner, index):
        self._owner = owner
        self._index = index

    def index(self):
        """Its number among the operands.

        Returns:
            int: From 0.
        """
        return self._index

    def owner(self):
        """The operation.

        Returns:
            Operator: It.
        """
        return self._owner

    def source(self):
        """The variable.

        Returns:
            Variable: It.
        """
        return self._owner.operand_source(self._index)

    def set_source(self, value):
        """Lets the operation read another variable there.

        Args:
            value (Variable): Of the same type, made before the operation.

        Raises:
            TypeError: It has another type. ValueError: It is made too late.
        """
        owner = self._owner
        handle = owner.block.program._handle
        _core.program_set_operand(handle, owner._handle(), self._index, value)


class OperatorDescription:
    """What Paddle's C++ description of an operation answers.

    Args:
        operator (Operator): It.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.nn.functional.relu(argosy.static.data("x", [2], "float32"))
        >>> description = argosy.static.default_main_program().global_block().ops[-1].desc
        >>> description.type(), description.input_names(), description.input("X")
        ('relu', ['X'], ['x'])
    """

    def __init__(self, operator):
        self._operator = operator
        self.input, self.output = operator.input, operator.output
        self.attr, self.has_attr, self.attr_type = (
            operator.attr,
            operator.has_attr,
            operator.attr_type,
        )

    def type(self):
        """Name of what it computes."""
        return self._operator.type

    def id(self):
        """Its number in the Program."""
        return self._operator.id()

    def input_names(self):
        """Names of the operands."""
        return self._operator.input_names

    def output_names(self):
        """Names of the results."""
        return self._operator.output_names

    def input_arg_names(self):
        """Names of all variables it reads."""
        return self._operator.input_arg_names

    def output_arg_names(self):
        """Names of all variables it makes."""
        return self._operator.output_arg_names

    def attr_names(self):
        """Names of the attributes."""
        return self._operator.attr_names

    def infer_shape(self, block):
        """Nothing is left to do: shapes were inferred when the operation was appended to that block."""
        self._check(block)

    def infer_var_type(self, block):
        """Nothing is left to do: dtypes were inferred when the operation was appended to that block."""
        self._check(block)

    def _check(self, block):
        own = self._operator.block
        if (block.program, block.idx) != (own.program, own.idx):
            raise ValueError(
                f"[Operator.desc] '{self.type()}' stands in another block: expected block {own.idx} of its"
                f" Program, got block {block.idx} of {'it' if block.program is own.program else 'another one'}."
                " Do this: pass operator.block.desc."
            )

    def check_attrs(self):
        """Nothing is left to do: attributes were checked when the operation was appended."""
