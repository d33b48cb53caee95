"""Mixed precision.

``auto_cast`` and ``decorate`` with ``dtype="bfloat16"`` compute in bfloat16; with float16, the default,
they leave programs in float32 on the CPU, as in Paddle. What is cast, and what it gains:
docs/mixed_precision.md.
"""

from argosy.device.place import checked_place, current

from . import debugging
from .amp_lists import black_list, white_list
from .auto_cast import (
    amp_guard,
    auto_cast,
    decorate,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
)
from .grad_scaler import AmpScaler, GradScaler, OptimizerState

__all__ = [
    "auto_cast",
    "GradScaler",
    "decorate",
    "is_float16_supported",
    "is_bfloat16_supported",
    "is_autocast_enabled",
    "get_autocast_dtype",
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
]

amp_decorate = decorate
autocast = auto_cast


def is_float16_supported(device=None):
    """Whether a device computes in float16 at full speed.

    Args:
        device (str | Place, optional): Which; default: the current one.

    Returns:
        bool: Whether it is a GPU.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> argosy.amp.is_float16_supported("cpu")
        False
    """
    place = current.place if device is None else checked_place(device, "is_float16_supported")
    return place.is_gpu_place()


def is_bfloat16_supported(device=None):
    """Whether a device supports bfloat16.

    Args:
        device (str | Place, optional): Which; default: the current one.

    Returns:
        bool: True.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> argosy.amp.is_bfloat16_supported()
        True
    """
    if device is not None:
        checked_place(device, "is_bfloat16_supported")
    return True
