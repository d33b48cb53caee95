"""and, or, not, in, chained comparisons and assert."""

import operator

from . import builders
from .branches import select

_OPERATORS = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "is_": operator.is_,
    "is_not": operator.is_not,
}


def _truth(x):
    """Is x a bool, or a bool tensor of one element, as conditions are?"""
    if isinstance(x, bool):
        return True
    return builders.is_tensor(x) and builders.kind(x.dtype) == "b" and len(x.shape) == 0


def and_(a, thunk):
    """a and thunk(): the right side belongs to the branch in which a holds."""
    if not builders.decides(a):
        return a and thunk()
    return select(a, thunk, lambda: a)


def or_(a, thunk):
    """a or thunk(): the right side belongs to the branch in which a does not hold."""
    if not builders.decides(a):
        return a or thunk()
    return select(a, lambda: a, thunk)


def and_now(a, thunk):
    """and_ for a right side that may as well be computed always."""
    if not builders.decides(a):
        return a and thunk()
    b = thunk()
    if _truth(a) and _truth(b):
        return _of_bools(builders.both(a, b), a, b)
    return select(a, lambda: b, lambda: a)


def or_now(a, thunk):
    """or_ for a right side that may as well be computed always."""
    if not builders.decides(a):
        return a or thunk()
    b = thunk()
    if _truth(a) and _truth(b):
        return _of_bools(builders.either(a, b), a, b)
    return select(a, lambda: a, lambda: b)


def not_(a):
    """not a"""
    return _bool(builders.negation(a)) if builders.decides(a) else not a


def _bool(x):
    """x, where Python has a bool."""
    return builders.made_numbers().made(x, bool)


def _of_bools(result, a, b):
    """A value made of a and b, a bool in Python if both are."""
    return _bool(result) if builders.number_kind(a) is builders.number_kind(b) is bool else result


def chain(left, kinds, *thunks):
    """left op1 x op2 y ..., each operand evaluated once, and only while the chain holds."""
    thunk, rest = thunks[0], thunks[1:]
    right = thunk()
    if kinds[0] == "in_":
        held = in_(left, right)
    elif kinds[0] == "not_in":
        held = not_in(left, right)
    else:
        held = _OPERATORS[kinds[0]](left, right)
    if not rest:
        return held
    if not builders.decides(held):
        return held and chain(right, kinds[1:], *rest)
    return and_now(held, lambda: chain(right, kinds[1:], *rest))


def in_(item, collection):
    """item in collection"""
    if builders.decides(collection):
        return _bool(builders.any_equal(collection, item))
    if isinstance(collection, (list, tuple)) and (
        builders.decides(item) or any(map(builders.decides, collection))
    ):
        found = False
        for x in collection:
            if x is item:
                return True
            equal = x == item
            if not builders.decides(equal):
                if equal:
                    return True
            else:
                found = equal if found is False else builders.either(found, equal)
        return _bool(found) if builders.decides(found) else found
    return item in collection


def not_in(item, collection):
    """item not in collection"""
    return not_(in_(item, collection))


def assert_(condition, message=None):
    """assert condition, message()"""
    if builders.decides(condition):
        builders.check(condition, None if message is None else message())
    elif not condition:
        if message is None:
            raise AssertionError
        raise AssertionError(message())
