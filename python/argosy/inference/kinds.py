"""Kinds of numbers, places and precisions, and versions."""

import enum

from argosy import _core, version
from argosy._support import check_choice


class DataType(enum.Enum):
    """Dtypes of inputs and outputs.

    Example:
        >>> argosy.inference.DataType.FLOAT32.name
        'FLOAT32'
    """

    FLOAT64 = 7
    FLOAT32 = 0
    FLOAT16 = 5
    BFLOAT16 = 8
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    BOOL = 6

    def __int__(self):
        return self.value


class PlaceType(enum.Enum):
    """Kinds of devices.

    Example:
        >>> int(argosy.inference.PlaceType.CPU)
        0
    """

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 4

    def __int__(self):
        return self.value


class PrecisionType(enum.Enum):
    """What a model computes in.

    Example:
        >>> argosy.inference.PrecisionType.Float32.value
        0
    """

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3

    def __int__(self):
        return self.value


_BYTES = {
    DataType.FLOAT64: 8, DataType.FLOAT32: 4, DataType.FLOAT16: 2, DataType.BFLOAT16: 2,
    DataType.INT64: 8, DataType.INT32: 4, DataType.UINT8: 1, DataType.INT8: 1, DataType.BOOL: 1,
}  # fmt: skip


def data_type_of(dtype):
    """The DataType of a dtype of tensors; TypeError where there is none."""
    try:
        return DataType["BOOL" if dtype.name.lower() == "bool_" else dtype.name.upper()]
    except KeyError:
        raise TypeError(f"[inference] there is no DataType of {dtype}.") from None


def get_num_bytes_of_data_type(dtype):
    """Bytes of one number.

    Args:
        dtype (DataType): Its kind.

    Returns:
        int: From 1 to 8.

    Raises:
        ValueError: it is no DataType.

    Example:
        >>> argosy.inference.get_num_bytes_of_data_type(argosy.inference.DataType.INT64)
        8
    """
    check_choice("get_num_bytes_of_data_type", "dtype", dtype, tuple(DataType))
    return _BYTES[dtype]


def get_version():
    """The version of Argosy, a line each for its parts.

    Returns:
        str: version, commit.

    Example:
        >>> argosy.inference.get_version().startswith("version: ")
        True
    """
    return f"version: {version.full_version}\ncommit: {version.commit}\n"


def get_trt_compile_version():
    """The version of TensorRT: there is none in this build.

    Returns:
        tuple: (0, 0, 0).

    Example:
        >>> argosy.inference.get_trt_compile_version()
        (0, 0, 0)
    """
    return (0, 0, 0)


def get_trt_runtime_version():
    """The version of TensorRT that is loaded: there is none.

    Returns:
        tuple: (0, 0, 0).

    Example:
        >>> argosy.inference.get_trt_runtime_version()
        (0, 0, 0)
    """
    return (0, 0, 0)


def _get_phi_kernel_name(op):
    """The op that computes what `op`, a name of an old Program, does: the same name where it is one of
    ours."""
    if not isinstance(op, str):
        raise TypeError(
            f"[_get_phi_kernel_name] op: expected a str, got {type(op).__name__}. Do this: pass the"
            " name of an op."
        )
    base = op.removesuffix("2")
    return base if any(row["name"] == base for row in _core.registry()) else op
