"""Names of the framework itself: flags, modes, limits of dtypes, explain."""

from argosy import _core
from argosy._dtypes import INTEGER
from argosy._programs import mode
from argosy._support import dtype_name, no_effect
from argosy.device import set_device

# Flags of GPUs that would choose between ways of which there is one.
_ONE_WAY = {
    "FLAGS_cudnn_batchnorm_spatial_persistent": "there is one kernel of batch norm",
    "FLAGS_gemm_use_half_precision_compute_type": "products of float16 are always summed in float32",
}


def set_flags(flags):
    """Sets switches of the process; docs/flags.md lists them.

    Args:
        flags (dict): Values by name, such as {"FLAGS_check_nan_inf": True}.

    Raises:
        TypeError: flags is no dict, or a value is of another kind.
        ValueError: There is no such flag.

    Example:
        >>> argosy.set_flags({"FLAGS_check_nan_inf": True})
        >>> argosy.get_flags("FLAGS_check_nan_inf")
        {'FLAGS_check_nan_inf': True}
    """
    if not isinstance(flags, dict):
        raise TypeError(
            f"[set_flags] expected a dict of names and values, got {type(flags)}."
            " Do this: pass a dict such as {'FLAGS_check_nan_inf': True}."
        )
    for name, value in flags.items():
        _core.set_flag(name, value)
        if name in _ONE_WAY and value:
            no_effect("set_flags", _ONE_WAY[name], **{name: (value, False)})


def get_flags(flags):
    """Values of switches of the process.

    Args:
        flags (str | list[str]): One name or several.

    Returns:
        dict: Their values by name.

    Raises:
        ValueError: There is no such flag.

    Example:
        >>> argosy.get_flags(["FLAGS_check_nan_inf"])
        {'FLAGS_check_nan_inf': False}
    """
    names = [flags] if isinstance(flags, str) else flags
    return {name: _core.get_flag(name) for name in names}


def in_dynamic_mode():
    """Whether ops run at once, rather than being added to a Program.

    Returns:
        bool: True but while a Program is being built.

    Example:
        >>> argosy.in_dynamic_mode()
        True
    """
    return _core.program_recording() is None


def in_static_mode():
    """Whether enable_static() is in force (capture by jit.to_static is not meant)."""
    return mode.static_mode()


def enable_static():
    """Makes calls of this thread add operations to static.default_main_program() instead of computing at once;
    static.Executor runs them.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = x * 2
        >>> exe = argosy.static.Executor()
        >>> exe.run(feed={"x": np.ones([2], "float32")}, fetch_list=[y])[0].tolist()
        [2.0, 2.0]
    """
    mode.set_static_mode(True)


def disable_static(place=None):
    """Makes ops run at once, as they do by default.

    Args:
        place (str | Place, optional): Device to compute on from now on.

    Example:
        >>> argosy.enable_static()
        >>> argosy.disable_static()
        >>> argosy.in_dynamic_mode()
        True
    """
    mode.set_static_mode(False)
    if place is not None:
        set_device(place)


def explain(call, *args, **kwargs):
    """Runs a call and prints which kernel ran for each op, and why others declined.

    Args:
        call (callable): What is called.
        args: Its arguments.
        kwargs: Its keywords.

    Returns:
        What the call returns.

    Example:
        >>> argosy.explain(argosy.add, argosy.ones([2]), argosy.ones([2])).tolist()
        add: ran loops
        [2.0, 2.0]
    """
    result, text = _core.explain(lambda: call(*args, **kwargs))
    print(text, end="")
    return result


class iinfo:
    """Limits of an integer dtype, as attributes: min, max, bits and dtype, its name.

    Args:
        dtype (dtype | str): Which.

    Raises:
        ValueError: It is no integer dtype.

    Example:
        >>> limits = argosy.iinfo("int8")
        >>> limits.min, limits.max, limits.bits, limits.dtype
        (-128, 127, 8, 'int8')
    """

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
    """Limits of a floating dtype, as attributes: min, max, eps (from 1 to the next number), tiny and
    smallest_normal, resolution (of the decimal digits that are kept), bits and dtype, its name. A complex
    dtype has those of its parts.

    Args:
        dtype (dtype | str): Which.

    Raises:
        ValueError: It is no floating or complex dtype.

    Example:
        >>> limits = argosy.finfo(argosy.bfloat16)
        >>> limits.eps, limits.bits
        (0.0078, 16)
    """

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
    """Does nothing: Argosy installs no handlers of signals.

    Example:
        >>> argosy.disable_signal_handler()
    """
