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
from argosy.distributed._store import TCPStore, create_or_get_global_tcp_store  # noqa: F401
from argosy.tensor.random import Generator
from argosy.tensor.var_desc import VarDesc  # noqa: F401

from . import op_roles as op_proto_and_checker_maker  # noqa: F401

_prim = {"backward": False}


def _set_prim_backward_enabled(value, print_flag=False):
    """Whether gradients of Programs are written by parts. They are the same either way here: gradient
    rules are functions over ops; the switch is kept for programs that read it back."""
    _prim["backward"] = bool(value)
    if print_flag:
        print("backward prim enabled: ", _prim["backward"])


def _is_bwd_prim_enabled():
    """What _set_prim_backward_enabled was told."""
    return _prim["backward"]


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
