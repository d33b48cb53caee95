"""Python numbers that a captured function only computes with: inputs of one Program for all of them."""

import contextlib
import gc
import operator
import threading
import weakref

from argosy import _core
from argosy._core import Tensor
from argosy._dtypes import COMPLEX, REAL

_FITS = range(-(2**63), 2**63)


class Decided(BaseException):
    """A number did more than take part in arithmetic. (No Exception: the function shall not catch it.)"""


class _Thread(threading.local):
    opening = 0


_thread = _Thread()


@contextlib.contextmanager
def open_numbers():
    """While a function is captured with OpenNumbers."""
    _thread.opening += 1
    try:
        yield
    finally:
        _thread.opening -= 1


def opening():
    """Whether a function is captured with OpenNumbers on this thread."""
    return _thread.opening > 0


def guarded(function):
    """A function that is called as it is: it gets no OpenNumber, which it would take for no number."""

    def call(*args, **kwargs):
        if _holds_one(args) or _holds_one(kwargs):
            raise Decided
        return function(*args, **kwargs)

    return call


def _holds_one(x):
    if isinstance(x, dict):
        x = x.values()
    elif not isinstance(x, (list, tuple)):
        return type(x) is OpenNumber
    return any(map(_holds_one, x))


def may_be_open(number):
    """Whether an input of a Program can hold this int or float."""
    return type(number) is float or number in _FITS


def as_feed(number):
    """The number as the input that an OpenNumber stands for."""
    return _core.to_tensor(number, dtype_of(number), True)


def dtype_of(number):
    """Of the input that holds a number: Python's arithmetic is that of 64 bits."""
    return "float64" if type(number) is float else "int64"


class OpenNumber:
    """Stands for an int or a float while a function is captured.

    It has the arithmetic of numbers, with numbers and with tensors, and results are those that the number
    would have given. Whatever else is asked of it (its value, its text, its type, how it compares with
    another number) raises Decided: the answer would be right for one number only.
    """

    __slots__ = ("__weakref__", "_made", "_tensor")

    def __init__(self, tensor, made):
        """tensor: int64 or float64 without dimensions, a value of the Program. made: list of references
        to all numbers of one capture, which gets one more."""
        self._tensor, self._made = tensor, made
        made.append(weakref.ref(self))

    def _with(self, other, compute, swapped):
        if type(other) is int and other in _FITS or type(other) is float:
            other = OpenNumber(as_feed(other), self._made)
        if type(other) is not OpenNumber:
            raise Decided
        a, b = self._tensor, other._tensor
        if compute is operator.truediv or a.dtype != b.dtype:
            a, b = (_core.ops.cast(t, "float64") for t in (a, b))
        return OpenNumber(compute(b, a) if swapped else compute(a, b), self._made)

    def _beside(self, x):
        """A tensor of the dtype that the number has beside x."""
        dtype = x.dtype
        if self._tensor.dtype == _core.int64:
            dtype = _core.int64 if dtype == _core.bool else dtype
        elif dtype not in REAL + COMPLEX:
            dtype = _core.get_default_dtype()
        return _core.ops.cast(self._tensor, dtype)

    def __neg__(self):
        return OpenNumber(-self._tensor, self._made)

    def __pos__(self):
        return self

    def __getattr__(self, name):
        raise Decided


def _arithmetic(compute, swapped, numbers):
    """The method for an operator; `numbers`: with which numbers it is open, too."""

    def method(self, other):
        if isinstance(other, Tensor):
            mine = self._beside(other)
            return compute(other, mine) if swapped else compute(mine, other)
        if not numbers(other, swapped):
            raise Decided
        return self._with(other, compute, swapped)

    return method


def _always(other, swapped):
    return True


def _never(other, swapped):
    return False


def _known_divisor(other, swapped):
    """Python raises where a number is divided by 0."""
    return not swapped and type(other) in (int, float) and other != 0


def _decided(self, *args):
    raise Decided


for _name, _numbers in (
    ("add", _always), ("sub", _always), ("mul", _always), ("truediv", _known_divisor),
    ("floordiv", _never), ("mod", _never),
):  # fmt: skip
    _compute = getattr(operator, _name)
    setattr(OpenNumber, f"__{_name}__", _arithmetic(_compute, False, _numbers))
    setattr(OpenNumber, f"__r{_name}__", _arithmetic(_compute, True, _numbers))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(OpenNumber, f"__{_name}__", _arithmetic(getattr(operator, _name), False, _never))
for _name in (
    "bool", "index", "int", "float", "complex", "hash", "str", "repr", "format", "reduce_ex", "abs",
    "round", "trunc", "floor", "ceil", "divmod", "rdivmod", "pow", "rpow", "and", "rand", "or", "ror",
    "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "invert", "dir",
):  # fmt: skip
    setattr(OpenNumber, f"__{_name}__", _decided)


def all_gone(made):
    """Whether nothing holds a number of a capture that has ended: no result, attribute or closure."""
    if any(number() is not None for number in made):
        gc.collect()
    return all(number() is None for number in made)


def identity(number):
    """What tells a number from others: 0.0 is not -0.0, and nan is nan."""
    return number.hex() if type(number) is float else number


class Varying:
    """What is known of the calls that differ in nothing but their numbers.

    first: the numbers of the first one; places: those that were others since, as inputs
    of one Program; closed: the function decides by them, so there is a Program for each; programs: how
    many there were.
    """

    def __init__(self, first):
        self.first = first
        self.places = frozenset()
        self.closed = False
        self.programs = 0

    def changed(self, numbers):
        return frozenset(
            i
            for i, (a, b) in enumerate(zip(self.first, numbers, strict=True))
            if identity(a) != identity(b)
        )
