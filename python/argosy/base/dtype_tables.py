"""Tables between dtypes, their names, and the numbers that files give them. There is one kind of dtype here,
so those between Paddle's kinds are from each to itself."""

from __future__ import annotations

import functools

from argosy._dtypes import BITS_IN_NUMPY, DTYPES
from argosy._support import dtype_name

__all__ = []

paddle_type_to_proto_type = {dtype: dtype for dtype in DTYPES}
vartype_to_datatype = datatype_to_vartype = paddle_type_to_proto_type

# The dtype of the NumPy array that holds a tensor's elements, or their bits.
_PADDLE_DTYPE_2_NUMPY_DTYPE = {
    dtype: BITS_IN_NUMPY.get(dtype, dtype_name(dtype)) for dtype in DTYPES
}
_PADDLE_PIR_DTYPE_2_NUMPY_DTYPE = _PADDLE_DTYPE_2_NUMPY_DTYPE

# 16 bits of NumPy are bfloat16 here, as Paddle's programs hold them.
_OF_NUMPY = {
    name: dtype
    for dtype, name in _PADDLE_DTYPE_2_NUMPY_DTYPE.items()
    if not name.startswith("uint")
} | {
    _PADDLE_DTYPE_2_NUMPY_DTYPE[dtype]: dtype
    for dtype in DTYPES
    if dtype_name(dtype) in ("uint8", "bfloat16")
}
str_to_paddle_type = {**_OF_NUMPY, "bool_": _OF_NUMPY["bool"]}


@functools.lru_cache(maxsize=1)
def _by_numpy_dtype():
    import numpy

    return {numpy.dtype(name): dtype for name, dtype in _OF_NUMPY.items()}


def dtype_to_str(in_dtype):
    """The short name of a floating dtype.

    Args:
        in_dtype (dtype): float16, bfloat16, float32, float64, complex64 or complex128.

    Returns:
        str: Such as "fp32".

    Raises:
        TypeError: It is another one.

    Example:
        >>> argosy.base.dtype_tables.dtype_to_str(argosy.bfloat16)
        'bf16'
    """
    name = dtype_name(in_dtype)
    if name.startswith("complex"):
        return name
    if not name.startswith(("float", "bfloat")) or in_dtype.itemsize == 1:
        raise TypeError(
            f"[dtype_to_str] expected a floating or complex dtype, got {in_dtype}. Do this: convert the"
            " tensor first."
        )
    return name.replace("float", "fp") if name[0] == "f" else "bf16"


def __getattr__(name):
    """What needs NumPy, which is loaded when somebody asks for it."""
    if name == "np_type_to_paddle_type":
        return _by_numpy_dtype()
    raise AttributeError(f"module 'argosy.base.dtype_tables' has no attribute '{name}'")
