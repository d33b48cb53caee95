"""What changes a variable by making another one."""

from __future__ import annotations


def setitem(x, index, value):
    """x with x[index] set to value, as a new variable: what `x[index] = value` does to x itself.

    Args:
        x (Variable | Tensor): any dtype.
        index: What may stand between the brackets.
        value (Variable | Tensor | float | ndarray): Broadcasts to what is set.

    Returns:
        Variable | Tensor: It.

    Example:
        >>> x = argosy.zeros([3])
        >>> argosy.static.setitem(x, 1, 5.0).tolist(), x.tolist()
        ([0.0, 5.0, 0.0], [0.0, 0.0, 0.0])
    """
    found = x.clone()
    found[index] = value
    return found
