"""Names of CUDA's devices. Counts and figures come from the core, which has no streams and no properties
of GPUs; what needs a GPU where there is none says so."""

from argosy import _core
from argosy.device.place import CUDAPlace, checked_place, gpu_count, has_place, to_place


def device_count():
    """The number of GPUs that can be used.

    Returns:
        int: 0 where there is none.

    Example:
        >>> argosy.device.cuda.device_count() >= 0
        True
    """
    return gpu_count()


class NoCudaError(ValueError, TypeError):
    """What needs CUDA was asked of a build without it."""


def _gpu(what, device):
    """The GPU that an argument means; None and the CPU mean the first."""
    place = CUDAPlace(0) if device is None else to_place(device)
    if not has_place(CUDAPlace(0)):
        _need_cuda(what)
    return checked_place(place, f"device.cuda.{what}", NoCudaError)


def _figure(what, device, key):
    return _core.memory_stats(_gpu(what, device))[key]


def _need_cuda(what):
    raise NoCudaError(
        f"[device.cuda.{what}] this build of Argosy has no CUDA support. Do this: build with"
        " ARGOSY_CUDA=ON, or guard the call with argosy.is_compiled_with_cuda()."
    )


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
    _need_cuda("synchronize")


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
    _need_cuda("get_device_properties")


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
    _need_cuda("get_device_name")


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
    _need_cuda("get_device_capability")


class Stream:
    """A queue of work on a GPU. This version has none: making one raises, so the methods are never reached.

    Args:
        device (int | str | Place, optional): Which GPU.
        priority (int): 1 before 2.
        stream_base (optional): A stream that there is already.

    Raises:
        ValueError: Always.

    Example:
        >>> argosy.device.cuda.Stream()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """

    def __init__(self, device=None, priority=2, stream_base=None):
        _need_cuda("Stream")

    def wait_event(self, event):
        """Lets later work of this queue wait for an event.

        Args:
            event (Event): It.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Stream.wait_event")

    def wait_stream(self, stream):
        """Lets later work of this queue wait for what is in another queue.

        Args:
            stream (Stream): It.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Stream.wait_stream")

    def record_event(self, event=None):
        """Puts an event into this queue.

        Args:
            event (Event, optional): It; default: a new one.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Stream.record_event")

    def query(self):
        """Whether the work of this queue is done.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Stream.query")

    def synchronize(self):
        """Waits until the work of this queue is done.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Stream.synchronize")


class Event:
    """A mark in a stream. This version has none: making one raises, so the methods are never reached.

    Args:
        enable_timing (bool): Whether it notes the time.
        blocking (bool): Whether to sleep while waiting for it.
        interprocess (bool): Whether other processes may use it.

    Raises:
        ValueError: Always.

    Example:
        >>> argosy.device.cuda.Event()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        _need_cuda("Event")

    def record(self, stream=None):
        """Puts this mark into a stream.

        Args:
            stream (Stream, optional): It; default: the current one.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Event.record")

    def query(self):
        """Whether the work before this mark is done.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Event.query")

    def elapsed_time(self, end_event):
        """Milliseconds between this mark and another.

        Args:
            end_event (Event): It.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Event.elapsed_time")

    def synchronize(self):
        """Waits until the work before this mark is done.

        Raises:
            ValueError: Always: this version does not do it.
        """
        _need_cuda("Event.synchronize")


def cudart():
    """The module of CUDA's runtime.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.cudart()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _need_cuda("cudart")


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
    _need_cuda("check_error")


def current_stream(device=None):
    """The stream that a GPU's work goes to.

    Args:
        device (int | str | Place, optional): Which GPU; default: the first.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.current_stream()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _need_cuda("current_stream")


def set_stream(stream):
    """Lets work go to another stream.

    Args:
        stream (Stream): It.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.set_stream(None)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _need_cuda("set_stream")


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
    _need_cuda("get_stream_from_external")


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
    _need_cuda("mem_get_info")


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
    _need_cuda("vmm_compact")


def ipc_collect():
    """Frees GPU memory that other processes have let go of.

    Raises:
        ValueError: Always: this version does not do it.

    Example:
        >>> argosy.device.cuda.ipc_collect()
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    _need_cuda("ipc_collect")


class stream_guard:
    """A context in which work goes to another stream.

    Args:
        stream (Stream, optional): It; None leaves it where it is.

    Example:
        >>> with argosy.device.stream_guard(None):
        ...     x = argosy.ones([2])
    """

    def __init__(self, stream=None):
        self._stream = stream

    def __enter__(self):
        if self._stream is not None:
            _need_cuda("stream_guard")
        return self

    def __exit__(self, *exc):
        return False


StreamContext = stream = stream_guard
