"""What changes a variable by making another one."""

from __future__ import annotations


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
