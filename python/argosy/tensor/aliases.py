"""Second names of functions, and small forms of them."""

from builtins import range as _builtin_range

from argosy import _core
from argosy._beside import beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._generated import tensor as _generated
from argosy._generated.method_table import METHODS as _OF_OPS
from argosy._support import alias, listed, need_tensor, no_effect, overwrite, place
from argosy.tensor import manipulation as _manipulation
from argosy.tensor.registry import method
from argosy.tensor.spellings import sizes_one_by_one

# Other name -> name.
_ALIASES = {
    "sub": "subtract",
    "sub_": "subtract_",
    "mul": "multiply",
    "mul_": "multiply_",
    "div": "divide",
    "div_": "divide_",
    "true_divide": "divide",
    "true_divide_": "divide_",
    "lt": "less_than",
    "lt_": "less_than_",
    "less": "less_than",
    "less_": "less_than_",
    "le": "less_equal",
    "le_": "less_equal_",
    "gt": "greater_than",
    "gt_": "greater_than_",
    "ge": "greater_equal",
    "ge_": "greater_equal_",
    "ne": "not_equal",
    "ne_": "not_equal_",
    "eq": "equal",
    "concatenate": "concat",
    "cat": "concat",
    "absolute": "abs",
    "absolute_": "abs_",
    "arccos": "acos",
    "arccos_": "acos_",
    "arcsin": "asin",
    "arcsin_": "asin_",
    "arctan": "atan",
    "arctan_": "atan_",
    "arctan2": "atan2",
    "arccosh": "acosh",
    "arccosh_": "acosh_",
    "arcsinh": "asinh",
    "arcsinh_": "asinh_",
    "arctanh": "atanh",
    "arctanh_": "atanh_",
    "clamp": "clip",
    "clamp_": "clip_",
}
_FUNCTION_ONLY = ("cat", "concatenate")
for _other, _name in _ALIASES.items():
    _function = getattr(_generated, _name, None)
    if _function is None:
        continue
    globals()[_other] = _function
    if _other not in _FUNCTION_ONLY and _other not in _OF_OPS:
        method(_function, _other)


def _export():
    """Names that this module adds to the tensor API."""
    found = [name for name in _ALIASES if name in globals()]
    return found + ["narrow", "permute", "positive", "range", "ravel", "zero_", "fill_"]


@method
@sizes_one_by_one
def permute(input, dims):  # noqa: A002
    """Orders the dimensions of a tensor anew.

    Args:
        input (Tensor): Of any dtype.
        dims (int | list[int]): The order, one by one or as a list.

    Returns:
        Tensor: A view of it.

    Example:
        >>> argosy.permute(argosy.ones([2, 3, 4]), 2, 0, 1).shape
        paddle.Size([4, 2, 3])
    """
    return _ops.transpose(input, listed(dims))


@method
def narrow(input, dim, start, length):
    """Some neighbouring entries along a dimension.

    Args:
        input (Tensor): Of any dtype.
        dim (int): Which dimension.
        start (int | Tensor): The first entry; negative ones count from the end.
        length (int): How many.

    Returns:
        Tensor: A view of input.

    Raises:
        ValueError: length is negative, or the entries reach outside.

    Example:
        >>> argosy.narrow(argosy.arange(5), 0, 1, 3).tolist()
        [1, 2, 3]
    """
    if length < 0:
        raise ValueError(f"[narrow] length: expected 0 or more, got {length}. Do this: correct it.")
    size = input.shape[dim]
    start = int(start)
    if size < 0:
        end = start + length
        return _ops.slice(input, [dim], [start], [end if end or start >= 0 else 2**63 - 1])
    begin = start + size if start < 0 else start
    if begin < 0 or begin + length > size:
        raise ValueError(
            f"[narrow] start {start} and length {length} reach outside size {size} of dim "
            f"{dim}. Do this: shorten length."
        )
    return _ops.slice(input, [dim], [begin], [begin + length])


@method
def ravel(input):
    """The elements in C order.

    Args:
        input (Tensor): Of any dtype.

    Returns:
        Tensor: A vector; input itself if it is one.

    Example:
        >>> argosy.ravel(argosy.ones([2, 3])).shape
        paddle.Size([6])
    """
    need_tensor("ravel", "input", input)
    return _ops.flatten(input) if input.ndim != 1 else input


@method
def positive(x):
    """x itself.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.positive(argosy.to_tensor([-1])).tolist()
        [-1]
    """
    return x


def range(  # noqa: A001
    start=0,
    end=None,
    step=1,
    dtype=None,
    *,
    out=None,
    device=None,
    requires_grad=False,
    name=None,
):
    """start, start + step, .. up to and including end. New programs use arange, whose end is excluded and whose
    dtype follows its arguments.

    Args:
        start (number | Tensor): The first number; the end, if it is alone.
        end (number | Tensor, optional): The last one; without it, numbers begin at 0.
        step (number | Tensor): The distance.
        dtype (dtype | str, optional): Default: the default dtype.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: A vector.

    Example:
        >>> argosy.range(1, 3).tolist()
        [1.0, 2.0, 3.0]
    """
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (_core.item(x) if isinstance(x, Tensor) else x for x in (start, end, step))
    dtype = _core.dtype(_core.get_default_dtype() if dtype is None else dtype)
    count = (end - start) // step + 1
    whole = all(isinstance(x, int) for x in (start, end, step))
    stop = start + (count if whole else count - 0.5) * step
    return place(_ops.arange(start, stop, step, dtype), out, device, requires_grad)


