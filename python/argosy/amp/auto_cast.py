"""Automatic casting."""

import contextlib

from argosy._support import check_choice, no_effect

from . import _state
from ._decorate import decorate

__all__ = []


def amp_state():
    """The arguments of the innermost auto_cast around the caller as a dict, or None."""
    return _state.thread.arguments


def _checked_dtype(what, dtype):
    name = str(dtype).rsplit(".", 1)[-1]
    if name not in ("float16", "bfloat16"):
        raise ValueError(
            f"[{what}] dtype: expected 'float16' or 'bfloat16', got {dtype!r}. Do this: pass one "
            "of them, or enable=False."
        )
    return name


@contextlib.contextmanager
def amp_guard(
    enable=True,
    custom_white_list=None,
    custom_black_list=None,
    level="O1",
    dtype="float16",
    use_promote=True,
):
    """Runs a block, or as a decorator a function, in mixed precision.

    With ``dtype="bfloat16"`` products, convolutions and attention of float32 tensors compute in
    bfloat16 with float32 sums, losses, exponentials and norms in float32, other ops in the widest
    dtype of their inputs; each op's description says which it is. float16, which CPUs do not
    compute in, has an effect where the current device is a GPU, as in Paddle, or ARGOSY_AMP_FLOAT16
    is set. Regions nest, each thread has its own; gradients run in the dtypes of the forward pass.

    Args:
        enable (bool): Whether to do it.
        custom_white_list, custom_black_list (set, optional): Names of ops, Paddle's or ours, that
            run in 16 bits, or in float32, whatever their description says; they must not overlap.
        level (str): ``"O0"`` off; ``"OD"`` products and the like in 16 bits, all else in float32;
            ``"O1"``; ``"O2"`` all but a few ops in 16 bits if their inputs are, for models made by
            :func:`decorate`.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        use_promote (bool): At O2, ops that may run in either run in the widest dtype of their
            inputs. False: in 16 bits.

    Raises:
        ValueError: Another level or dtype, or overlapping lists.

    Examples:
        >>> model, x = paddle.nn.Linear(4, 2), paddle.rand([3, 4])
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     y = model(x)
        ...     loss = y.mean()
        >>> y.dtype, model.weight.dtype
        (paddle.bfloat16, paddle.float32)
        >>> loss.backward()

    Mixed Precision Training, arXiv:1710.03740.

    Returns:
        A context manager and decorator.
    """
    check_choice("auto_cast", "level", level, ("O0", "OD", "O1", "O2"))
    name = _checked_dtype("auto_cast", dtype) if enable else str(dtype).rsplit(".", 1)[-1]
    both = set(custom_white_list or ()) & set(custom_black_list or ())
    if both:
        raise ValueError(
            f"[auto_cast] custom_white_list and custom_black_list overlap: {sorted(both)}."
            " Do this: name each op in one of them."
        )
    casts = bool(enable) and level != "O0" and _state.takes_effect(name)
    if enable and level != "O0" and not casts:
        _state.warn_without_effect("auto_cast")
    outer = _state.enter(
        {
            "enable": casts,
            "custom_white_list": custom_white_list,
            "custom_black_list": custom_black_list,
            "level": level,
            "dtype": name,
            "use_promote": use_promote,
        }
    )
    try:
        yield
    finally:
        _state.leave(outer)


auto_cast = amp_guard
amp_decorate = decorate


def _check_device_type(function, device_type):
    if not isinstance(device_type, (str, type(None))):
        raise TypeError(
            f"[{function}] device_type: expected a str such as 'cpu', got"
            f" {type(device_type).__name__}. Do this: pass one, or leave it out."
        )


def autocast(device_type=None, dtype="float16", enabled=True, cache_enabled=True):
    """auto_cast with PyTorch's parameters.

    Args:
        device_type (str, optional): Its name is checked; the region is for ops on all devices.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        enabled (bool): Whether to do it.
        cache_enabled (bool): Has no effect; False gives a warning.

    Returns:
        A context manager and decorator.

    Raises:
        ValueError: Another dtype.

    Example:
        >>> with argosy.autocast("cpu", dtype="bfloat16"):
        ...     argosy.is_autocast_enabled(), argosy.get_autocast_dtype()
        (True, 'bfloat16')
    """
    _check_device_type("autocast", device_type)
    no_effect("autocast", "it changes no result", cache_enabled=(cache_enabled, True))
    return amp_guard(enable=enabled, dtype=dtype)


def is_autocast_enabled(device_type=None):
    """Whether ops of this thread are being cast.

    Args:
        device_type (str, optional): Its name is checked; it is so for all types of devices.

    Returns:
        bool: That.

    Example:
        >>> argosy.is_autocast_enabled()
        False
    """
    _check_device_type("is_autocast_enabled", device_type)
    return _state.key() is not None


def get_autocast_dtype(device_type=None):
    """The dtype that ops are cast to.

    Args:
        device_type (str, optional): Its name is checked; it is the same for all types of devices.

    Returns:
        str: Its name; ``"float16"`` outside of regions.

    Example:
        >>> argosy.get_autocast_dtype()
        'float16'
    """
    _check_device_type("get_autocast_dtype", device_type)
    return "float16" if _state.key() is None else _state.thread.arguments["dtype"]


def get_autocast_cpu_dtype(device_type=None):
    """The dtype that ops are cast to on the CPU.

    Args:
        device_type (str, optional): Its name is checked; it is the same for all types of devices.

    Returns:
        str: Its name; ``"float16"`` outside of regions.

    Example:
        >>> argosy.get_autocast_cpu_dtype()
        'float16'
    """
    return get_autocast_dtype(device_type)


def get_autocast_gpu_dtype(device_type=None):
    """The dtype that ops are cast to on a GPU.

    Args:
        device_type (str, optional): Its name is checked; it is the same for all types of devices.

    Returns:
        str: Its name; ``"float16"`` outside of regions.

    Example:
        >>> argosy.get_autocast_gpu_dtype()
        'float16'
    """
    return get_autocast_dtype(device_type)
