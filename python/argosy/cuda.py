"""GPUs under the names of PyTorch: queries answer, what would work on a GPU says what it needs."""

from __future__ import annotations

from argosy import amp  # noqa: F401
from argosy import device as _device
from argosy.device import (
    device_guard as device,  # noqa: F401
)
from argosy.device import (
    get_rng_state,
    is_bf16_supported,
    is_current_stream_capturing,
    manual_seed,
    manual_seed_all,
    set_device,
    set_rng_state,
)
from argosy.device.cuda import (
    Event,
    Stream,
    StreamContext,
    check_error,
    cudart,
    current_stream,
    device_count,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_stream_from_external,
    ipc_collect,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    set_stream,
    stream,
    synchronize,
)

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "check_error",
    "cudart",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_stream_from_external",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
]


def is_available():
    """Whether a GPU can be used.

    Returns:
        bool: That.

    Example:
        >>> argosy.cuda.is_available() == (argosy.cuda.device_count() > 0)
        True
    """
    return device_count() > 0


def is_initialized():
    """Whether the GPU runtime has been started.

    Returns:
        bool: False.

    Example:
        >>> argosy.cuda.is_initialized()
        False
    """
    return False


def current_device():
    """The number of the current GPU.

    Returns:
        int: 0 where there is none.

    Example:
        >>> argosy.cuda.current_device()
        0
    """
    return _device.current_device()


def __getattr__(name):
    if name.endswith("Tensor"):
        return getattr(_device, name)
    raise AttributeError(f"module 'argosy.cuda' has no attribute {name!r}")
