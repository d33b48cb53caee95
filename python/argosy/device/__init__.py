"""Devices: places, the current device, memory statistics, threads."""

import functools
import importlib
import sys
import threading

from argosy import _core
from argosy.device import cuda, xpu  # noqa: F401
from argosy.device.cuda import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    device_count,
    get_stream_from_external,
    ipc_collect,
    set_stream,
    stream,
    stream_guard,
)
from argosy.device.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    IPUPlace,
    NullPlace,
    Place,
    XPUPinnedPlace,
    XPUPlace,
    checked_place,
    has_place,
    make_place,
)
from argosy.device.place import to_place as _to_place

_core._set_place_factory(make_place)


class _Current(threading.local):
    """The place of each thread, as set_device told the core."""

    place = CPUPlace()


_current = _Current()

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "Event",
    "IPUPlace",
    "NullPlace",
    "Place",
    "Stream",
    "StreamContext",
    "XPUPinnedPlace",
    "XPUPlace",
    "current_device",
    "current_stream",
    "device",
    "device_guard",
    "device_to_place",
    "get_all_device_type",
    "get_available_device",
    "get_default_device",
    "get_device",
    "get_device_capability",
    "get_device_module",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_compiled_with_cuda",
    "is_compiled_with_ipu",
    "is_current_stream_capturing",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_dump",
    "memory_reserved",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_default_device",
    "set_device",
    "set_memory_limit",
    "set_rng_state",
    "set_stream",
    "stream",
    "stream_guard",
    "synchronize",
]


def is_compiled_with_ipu():
    """False: there are no kernels for IPUs."""
    return False


def manual_seed(seed):
    """Restarts the random numbers of the current device."""
    _core.seed(int(seed))


def get_rng_state(device=None):
    """Where the random numbers of the device are, for set_rng_state."""
    _with_generator(device, "get_rng_state")
    return _core.random_state()


def set_rng_state(new_state, device=None):
    """Continues from a state that get_rng_state gave."""
    _with_generator(device, "set_rng_state")
    _core.set_random_state(new_state)


def _with_generator(device, what):
    """Refuses devices that do not draw from the generator of the core. Without GPUs it is the only
    one, whatever the device is called."""
    place = to_place(device)
    if place.is_gpu_place() and is_compiled_with_cuda():
        raise ValueError(
            f"[{what}] the generator of {place!r} has no state to show. Do this: use device='cpu'."
        )


def to_place(device):
    """A Place from a Place or a name such as "cpu", "gpu:0", "null"; None: the current one."""
    return _current.place if device is None else _to_place(device)


def set_device(device):
    """Makes device the one where ops of this thread without inputs put their results; returns its Place.

    "null" infers shapes and counts bytes but computes nothing: a dry run of models larger than this
    machine.
    """
    place = checked_place(_current.place if device is None else device, "set_device")
    _core.set_place(place)
    _current.place = place
    return place


def get_device(input=None):  # noqa: A002
    """Name of the current device, e.g. "cpu" or "gpu:0"; of a tensor the number of its GPU, or -1."""
    if input is not None:
        return input.get_device()
    place = _current.place
    return "cpu" if place.is_cpu_place() else f"{place._kind}:{place._index}"


def is_compiled_with_cuda():
    """Whether this build has CUDA kernels."""
    return has_place(CUDAPlace(0))


def is_compiled_with_rocm():
    """Whether this build has ROCm kernels: it never has."""
    return False


def is_compiled_with_xpu():
    """Whether this build has XPU kernels: it never has."""
    return False


def is_compiled_with_custom_device(device_type):
    """Whether this build has kernels for a plug-in device of this name: it never has."""
    if not isinstance(device_type, str):
        raise TypeError(
            "[is_compiled_with_custom_device] device_type: expected a str, got"
            f" {type(device_type).__name__}. Do this: pass a name such as 'npu'."
        )
    return False


def is_compiled_with_cinn():
    """Whether Paddle's CINN compiler is part of this build: it never is."""
    return False


def is_compiled_with_distribute():
    """Whether this build can run on several machines."""
    return False


