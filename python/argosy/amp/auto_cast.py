"""Automatic casting."""

import contextlib
import warnings

from argosy._support import check_choice

__all__ = []

_warned = False
_state = None  # what amp_state() returns


def amp_state():
    """The arguments of the innermost auto_cast around the caller as a dict, or None."""
    return _state


def _warn_once(what):
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(f"[{what}] has no effect on the CPU: everything stays in its own dtype.")


@contextlib.contextmanager
def amp_guard(
    enable=True,
    custom_white_list=None,
    custom_black_list=None,
    level="O1",
    dtype="float16",
    use_promote=True,
):
    """Runs a block, or as a decorator a function, in mixed precision; on the CPU without effect.

    Args:
        enable (bool): Whether to do it.
        custom_white_list, custom_black_list (set, optional): Names of ops that run in 16 bits, or do
            not; they must not overlap.
        level (str): ``"O0"`` off, ``"OD"``, ``"O1"`` or ``"O2"``.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        use_promote (bool): Run other ops in the widest dtype of their inputs.
    """
    check_choice("auto_cast", "level", level, ("O0", "OD", "O1", "O2"))
    name = str(dtype).rsplit(".", 1)[-1]
    if enable and name not in ("float16", "bfloat16"):
        raise ValueError(
            f"[auto_cast] dtype: expected 'float16' or 'bfloat16', got {dtype!r}. Do this: pass one "
            "of them, or enable=False."
        )
    both = set(custom_white_list or ()) & set(custom_black_list or ())
    if both:
        raise ValueError(
            f"[auto_cast] custom_white_list and custom_black_list overlap: {sorted(both)}."
            " Do this: name each op in one of them."
        )
    if enable and level != "O0":
        _warn_once("auto_cast")
    global _state
    outer = _state
    _state = {
        "enable": enable,
        "custom_white_list": custom_white_list,
        "custom_black_list": custom_black_list,
        "level": level,
        "dtype": name,
        "use_promote": use_promote,
    }
    try:
        yield
    finally:
        _state = outer


auto_cast = amp_guard


def autocast(device_type=None, dtype="float16", enabled=True, cache_enabled=True):
    """auto_cast with PyTorch's parameters; device_type and cache_enabled change nothing."""
    return amp_guard(enable=enabled, dtype=dtype)


def decorate(
    models,
    optimizers=None,
    level="O1",
    dtype="float16",
    master_weight=None,
    save_dtype=None,
    master_grad=False,
    excluded_layers=None,
):
    """Prepares models and optimizers for mixed precision; on the CPU they stay as they are.

    Args:
        models (Layer | list): The models.
        optimizers (Optimizer | list, optional): Their optimizers.
        level (str): ``"O1"`` or ``"O2"``.
        dtype, master_weight, save_dtype, master_grad, excluded_layers: Accepted.

    Returns:
        `models`, with `optimizers` a pair of both.
    """
    check_choice("decorate", "level", level, ("O1", "O2"))
    if level == "O2":
        _warn_once("decorate")
    return models if optimizers is None else (models, optimizers)


def is_autocast_enabled(device_type=None):
    """Whether ops are being cast: False on the CPU."""
    return False


def get_autocast_dtype(device_type=None):
    """The name of the dtype that ops are cast to."""
    return "float16"


def get_autocast_cpu_dtype(device_type=None):
    """The name of the dtype that ops are cast to on the CPU."""
    return "float16"


def get_autocast_gpu_dtype(device_type=None):
    """The name of the dtype that ops are cast to on a GPU."""
    return "float16"
