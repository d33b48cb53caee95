"""Names of CUDA's devices. Counts and figures come from the core, which has no properties of GPUs; what
needs a GPU where there is none says so."""

from argosy import _core
from argosy.device import streams as _streams
from argosy.device.place import CUDAPlace, checked_place, gpu_count, has_place, to_place
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
    """The GPU that an argument means; None and the CPU mean the first."""
    place = CUDAPlace(0) if device is None else to_place(device)
    if not has_place(CUDAPlace(0)):
        _streams.need_cuda(what)
    return checked_place(place, f"device.cuda.{what}", NoCudaError)


def _figure(what, device, key):
    return _core.memory_stats(_gpu(what, device))[key]


def synchronize(device=None):
    """Waits until the work queued on a GPU is done.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.synchronize()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("synchronize")


def empty_cache():
    """Gives cached GPU memory back to the system; without a GPU there is none to give.

    Example:
        >>> argosy.device.cuda.empty_cache()
    """
    for index in range(gpu_count()):
        _core.release_cached(CUDAPlace(index))


def memory_allocated(device=None):
    """Memory of tensors on a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

    Returns:
        int: Bytes.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     used = argosy.device.cuda.max_memory_reserved()
    """
    return _figure("max_memory_reserved", device, "peak_reserved")


def get_device_properties(device=None):
    """Name, capability and memory of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.get_device_properties()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("get_device_properties")


def get_device_name(device=None):
    """The name of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.get_device_name()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("get_device_name")


def get_device_capability(device=None):
    """The compute capability of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.get_device_capability()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("get_device_capability")


def cudart():
    """The module of CUDA's runtime.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.cudart()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("cudart")


def check_error(res):
    """Checks a result of CUDA's runtime.

    Args:
        res (int): It.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.check_error(0)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("check_error")


def get_stream_from_external(data_ptr, device=None):
    """The stream that another library made.

    Args:
        data_ptr (int): Its address.
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.get_stream_from_external(0)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("get_stream_from_external")


def mem_get_info(device=None):
    """Free and total bytes of a GPU.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.mem_get_info()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("mem_get_info")


def memory_summary(device=None):
    """The state of a GPU's allocator as a table.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

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
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: There is no such GPU, or none at all.

    Example:
        >>> if argosy.device.cuda.device_count():
        ...     argosy.device.cuda.reset_peak_memory_stats()
    """
    _core.reset_peak(_gpu("reset_peak_memory_stats", device))


def vmm_compact(device=None):
    """Puts the free memory of a GPU together."""
    _streams.need_cuda("vmm_compact")


def ipc_collect():
    """Frees GPU memory that other processes have let go of.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.ipc_collect()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _streams.need_cuda("ipc_collect")


StreamContext = stream = stream_guard
