"""Devices: places, the current device, memory statistics, threads."""

import contextlib
import functools
import importlib
import os
import sys
import types

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
from argosy.device.named import Device
from argosy.device.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    NullPlace,
    Place,
    XPUPinnedPlace,
    XPUPlace,
    checked_place,
    custom_devices,
    gpu_count,
    make_place,
)
from argosy.device.place import current as _current
from argosy.device.place import to_place as _to_place

_core._set_place_factory(make_place)


__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "Device",
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
    """Whether this build has kernels for IPUs.

    Returns:
        bool: False.

    Example:
        >>> argosy.is_compiled_with_ipu()
        False
    """
    return False


def manual_seed(seed):
    """Restarts the generator that all devices draw from.

    Args:
        seed (int): Where its stream begins.

    Example:
        >>> argosy.device.manual_seed(7)
    """
    _core.seed(int(seed))


def get_rng_state(device=None):
    """The state of the generator that all devices draw from.

    Args:
        device (str | Place | int, optional): Whose.

    Returns:
        bytes: Seed and position, for set_rng_state.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> state = argosy.device.get_rng_state()
        >>> drawn = argosy.rand([3])
        >>> argosy.device.set_rng_state(state)
        >>> bool((drawn == argosy.rand([3])).all())
        True
    """
    to_place(device)
    return _core.random_state()


def set_rng_state(new_state, device=None):
    """Continues from a state of the generator.

    Args:
        new_state (bytes): What get_rng_state gave.
        device (str | Place | int, optional): Whose; all devices draw from one generator.

    Raises:
        ValueError: There is no such device, or these are not the bytes of a state.

    Example:
        >>> argosy.device.set_rng_state(argosy.device.get_rng_state())
    """
    to_place(device)
    _core.set_random_state(new_state)


def to_place(device):
    """A Place from a Place or a name such as "cpu", "gpu:0", "null"; None: the current one."""
    return _current.place if device is None else _to_place(device)


def selected_gpu():
    """The first number of FLAGS_selected_gpus, which the launcher or the program sets; 0 without."""
    text = ""
    with contextlib.suppress(ValueError):  # a build for CPUs has no such flag
        text = _core.get_flag("FLAGS_selected_gpus")
    text = (text or os.environ.get("FLAGS_selected_gpus", "")).split(",")[0].strip()
    if text and not text.isdecimal():
        raise ValueError(
            f"[FLAGS_selected_gpus] expected numbers of GPUs, got {text!r}. Do this: set it to '0', say."
        )
    return int(text or 0)


def set_device(device):
    """Makes a device the one where ops of this thread without inputs put their results.

    Args:
        device (str | Place | None): "cpu", "gpu:N", "gpu" for the first of FLAGS_selected_gpus, or "null", which infers shapes and counts bytes but
            computes nothing: a dry run of models larger than this machine. None: the current one.

    Returns:
        Place: It.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> argosy.set_device("cpu")
        Place(cpu)
    """
    if device == "gpu":
        device = f"gpu:{selected_gpu()}"
    place = checked_place(_current.place if device is None else device, "set_device")
    if place.is_cuda_pinned_place():
        raise ValueError(
            "[set_device] expected a device, got Place(gpu_pinned): nothing is computed in pinned memory."
            " Do this: set the device that copies go to."
        )
    _core.set_place(place)
    _current.place = place
    return place


def get_device(input=None):  # noqa: A002
    """The current device of this thread, or that of a tensor.

    Args:
        input (Tensor, optional): Whose device is asked for.

    Returns:
        str | int: A name such as "cpu" or "gpu:0"; of a tensor the number of its GPU, or -1.

    Example:
        >>> argosy.get_device(), argosy.get_device(argosy.ones([1]))
        ('cpu', -1)
    """
    if input is not None:
        return input.get_device()
    place = _current.place
    return "cpu" if place.is_cpu_place() else f"{place._kind}:{place._index}"


def is_compiled_with_cuda():
    """Whether this build has CUDA kernels; whether there is a GPU says device.is_available.

    Returns:
        bool: That.

    Example:
        >>> isinstance(argosy.is_compiled_with_cuda(), bool)
        True
    """
    return _core.has_cuda()


def is_compiled_with_rocm():
    """Whether this build has ROCm kernels.

    Returns:
        bool: False.

    Example:
        >>> argosy.is_compiled_with_rocm()
        False
    """
    return False


def is_compiled_with_xpu():
    """Whether this build has kernels for XPUs.

    Returns:
        bool: False.

    Example:
        >>> argosy.is_compiled_with_xpu()
        False
    """
    return False


def is_compiled_with_custom_device(device_type):
    """Whether this process has a kind of plug-in device.

    Args:
        device_type (str): Its name.

    Returns:
        bool: That.

    Raises:
        TypeError: The name is no str.

    Example:
        >>> argosy.is_compiled_with_custom_device("npu")
        False
    """
    if not isinstance(device_type, str):
        raise TypeError(
            "[is_compiled_with_custom_device] device_type: expected a str, got"
            f" {type(device_type).__name__}. Do this: pass a name such as 'npu'."
        )
    return device_type in custom_devices()


