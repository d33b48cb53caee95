"""Paddle's files of one tensor: what `save` writes with use_binary_format, and a variable's own file.

u32 0, u64 levels of sequences, u32 0, i32 length, a TensorDesc of that many bytes, the elements
"""

import math
import struct

import numpy as np

from .pickle_reader import DamagedFileError

_HEAD = struct.Struct("<IQIi")
_DTYPE, _SIZE = 0x08, 0x10  # keys of the fields of a TensorDesc, both varints
# Numbers of the element types, and what NumPy reads their bytes as.
_TYPES = {
    0: ("bool", "bool"),
    1: ("int16", "int16"),
    2: ("int32", "int32"),
    3: ("int64", "int64"),
    4: ("float16", "float16"),
    5: ("float32", "float32"),
    6: ("float64", "float64"),
    20: ("uint8", "uint8"),
    21: ("int8", "int8"),
    22: ("bfloat16", "uint16"),
    23: ("complex64", "complex64"),
    24: ("complex128", "complex128"),
    32: ("float8_e4m3fn", "uint8"),
    33: ("float8_e5m2", "uint8"),
}
_NUMBERS = {name: number for number, (name, _) in _TYPES.items()}
HEAD_BYTES = _HEAD.size


def is_head(head):
    """Whether a file that begins with these HEAD_BYTES is one. (A pickle begins with 0x80.)"""
    return len(head) == HEAD_BYTES and head[:4] == head[12:16] == bytes(4)


def _varint(value):
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def to_bytes(array, dtype):
    """The file of an array whose elements are of a dtype of this name.

    Raises:
        NotImplementedError: Paddle's format has no such dtype.
    """
    if dtype not in _NUMBERS:
        raise NotImplementedError(
            f"[save] use_binary_format: expected one of {', '.join(_NUMBERS)}, got a tensor of {dtype}."
            " Do this: leave use_binary_format out."
        )
    described = bytes([_DTYPE]) + _varint(_NUMBERS[dtype])
    for size in array.shape:
        described += bytes([_SIZE]) + _varint(size)
    return _HEAD.pack(0, 0, 0, len(described)) + described + array.tobytes()


def _fields(described):
    """(key, value) of each field of a TensorDesc."""
    key = None
    value = shift = 0
    for byte in described:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte & 0x80 and shift < 70:
            continue
        if key is None:
            key = value
        else:
            yield key, value
            key = None
        value = shift = 0
    if key is not None or shift:
        raise _damaged("its description ends early")


def _damaged(what):
    return DamagedFileError(
        f"[load] the file of one tensor is damaged: {what}. Do this: get it again."
    )


def from_bytes(data):
    """(array, name of its dtype) of a file.

    Raises:
        DamagedFileError: the file is cut, or has no such tensor.
        NotImplementedError: the tensor has levels of sequences, or more of them follow.
    """
    _, levels, _, length = _HEAD.unpack_from(data)
    if levels:
        raise NotImplementedError(
            f"[load] the tensor has {levels} levels of sequences: expected none. Do this: save its values"
            " and its lengths as two tensors."
        )
    if not 0 <= length <= len(data) - HEAD_BYTES:
        raise _damaged(f"expected a description of {length} bytes, got {len(data) - HEAD_BYTES}")
    dtype, shape = None, []
    for key, value in _fields(data[HEAD_BYTES : HEAD_BYTES + length]):
        if key == _SIZE:
            shape.append(value)
        elif key == _DTYPE:
            dtype = value
        else:
            raise _damaged(f"its description has a field of key {key}")
    if dtype not in _TYPES:
        raise _damaged(f"it has no dtype of number {dtype}")
    name, read_as = _TYPES[dtype]
    start, count = HEAD_BYTES + length, math.prod(shape)
    size = count * np.dtype(read_as).itemsize
    if len(data) - start < size:
        raise _damaged(f"expected {size} bytes of elements, got {len(data) - start}")
    if len(data) - start > size:
        raise NotImplementedError(
            f"[load] {len(data) - start - size} bytes follow the first tensor of the file: expected one"
            " tensor. Do this: load a model's parameters with its Program, by jit.load or"
            " static.load_inference_model."
        )
    elements = np.frombuffer(data[start:], read_as).copy()
    try:
        return elements.reshape(shape), name
    except (ValueError, OverflowError) as error:  # no elements, and sizes that no array has
        raise _damaged(f"it has sizes {shape}") from error
