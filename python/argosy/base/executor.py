"""Helpers of running Programs that programs import."""

from __future__ import annotations

from argosy import _core
from argosy.base.core import DenseTensor
from argosy.base.data_feeder import convert_dtype

__all__ = []


def dimension_is_compatible_with(first, second):
    """Whether two shapes can be the same.

    Args:
        first, second (list[int]): They; sizes below 0 are any.

    Returns:
        bool: That.

    Example:
        >>> argosy.base.executor.dimension_is_compatible_with([2, -1], [2, 3])
        True
    """
    return len(first) == len(second) and all(
        a == b or a is None or b is None or a < 0 or b < 0 for a, b in zip(first, second)
    )


def dtype_is_compatible_with(first, second):
    """Whether two dtypes are the same.

    Args:
        first, second (dtype | str): They.

    Returns:
        bool: That.

    Example:
        >>> argosy.base.executor.dtype_is_compatible_with("float32", argosy.float32)
        True
    """
    return _core.dtype(convert_dtype(first)) == _core.dtype(convert_dtype(second))


def _to_name_str(var):
    """The name of a variable; of several, with commas between them."""
    if isinstance(var, (list, tuple)):
        return ",".join(_to_name_str(each) for each in var)
    return var if isinstance(var, str) else var.name


def _as_lodtensor(data, place, dtype=None):
    """An array as a tensor of scopes.

    Args:
        data (numpy.ndarray | number | list): It.
        place (Place): Where it lies.
        dtype (dtype, optional): Of its elements.

    Returns:
        DenseTensor: It.
    """
    import numpy

    made = DenseTensor()
    made.set(numpy.asarray(data, None if dtype is None else convert_dtype(dtype)), place)
    return made
