"""Names of CUDA's devices. Counts and figures come from the core, which has no streams and no properties
of GPUs; what needs a GPU where there is none says so."""

from argosy import _core
from argosy.device.place import CUDAPlace, checked_place, gpu_count, has_place, to_place


def device_count():
    """Number of GPUs that can be used."""
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
    """Waits until the work queued on a GPU is done."""
    _need_cuda("synchronize")


def empty_cache():
    """Gives cached GPU memory back to the system; without a GPU there is none to give."""
    for index in range(gpu_count()):
        _core.release_cached(CUDAPlace(index))


def memory_allocated(device=None):
    """Bytes that tensors take on a GPU."""
    return _figure("memory_allocated", device, "allocated")


def max_memory_allocated(device=None):
    """Most bytes that tensors took on a GPU."""
    return _figure("max_memory_allocated", device, "peak")


def memory_reserved(device=None):
    """Bytes held on a GPU."""
    return _figure("memory_reserved", device, "reserved")


def max_memory_reserved(device=None):
    """Most bytes held on a GPU."""
    return _figure("max_memory_reserved", device, "peak_reserved")


def get_device_properties(device=None):
    """Name, capability and memory of a GPU."""
    _need_cuda("get_device_properties")


def get_device_name(device=None):
    """Name of a GPU."""
    _need_cuda("get_device_name")


def get_device_capability(device=None):
    """Compute capability of a GPU."""
    _need_cuda("get_device_capability")


class Stream:
    """A queue of work on a GPU; making one needs CUDA, so the methods are never reached without."""

    def __init__(self, device=None, priority=2, stream_base=None):
        _need_cuda("Stream")

    def wait_event(self, event):
        """Lets later work of this queue wait for an event."""
        _need_cuda("Stream.wait_event")

    def wait_stream(self, stream):
        """Lets later work of this queue wait for what is in another queue."""
        _need_cuda("Stream.wait_stream")

    def record_event(self, event=None):
        """Puts an event (a new one for None) into this queue; returns it."""
        _need_cuda("Stream.record_event")

    def query(self):
        """Whether the work of this queue is done."""
        _need_cuda("Stream.query")

    def synchronize(self):
        """Waits until the work of this queue is done."""
        _need_cuda("Stream.synchronize")


class Event:
    """A mark in a stream; making one needs CUDA, so the methods are never reached without."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        _need_cuda("Event")

    def record(self, stream=None):
        """Puts this mark into a stream, the current one for None."""
        _need_cuda("Event.record")

    def query(self):
        """Whether the work before this mark is done."""
        _need_cuda("Event.query")

    def elapsed_time(self, end_event):
        """Milliseconds between this mark and another."""
        _need_cuda("Event.elapsed_time")

    def synchronize(self):
        """Waits until the work before this mark is done."""
        _need_cuda("Event.synchronize")


def cudart():
    """The module of CUDA's runtime."""
    _need_cuda("cudart")


def check_error(res):
    """Raises for a result of CUDA's runtime that is no success."""
    _need_cuda("check_error")


def current_stream(device=None):
    """The stream that a GPU's work goes to."""
    _need_cuda("current_stream")


def set_stream(stream):
    """Lets work go to another stream; returns the one before."""
    _need_cuda("set_stream")


def get_stream_from_external(data_ptr, device=None):
    """The stream that another library made."""
    _need_cuda("get_stream_from_external")


def mem_get_info(device=None):
    """Free and total bytes of a GPU."""
    _need_cuda("mem_get_info")


def memory_summary(device=None):
    """A table of the state of a GPU's memory."""
    return _core.memory_dump(_gpu("memory_summary", device))


def reset_max_memory_allocated(device=None):
    """Starts a new count of max_memory_allocated."""
    _core.reset_peak(_gpu("reset_max_memory_allocated", device))


def reset_max_memory_reserved(device=None):
    """Starts a new count of max_memory_reserved."""
    _core.reset_peak(_gpu("reset_max_memory_reserved", device))


def reset_peak_memory_stats(device=None):
    """Starts new counts of the most memory used."""
    _core.reset_peak(_gpu("reset_peak_memory_stats", device))


def vmm_compact(device=None):
    """Puts the free memory of a GPU together."""
    _need_cuda("vmm_compact")


def ipc_collect():
    """Frees GPU memory that other processes have let go of."""
    _need_cuda("ipc_collect")


class stream_guard:
    """Context in which work goes to another stream; None leaves it where it is."""

    def __init__(self, stream=None):
        self._stream = stream

    def __enter__(self):
        if self._stream is not None:
            _need_cuda("stream_guard")
        return self

    def __exit__(self, *exc):
        return False


StreamContext = stream = stream_guard
