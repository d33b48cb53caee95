"""Programs and their parts under the names of Paddle's intermediate representation."""

from __future__ import annotations

from argosy.base.parameter import Variable as Value
from argosy.static import Block, Program
from argosy.static.insertion import (
    get_current_insertion_point,
    reset_insertion_point_to_end,
    reset_insertion_point_to_start,
    set_insertion_point,
    set_insertion_point_after,
    set_insertion_point_to_block_end,
)
from argosy.static.ir_mapping import IrMapping
from argosy.static.operator import OpOperand
from argosy.static.pass_manager import PassManager
from argosy.static.program import Operator as Operation


def is_fake_value(value):
    """Whether something is no value.

    Args:
        value (Variable | None): It.

    Returns:
        bool: True for None.

    Example:
        >>> argosy.pir.is_fake_value(None)
        True
    """
    return value is None


def translate_to_pir(program):
    """The Program of values that stands for one of named variables: itself, as there is one kind here.

    Args:
        program (Program): It, or its ``desc``.

    Returns:
        Program: A copy.

    Raises:
        TypeError: It is none.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.tanh(argosy.static.data("x", [2], "float32"))
        >>> copy = argosy.pir.translate_to_pir(argosy.static.default_main_program().desc)
        >>> [op.name() for op in copy.global_block().ops]
        ['pd_op.tanh']
    """
    program = getattr(program, "program", program)
    if not isinstance(program, Program):
        raise TypeError(
            f"[translate_to_pir] program: expected a Program, got {type(program).__name__}. Do this: pass"
            " program.desc."
        )
    return program.clone()


def fake_value():
    """What stands for a gradient that there is none of.

    Returns:
        None: It is no value.

    Example:
        >>> argosy.pir.is_fake_value(argosy.pir.fake_value())
        True
    """


__all__ = [
    "Block",
    "IrMapping",
    "OpOperand",
    "Operation",
    "PassManager",
    "Program",
    "Value",
    "fake_value",
    "get_current_insertion_point",
    "is_fake_value",
    "reset_insertion_point_to_end",
    "reset_insertion_point_to_start",
    "set_insertion_point",
    "set_insertion_point_after",
    "set_insertion_point_to_block_end",
    "translate_to_pir",
]
