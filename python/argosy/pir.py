"""Programs and their parts under the names of Paddle's intermediate representation."""

from __future__ import annotations

from argosy.base.parameter import Variable as Value
from argosy.static import Block, Program
from argosy.static.ir_mapping import IrMapping
from argosy.static.operator import OpOperand
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


fake_value = None
__all__ = [
    "Block",
    "IrMapping",
    "OpOperand",
    "Operation",
    "Program",
    "Value",
    "fake_value",
    "is_fake_value",
]
