"""One value out of two: what a variable is after a condition on tensors."""

from ..errors import UndefinedVar
from . import builders

SAME, OUT, CONFLICT = "same", "out", "conflict"
_ORDER = "bifc"


class Retry(BaseException):
    """Raised through a builder: trace again, with what has been learnt. Never seen outside."""


class Swap(Retry):
    """Trace again, the other branch first."""


def is_number(x):
    """A Python number, NumPy's scalars included."""
    return isinstance(x, (bool, int, float))


def fits(number, dtype):
    """Can a Python number join tensors of a dtype without changing their dtype?"""
    mine, theirs = builders.kind(builders.number_dtype(number)), builders.kind(dtype)
    if mine == "b" or theirs == "b":
        return mine == theirs
    return _ORDER.index(mine) <= _ORDER.index(theirs)


def join(a, b):
    """(SAME, value), (OUT, dtype): the `if` has a result of that dtype, or (CONFLICT, reason)."""
    undefined = type(a) is UndefinedVar, type(b) is UndefinedVar
    if all(undefined):
        return SAME, a
    if any(undefined):
        x = a if undefined[0] else b
        unassigned = x.reason == "it is not assigned yet"
        return CONFLICT, "only one of the two branches assigns it" if unassigned else x.reason
    if a is b:
        return SAME, a
    tensors = builders.is_tensor(a), builders.is_tensor(b)
    kinds = builders.number_kind(a), builders.number_kind(b)
    if kinds[0] is not kinds[1] and (any(tensors) or None not in kinds):
        return CONFLICT, f"one branch leaves {_sort(a, kinds[0])}, the other {_sort(b, kinds[1])}"
    if all(tensors):
        if a.dtype != b.dtype:
            return CONFLICT, f"one branch leaves {a.dtype}, the other {b.dtype}"
        if len(a.shape) != len(b.shape):
            return CONFLICT, f"one branch leaves shape {list(a.shape)}, the other {list(b.shape)}"
        return OUT, a.dtype
    if any(tensors):
        tensor, other = (a, b) if tensors[0] else (b, a)
        if not is_number(other) or not fits(other, tensor.dtype):
            return CONFLICT, f"one branch leaves {tensor.dtype}, the other {shown(other)}"
        if len(tensor.shape):
            return CONFLICT, f"one branch leaves a number, the other shape {list(tensor.shape)}"
        return OUT, tensor.dtype
    if type(a) is type(b) and _equal(a, b):
        return SAME, a
    if is_number(a) and is_number(b):
        kinds = [builders.number_dtype(x) for x in (a, b)]
        return OUT, max(kinds, key=lambda d: _ORDER.index(builders.kind(d)))
    return CONFLICT, f"one branch leaves {shown(a)}, the other {shown(b)}"


def _sort(x, kind):
    return shown(x) if kind is None else f"a Python {kind.__name__}"


def _equal(a, b):
    try:
        return bool(a == b)
    except Exception:  # a user's __eq__
        return False


def shown(x):
    """A value as error texts name it."""
    if builders.is_tensor(x):
        return f"{x.dtype}{list(x.shape)}"
    text = repr(x)
    return f"{type(x).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
