"""Names that programs look for in ``paddle.base.core``."""

from __future__ import annotations

from argosy import _core, device
from argosy._framework import get_flags, set_flags
from argosy._programs import scope
from argosy._support import EOFException  # noqa: F401
from argosy.device import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    XPUPlace,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)
from argosy.device.place import Place  # noqa: F401
from argosy.distributed._store import TCPStore, create_or_get_global_tcp_store  # noqa: F401
from argosy.static.attr_types import AttrType  # noqa: F401
from argosy.tensor.random import Generator
from argosy.tensor.var_desc import VarDesc  # noqa: F401

from . import op_roles as op_proto_and_checker_maker  # noqa: F401


class EnforceNotMet(Exception):
    """What Paddle raises for errors of no category. All errors here have one, so nothing raises it: programs
    may name it in ``except``."""


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


class _Flags:
    """The switches of the process by their names, as a mapping."""

    def __getitem__(self, name):
        return get_flags(name)[name]

    def __setitem__(self, name, value):
        set_flags({name: value})

    def __contains__(self, name):
        try:
            _core.get_flag(name)
        except ValueError:
            return False
        return True

    def get(self, name, default=None):
        """The value of a flag, or default where there is no such flag."""
        return self[name] if name in self else default


_flags = _Flags()


def globals():
    """The switches of the process, as get_flags and set_flags know them.

    Returns:
        A mapping: ``globals()["FLAGS_check_nan_inf"]`` reads a flag and writes it.

    Example:
        >>> argosy.base.core.globals()["FLAGS_check_nan_inf"]
        False
    """
    return _flags


def get_cuda_device_count():
    """Number of CUDA devices."""
    return device.cuda.device_count()


def default_cpu_generator():
    """The generator that random ops draw from."""
    return Generator()


DenseTensor = LoDTensor = scope.DenseTensor
Scope = _Scope = scope.Scope
