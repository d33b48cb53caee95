"""Kinds of variables under the names that Paddle's descriptions have."""

from __future__ import annotations

import enum

from argosy import _core

__all__ = ["VarDesc"]


class Kind(enum.Enum):
    """What a variable is; `Tensor.type` is DENSE_TENSOR, SPARSE_COO or SELECTED_ROWS. The numbers are those of
    Paddle's files."""

    DENSE_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    LOD_RANK_TABLE = 12
    DENSE_TENSOR_ARRAY = 13
    PLACE_LIST = 14
    READER = 15
    RAW = 17
    STRING = 25
    STRINGS = 26
    VOCAB = 27
    SPARSE_COO = 30

    def __str__(self):
        return f"VarType.{self.name}"

    __repr__ = __str__

    def __int__(self):
        return self.value

    __index__ = __int__


class VarDesc:
    """Holder of the dtype names ``VarDesc.VarType.FP32`` and the like, and of kinds of variables."""

    class VarType:
        BOOL = _core.bool
        UINT8 = _core.uint8
        INT8 = _core.int8
        INT16 = _core.int16
        INT32 = _core.int32
        INT64 = _core.int64
        FP16 = _core.float16
        BF16 = _core.bfloat16
        FP32 = _core.float32
        FP64 = _core.float64
        COMPLEX64 = _core.complex64
        COMPLEX128 = _core.complex128

        DENSE_TENSOR = Kind.DENSE_TENSOR
        SELECTED_ROWS = Kind.SELECTED_ROWS
        FEED_MINIBATCH = Kind.FEED_MINIBATCH
        FETCH_LIST = Kind.FETCH_LIST
        STEP_SCOPES = Kind.STEP_SCOPES
        LOD_RANK_TABLE = Kind.LOD_RANK_TABLE
        DENSE_TENSOR_ARRAY = Kind.DENSE_TENSOR_ARRAY
        PLACE_LIST = Kind.PLACE_LIST
        READER = Kind.READER
        RAW = Kind.RAW
        STRING = Kind.STRING
        STRINGS = Kind.STRINGS
        VOCAB = Kind.VOCAB
        SPARSE_COO = Kind.SPARSE_COO
        LOD_TENSOR, LOD_TENSOR_ARRAY = DENSE_TENSOR, DENSE_TENSOR_ARRAY
