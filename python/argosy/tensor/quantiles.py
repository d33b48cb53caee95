"""Quantiles: one op where they are numbers, a composition where only a run of a Program knows them."""

from argosy._beside import beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import INTEGER
from argosy._support import alias, check_choice, into, is_symbolic, plain, sizes_of
from argosy.tensor import search
from argosy.tensor.registry import method


@beside
def _quantile(name, x, q, axis, keepdim, interpolation):
    if interpolation != "linear" and isinstance(x, Tensor) and x.dtype in INTEGER:
        # Elements as they are (up to 2^53); the middle of two need not be whole.
        dtype = "float32" if interpolation == "midpoint" else x.dtype
        exact = _quantile(name, x.astype("float64"), q, axis, keepdim, interpolation)
        return exact.astype(dtype)
    if isinstance(axis, (list, tuple)) and len(axis) == 0:
        raise ValueError(
            f"[{name}] axis: expected None, an int or a list of ints, got an empty list. Do "
            "this: pass None for all axes."
        )
    if isinstance(q, Tensor) and q.ndim > 1:
        raise ValueError(
            f"[{name}] q: expected a tensor of 0 or 1 dimensions, got {list(q.shape)}. Do this:"
            " flatten it."
        )
    if isinstance(q, (list, tuple)) and any(is_symbolic(v) for v in q):
        q = _ops.stack([v if isinstance(v, Tensor) else _ops.full([], v, "float64") for v in q])
    if is_symbolic(q):
        return _composed(name, x, q, axis, keepdim, interpolation)
    q = plain(q)
    if isinstance(q, str) or q is None:
        raise TypeError(
            f"[{name}] q: expected a number, a list of numbers or a tensor, got {q!r}. Do this: pass"
            " one between 0 and 1."
        )
    qs = [float(plain(v)) for v in q] if isinstance(q, (list, tuple)) else [float(q)]
    return getattr(_ops, name)(x, qs, axis, keepdim, interpolation, len(qs) == 1)


def _composed(name, x, q, axis, keepdim, interpolation):
    """The same of a q that is a value of a Program: 0-d, or [k]."""
    check_choice(
        name, "interpolation", interpolation, ("linear", "lower", "higher", "nearest", "midpoint")
    )
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    axes = sorted(a % max(1, x.ndim) for a in axes)
    kept = [d for d in range(x.ndim) if d not in axes]
    rows = _ops.transpose(x, [*kept, *axes])
    rows = _ops.reshape(rows, [*sizes_of(rows)[: len(kept)], -1])
    # nan sorts last, so a row of n numbers has them at 0 .. n - 1.
    ordered, bad = search.sort(rows, -1), _ops.isnan(rows)
    numbers = _ops.logical_not(bad) if name == "nanquantile" else _ops.ones_like(bad)
    last = _ops.sum(_ops.cast(numbers, "float64"), [-1], None, True) - 1.0
    at = _ops.multiply(last, _ops.cast(_ops.reshape(q, [-1]), "float64"))
    low, high = _between(_ops.clip(at, 0.0), interpolation)
    weight = _ops.cast(at - low if interpolation == "linear" else (high - low) * 0.5, x.dtype)
    below, above = (_ops.take_along(ordered, _ops.cast(i, "int64"), -1) for i in (low, high))
    blend = _ops.add(_ops.multiply(below, 1.0 - weight), _ops.multiply(above, weight))
    # One element alone, which may be infinite, is not blended.
    y = search.where(_ops.equal(low, high), below, blend)
    if name == "quantile":
        nan = _ops.full_like(y, float("nan"))
        y = search.where(_ops.any(bad, [-1], True), nan, y)
    if q.ndim == 0 or list(q.shape) == [1]:
        y, first = _ops.squeeze(y, [-1]), 0
    else:
        y, first = _ops.transpose(y, [y.ndim - 1, *range(y.ndim - 1)]), 1
    return _ops.unsqueeze(y, [a + first for a in axes]) if keepdim and axes else y


def _between(at, interpolation):
    """The places before and after `at` that are read."""
    low, high = _ops.floor(at), _ops.ceil(at)
    if interpolation == "lower":
        return low, low
    if interpolation == "higher":
        return high, high
    if interpolation == "nearest":  # the even one of two that are as near
        odd = _ops.not_equal(_ops.floor(low * 0.5) * 2.0, low)
        past = at - low
        up = _ops.logical_or(past > 0.5, _ops.logical_and(_ops.equal(past, past * 0 + 0.5), odd))
        near = search.where(up, high, low)
        return near, near
    return low, high


@method
@alias(input="x", dim="axis")
def quantile(x, q, axis=None, keepdim=False, interpolation="linear", name=None, *, out=None):
    """Quantiles of x; nan where there is a nan.

    Args:
        x (Tensor): Of a real dtype; whole numbers with another interpolation than 'linear'.
        q (float | list[float] | Tensor): In [0, 1]; several give the result a first dimension for them.
        axis (int | list[int], optional): Along which; default: of all elements.
        keepdim (bool): Whether the axes stay, with size 1.
        interpolation (str): What is taken between two elements: 'linear', 'lower', 'higher', 'nearest' or
            'midpoint'.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: The quantiles; of one, also in a list, without a dimension for it. Of x's dtype; float32 for
        whole numbers and 'midpoint'.

    Raises:
        ValueError: q is out of range, or interpolation another one.

    Example:
        >>> argosy.quantile(argosy.to_tensor([0.0, 1.0, 2.0]), [0.25, 0.5]).tolist()
        [0.5, 1.0]
    """
    return into(out, _quantile("quantile", x, q, axis, keepdim, interpolation))


@method
def nanquantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """Quantiles of what is not nan in x; nan where all is.

    Args:
        x (Tensor): Of a real dtype; whole numbers with another interpolation than 'linear'.
        q (float | list[float] | Tensor): In [0, 1]; several give the result a first dimension for them.
        axis (int | list[int], optional): Along which; default: of all elements.
        keepdim (bool): Whether the axes stay, with size 1.
        interpolation (str): What is taken between two elements: 'linear', 'lower', 'higher', 'nearest' or
            'midpoint'.

    Returns:
        Tensor: The quantiles; of one, also in a list, without a dimension for it. Of x's dtype; float32 for
        whole numbers and 'midpoint'.

    Raises:
        ValueError: q is out of range, or interpolation another one.

    Example:
        >>> float(argosy.nanquantile(argosy.to_tensor([1.0, float("nan"), 2.0]), 0.5))
        1.5
    """
    return _quantile("nanquantile", x, q, axis, keepdim, interpolation)
