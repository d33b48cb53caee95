"""Names that programs look for in ``paddle.base.core``."""

from __future__ import annotations

import dataclasses

from argosy import _core, device
from argosy._framework import disable_signal_handler, get_flags, set_flags  # noqa: F401
from argosy._programs import scope
from argosy._support import EOFException, no_effect  # noqa: F401
from argosy.amp import is_bfloat16_supported, is_float16_supported  # noqa: F401
from argosy.amp.debugging import (  # noqa: F401
    clear_low_precision_op_list,
    get_low_precision_op_list,
)
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
from .prim_switches import (  # noqa: F401
    _add_skip_comp_ops,
    _check_and_set_prim_vjp_skip_default_ops,
    _clear_prim_vjp_skip_default_ops,
    _enable_prim_dynamic_shape,
    _is_all_prim_enabled,
    _is_bwd_prim_enabled,
    _is_eager_prim_enabled,
    _is_fwd_prim_enabled,
    _remove_skip_comp_ops,
    _set_bwd_prim_blacklist,
    _set_prim_all_enabled,
    _set_prim_backward_blacklist,
    _set_prim_backward_enabled,
    _set_prim_forward_blacklist,
    _set_prim_forward_enabled,
    set_prim_eager_enabled,
)


class EnforceNotMet(Exception):
    """What Paddle raises for errors of no category. All errors here have one, so nothing raises it: programs
    may name it in ``except``."""


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


def kEmptyVarName():
    """The name that stands for no variable.

    Returns:
        str: "@EMPTY@".
    """
    return "@EMPTY@"


empty_var_name = kEmptyVarName


def grad_var_suffix():
    """What is behind the name of a variable in that of its gradient.

    Returns:
        str: "@GRAD".
    """
    return "@GRAD"


def size_of_dtype(dtype):
    """Bytes of one element.

    Args:
        dtype (dtype): Of the elements.

    Returns:
        int: Their number.

    Example:
        >>> argosy.base.core.size_of_dtype(argosy.float32)
        4
    """
    return _core.dtype(dtype).itemsize


def broadcast_shape(x_shape, y_shape):
    """The shape of the result of an operation on two shapes.

    Args:
        x_shape, y_shape (list[int]): They.

    Returns:
        list[int]: It.

    Raises:
        ValueError: They do not fit.

    Example:
        >>> argosy.base.core.broadcast_shape([2, 1], [3])
        [2, 3]
    """
    from argosy.tensor import broadcast_shape

    return broadcast_shape(x_shape, y_shape)


def from_dlpack(dlpack):
    """The tensor in a capsule, whose memory it shares.

    Args:
        dlpack (PyCapsule): What ``Tensor.__dlpack__`` or ``DenseTensor._to_dlpack`` gave.

    Returns:
        DenseTensor: It.

    Raises:
        TypeError: It is no capsule.
    """
    from argosy.utils.dlpack import from_dlpack as tensor_of

    return scope.DenseTensor(tensor_of(dlpack))


def avx_supported():
    """Whether the CPU has AVX.

    Returns:
        bool: That.
    """
    return "avx" in _core.cpu_features() or supports_avx512f()


def is_compiled_with_mkldnn():
    """Whether oneDNN is in this build.

    Returns:
        bool: False.
    """
    return False


is_compiled_with_onednn = is_compiled_with_mkldnn
is_compiled_with_nccl = is_compiled_with_cuda


def get_all_device_type():
    """Names of the kinds of devices that libraries have brought.

    Returns:
        list[str]: They.

    Example:
        >>> argosy.base.core.get_all_device_type()
        []
    """
    return device.get_all_custom_device_type() or []


get_all_custom_device_type = get_all_device_type


def get_available_device():
    """The devices of these kinds.

    Returns:
        list[str]: Such as "fancy:0".

    Example:
        >>> argosy.base.core.get_available_device()
        []
    """
    return device.get_available_custom_device() or []


get_available_custom_device = get_available_device


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


has_non_empty_grad_op_maker = has_comp_grad_op_maker


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
