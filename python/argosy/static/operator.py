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
