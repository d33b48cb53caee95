"""Walking over nested lists, tuples and dicts of tensors."""

from __future__ import annotations

__all__ = []


def is_sequence(value):
    """Whether ``value`` is a list, tuple or dict, whose elements are walked over."""
    return isinstance(value, (list, tuple, dict))


def flatten(nest):
    """The leaves of a nested structure, dicts in the order of their sorted keys."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in flatten(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for item in nest for leaf in flatten(item)]
    return [nest]


def _rebuild(structure, leaves):
    if isinstance(structure, dict):
        values = {key: _rebuild(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, values[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        items = [_rebuild(item, leaves) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return type(structure)(items)
    return next(leaves)


def pack_sequence_as(structure, flat_sequence):
    """``flat_sequence`` arranged like ``structure``.

    Raises:
        ValueError: the numbers of leaves differ.
    """
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"[pack_sequence_as] Could not pack: the structure has {count} leaves, the flat "
            f"sequence {len(flat_sequence)}."
        )
    return _rebuild(structure, iter(flat_sequence))


def map_structure(func, *structure):
    """``func`` applied to corresponding leaves, in the structure of the first argument."""
    results = [func(*leaves) for leaves in zip(*[flatten(item) for item in structure])]
    return pack_sequence_as(structure[0], results)


def assert_same_structure(nest1, nest2, check_types=True):
    """Raise ValueError or TypeError unless two nested structures have the same form."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"The two structures differ: {nest1} and {nest2}.")
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(f"The types differ: {type(nest1)} and {type(nest2)}.")
    if len(nest1) != len(nest2):
        raise ValueError(f"The numbers of elements differ: {nest1} and {nest2}.")
    if isinstance(nest1, dict):
        if set(nest1) != set(nest2):
            raise ValueError(f"The keys differ: {list(nest1)} and {list(nest2)}.")
        pairs = [(nest1[key], nest2[key]) for key in nest1]
    else:
        pairs = zip(nest1, nest2)
    for first, second in pairs:
        assert_same_structure(first, second, check_types)


def convert_to_list(value, n, name, dtype=int):
    """``value`` as a list of ``n`` numbers; a single one is repeated.

    Raises:
        ValueError: the length is wrong or an element is no number.
    """
    if isinstance(value, dtype):
        return [value] * n
    try:
        values = list(value)
    except TypeError:
        raise ValueError(f"The {name}'s type must be list or tuple. Received: {value}") from None
    if len(values) != n:
        raise ValueError(f"The {name}'s length must be {n}. Received: {value}")
    for item in values:
        if not isinstance(item, dtype) and not hasattr(item, "__index__"):
            raise ValueError(
                f"The {name}'s type must be a list or tuple of {n} {dtype.__name__}. Received: "
                f"{value} including element {item} of type {type(item)}"
            )
    return values
