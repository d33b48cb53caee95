"""What `for` can walk in a loop of the Program: range, tensors, zip, enumerate, reversed."""

import builtins

from ..errors import CaptureError
from . import builders
from .arrays import TensorList

# A tensor of known length up to this is unrolled.
UNROLL_LIMIT = 16


class SymbolicIterable:
    """`length` elements; item(i) is one of them for an index that is a value of the Program."""

    what = "range"

    def __init__(self, length, item):
        self.length, self.item = length, item

    def __iter__(self):
        raise CaptureError(
            f"{self.what} over values of a Program is iterated outside a `for` statement. "
            "Do this: write the loop as a `for` statement in a captured function."
        )

    def __len__(self):
        raise CaptureError("len() of a sequence whose length a Program decides")


def needs_loop(x):
    """Can x only be walked by a loop of the Program?"""
    if isinstance(x, (SymbolicIterable, TensorList)):
        return True
    if not builders.is_symbolic(x):
        return False
    shape = x.shape
    return len(shape) > 0 and (shape[0] < 0 or shape[0] > UNROLL_LIMIT)


def as_symbolic(x):
    """x as a SymbolicIterable, or None if Python walks it."""
    if isinstance(x, SymbolicIterable):
        return x
    if not needs_loop(x):
        return None
    if isinstance(x, TensorList):
        return SymbolicIterable(x.length(), x.read)
    n = x.shape[0]
    length = builders.size(x, 0) if n < 0 else builders.constant(n, builders.number_dtype(0))
    return SymbolicIterable(length, lambda i: builders.item(x, i))


def _indexable(x, what):
    """Like as_symbolic, for a partner of something that needs a loop."""
    if not needs_loop(x) and builders.is_tensor(x):
        n = builders.constant(x.shape[0], builders.number_dtype(0))
        return SymbolicIterable(n, lambda i: builders.item(x, i))
    if isinstance(x, builtins.range):
        n = builders.constant(len(x), builders.number_dtype(0))
        return SymbolicIterable(n, lambda i: x.start + i * x.step)
    found = as_symbolic(x)
    if found is None:
        raise CaptureError(
            f"{what} walks a {type(x).__name__} beside a tensor whose length a Program decides. "
            "Do this: make it a tensor."
        )
    return found


def _integer(x):
    """A bound of a range: a Python integer, or an int64 tensor of no dimensions."""
    if not builders.is_tensor(x):
        return x
    return builders.index(x)


def _number_of():
    """What makes the numbers of a range of a Program's values."""
    return lambda i: builders.made_numbers().made(i, int)


def range_(*arguments):
    """range(..)"""
    if not any(map(builders.decides, arguments)):
        return builtins.range(*arguments)
    arguments = [_integer(x) for x in arguments]
    start, stop, step = 0, arguments[0], 1
    if len(arguments) > 1:
        start, stop = arguments[:2]
    if len(arguments) > 2:
        step = arguments[2]
    made = _number_of()
    plain = start == 0 if isinstance(start, int) else False
    if isinstance(step, int) and step == 1:
        if plain:
            return SymbolicIterable(stop, made)
        return SymbolicIterable(stop - start, lambda i: made(start + i))
    if isinstance(step, int):
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        length = (stop - start + (step - 1 if step > 0 else step + 1)) // step
    else:
        length = builders.ceil_division(stop - start, step)
    return SymbolicIterable(length, lambda i: made(start + i * step))


def enumerate_(iterable, start=0):
    """enumerate(..)"""
    if not needs_loop(iterable) and not builders.is_symbolic(start):
        return builtins.enumerate(iterable, start)
    inner = _indexable(iterable, "enumerate")
    return SymbolicIterable(inner.length, lambda i: (_number_of()(i + start), inner.item(i)))


def zip_(*iterables, **options):
    """zip(..)"""
    if not any(map(needs_loop, iterables)):
        return builtins.zip(*iterables, **options)
    parts = [_indexable(x, "zip") for x in iterables]
    length = parts[0].length
    for p in parts[1:]:
        length = builders.minimum(length, p.length)
    return SymbolicIterable(length, lambda i: tuple(p.item(i) for p in parts))


def reversed_(sequence):
    """reversed(..)"""
    if not isinstance(sequence, (SymbolicIterable, TensorList)):
        return builtins.reversed(sequence)
    inner = _indexable(sequence, "reversed")
    return SymbolicIterable(inner.length, lambda i: inner.item(inner.length - 1 - i))
