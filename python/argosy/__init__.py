"""Argosy: deep learning on a C++ core, with the names and semantics of Paddle's public API.

`import argosy as paddle` runs programs written for it. Heavy submodules load at first use.
"""

import importlib as _importlib
import threading as _threading

try:
    from argosy import _core
except ImportError as _error:
    from argosy._interpreter import explain_missing_core as _explain

    raise _explain(_error) from None
from argosy import _addresses
from argosy._core import (
    DeviceError,
    InternalError,
    OutOfRangeError,
    Size,
    Tensor,
    bfloat16,
    bool,
    complex64,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from argosy._framework import (
    disable_static,
    enable_static,
    explain,
    finfo,
    get_flags,
    iinfo,
    in_dynamic_mode,
    set_flags,
)
from argosy.autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from argosy.device import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    XPUPinnedPlace,
    XPUPlace,
    get_device,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from argosy.tensor import *  # noqa: F403
from argosy.tensor.methods import is_tensor
from argosy.tensor.printing import set_printoptions
from argosy.tensor.registry import TABLE as _TABLE


def _create_parameter(
    shape,
    dtype,  # noqa: F811
    name=None,
    attr=None,
    is_bias=False,
    default_initializer=None,  # noqa: F811
):
    """A parameter: what argosy.create_parameter makes."""
    from argosy.base.framework import create_parameter as make

    return make(shape, dtype, name, attr, is_bias, default_initializer)


_TABLE.add("create_parameter", staticmethod(_create_parameter), __name__, None)
_TABLE.install(Tensor)


pi, e, inf, nan, newaxis = 3.141592653589793, 2.718281828459045, float("inf"), float("nan"), None

# The Paddle API level, which programs written for it compare; argosy.version has both versions.
__version__ = "3.3.1"
__git_commit__ = "unknown"  # as version.commit

# Loaded at first use: name -> module, or (module, attribute).
_LAZY = {
    "_C_ops": "argosy._C_ops",
    "_legacy_C_ops": "argosy._legacy_C_ops",
    "amp": "argosy.amp",
    "audio": "argosy.audio",
    "base": "argosy.base",
    "callbacks": "argosy.callbacks",
    "common_ops_import": "argosy.common_ops_import",
    "dataset": "argosy.dataset",
    "decomposition": "argosy.decomposition",
    "compat": "argosy.compat",
    "cuda": "argosy.cuda",
    "distributed": "argosy.distributed",
    "distribution": "argosy.distribution",
    "fft": "argosy.fft",
    "framework": "argosy.framework",
    "geometric": "argosy.geometric",
    "hapi": "argosy.hapi",
    "hub": "argosy.hub",
    "reader": "argosy.reader",
    "incubate": "argosy.incubate",
    "inference": "argosy.inference",
    "io": "argosy.io",
    "jit": "argosy.jit",
    "linalg": "argosy.linalg",
    "metric": "argosy.metric",
    "nn": "argosy.nn",
    "optimizer": "argosy.optimizer",
    "paddle": "argosy",  # programs write paddle.paddle.dtype
    "pir": "argosy.pir",
    "pir_utils": "argosy.pir_utils",
    "profiler": "argosy.profiler",
    "quantization": "argosy.quantization",
    "random": "argosy.random",
    "regularizer": "argosy.regularizer",
    "onnx": "argosy.onnx",
    "signal": "argosy.signal",
    "sparse": "argosy.sparse",
    "static": "argosy.static",
    "sysconfig": "argosy.sysconfig",
    "text": "argosy.text",
    "utils": "argosy.utils",
    "Generator": ("argosy.random", "Generator"),
    "MmapStorage": ("argosy.utils.mmap_storage", "MmapStorage"),
    "autocast": ("argosy.amp.auto_cast", "autocast"),
    "batch": ("argosy.io.dataloader.grouping", "batch"),
    "cdouble": ("argosy._core", "complex128"),
    "check_shape": ("argosy.utils.layers_utils", "check_shape"),
    "cfloat": ("argosy._core", "complex64"),
    "disable_compat": ("argosy.compat.proxy", "disable_compat"),
    "enable_compat": ("argosy.compat.proxy", "enable_compat"),
    "disable_signal_handler": ("argosy._framework", "disable_signal_handler"),
    "device_guard": ("argosy.device", "device_guard"),
    "double": ("argosy._core", "float64"),
    "float": ("argosy._core", "float32"),
    "from_dlpack": ("argosy.utils.dlpack", "from_dlpack"),
    "get_cudnn_version": ("argosy.device", "get_cudnn_version"),
    "get_default_device": ("argosy.device", "get_default_device"),
    "get_device_module": ("argosy.device", "get_device_module"),
    "half": ("argosy._core", "float16"),
    "int": ("argosy._core", "int32"),
    "is_compiled_with_ipu": ("argosy.device", "is_compiled_with_ipu"),
    "long": ("argosy._core", "int64"),
    "set_default_device": ("argosy.device", "set_default_device"),
    "short": ("argosy._core", "int16"),
    "to_dlpack": ("argosy.utils.dlpack", "to_dlpack"),
    "version": "argosy.version",
    "vision": "argosy.vision",
    "DataParallel": ("argosy.distributed", "DataParallel"),
    "Model": ("argosy.hapi", "Model"),
    "summary": ("argosy.hapi", "summary"),
    "flops": ("argosy.hapi", "flops"),
    "get_autocast_cpu_dtype": ("argosy.amp.auto_cast", "get_autocast_cpu_dtype"),
    "get_autocast_dtype": ("argosy.amp.auto_cast", "get_autocast_dtype"),
    "get_autocast_gpu_dtype": ("argosy.amp.auto_cast", "get_autocast_gpu_dtype"),
    "is_autocast_enabled": ("argosy.amp.auto_cast", "is_autocast_enabled"),
    "adaptive_avg_pool1d": ("argosy.nn.functional", "adaptive_avg_pool1d"),
    "conv1d": ("argosy.nn.functional", "conv1d"),
    "conv2d": ("argosy.nn.functional", "conv2d"),
    "conv3d": ("argosy.nn.functional", "conv3d"),
    "group_norm": ("argosy.nn.functional", "group_norm"),
    "layer_norm": ("argosy.nn.functional", "layer_norm"),
    "LazyGuard": ("argosy.nn.initializer.lazy_init", "LazyGuard"),
    "ParamAttr": ("argosy.base.param_attr", "ParamAttr"),
    "create_parameter": ("argosy.base.framework", "create_parameter"),
    "async_save": ("argosy.framework.async_io", "async_save"),
    "clear_async_save_task_queue": ("argosy.framework.async_io", "clear_async_save_task_queue"),
    "load": ("argosy.framework.io", "load"),
    "save": ("argosy.framework.io", "save"),
}


# Two threads that load rooms at once would wait for each other's.
_loading = _threading.RLock()


def __getattr__(name):
    target = _LAZY.get(name)
    if target is None:
        raise AttributeError(
            f"module 'argosy' has no attribute {name!r}. Do this: check the name; `argosy doctor`"
            " prints the version and the Paddle API level it follows."
        )
    with _loading:
        if isinstance(target, tuple):
            value = getattr(_importlib.import_module(target[0]), target[1])
        else:
            value = _importlib.import_module(target)
        globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_LAZY))


_addresses.install()
