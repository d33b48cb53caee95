"""Names that programs look for in ``paddle.base.core``."""

from __future__ import annotations

import dataclasses

from argosy import _core, device
from argosy._framework import get_flags, set_flags
from argosy._programs import scope
from argosy._support import EOFException, no_effect  # noqa: F401
from argosy.amp import is_bfloat16_supported, is_float16_supported  # noqa: F401
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
from argosy.static.op_protos import OpProtoHolder
from argosy.tensor.random import Generator
from argosy.tensor.var_desc import VarDesc  # noqa: F401

from . import op_roles as op_proto_and_checker_maker  # noqa: F401


class EnforceNotMet(Exception):
    """What Paddle raises for errors of no category. All errors here have one, so nothing raises it: programs
    may name it in ``except``."""


# Whether operations, gradients of Programs and eager gradients are written by parts. They are the same
# either way here: compositions and gradient rules are functions over ops, which passes take apart at need.
# The switches are kept for programs that read them back; decomposition.decompose does nothing while
# "forward" is off.
_prim = {"forward": False, "backward": False, "eager": False}


def _set_prim(kind, value, print_flag):
    _prim[kind] = bool(value)
    if print_flag:
        print(f"{kind} prim enabled: ", _prim[kind])


def _set_prim_forward_enabled(value, print_flag=False):
    """What _is_fwd_prim_enabled says from now on."""
    _set_prim("forward", value, print_flag)


def _set_prim_backward_enabled(value, print_flag=False):
    """What _is_bwd_prim_enabled says from now on."""
    _set_prim("backward", value, print_flag)


def set_prim_eager_enabled(value, print_flag=False):
    """What _is_eager_prim_enabled says from now on."""
    _set_prim("eager", value, print_flag)


def _set_prim_all_enabled(value, print_flag=False):
    """Sets the switches of operations and of gradients."""
    _set_prim_forward_enabled(value, print_flag)
    _set_prim_backward_enabled(value, print_flag)


def _is_fwd_prim_enabled():
    """What _set_prim_forward_enabled was told."""
    return _prim["forward"]


def _is_bwd_prim_enabled():
    """What _set_prim_backward_enabled was told."""
    return _prim["backward"]


def _is_eager_prim_enabled():
    """What set_prim_eager_enabled was told."""
    return _prim["eager"]


def _is_all_prim_enabled():
    """Whether the switches of operations and of gradients are both on."""
    return _prim["forward"] and _prim["backward"]


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


def supports_bfloat16():
    """Whether the CPU computes with bfloat16: yes, in float32 where it has no instructions for it.

    Returns:
        bool: True.

    Example:
        >>> argosy.base.core.supports_bfloat16()
        True
    """
    return is_bfloat16_supported("cpu")


def supports_bfloat16_fast_performance():
    """Whether the CPU has instructions for products of bfloat16.

    Returns:
        bool: That.

    Example:
        >>> argosy.base.core.supports_bfloat16_fast_performance() in (True, False)
        True
    """
    return "avx512_bf16" in _core.cpu_features().split()


def supports_avx512f():
    """Whether the CPU has AVX-512.

    Returns:
        bool: That.

    Example:
        >>> argosy.base.core.supports_avx512f() in (True, False)
        True
    """
    return "avx512" in _core.cpu_features().split()


def get_all_op_names():
    """Names of the kinds of operations.

    Returns:
        list[str]: As Paddle gives them, of :class:`OpProtoHolder`.

    Example:
        >>> "softmax" in argosy.base.core.get_all_op_names()
        True
    """
    return [proto.type for proto in OpProtoHolder.instance().op_proto_map.values()]


def get_cuda_device_count():
    """Number of CUDA devices."""
    return device.cuda.device_count()


def default_cpu_generator():
    """The generator that random ops draw from."""
    return Generator()


DenseTensor = LoDTensor = scope.DenseTensor
Scope = _Scope = scope.Scope


def get_all_op_protos():
    """Descriptions of all kinds of operations.

    Returns:
        list[bytes]: A `base.proto.framework_pb2.OpProto` each.

    Raises:
        ImportError: The package protobuf is missing.
    """
    from argosy.static.op_protos import OpProtoHolder

    from .proto import framework_pb2

    def message(proto):
        made = framework_pb2.OpProto(type=proto.type, comment=proto.comment)
        for side in ("inputs", "outputs"):
            for part in getattr(proto, side):
                getattr(made, side).add(**dataclasses.asdict(part))
        for attr in proto.attrs:
            made.attrs.add(name=attr.name, type=int(attr.type), comment=attr.comment)
        return made.SerializeToString()

    return [
        message(proto)
        for kind, proto in OpProtoHolder.instance().op_proto_map.items()
        if kind == proto.type
    ]


def _kind(op_type):
    """The description of a type, or of that whose gradient it is; ValueError if there is none."""
    from argosy.static.op_protos import OpProtoHolder

    return OpProtoHolder.instance().get_op_proto(op_type.removesuffix("_grad"))


def get_op_extra_attrs(op_type):
    """Attributes of an operation that say nothing of what it computes.

    Args:
        op_type (str): Its type.

    Returns:
        dict: {}: none are kept here.

    Raises:
        ValueError: There is no such type.
    """
    _kind(op_type)
    return {}


def _get_all_register_op_kernels(library="all"):
    """The operations that have kernels.

    Args:
        library (str): Has no effect, and warns: all kernels are in one library here.

    Returns:
        dict: Type, and that of its gradient (`relu_grad`), -> the device whose kernels it has.
    """
    no_effect(
        "core._get_all_register_op_kernels", "all are in one library", library=(library, "all")
    )
    from argosy.static.op_protos import OpProtoHolder

    found = {}
    for kind, proto in OpProtoHolder.instance().op_proto_map.items():
        found.update(
            dict.fromkeys([kind, kind + "_grad"] if proto.differentiable else [kind], ["CPU"])
        )
    return found


_get_registered_phi_kernels = _get_all_register_op_kernels


def op_support_gpu(op_type):
    """Whether an operation of that type, run by itself, has kernels for GPUs.

    Returns:
        bool: False: it runs on the host.

    Raises:
        ValueError: There is no such type.
    """
    _kind(op_type)
    return False


def has_infer_inplace(op_type):
    """Whether operations of a type may write in place. Programs here have values, and their executors decide
    what shares memory.

    Returns:
        bool: False.

    Raises:
        ValueError: There is no such type.
    """
    _kind(op_type)
    return False


def has_grad_op_maker(op_type):
    """Whether there are descriptions of a type's gradient as operations of their own.

    Returns:
        bool: False: gradients are made by rules over operations.

    Raises:
        ValueError: There is no such type.
    """
    _kind(op_type)
    return False


def has_comp_grad_op_maker(op_type):
    """Whether the gradient of a type is composed of other operations.

    Returns:
        bool: True for types that have gradients: their rules are functions over operations.

    Raises:
        ValueError: There is no such type.
    """
    return _kind(op_type).differentiable


def has_empty_grad_op_maker(op_type):
    """Whether a type has no gradient.

    Returns:
        bool: The opposite of has_comp_grad_op_maker.
    """
    return not has_comp_grad_op_maker(op_type)


def __getattr__(name):
    """What needs the static API, which is loaded when somebody asks for it."""
    if name == "Operator":
        from .standalone_operator import Operator

        return Operator
    raise AttributeError(f"module 'argosy.base.core' has no attribute '{name}'")