def get_all_device_type():
    """Kinds of devices that this build can use."""
    return ["cpu", "gpu"] if is_compiled_with_cuda() else ["cpu"]


def get_available_device():
    """Names of the devices that can be used now."""
    return ["cpu", *(f"gpu:{index}" for index in range(device_count()))]


def get_all_custom_device_type():
    """Kinds of plug-in devices: none."""
    return []


def get_available_custom_device():
    """Names of plug-in devices: none."""
    return []


def synchronize(device=None):
    """Waits until all work queued on device is done (CPU work always is)."""
    if to_place(device).is_gpu_place():
        cuda.synchronize(device)


def memory_allocated(device=None):
    """Bytes that tensors on device take now."""
    return _core.memory_stats(to_place(device))["allocated"]


def max_memory_allocated(device=None):
    """Most bytes that tensors on device took since the start or reset_max_memory_allocated."""
    return _core.memory_stats(to_place(device))["peak"]


def memory_reserved(device=None):
    """Bytes held from the system for device."""
    return _core.memory_stats(to_place(device))["reserved"]


def max_memory_reserved(device=None):
    """Most bytes held from the system for device."""
    return _core.memory_stats(to_place(device))["peak_reserved"]


def reset_max_memory_allocated(device=None):
    """Starts a new count of max_memory_allocated."""
    _core.reset_peak(to_place(device))


def empty_cache(device=None):
    """Gives cached memory back to the system."""
    _core.release_cached(to_place(device))


def memory_dump(device=None):
    """A table of the allocator's state, as text."""
    return _core.memory_dump(to_place(device))


def set_memory_limit(bytes, device=None):
    """Makes allocations beyond `bytes` on device raise MemoryError; 0 lifts the limit."""
    _core.set_memory_limit(to_place(device), bytes)


def get_cudnn_version():
    """Version of cuDNN; None without CUDA."""
    return None


def is_available():
    """Whether a GPU can be used."""
    return device_count() > 0


def is_bf16_supported(including_emulation=True):
    """Whether bfloat16 can be computed with: always, by conversion where the CPU has no instructions
    for it, which including_emulation=False leaves out."""
    return bool(including_emulation) or "avx512_bf16" in _core.cpu_features().split()


def manual_seed_all(seed):
    """Restarts the random numbers of all devices."""
    manual_seed(seed)


def reset_max_memory_reserved(device=None):
    """Starts a new count of max_memory_reserved."""
    _core.reset_peak(to_place(device))


def reset_peak_memory_stats(device=None):
    """Starts new counts of max_memory_allocated and max_memory_reserved."""
    _core.reset_peak(to_place(device))


def memory_summary(device=None):
    """A table of the allocator's state, as text."""
    return memory_dump(device)


def current_device():
    """Number of the current device."""
    return _current.place._index


def is_current_stream_capturing():
    """Whether a CUDA graph is being recorded."""
    return False


def get_device_properties(device=None):
    """Name, capability and memory of a GPU."""
    return cuda.get_device_properties(device)


def get_device_name(device=None):
    """Name of a GPU."""
    return cuda.get_device_name(device)


def get_device_capability(device=None):
    """Compute capability of a GPU."""
    return cuda.get_device_capability(device)


def get_default_device():
    """Name of the device where new tensors are put."""
    return get_device()


def set_default_device(device):
    """Puts new tensors on device."""
    set_device(device)


def get_device_module(device=None):
    """The module with the functions of a kind of device: argosy.cuda for GPUs, else this one."""
    place = to_place(device)
    if place._kind == "gpu":
        return importlib.import_module("argosy.cuda")
    return sys.modules[__name__]


def device_to_place(device=None):
    """to_place under its other name."""
    return to_place(device)


class device_guard:
    """Context, or decorator, in which new tensors are put on device."""

    def __init__(self, device=None):
        self._device = device

    def __enter__(self):
        self._before = _current.place
        if self._device is not None:
            set_device(self._device)

    def __exit__(self, *exc):
        set_device(self._before)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with type(self)(self._device):
                return function(*args, **kwargs)

        return wrapper


device = device_guard