def is_compiled_with_cinn():
    """Whether Paddle's CINN compiler is part of this build.

    Returns:
        bool: False.

    Example:
        >>> argosy.is_compiled_with_cinn()
        False
    """
    return False


def is_compiled_with_distribute():
    """Whether this build can run in several processes: parameter servers, and groups of one host.

    Returns:
        bool: True.

    Example:
        >>> argosy.is_compiled_with_distribute()
        True
    """
    return True


def get_all_device_type():
    """Kinds of devices that this build can use.

    Returns:
        list[str]: "cpu", and "gpu" with CUDA kernels; for others see get_all_custom_device_type.

    Example:
        >>> "cpu" in argosy.device.get_all_device_type()
        True
    """
    return ["cpu", "gpu"] if is_compiled_with_cuda() else ["cpu"]


def get_available_device():
    """Names of the devices that can be used now.

    Returns:
        list[str]: "cpu" and "gpu:N" for each GPU.

    Example:
        >>> argosy.device.get_available_device()[0]
        'cpu'
    """
    return ["cpu", *(f"gpu:{index}" for index in range(device_count()))]


def get_all_custom_device_type():
    """Kinds of plug-in devices that this process has.

    Returns:
        list[str]: Their names.

    Example:
        >>> argosy.device.get_all_custom_device_type()
        []
    """
    return list(custom_devices())


def get_available_custom_device():
    """Names of the plug-in devices that can be used now.

    Returns:
        list[str]: Such as "streamed:0".

    Example:
        >>> argosy.device.get_available_custom_device()
        []
    """
    return [f"{name}:{i}" for name, number in custom_devices().items() for i in range(number)]


def synchronize(device=None):
    """Waits until all work that was queued on a device is done; on the CPU it always is.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Raises:
        ValueError: There is no such device.
        DeviceError: Work on it failed.

    Example:
        >>> argosy.device.synchronize("cpu")
    """
    _core.synchronize_device(checked_place(to_place(device), "synchronize"))


def memory_allocated(device=None):
    """Memory of tensors on a device.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        int: Bytes that they take now.

    Example:
        >>> before = argosy.device.memory_allocated("cpu")
        >>> x = argosy.ones([1024])
        >>> argosy.device.memory_allocated("cpu") - before >= 4096
        True
    """
    return _core.memory_stats(to_place(device))["allocated"]


def max_memory_allocated(device=None):
    """The most memory that tensors on a device took since the start or reset_max_memory_allocated.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        int: Bytes.

    Example:
        >>> argosy.device.max_memory_allocated("cpu") >= argosy.device.memory_allocated("cpu")
        True
    """
    return _core.memory_stats(to_place(device))["peak"]


def memory_reserved(device=None):
    """Memory that the allocator of a device holds from the system.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        int: Bytes.

    Example:
        >>> argosy.device.memory_reserved("cpu") >= argosy.device.memory_allocated("cpu")
        True
    """
    return _core.memory_stats(to_place(device))["reserved"]


def max_memory_reserved(device=None):
    """The most memory that the allocator of a device held from the system since the start or
    reset_max_memory_reserved.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        int: Bytes.

    Example:
        >>> argosy.device.max_memory_reserved("cpu") >= argosy.device.memory_reserved("cpu")
        True
    """
    return _core.memory_stats(to_place(device))["peak_reserved"]


def reset_max_memory_allocated(device=None):
    """Starts a new count of max_memory_allocated, and of max_memory_reserved.

    Args:
        device (str | Place | int, optional): Of which; default: the current one.

    Example:
        >>> argosy.device.reset_max_memory_allocated("cpu")
        >>> argosy.device.max_memory_allocated("cpu") == argosy.device.memory_allocated("cpu")
        True
    """
    _core.reset_peak(to_place(device))


def empty_cache(device=None):
    """Gives cached memory back to the system."""
    _core.release_cached(to_place(device))


def memory_dump(device=None):
    """The state of a device's allocator as a table.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        str: Lines of text.

    Example:
        >>> isinstance(argosy.device.memory_dump("cpu"), str)
        True
    """
    return _core.memory_dump(to_place(device))


def set_memory_limit(bytes, device=None):
    """Makes allocations that go beyond a limit raise MemoryError.

    Args:
        bytes (int): The limit; 0 lifts it.
        device (str | Place | int, optional): Of which device; default: the current one.

    Example:
        >>> argosy.device.set_memory_limit(argosy.device.memory_allocated("cpu") + 2**20, "cpu")
        >>> argosy.ones([2**20])
        Traceback (most recent call last):
        MemoryError
        >>> argosy.device.set_memory_limit(0, "cpu")
    """
    _core.set_memory_limit(to_place(device), bytes)


