"""Mixed precision.

On the CPU, as in Paddle, automatic casting and loss scaling have no effect: programs written with
``auto_cast`` and ``GradScaler`` run, in float32. 16-bit tensors and layers themselves work
(``layer.to(dtype="bfloat16")``), optimizers keep float32 copies of 16-bit parameters with
``multi_precision=True``.
"""

from . import debugging
from .auto_cast import (
    amp_guard,
    auto_cast,
    decorate,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
)
from .grad_scaler import GradScaler

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
    """Whether `device` (by default the current one) computes in float16 at full speed."""
    return False


def is_bfloat16_supported(device=None):
    """Whether `device` (by default the current one) supports bfloat16."""
    return True
