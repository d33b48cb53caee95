"""Where in a Program operations are put that calls add: at the end unless an insertion point says otherwise.

The core appends operations. Those that came after a point was set are moved there as soon as somebody looks
at the Program (`settle`); what is computed does not depend on when that happens.
"""

from __future__ import annotations

from argosy import _core

from . import mode
from .operator import Operator


class InsertionPoint:
    """A place between operations of a Program's outermost block.

    Args:
        program (Program): Whose.
        anchor (object | None): The key of a value; the place is before the operation that makes it, or behind it.
        behind (bool): Which of the two. Without an anchor: the end if True, else the start.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> z = argosy.exp(argosy.tanh(x))
        >>> argosy.pir.set_insertion_point(z.get_defining_op())
        >>> type(argosy.pir.get_current_insertion_point()).__name__
        'InsertionPoint'
        >>> y = argosy.sin(x)
        >>> argosy.pir.reset_insertion_point_to_end()
        >>> [op.type for op in argosy.static.default_main_program().global_block().ops]
        ['tanh', 'sin', 'exp']
    """

    def __init__(self, program, anchor, behind):
        self._program, self._anchor, self._behind = program, anchor, behind
        self._first = _count(program)  # number of the first operation that is to be moved
        self._moved = 0

    def block(self):
        """The block.

        Returns:
            Block: The outermost.
        """
        return self._program.global_block()

    def settle(self):
        """Moves the operations that came since to the place."""
        found = _core.program_describe(self._program._handle)
        operations = found["operations"]
        new = operations[self._first + self._moved :]
        if not new or (self._anchor is None and self._behind):
            return
        place = self._place(operations)
        passed = operations[place : self._first + self._moved]
        self._first += len(new)  # what is refused stays at the end
        _check_state(found["states"], new, passed)
        self._first -= len(new)
        for operation in new:
            if not operation["results"]:
                raise NotImplementedError(
                    f"[set_insertion_point] '{operation['type']}' makes nothing, and such operations stand"
                    " at the end. Do this: reset the insertion point to the end before it is added."
                )
            _core.program_move_operation(self._program._handle, operation["results"][0], place)
            self._moved += 1
            place += 1

    def _place(self, operations):
        if self._anchor is None:
            return self._moved
        for number, operation in enumerate(operations):
            if any(_core.program_value_key(v) == self._anchor for v in operation["results"]):
                return number + 1 + self._moved if self._behind else number
        raise ValueError(
            "[set_insertion_point] the operation of the insertion point is no longer in its Program. Do this:"
            " reset the insertion point before the operation is removed."
        )


def _check_state(states, new, passed):
    """Refuses to put a write of state before operations that have read the state as it was."""
    made = {_core.program_value_key(v) for operation in new for v in operation["results"]}
    for state in states:
        if state["last"] is None or _core.program_value_key(state["last"]) not in made:
            continue
        initial = _core.program_value_key(state["initial"])
        for operation in passed:
            if any(
                v is not None and _core.program_value_key(v) == initial
                for values in operation["inputs"].values()
                for v in values
            ):
                raise NotImplementedError(
                    f"[set_insertion_point] '{state['name']}' is written, and '{operation['type']}', which"
                    " stands behind the insertion point, reads it as it was before. It stays at the"
                    " end. Do this: write it before it is read, or reset the insertion point to the end."
                )


def _count(program):
    return len(_core.program_describe(program._handle)["operations"])


def settle(program):
    """Moves operations of a Program to its insertion point, if it has one."""
    if program._insertion is not None:
        program._insertion.settle()


def _set(program, anchor, behind):
    settle(program)
    program._insertion = InsertionPoint(program, anchor, behind)


def _anchor(who, operation):
    if not isinstance(operation, Operator):
        raise TypeError(
            f"[{who}] op: expected an Operation, got {type(operation).__name__}. Do this: pass"
            " variable.get_defining_op()."
        )
    if operation.block.idx != 0:
        raise NotImplementedError(
            f"[{who}] '{operation.name()}' stands in a branch or a loop, whose operations are added while it"
            " is built. Do this: choose an operation of the outermost block."
        )
    return operation.block.program, _core.program_value_key(operation._handle())


def set_insertion_point(op):
    """What is added from now on stands before an operation, in the order of the calls.

    Args:
        op (Operation | InsertionPoint): The operation, of the outermost block; or a place that
            :func:`get_current_insertion_point` gave.

    Raises:
        NotImplementedError: The operation makes nothing or stands in a branch or a loop.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = argosy.tanh(x)
        >>> argosy.pir.set_insertion_point(y.get_defining_op())
        >>> z = argosy.sin(x)
        >>> [op.type for op in argosy.static.default_main_program().global_block().ops]
        ['sin', 'tanh']
    """
    if isinstance(op, InsertionPoint):
        _set(op._program, op._anchor, op._behind)
    else:
        _set(*_anchor("set_insertion_point", op), False)


def set_insertion_point_after(op):
    """What is added from now on stands behind an operation, in the order of the calls.

    Args:
        op (Operation): It, of the outermost block.

    Raises:
        NotImplementedError: The operation makes nothing or stands in a branch or a loop.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.tanh(argosy.static.data("x", [2], "float32"))
        >>> z = argosy.exp(y)
        >>> argosy.pir.set_insertion_point_after(y.get_defining_op())
        >>> a, b = argosy.sin(y), argosy.cos(y)
        >>> [op.type for op in argosy.static.default_main_program().global_block().ops]
        ['tanh', 'sin', 'cos', 'exp']
    """
    _set(*_anchor("set_insertion_point_after", op), True)


def set_insertion_point_to_block_end(block):
    """What is added from now on stands at the end of a block.

    Args:
        block (Block): The outermost of a Program.

    Raises:
        NotImplementedError: It is another one.

    Example:
        >>> argosy.enable_static()
        >>> block = argosy.static.default_main_program().global_block()
        >>> argosy.pir.set_insertion_point_to_block_end(block)
    """
    if block.idx != 0:
        raise NotImplementedError(
            "[set_insertion_point_to_block_end] operations of branches and loops are added while these are"
            " built. Do this: pass program.global_block()."
        )
    _set(block.program, None, True)


def reset_insertion_point_to_start():
    """What is added to the default main Program from now on stands before all that it has.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = argosy.tanh(x)
        >>> argosy.pir.reset_insertion_point_to_start()
        >>> z = argosy.sin(x)
        >>> [op.type for op in argosy.static.default_main_program().global_block().ops]
        ['sin', 'tanh']
    """
    _set(mode.default_main_program(), None, False)


def reset_insertion_point_to_end():
    """What is added to the default main Program from now on stands at its end.

    Example:
        >>> argosy.enable_static()
        >>> argosy.pir.reset_insertion_point_to_end()
    """
    program = mode.default_main_program()
    settle(program)
    program._insertion = None


def get_current_insertion_point():
    """Where calls add operations to the default main Program.

    Returns:
        InsertionPoint: For :func:`set_insertion_point`.

    Example:
        >>> argosy.enable_static()
        >>> argosy.pir.get_current_insertion_point().block().idx
        0
    """
    program = mode.default_main_program()
    settle(program)
    return program._insertion or InsertionPoint(program, None, True)
