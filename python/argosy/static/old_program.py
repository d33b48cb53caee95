"""What programs ask of the description of a Program, beside what the static API has."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._support import no_effect

from .operator import Operator


class ProgramDescription:
    """What Paddle's C++ description of a Program answers. `Program.desc` gives it.

    Args:
        program (Program): It.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.tanh(argosy.static.data("x", [2], "float32"))
        >>> data = argosy.static.default_main_program().desc.serialize_to_string()
        >>> [op.type for op in argosy.static.Program.parse_from_string(data).global_block().ops]
        ['tanh']
    """

    def __init__(self, program):
        self.program = program

    def serialize_to_string(self):
        """The Program as bytes, for ``Program.parse_from_string``.

        Returns:
            bytes: They.
        """
        self.program._name_values()
        return _core.program_to_bytes(self.program._handle)

    def num_blocks(self):
        """Number of blocks.

        Returns:
            int: That.
        """
        return self.program.num_blocks

    def block(self, index):
        """A block.

        Args:
            index (int): Its number.

        Returns:
            Block: It.
        """
        return self.program.block(index)

    def _version(self):
        return 3003001


def _targets(targets):
    """The variables that are asked for by variables, their names or the operations that make them."""
    found = []
    for target in targets if isinstance(targets, (list, tuple)) else [targets]:
        if isinstance(target, Operator):
            found += target.results()
        elif isinstance(target, (Tensor, str)):
            found.append(target)
        else:
            raise ValueError(
                f"[Program._prune] targets: expected Variables or Operators, got {type(target).__name__}."
                " Do this: pass what is to be computed."
            )
    return found


class OldForms:
    """Methods of Program that programs of Paddle's own tests call."""

    @property
    def desc(self):
        """The Program as programs ask Paddle's description of it."""
        return ProgramDescription(self)

    @staticmethod
    def parse_from_string(binary_str):
        """The Program in the bytes of a .pdmodel file, as of static.deserialize_program.

        Args:
            binary_str (bytes): They.

        Returns:
            Program: It.

        Raises:
            ValueError: the bytes are something else.

        Example:
            >>> argosy.enable_static()
            >>> x = argosy.static.data("x", [2], "float32")
            >>> data = argosy.static.serialize_program([x], [x + 1])
            >>> len(argosy.static.Program.parse_from_string(data).global_block().ops)
            1
        """
        from .io import deserialize_program

        return deserialize_program(binary_str)

    def _prune(self, targets):
        """A copy that has only what targets (Variables, names, Operators) need."""
        return self._prune_with_input([], targets)

    def _prune_with_input(self, feeded_var_names, targets):
        """The same, where variables of these names are given, so that what makes them is left out."""
        names = [feeded_var_names] if isinstance(feeded_var_names, str) else list(feeded_var_names)
        for name in names:
            if not isinstance(name, str):
                raise ValueError(
                    f"[Program._prune_with_input] feeded_var_names: expected strings, got"
                    f" {type(name).__name__}. Do this: pass names of variables."
                )
        block = self.global_block()
        wanted = [block.var(t) if isinstance(t, str) else t for t in _targets(targets)]
        given = [block.var(name) for name in names]
        keys = {_core.program_value_key(v) for v in given}
        given += [
            v for v in _core.program_inputs(self._handle) if _core.program_value_key(v) not in keys
        ]
        self._name_values()
        handle, _ = _core.program_extract(self._handle, given, wanted, False)
        return self._copy(handle)

    def _version(self):
        """The version that files of the Program name."""
        return self.desc._version()

    _is_distributed = False  # whether rows of its tables are spread over servers

    def _inference_optimize(self, prune_read_op=True):
        """A copy for evaluation; operations that read files are never part of a Program."""
        no_effect(
            "Program._inference_optimize", "no operation of a Program reads files",
            prune_read_op=(prune_read_op, True),
        )  # fmt: skip
        return self.clone(for_test=True)


class OldBlockForms:
    """The same of Block."""

    forward_block_idx = -1  # no block holds gradients of another one

    @property
    def id(self):
        """Its number."""
        return self.idx

    def op_size(self):
        """Number of operations.

        Returns:
            int: That.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.exp(argosy.tanh(argosy.static.data("x", [2], "float32")))
            >>> block = argosy.static.default_main_program().global_block()
            >>> block.op_size()
            2
        """
        return len(self.ops)

    def op(self, index):
        """An operation.

        Args:
            index (int): Its place.

        Returns:
            Operator: It.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.exp(argosy.tanh(argosy.static.data("x", [2], "float32")))
            >>> block = argosy.static.default_main_program().global_block()
            >>> block.op(1).type
            'exp'
        """
        return self.ops[index]

    def front(self):
        """The first operation.

        Returns:
            Operator: It.

        Raises:
            IndexError: There is none.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.exp(argosy.tanh(argosy.static.data("x", [2], "float32")))
            >>> block = argosy.static.default_main_program().global_block()
            >>> block.front().type
            'tanh'
        """
        return self._end(0)

    def back(self):
        """The last operation.

        Returns:
            Operator: It.

        Raises:
            IndexError: There is none.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.exp(argosy.tanh(argosy.static.data("x", [2], "float32")))
            >>> block = argosy.static.default_main_program().global_block()
            >>> block.back().type
            'exp'
        """
        return self._end(-1)

    def _end(self, index):
        if not self.ops:
            raise IndexError("[Block] there is no operation in it. Do this: append one first.")
        return self.ops[index]

    def _find_var_recursive(self, name):
        """The variable of a name in this block or in those around it; None if there is none."""
        blocks = [self, *(self.program.block(i) for i in self._around())]
        found = [block.var(name) for block in blocks if block.has_var(name)]
        return found[0] if found else None

    def _var_recursive(self, name):
        """The same, which raises ValueError if there is none."""
        found = self._find_var_recursive(name)
        if found is None:
            raise ValueError(
                f"[Block._var_recursive] var {name} is not in this block nor in those around it. Do this:"
                " check the name; str(program) lists them."
            )
        return found

    def _around(self):
        index = self.parent_idx
        while index >= 0:
            yield index
            index = self.program.block(index).parent_idx

    def _insert_op(self, index, *args, **kwargs):
        """Adds an operation as append_op does, at a place of the block."""
        op = self.append_op(*args, **kwargs)
        self.move_op(op, index)
        return self.ops[index]

    def _prepend_op(self, *args, **kwargs):
        """Adds an operation as append_op does, before all others."""
        return self._insert_op(len(self._inputs()), *args, **kwargs)

    def _rename_var(self, name, new_name):
        """Gives a variable another name."""
        variable = self.var(name)
        if name in self.program._all_states():
            raise NotImplementedError(
                f"[Block._rename_var] '{name}' is state, which scopes and files know by its name. Do this:"
                " name it when it is made (ParamAttr)."
            )
        variable.name = new_name
        self.program._described = (None, None)
        return variable