def get_cudnn_version():
    """The version of cuDNN that this build uses.

    Returns:
        int | None: None: it uses none.

    Example:
        >>> argosy.device.get_cudnn_version() is None
        True
    """
    return None


def is_available():
    """Whether a GPU can be used."""
    return device_count() > 0


def is_bf16_supported(including_emulation=True):
    """Whether bfloat16 can be computed with.

    Args:
        including_emulation (bool): Whether conversion to float32 counts, which every CPU can do; else the
            first GPU, or without one the CPU, must have instructions for it.

    Returns:
        bool: That.

    Example:
        >>> argosy.cuda.is_bf16_supported()
        True
    """
    if including_emulation:
        return True
    if gpu_count():
        return cuda.get_device_capability(0) >= (8, 0)
    return "avx512_bf16" in _core.cpu_features().split()


def manual_seed_all(seed):
    """Restarts the generator that all devices draw from.

    Args:
        seed (int): Where its stream begins.

    Example:
        >>> argosy.cuda.manual_seed_all(7)
    """
    manual_seed(seed)


def reset_max_memory_reserved(device=None):
    """Starts a new count of max_memory_reserved, and of max_memory_allocated.

    Args:
        device (str | Place | int, optional): Of which; default: the current one.

    Example:
        >>> argosy.device.reset_max_memory_reserved("cpu")
    """
    _core.reset_peak(to_place(device))


def reset_peak_memory_stats(device=None):
    """Starts new counts of max_memory_allocated and max_memory_reserved.

    Args:
        device (str | Place | int, optional): Of which; default: the current one.

    Example:
        >>> argosy.device.reset_peak_memory_stats("cpu")
    """
    _core.reset_peak(to_place(device))


def memory_summary(device=None):
    """The state of a device's allocator as a table, as memory_dump.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        str: Lines of text.

    Example:
        >>> isinstance(argosy.device.memory_summary("cpu"), str)
        True
    """
    return memory_dump(device)


def current_device():
    """The number of this thread's current device among those of its kind.

    Returns:
        int: 0 for the CPU.

    Example:
        >>> argosy.device.current_device()
        0
    """
    return _current.place._index


def is_current_stream_capturing():
    """Whether a CUDA graph is being recorded.

    Returns:
        bool: False.

    Example:
        >>> argosy.cuda.is_current_stream_capturing()
        False
    """
    return False


def get_device_properties(device=None):
    """Name, capability and memory of a GPU.

    Args:
        device (str | Place | int, optional): Which; default: the current one, or the first.

    Returns:
        DeviceProperties: They.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.is_available():
        ...     found = argosy.device.get_device_properties().name
    """
    return cuda.get_device_properties(device)


def get_device_name(device=None):
    """The name of a GPU.

    Args:
        device (str | Place | int, optional): Which; default: the current one, or the first.

    Returns:
        str: It.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.is_available():
        ...     found = argosy.device.get_device_name()
    """
    return cuda.get_device_name(device)


def get_device_capability(device=None):
    """The compute capability of a GPU.

    Args:
        device (str | Place | int, optional): Which; default: the current one, or the first.

    Returns:
        tuple[int, int]: It, such as (9, 0).

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.is_available():
        ...     found = argosy.device.get_device_capability()
    """
    return cuda.get_device_capability(device)


def get_default_device():
    """The device where new tensors are put.

    Returns:
        str: A name such as "cpu" or "gpu:0".

    Example:
        >>> argosy.get_default_device()
        'cpu'
    """
    return get_device()


def set_default_device(device):
    """Puts new tensors of this thread on a device, as set_device does.

    Args:
        device (str | Place): Which.

    Example:
        >>> argosy.set_default_device("cpu")
    """
    set_device(device)


def get_device_module(device=None):
    """The module with the functions of a kind of device.

    Args:
        device (str | Place | int, optional): A device of that kind; default: the current one.

    Returns:
        module: argosy.cuda for GPUs, else argosy.device.

    Example:
        >>> argosy.get_device_module("cpu") is argosy.device
        True
    """
    place = to_place(device)
    if place._kind == "gpu":
        return importlib.import_module("argosy.cuda")
    return sys.modules[__name__]


def device_to_place(device=None):
    """The place of a device.

    Args:
        device (str | Place | int, optional): Its name or number; default: the current one.

    Returns:
        Place: It.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> argosy.device.device_to_place("cpu")
        Place(cpu)
    """
    return to_place(device)


class device_guard:
    """A context, or decorator, in which new tensors are put on another device.

    Args:
        device (str | Place, optional): Which; default: the current one.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> with argosy.device_guard("null"):
        ...     x = argosy.ones([1000, 1000])
        >>> x.place
        Place(null:0)
    """

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


class _CallableModule(types.ModuleType):
    """`argosy.device` is a module and a function: device("gpu", 0) names a device."""

    def __call__(self, type=None, index=None):  # noqa: A002
        return Device(type, index)


sys.modules[__name__].__class__ = _CallableModule
