"""Mathematics and statistics where arguments need Python."""

import functools
import math

from argosy import _core
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, FLOATING, INTEGER
from argosy._support import alias, alone, check_choice, into, is_symbolic, need_tensor
from argosy.tensor.registry import GENERATED, method


def true_divide(input, other, *, out=None):  # noqa: A002
    """input / other, elementwise with broadcasting; integers give float32."""
    return into(out, _ops.divide(input, other))


@method
def increment(x, value=1.0, name=None):
    """Adds a number to a tensor of one element, in place.

    Args:
        x (Tensor): It; a leaf that needs a gradient may be incremented, too.
        value (float): What is added.

    Returns:
        Tensor: x.

    Raises:
        TypeError: x is no Tensor.
        ValueError: x has several elements.

    Example:
        >>> argosy.increment(argosy.to_tensor([1.0])).tolist()
        [2.0]
    """
    need_tensor("increment", "x", x)
    if x.size > 1:
        raise ValueError(
            f"(InvalidArgument) [increment] x must have one element, got shape {list(x.shape)}. Do this: use add_."
        )
    if x.stop_gradient or is_symbolic(x) or not x.is_leaf:
        return _ops.scale_(x, 1.0, float(alone(value)))
    recording = _core.set_grad_enabled(
        False
    )  # a leaf stays one: adding a number changes no gradient
    try:
        return _ops.scale_(x, 1.0, float(alone(value)))
    finally:
        _core.set_grad_enabled(recording)


def positive(x, name=None):
    """x itself; its dtype must not be bool."""
    if x.dtype == _core.bool:
        raise TypeError("[positive] is not defined for bool. Do this: cast with .astype(..).")
    return x


@method
@alias(input="x")
def is_complex(x):
    """Whether the dtype of x is complex.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        bool: That.

    Raises:
        TypeError: x is no Tensor.

    Example:
        >>> argosy.is_complex(argosy.to_tensor([1j]))
        True
    """
    return _tensor(x, "is_complex").dtype in COMPLEX


@method
@alias(input="x")
def is_floating_point(x):
    """Whether the dtype of x is a floating one.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        bool: That; complex dtypes are none.

    Raises:
        TypeError: x is no Tensor.

    Example:
        >>> argosy.is_floating_point(argosy.ones([2])), argosy.is_floating_point(argosy.arange(2))
        (True, False)
    """
    return _tensor(x, "is_floating_point").dtype in FLOATING


@method
def is_integer(x):
    """Whether the dtype of x is one of the integers; bool is none.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        bool: That.

    Raises:
        TypeError: x is no Tensor.

    Example:
        >>> argosy.is_integer(argosy.arange(2)), argosy.is_integer(argosy.to_tensor([True]))
        (True, False)
    """
    return _tensor(x, "is_integer").dtype in INTEGER


def _tensor(x, op):
    need_tensor(op, "x", x)
    return x


def _median(name, x, axis, keepdim, mode):
    check_choice(name, "mode", mode, ("avg", "min"))
    need_tensor(name, "x", x)
    if isinstance(axis, (list, tuple)) and len(axis) == 0:
        axis = None
    if mode == "avg":
        return getattr(_ops, name)(x, axis, keepdim)
    value, index = getattr(_ops, name + "_lower")(x, axis, keepdim)
    single = isinstance(axis, int) or (isinstance(axis, (list, tuple)) and len(axis) == 1)
    return (value, index) if single else value


def _lower_if_spelt_so(function):
    """`input` and `dim`, other frameworks' names of x and axis, also mean their median: mode 'min'."""

    @functools.wraps(function)
    def wrapper(*args, **options):
        if "input" in options or "dim" in options:
            options.setdefault("mode", "min")
        return named(*args, **options)

    named = alias(input="x", dim="axis")(function)
    return wrapper


