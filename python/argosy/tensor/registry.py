"""Marks hand-written functions that are Tensor methods too."""

METHODS = {}


def method(function, name=None):
    """Decorator: makes the function a method of Tensor under its own (or the given) name."""
    METHODS[name or function.__name__] = function
    return function
