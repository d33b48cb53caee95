"""Names of the framework itself: flags, modes, limits of dtypes, explain."""

from argosy import _core
from argosy._dtypes import INTEGER
from argosy._programs import mode
from argosy._support import dtype_name
from argosy.device import set_device


def set_flags(flags):
    """Sets switches: {"FLAGS_check_nan_inf": True}. docs/flags.md lists them."""
    if not isinstance(flags, dict):
        raise TypeError(
            f"[set_flags] expected a dict of names and values, got {type(flags)}."
            " Do this: pass a dict such as {'FLAGS_check_nan_inf': True}."
        )
    for name, value in flags.items():
        _core.set_flag(name, value)


def get_flags(flags):
    """Values of the named switches (a name or a list of names), as a dict."""
    names = [flags] if isinstance(flags, str) else flags
    return {name: _core.get_flag(name) for name in names}


def in_dynamic_mode():
    """Whether ops run at once; False while a Program is being built."""
    return _core.program_recording() is None


def in_static_mode():
    """Whether enable_static() is in force (capture by jit.to_static is not meant)."""
    return mode.static_mode()


def enable_static():
    """Makes calls add operations to static.default_main_program() instead of computing at once;
    static.Executor runs them. Each thread has a mode and default Programs of its own."""
    mode.set_static_mode(True)


def disable_static(place=None):
    """Makes ops run at once (the default).

    Args:
        place (str | Place, optional): Device to compute on from now on.
    """
    mode.set_static_mode(False)
    if place is not None:
        set_device(place)


def explain(call, *args, **kwargs):
    """Runs call(*args, **kwargs), prints which kernel ran for each op and why others declined, and
    returns the result."""
    result, text = _core.explain(lambda: call(*args, **kwargs))
    print(text, end="")
    return result


class iinfo:
    """Limits of an integer dtype: min, max, bits, dtype."""

    def __init__(self, dtype):
        name = dtype_name(_core.dtype(dtype))
        if _core.dtype(dtype) not in INTEGER:
            raise ValueError(
                f"(InvalidArgument) [iinfo] expected an integer dtype, got {name}. Do this: use finfo."
            )
        self.dtype = name
        self.bits = int(name.lstrip("uint"))
        unsigned = name.startswith("u")
        self.min = 0 if unsigned else -(2 ** (self.bits - 1))
        self.max = 2**self.bits - 1 if unsigned else 2 ** (self.bits - 1) - 1

    def __repr__(self):
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"


# Bits, mantissa bits, smallest exponent, largest exponent.
_FLOATS = {
    "float16": (16, 10, -14, 15),
    "bfloat16": (16, 7, -126, 127),
    "float32": (32, 23, -126, 127),
    "float64": (64, 52, -1022, 1023),
    "float8_e4m3fn": (8, 3, -6, 8),
    "float8_e5m2": (8, 2, -14, 15),
}


class finfo:
    """Limits of a floating dtype: min, max, eps, tiny, smallest_normal, resolution, bits, dtype."""

    def __init__(self, dtype):
        name = dtype_name(_core.dtype(dtype))
        name = {"complex64": "float32", "complex128": "float64"}.get(name, name)
        if name not in _FLOATS:
            raise ValueError(
                f"(InvalidArgument) [finfo] expected a floating dtype, got {name}. Do this: use iinfo."
            )
        self.bits, mantissa, low, high = _FLOATS[name]
        self.dtype = name
        self.eps = 2.0**-mantissa
        # e4m3fn has no infinity: its last code but one is a number.
        self.max = 448.0 if name == "float8_e4m3fn" else (2.0 - self.eps) * 2.0**high
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self):
        return (
            f"paddle.finfo(min={self.min:g}, max={self.max:g}, eps={self.eps:g},"
            f" resolution={self.resolution:g}, smallest_normal={self.smallest_normal:g},"
            f" tiny={self.tiny:g}, bits={self.bits}, dtype={self.dtype})"
        )


def disable_signal_handler():
    """Nothing: Argosy installs no handlers of signals."""
