"""GPUs: counts, properties and figures of their memory, which the core knows. What needs a GPU where there
is none says so."""

from argosy import _core
from argosy._support import need_type
from argosy.device.place import CUDAPlace, checked_place, current, gpu_count, to_place
from argosy.device.streams import (  # noqa: F401
    Event,
    NoCudaError,
    Stream,
    current_stream,
    set_stream,
    stream_guard,
)


def device_count():
    """The number of GPUs that can be used.

    Returns:
        int: 0 where there is none.

    Example:
        >>> argosy.device.cuda.device_count() >= 0
        True
    """
    return gpu_count()


def _gpu(what, device):
    """The GPU that an argument means; None means the current device if that is one, else the first."""
    if device is None:
        device = current.place if current.place.is_gpu_place() else CUDAPlace(0)
    return checked_place(to_place(device), f"device.cuda.{what}", NoCudaError)


def _properties(what, device):
    found = _core.device_properties(_gpu(what, device))
    return {name: int(v) if v.isdecimal() else v for name, v in found.items()}


def _figure(what, device, key):
    return _core.memory_stats(_gpu(what, device))[key]


def synchronize(device=None):
    """Waits until the work queued on a GPU is done.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Raises:
        ValueError: There is no such GPU, or none at all.
        DeviceError: Work on it failed.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.synchronize()
    """
    _core.synchronize_device(_gpu("synchronize", device))


def empty_cache():
    """Gives cached GPU memory back to the system; without a GPU there is none to give.

    Example:
        >>> argosy.device.cuda.empty_cache()
    """
    if any(name == "gpu" for name, _ in _core.devices()):
        for index in range(gpu_count()):
            _core.release_cached(CUDAPlace(index))


def memory_allocated(device=None):
    """Memory of tensors on a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        int: Bytes.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.memory_allocated()
    """
    return _figure("memory_allocated", device, "allocated")


def max_memory_allocated(device=None):
    """The most memory that tensors took on a GPU since the start or reset_max_memory_allocated.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        int: Bytes.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.max_memory_allocated()
    """
    return _figure("max_memory_allocated", device, "peak")


def memory_reserved(device=None):
    """Memory that the allocator of a GPU holds.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        int: Bytes.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.memory_reserved()
    """
    return _figure("memory_reserved", device, "reserved")


def max_memory_reserved(device=None):
    """The most memory that the allocator of a GPU held since the start or reset_max_memory_reserved.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        int: Bytes.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.max_memory_reserved()
    """
    return _figure("max_memory_reserved", device, "peak_reserved")


class DeviceProperties:
    """What a GPU is.

    Attributes:
        name (str): Its name.
        major, minor (int): Its compute capability.
        total_memory (int): Bytes of its memory.
        multi_processor_count (int): How many multiprocessors it has.
    """

    def __init__(self, found):
        self.__dict__.update(found)

    def __eq__(self, other):
        return isinstance(other, DeviceProperties) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        return (
            f"_gpuDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor},"
            f" total_memory={self.total_memory >> 20}MB,"
            f" multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device=None):
    """Name, capability and memory of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        DeviceProperties: They.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     memory = argosy.device.cuda.get_device_properties().total_memory
    """
    return DeviceProperties(_properties("get_device_properties", device))


def get_device_name(device=None):
    """The name of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        str: It.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     name = argosy.device.cuda.get_device_name()
    """
    return _properties("get_device_name", device)["name"]


def get_device_capability(device=None):
    """The compute capability of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        tuple[int, int]: It, such as (9, 0).

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     major, minor = argosy.device.cuda.get_device_capability()
    """
    found = _properties("get_device_capability", device)
    return found["major"], found["minor"]


def cudart():
    """Functions of CUDA's runtime: `cudaMemGetInfo`, `cudaProfilerStart` and `Stop`, `cudaHostRegister` and
    `Unregister`, `cudaStreamCreate` and `Destroy`, `cudaGetErrorString`, and the results in `cudaError`.

    Returns:
        module-like: What has them.

    Raises:
        ValueError: There is no GPU.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.cuda.check_error(argosy.cuda.cudart().cudaProfilerStop())
    """
    _gpu("cudart", None)
    from argosy.device._cudart import runtime

    return runtime()


class CudaError(RuntimeError):
    """What check_error raises: the text of CUDA, and the number.

    Args:
        code (int): The result of a function.

    Example:
        >>> argosy.device.cuda.CudaError.__name__
        'CudaError'
    """

    def __init__(self, code):
        super().__init__(f"{cudart().cudaGetErrorString(code)} ({int(code)})")


def check_error(res):
    """Raises where a result of CUDA's runtime is an error.

    Args:
        res (int): The result; 0 is none.

    Raises:
        CudaError: It is one.
        ValueError: There is no GPU.

    Example:
        >>> argosy.cuda.check_error(0)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _gpu("check_error", None)
    if int(res):
        raise CudaError(res)


def get_stream_from_external(data_ptr, device=None):
    """The stream that another library made.

    Who made it keeps it as long as the process uses it or has tensors that were made on it.

    Args:
        data_ptr (int): Its address, a cudaStream_t.
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        Stream: For `stream_guard`, `set_stream` and events; the same queue for the same address.

    Raises:
        TypeError: data_ptr is no int.
        ValueError: There is no GPU.

    Example:
        >>> argosy.cuda.get_stream_from_external(0)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    place = _gpu("get_stream_from_external", device)
    need_type("get_stream_from_external", "data_ptr", data_ptr, int, "pass a cudaStream_t as int")
    return Stream._of(place, _core.adopt_stream(place, data_ptr))


def mem_get_info(device=None):
    """Free and total bytes of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        tuple[int, int]: They.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     free, total = argosy.device.cuda.mem_get_info()
    """
    found = _properties("mem_get_info", device)
    return found["free_memory"], found["total_memory"]


def memory_summary(device=None):
    """The state of a GPU's allocator as a table.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Returns:
        str: Lines of text.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.memory_summary()
    """
    return _core.memory_dump(_gpu("memory_summary", device))


def reset_max_memory_allocated(device=None):
    """Starts a new count of max_memory_allocated, and of max_memory_reserved.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.reset_max_memory_allocated()
    """
    _core.reset_peak(_gpu("reset_max_memory_allocated", device))


def reset_max_memory_reserved(device=None):
    """Starts a new count of max_memory_reserved, and of max_memory_allocated.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.reset_max_memory_reserved()
    """
    _core.reset_peak(_gpu("reset_max_memory_reserved", device))


def reset_peak_memory_stats(device=None):
    """Starts new counts of max_memory_allocated and max_memory_reserved.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.reset_peak_memory_stats()
    """
    _core.reset_peak(_gpu("reset_peak_memory_stats", device))


def vmm_compact(device=None):
    """Puts the free memory of a GPU together: gives what is cached back to it.

    Args:
        device (int | str | Place, optional): Which GPU; default: the current one, or the first.

    Raises:
        ValueError: There is no such GPU, or none at all.
    """
    _core.release_cached(_gpu("vmm_compact", device))


def ipc_collect():
    """Frees GPU memory that other processes have let go of; they never get any.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.ipc_collect()
    """
    _gpu("ipc_collect", None)


StreamContext = stream = stream_guard