@method
@_lower_if_spelt_so
def median(x, axis=None, keepdim=False, mode="avg", name=None, *, out=None):
    """The median of x; nan where there is a nan.

    Args:
        x (Tensor): Of a real dtype.
        axis (int, optional): Along which; default: of all elements.
        keepdim (bool): Whether the axis stays, with size 1.
        mode (str): What is taken of an even number of elements: 'avg', the mean of the two middle ones; 'min',
            the lower one, which is the default where x is called ``input`` or axis ``dim``.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor | tuple[Tensor, Tensor]: With 'avg' float32, or float64 of float64; with 'min' x's dtype and,
        if there is an axis, also the int64 place.

    Raises:
        ValueError: axis is no int, or mode another one.

    Example:
        >>> float(argosy.median(argosy.to_tensor([1.0, 4.0, 2.0, 3.0])))
        2.5
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(
            f"[median] axis: expected None or an int, got {axis!r}. Do this: flatten the axes first."
        )
    result = _median("median", x, axis, keepdim, mode)
    return into(out, result)


@method
def nanmedian(x, axis=None, keepdim=False, mode="avg", name=None):
    """The median of what is not nan in x; nan where all is.

    Args:
        x (Tensor): Of a real dtype.
        axis (int | list[int], optional): Along which; default: of all elements.
        keepdim (bool): Whether the axes stay, with size 1.
        mode (str): What is taken of an even number of elements: 'avg', the mean of the two middle ones; 'min',
            the lower one.

    Returns:
        Tensor | tuple[Tensor, Tensor]: The medians, in x's dtype for integers; with 'min' and a single axis
        also the int64 place.

    Raises:
        ValueError: mode is another one.

    Example:
        >>> float(argosy.nanmedian(argosy.to_tensor([1.0, float("nan"), 2.0])))
        1.5
    """
    result = _median("nanmedian", x, axis, keepdim, mode)
    if mode == "avg" and x.dtype in INTEGER:
        result = result.astype(x.dtype)
    return result


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """x * scale + bias, or (x + bias) * scale with bias_after_scale=False, and then the activation.

    Args:
        x (Tensor): of any shape; numbers of any dtype.
        scale (float | int | Tensor): a tensor has one element.
        bias (float): added after the product, or before it.
        bias_after_scale (bool): which of the two.
        act (str | None): name of a function of one tensor: 'relu', 'tanh', 'sigmoid', ..

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        ValueError: there is no such activation.

    Examples:
        >>> argosy.scale(argosy.to_tensor([1.0, -2.0]), scale=2.0, bias=1.0, act="relu").tolist()
        [3.0, 0.0]
    """
    result = _ops.scale(x, scale, bias, bias_after_scale)
    if act is None:
        return result
    activation = getattr(_ops, act, None) if isinstance(act, str) else None
    if activation is None:
        raise ValueError(
            f"[scale] act: expected the name of an activation such as 'relu', got {act!r}. Do this: "
            "correct it, or call the activation on the result."
        )
    return activation(result)


method(scale, replaces=GENERATED)


@alias(input="x")
def clip_(x, min=None, max=None, name=None):  # noqa: A002
    """clip written into x, which keeps its dtype: limits of integers lose what is behind the point.

    Args:
        x (Tensor): Of a real dtype.
        min, max (number | Tensor, optional): Limits; tensors of one element.

    Returns:
        Tensor: x.

    Raises:
        TypeError: x is no Tensor.

    Example:
        >>> argosy.to_tensor([-3, 1, 7]).clip_(-0.5, 2.7).tolist()
        [0, 1, 2]
    """
    need_tensor("clip_", "x", x)
    if x.dtype in INTEGER:
        min, max = (_whole(limit) for limit in (min, max))  # noqa: A001
    return _ops.clip_(x, min, max)


method(clip_, replaces=GENERATED)


def _whole(limit):
    """A limit of integers; one that is infinite is none."""
    if isinstance(limit, _core.Tensor):
        return limit if limit.dtype in INTEGER else _ops.cast(limit, _core.int64)
    if isinstance(limit, float):
        return None if math.isinf(limit) else int(limit)
    return limit


def cumsum_(x, axis=None, dtype=None, name=None):
    """cumsum written into x.

    Args:
        x (Tensor): Of a number dtype.
        axis (int, optional): Along which; default: x is flattened.
        dtype (dtype | str, optional): That x gets; default: its own.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.to_tensor([1, 2, 3]).cumsum_().tolist()
        [1, 3, 6]
    """
    need_tensor("cumsum_", "x", x)
    return _ops.cumsum_(x, axis, x.dtype if dtype is None else dtype)


method(cumsum_, replaces=GENERATED)


@method
@alias(x="input", axis="dim")
def softmax(input, dim=None, dtype=None, *, out=None):  # noqa: A002
    """exp(input) over its sum along a dimension.

    Args:
        input (Tensor): Floating.
        dim (int, optional): Which; default: 0 for rank 0, 1 and 3, else 1.
        dtype (dtype | str, optional): What input is cast to before.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Of input's shape.

    Example:
        >>> argosy.softmax(argosy.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
    return into(out, _ops.softmax(input, dim, dtype))
