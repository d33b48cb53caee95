"""Kinds of variables under the names that Paddle's descriptions have."""

from __future__ import annotations

from argosy import _core

__all__ = ["VarDesc"]


class VarDesc:
    """Holder of the dtype names ``VarDesc.VarType.FP32`` and the like."""

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

        class DENSE_TENSOR:
            """What ``Tensor.type`` is for dense tensors."""

        LOD_TENSOR = DENSE_TENSOR

        class SPARSE_COO:
            """What ``Tensor.type`` is for sparse tensors in COO form."""

        class SELECTED_ROWS:
            """What ``Tensor.type`` is for gradients that have some of the rows only."""
