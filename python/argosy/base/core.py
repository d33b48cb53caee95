"""Names that programs look for in ``paddle.base.core``."""

from __future__ import annotations

import argosy
from argosy import _core

_FROM_PACKAGE = (
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "XPUPlace",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
)


class EOFException(Exception):
    """A loader that feeds runs of a Program has no batch left."""


class _Names:
    """A bag of attributes."""


class VarDesc:
    """Holder of the dtype names ``VarDesc.VarType.FP32`` and the like."""

    class VarType:
        BOOL = argosy.bool
        UINT8 = argosy.uint8
        INT8 = argosy.int8
        INT16 = argosy.int16
        INT32 = argosy.int32
        INT64 = argosy.int64
        FP16 = argosy.float16
        BF16 = argosy.bfloat16
        FP32 = argosy.float32
        FP64 = argosy.float64
        COMPLEX64 = argosy.complex64
        COMPLEX128 = argosy.complex128

        class DENSE_TENSOR:
            """What ``Tensor.type`` is for dense tensors."""

        LOD_TENSOR = DENSE_TENSOR

        class SPARSE_COO:
            """What ``Tensor.type`` is for sparse tensors in COO form."""

        class SELECTED_ROWS:
            """What ``Tensor.type`` is for gradients that have some of the rows only."""


eager = _Names()
eager.Tensor = _core.Tensor
eager.ops = _core.ops
ops = _core.ops


def get_cuda_device_count():
    """Number of CUDA devices."""
    return argosy.device.cuda.device_count()


def default_cpu_generator():
    """The generator that random ops draw from."""
    return argosy.random.Generator()


_OF_SCOPES = {
    "DenseTensor": "DenseTensor",
    "LoDTensor": "DenseTensor",
    "Scope": "Scope",
    "_Scope": "Scope",
}


def __getattr__(name):
    if name in _OF_SCOPES:
        return getattr(argosy.static.scope, _OF_SCOPES[name])
    if name in _FROM_PACKAGE:
        return getattr(argosy, name)
    if name == "Generator":
        return argosy.random.Generator
    raise AttributeError(f"module 'argosy.base.core' has no attribute '{name}'")
