"""Kinds of attributes of operations."""

from __future__ import annotations

import enum

from argosy import _core

__all__ = ["AttrType"]

# Dtypes by the numbers that attributes of Paddle's operations give them.
DTYPES = {
    0: _core.bool, 1: _core.int16, 2: _core.int32, 3: _core.int64, 4: _core.float16, 5: _core.float32,
    6: _core.float64, 20: _core.uint8, 21: _core.int8, 22: _core.bfloat16, 23: _core.complex64,
    24: _core.complex128,
}  # fmt: skip


class AttrType(enum.IntEnum):
    """What an attribute of an operation is; the numbers are those of Paddle's files."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOL = 6
    BOOLS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11
    FLOAT64S = 12
    VAR = 13
    VARS = 14
    FLOAT64 = 15
    SCALAR = 16
    SCALARS = 17


_LEAST_LONG = 2**31
# The kind of one value, and of a list of such.
_KINDS = (
    (bool, AttrType.BOOL, AttrType.BOOLS),
    (int, AttrType.INT, AttrType.INTS),
    (float, AttrType.FLOAT, AttrType.FLOATS),
)


def attr_type_of(value):
    """The kind of a value; an empty list is one of ints.

    Args:
        value: a bool, a number, a text, or a list of these.

    Returns:
        AttrType.

    Examples:
        >>> argosy.static.attr_types.attr_type_of([1, 2]).name
        'INTS'
    """
    listed = isinstance(value, (list, tuple))
    values = list(value) if listed else [value]
    if any(type(v) is int and not -_LEAST_LONG <= v < _LEAST_LONG for v in values):
        return AttrType.LONGS if listed else AttrType.LONG
    for kind, one, many in _KINDS:
        if all(isinstance(v, kind) for v in values):
            return many if listed else one
    return AttrType.STRINGS if listed else AttrType.STRING
