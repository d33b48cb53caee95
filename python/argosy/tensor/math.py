"""Mathematics and statistics where arguments need Python."""

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, FLOATING, INTEGER
from argosy._support import alias, into
from argosy.tensor.registry import GENERATED, method


def true_divide(input, other, *, out=None):  # noqa: A002
    """input / other, elementwise with broadcasting; integers give float32."""
    return into(out, _ops.divide(input, other))


@method
def increment(x, value=1.0, name=None):
    """Adds value to x, a tensor of one element, in place, and returns x."""
    if not isinstance(x, _core.Tensor):
        raise _core.OperandError(
            f"(InvalidArgument) [increment] x: expected a Tensor, got {type(x).__name__}. Do this: use +."
        )
    if x.size > 1:
        raise ValueError(
            f"(InvalidArgument) [increment] x must have one element, got shape {list(x.shape)}. Do this: use add_."
        )
    return _ops.scale_(x, 1.0, float(value))


def positive(x, name=None):
    """x itself; its dtype must not be bool."""
    if x.dtype == _core.bool:
        raise TypeError("[positive] is not defined for bool. Do this: cast with .astype(..).")
    return x


@method
@alias(input="x")
def is_complex(x):
    """Whether x's dtype is complex."""
    return _tensor(x, "is_complex").dtype in COMPLEX


@method
@alias(input="x")
def is_floating_point(x):
    """Whether x's dtype is one of the floating ones."""
    return _tensor(x, "is_floating_point").dtype in FLOATING


@method
def is_integer(x):
    """Whether x's dtype is one of the integers; bool is none."""
    return _tensor(x, "is_integer").dtype in INTEGER


def _tensor(x, op):
    if not isinstance(x, Tensor):
        raise TypeError(
            f"[{op}] x: expected a Tensor, got {type(x).__name__}. Do this: use argosy.to_tensor."
        )
    return x


def _median(name, x, axis, keepdim, mode):
    if mode not in ("avg", "min"):
        raise ValueError(
            f"[{name}] mode: expected 'avg' or 'min', got {mode!r}. Do this: use one of them."
        )
    if not isinstance(x, Tensor):
        raise TypeError(
            f"[{name}] x: expected a Tensor, got {type(x).__name__}. Do this: use argosy.to_tensor."
        )
    if isinstance(axis, (list, tuple)) and len(axis) == 0:
        axis = None
    if mode == "avg":
        return getattr(_ops, name)(x, axis, keepdim)
    value, index = getattr(_ops, name + "_lower")(x, axis, keepdim)
    single = isinstance(axis, int) or (isinstance(axis, (list, tuple)) and len(axis) == 1)
    return (value, index) if single else value


@method
def median(x, axis=None, keepdim=False, mode="avg", name=None, *, input=None, dim=None, out=None):  # noqa: A002
    """The median over axis (an int; None: all elements).

    mode 'avg' takes the mean of the two middle elements of an even number and gives float32 (float64
    of float64); 'min' takes the lower one, keeps the dtype and, with an axis, also returns its index
    as int64. A nan among the elements gives nan.
    """
    x = x if input is None else input
    axis = axis if dim is None else dim
    if axis is not None and not isinstance(axis, int):
        raise ValueError(
            f"[median] axis: expected None or an int, got {axis!r}. Do this: flatten the axes first."
        )
    result = _median("median", x, axis, keepdim, mode)
    return into(out, result)


@method
def nanmedian(x, axis=None, keepdim=False, mode="avg", name=None):
    """The median over axis (an int or a list; None: all) of what is not nan; nan where all is.

    mode 'avg' takes the mean of the two middle elements of an even number, 'min' the lower one and,
    with a single axis, also returns its index as int64.
    """
    result = _median("nanmedian", x, axis, keepdim, mode)
    if mode == "avg" and x.dtype in INTEGER:
        result = result.astype(x.dtype)
    return result


def _quantile(name, x, q, axis, keepdim, interpolation):
    if isinstance(q, Tensor):
        q = q.tolist()
    single = not isinstance(q, (list, tuple))
    if isinstance(q, str) or q is None:
        raise TypeError(
            f"[{name}] q: expected a number, a list of numbers or a tensor, got {q!r}. Do this: pass"
            " one between 0 and 1."
        )
    qs = [float(q)] if single else [float(v) for v in q]
    if isinstance(axis, (list, tuple)) and len(axis) == 0:
        raise ValueError(
            f"[{name}] axis: expected None, an int or a list of ints, got an empty list. Do "
            "this: pass None for all axes."
        )
    return getattr(_ops, name)(x, qs, axis, keepdim, interpolation, single)


@method
@alias(input="x", dim="axis")
def quantile(x, q, axis=None, keepdim=False, interpolation="linear", name=None, *, out=None):
    """Quantiles of x over axis (an int or a list; None: all elements).

    q: a number in [0, 1], or a list or 1-d tensor of them, which gives the result a first dimension
    for them. interpolation says what is taken between two elements: 'linear', 'lower', 'higher',
    'nearest' or 'midpoint'. A nan among the elements gives nan.
    """
    return into(out, _quantile("quantile", x, q, axis, keepdim, interpolation))


@method
def nanquantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """Quantiles of what is not nan in x over axis; as quantile otherwise."""
    return _quantile("nanquantile", x, q, axis, keepdim, interpolation)


def cumsum_(x, axis=None, dtype=None, name=None):
    """cumsum written into x, in x's dtype unless dtype is given."""
    return _ops.cumsum_(x, axis, x.dtype if dtype is None else dtype)


method(cumsum_, replaces=GENERATED)


@method
@alias(x="input", axis="dim")
def softmax(input, dim=None, dtype=None, *, out=None):  # noqa: A002
    """e^input over its sum along dim; without dim along 0 for rank 0, 1 and 3, else along 1."""
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
    return into(out, _ops.softmax(input, dim, dtype))
