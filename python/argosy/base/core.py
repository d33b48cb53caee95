"""Names that programs look for in ``paddle.base.core``."""

from __future__ import annotations

from argosy import _core, device
from argosy._programs import scope
from argosy._support import EOFException  # noqa: F401
from argosy.device import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)
from argosy.tensor.random import Generator
from argosy.tensor.var_desc import VarDesc  # noqa: F401


class _Names:
    """A bag of attributes."""


eager = _Names()
eager.Tensor = _core.Tensor
eager.ops = _core.ops
ops = _core.ops


def get_cuda_device_count():
    """Number of CUDA devices."""
    return device.cuda.device_count()


def default_cpu_generator():
    """The generator that random ops draw from."""
    return Generator()


DenseTensor = LoDTensor = scope.DenseTensor
Scope = _Scope = scope.Scope
