"""The dtypes of the core and what they have in common: nobody else lists their names."""

from argosy import _core
from argosy._support import dtype_name

DTYPES = tuple(value for value in vars(_core).values() if isinstance(value, _core.dtype))


def _of_kind(*beginnings):
    return tuple(dtype for dtype in DTYPES if dtype_name(dtype).startswith(beginnings))


COMPLEX = _of_kind("complex")
INTEGER = _of_kind("int", "uint")
REAL = _of_kind("float", "bfloat")
# What sums, gradients and parameters are computed in; 8-bit numbers are only stored.
FLOATING = tuple(dtype for dtype in REAL if dtype.itemsize > 1)
SIXTEEN_BIT = tuple(dtype for dtype in FLOATING if dtype.itemsize == 2)


def widened(dtype):
    """float32 for a dtype of 16 bits, else the dtype: what statistics and averages are kept in."""
    dtype = _core.dtype(dtype)
    return _core.float32 if dtype in SIXTEEN_BIT else dtype


# Those that NumPy knows under the same name; of the others it holds the bits.
BITS_IN_NUMPY = {
    dtype: f"uint{8 * dtype.itemsize}"
    for dtype in REAL
    if dtype.itemsize == 1 or dtype_name(dtype).startswith("b")
}
# Programs convert to these by name: x.int32(), layer.to("int32"); the others are for storage.
CONVERTIBLE = tuple(
    dtype
    for dtype in DTYPES
    if dtype not in BITS_IN_NUMPY or dtype in FLOATING
    if not (dtype_name(dtype).startswith("uint") and dtype.itemsize > 1)
)
# Names as in C and NumPy -> dtype.
SECOND_NAMES = {
    "half": _core.float16,
    "float": _core.float32,
    "double": _core.float64,
    "byte": _core.uint8,
    "char": _core.int8,
    "short": _core.int16,
    "int": _core.int32,
    "long": _core.int64,
    "cfloat": _core.complex64,
    "cdouble": _core.complex128,
}
# As attributes of their type, under the names that descriptions of programs give them: dtype.FLOAT32.
for _dtype in DTYPES:
    setattr(_core.dtype, dtype_name(_dtype).upper(), _dtype)