@method
def fill_(x, value):
    """Sets every element of x.

    Args:
        x (Tensor): Of any dtype.
        value (number): What they become.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.zeros([2]).fill_(3).tolist()
        [3.0, 3.0]
    """
    number = isinstance(value, (bool, int, float, complex))  # written without a tensor of them
    return overwrite(x, value if number else _ops.full_like(x, value))


@method
def zero_(x):
    """Sets every element of x to 0.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.ones([2]).zero_().tolist()
        [0.0, 0.0]
    """
    return fill_(x, 0)


@method
@beside
def fill_diagonal_(x, value, offset=0, wrap=False, name=None):
    """Sets the diagonal of x in place, that of all its dimensions, which are equal beyond two.

    Args:
        value (number): What it becomes.
        offset (int): Which diagonal of a matrix: above the main one if positive, below it if negative.
        wrap (bool): Whether tall matrices repeat it after each square.

    Returns:
        Tensor: x.

    Raises:
        ValueError: Sizes differ beyond two dimensions.
        NotImplementedError: In a Program, with wrap or beyond two dimensions.

    Example:
        >>> argosy.zeros([2, 2]).fill_diagonal_(5.0).tolist()
        [[5.0, 0.0], [0.0, 5.0]]
    """
    if x.ndim > 2 and len(set(x.shape)) != 1:
        raise ValueError(
            "[fill_diagonal_] beyond two dimensions all sizes must be equal, got "
            f"{x.shape}. Do this: fill matrices one by one."
        )
    if x._symbolic:
        if x.ndim != 2 or wrap:
            raise NotImplementedError(
                "[fill_diagonal_] a Program can fill the diagonal of a matrix, without wrap: "
                f"got {x.ndim} dimensions, wrap={wrap}. Do this: use where with a mask."
            )
        values = _ops.full_like(_ops.diagonal(x, offset, 0, 1), value)
        x._copy_from(_ops.diagonal_scatter(x, values, offset, 0, 1))
        return x
    if x.stop_gradient:
        view = _whole_diagonal(x, offset, wrap)
        view._copy_from(_ops.full_like(view, value))
        return x
    places = _ops.reshape(_ops.arange(0, x.size, 1, "int64"), x.shape)
    places = _ops.flatten(_whole_diagonal(places, offset, wrap))
    filled = _ops.index_put(_ops.flatten(x), _ops.full([], value, x.dtype), [places], [0], False)
    return overwrite(x, _ops.reshape(filled, x.shape))


def _whole_diagonal(x, offset, wrap):
    """The elements that fill_diagonal_ fills, as a view."""
    if x.ndim > 2:
        return _ops.as_strided(x, [x.shape[0]], [sum(x.strides)])
    if wrap and x.ndim == 2 and x.shape[0] > x.shape[1] and offset == 0:
        rows, columns = x.shape
        return _ops.as_strided(x, [(rows * columns + columns) // (columns + 1)], [columns + 1])
    return _ops.diagonal(x, offset, 0, 1)


@method
@alias(elements="x", test_elements="test_x")
def isin(x, test_x, assume_unique=False, invert=False, name=None):
    """Whether each element of x is among others.

    Args:
        x (Tensor | number): Of a real dtype.
        test_x (Tensor | number): The others.
        assume_unique (bool): Has no effect on results; True gives a warning.
        invert (bool): Whether to say which is not among them.

    Returns:
        Tensor: bool, of x's shape.

    Example:
        >>> argosy.isin(argosy.arange(4), argosy.to_tensor([1, 3])).tolist()
        [False, True, False, True]
    """
    if assume_unique is not False:
        no_effect("isin", "values are compared alike", assume_unique=(assume_unique, False))
    x = x if isinstance(x, _core.Tensor) else _core.to_tensor(x, None, True)
    test = test_x if isinstance(test_x, _core.Tensor) else _core.to_tensor(test_x, None, True)
    return _ops.isin(x, test, bool(assume_unique), bool(invert))


@method
def view_as_complex(input):
    """Reads pairs of real numbers as complex ones.

    Args:
        input (Tensor): float32 or float64 of shape [.., 2]: real and imaginary part.

    Returns:
        Tensor: complex64 or complex128 of shape [..].

    Example:
        >>> argosy.view_as_complex(argosy.to_tensor([[1.0, 2.0]])).tolist()
        [(1+2j)]
    """
    return _ops.as_complex(input)


@method
def view_as_real(input):
    """Shows complex numbers as pairs of real ones.

    Args:
        input (Tensor): complex64 or complex128 of shape [..].

    Returns:
        Tensor: float32 or float64 of shape [.., 2]: real and imaginary part.

    Example:
        >>> argosy.view_as_real(argosy.to_tensor([1 + 2j])).tolist()
        [[1.0, 2.0]]
    """
    return _ops.as_real(input)


def T(x):
    """x with its dimensions in reverse order."""
    n = x.ndim
    return _ops.transpose(x, [n - 1 - i for i in _builtin_range(n)])


def mT(x):
    """x with its last two dimensions exchanged."""
    if x.ndim < 2:
        raise ValueError(
            f"[mT] x: expected 2 dimensions or more, got {x.ndim}. Do this: add one with unsqueeze."
        )
    return _manipulation.swapaxes(x, -1, -2)


method(property(T), "T")
method(property(mT), "mT")
EXPORTS = _export() + ["isin", "view_as_complex", "view_as_real"]
