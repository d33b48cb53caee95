"""Walking over nested lists, tuples and dicts of tensors."""

from __future__ import annotations

from argosy._core import Tensor
from argosy._framework import in_dynamic_mode

__all__ = []


def is_sequence(value):
    """Whether ``value`` is a list, tuple or dict, whose elements are walked over."""
    return isinstance(value, (list, tuple, dict))


def to_sequence(nest):
    """``nest`` if it is a list, tuple or dict, else a list of it alone."""
    return nest if is_sequence(nest) else [nest]


def copy_mutable_vars(structure):
    """A nested structure of the same leaves, whose lists and dicts are copies."""
    return pack_sequence_as(structure, flatten(structure))


def hold_mutable_vars(structure):
    """Whether a list, tuple or dict has another one in it."""
    inner = structure.values() if isinstance(structure, dict) else structure
    return any(is_sequence(item) for item in inner)


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
            "[pack_sequence_as] flat_sequence has another length than the structure: "
            f"expected {count} leaves, got {len(flat_sequence)}. Do this: flatten the same "
            "structure."
        )
    return _rebuild(structure, iter(flat_sequence))


def map_structure(func, *structure):
    """``func`` applied to corresponding leaves, in the structure of the first argument."""
    results = [func(*leaves) for leaves in zip(*[flatten(item) for item in structure])]
    return pack_sequence_as(structure[0], results)


def assert_same_structure(nest1, nest2, check_types=True):
    """Raise ValueError or TypeError unless two nested structures have the same form."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(
            f"[assert_same_structure] a sequence stands for a leaf: {nest1} and {nest2}. Do "
            "this: give both the same nesting."
        )
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(
            f"[assert_same_structure] types differ: {type(nest1).__name__} and "
            f"{type(nest2).__name__}. Do this: make them equal, or pass check_types=False."
        )
    if len(nest1) != len(nest2):
        raise ValueError(
            f"[assert_same_structure] lengths differ: {len(nest1)} and {len(nest2)} in "
            f"{nest1} and {nest2}. Do this: give both the same nesting."
        )
    if isinstance(nest1, dict):
        if set(nest1) != set(nest2):
            raise ValueError(
                f"[assert_same_structure] keys differ: {list(nest1)} and {list(nest2)}. Do "
                "this: give both the same keys."
            )
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
        raise ValueError(
            f"[{name}] expected {n} values or one, got {value!r}. Do this: pass a list."
        ) from None
    if len(values) != n:
        raise ValueError(
            f"[{name}] expected {n} values or one, got {len(values)}: {value}. Do this: "
            f"pass a list of {n}."
        )
    for item in values:
        if not isinstance(item, dtype) and not hasattr(item, "__index__"):
            raise ValueError(
                f"[{name}] expected {n} {dtype.__name__}s, got {value}, where {item!r} is a "
                f"{type(item).__name__}. Do this: convert it."
            )
    return values


def check_shape(
    shape,
    op_name,
    expected_shape_type=None,
    expected_element_type=None,
    expected_tensor_dtype=("int32", "int64"),
):
    """Raises TypeError unless shape is a list, a tuple or a tensor of ints, while a Program is built.

    Outside of a Program nothing is checked: the op itself does.

    Args:
        shape (list | tuple | Tensor): What is checked.
        op_name (str): Whose shape it is, for the error.
        expected_shape_type (tuple, optional): Types that shape may have.
        expected_element_type (tuple, optional): Types that elements of a list may have.
        expected_tensor_dtype (tuple): Dtypes that tensors may have.

    Raises:
        TypeError: see above.

    Examples:
        >>> argosy.check_shape([2, 3], "reshape")
    """
    if in_dynamic_mode():
        return
    kinds = expected_shape_type or (list, tuple, Tensor)
    elements = expected_element_type or (int, Tensor)
    if not isinstance(shape, kinds):
        raise TypeError(
            f"[{op_name}] shape: expected a list, a tuple or a tensor, got {type(shape).__name__}."
            " Do this: pass a list of ints."
        )
    for item in [shape] if isinstance(shape, Tensor) else shape:
        wrong = not isinstance(item, (*_as_tuple(elements), Tensor))
        if isinstance(item, Tensor):
            wrong = item.dtype not in tuple(expected_tensor_dtype)
        if wrong:
            raise TypeError(
                f"[{op_name}] shape: expected ints or tensors of {list(expected_tensor_dtype)}, got"
                f" {item!r}. Do this: convert it."
            )


def _as_tuple(kinds):
    return kinds if isinstance(kinds, tuple) else (kinds,)
