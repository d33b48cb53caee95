"""Where functions that make tensors beside those they are given make them."""

import functools

from argosy import _core
from argosy._core import Tensor


def operand_of(values):
    """The first tensor of some arguments, or of a list or object with an `_operand` among them; None if there is
    none."""
    for value in values:
        if isinstance(value, (list, tuple)):
            value = next((v for v in value if isinstance(v, Tensor)), None)
        elif not isinstance(value, Tensor):
            value = getattr(value, "_operand", None)
        if isinstance(value, Tensor):
            return value
    return None


def call_beside(operand, function, *args, **kwargs):
    """function(*args, **kwargs), where what is made without a place is made on that of `operand`: a value of a
    Program, which is wherever that runs, and None change nothing."""
    from argosy.device.place import CPUPlace, current

    before = current.place
    place = before if operand is None or operand._symbolic else operand.place
    if place == before:
        return function(*args, **kwargs)
    if place.is_cuda_pinned_place():
        place = CPUPlace()
    _core.set_place(place)
    current.place = place
    try:
        return function(*args, **kwargs)
    finally:
        _core.set_place(before)
        current.place = before


def beside(function):
    """Decorator of a function that makes tensors (zeros, numbers of rows, ..) to compute with those it is given:
    they are made on the place of the first of these, whatever the caller's is. Without a device in the process
    it does nothing."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not _core.devices():
            return function(*args, **kwargs)
        operand = operand_of(args)
        if operand is None and kwargs:
            operand = operand_of(kwargs.values())
        return call_beside(operand, function, *args, **kwargs)

    return wrapper


def zeros_beside(given, shape, dtype):
    """Zeros on the place of a tensor, or of the first in a list."""
    operand = operand_of([given]) if _core.devices() else None
    return call_beside(operand, _core.ops.full, list(shape), 0.0, dtype)
