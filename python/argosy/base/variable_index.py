"""Reading and writing parts of variables, as functions."""

from __future__ import annotations

from argosy.static import setitem

__all__ = []


def _getitem_static(x, indices):
    """A part of a variable.

    Args:
        x (Variable): It.
        indices (object): What stands in the brackets.

    Returns:
        Variable: ``x[indices]``.
    """
    return x[indices]


_setitem_static = setitem
