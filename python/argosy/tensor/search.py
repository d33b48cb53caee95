"""Order, places and picking, where arguments need Python."""

from collections import namedtuple

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, REAL
from argosy._support import ArgumentError, alias, check_choice, into, no_effect, overwrite, sizes_of
from argosy.tensor.registry import method

TopKRetType = namedtuple("TopKRetType", ["values", "indices"])

_SORTED = "the elements are sorted anyway"


@method
def sort(x, axis=-1, descending=False, stable=False, name=None):
    """x sorted along axis; equal elements keep their order, nan comes last."""
    return _ops.sort_with_index(x, axis, descending, stable)[0]


@method
@alias(input="x", dim="axis")
def argsort(x, axis=-1, descending=False, stable=False, name=None):
    """Where the elements of sort(x) come from along axis, as int64."""
    return _ops.sort_with_index(x, axis, descending, stable)[1]


@method
@alias(input="x", dim="axis")
def topk(x, k, axis=None, largest=True, sorted=True, name=None, *, out=None):  # noqa: A002
    """The k largest (or smallest) elements along axis, in order, and their indices."""
    found = _ops.topk(x, k, -1 if axis is None else axis, largest, sorted)
    if out is not None:
        into(out, found)
    return TopKRetType(*found)


@method
@alias(input="x", other="y")
def where(condition, x=None, y=None, name=None, *, out=None):
    """Elements of x where condition holds, of y elsewhere; without both, the indices of the true
    elements, as nonzero(condition, as_tuple=True)."""
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ValueError(
            "[where] x and y must be given together, got only one of them. Do this: pass "
            "both, or none for the places of True."
        )
    if not isinstance(condition, Tensor):
        condition = _core.to_tensor(condition, None, False)
    if condition.dtype != _core.bool:
        raise _core.OperandError(
            f"[where] condition: expected a bool tensor, got {condition.dtype}. Do this: compare it"
            " with something, or cast it with .astype('bool')."
        )
    like = x if isinstance(x, Tensor) else y if isinstance(y, Tensor) else None
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        _check_mixed(x, y)
    x, y = _same_dtype(x, y, like)
    result = _ops.where_select(condition, x, y)
    return into(out, result)


def _check_mixed(x, y):
    """Tensors of two dtypes mix if both are floating or one is complex."""
    both = x.dtype, y.dtype
    if x.dtype != y.dtype and not (
        all(dtype in REAL for dtype in both) or any(dtype in COMPLEX for dtype in both)
    ):
        raise _core.OperandError(
            f"(InvalidType) [where] operands of these dtypes do not mix: {x.dtype} and {y.dtype}."
            " Do this: convert one of them with .astype(..)."
        )


def _same_dtype(x, y, like):
    """Two operands as tensors of their common dtype; Python numbers are weak."""
    if like is None:
        x, y = _core.to_tensor(x, None, True), _core.to_tensor(y, None, True)
    if not isinstance(x, Tensor):
        x = _ops.add(_ops.zeros([], y.dtype), x)
    if not isinstance(y, Tensor):
        y = _ops.add(_ops.zeros([], x.dtype), y)
    if x.dtype != y.dtype:
        common = _ops.add(_ops.zeros([], x.dtype), _ops.zeros([], y.dtype)).dtype
        x, y = x.astype(common), y.astype(common)
    return x, y


@method
def where_(condition, x, y, name=None):
    """where(condition, x, y) written into x."""
    return overwrite(x, where(condition, x, y))


@method
@alias(input="x")
def nonzero(x, as_tuple=False, *, out=None):
    """Indices of the elements that are not 0, as [n, rank] int64, or as a tuple of rank vectors.
    out: a tensor that becomes the indices as [n, rank]."""
    if not isinstance(x, Tensor):
        raise _core.NotTensorError(
            f"(InvalidArgument) [nonzero] x: expected a Tensor, got {type(x).__name__}. Do this: make"
            " it one with argosy.to_tensor(..)."
        )
    mask = x if x.dtype == _core.bool else x.astype("bool")
    if out is not None:
        places = _ops.mask_places(mask) if x.ndim else _ops.zeros([int(bool(mask)), 0], "int64")
        into(out, places)
        return nonzero(x, True) if as_tuple else out
    if x.ndim == 0:
        n = 1 if bool(mask) else 0
        return tuple() if as_tuple else _ops.zeros([n, 0], "int64")
    return tuple(_ops.mask_indices(mask)) if as_tuple else _ops.mask_places(mask)


@method
def unique(
    x,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    dtype="int64",
    sorted=True,  # noqa: A002
    name=None,
):
    """Distinct elements of x (or slices along axis), sorted; on demand with the first place of each,
    which of them each element is, and how often each comes. They are sorted without `sorted`, too."""
    if sorted is not True:
        no_effect("unique", _SORTED, sorted=(sorted, True))
    only = not (return_index or return_inverse or return_counts)
    out, index, inverse, counts = _ops.unique_all(x, False, _axis(axis), dtype, only)
    found = [out]
    found += [index] if return_index else []
    found += [inverse] if return_inverse else []
    found += [counts] if return_counts else []
    return out if len(found) == 1 else tuple(found)


@method
@alias(input="x", dim="axis")
def unique_consecutive(
    x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None
):
    """x without elements (or slices along axis) equal to their predecessor."""
    only = not (return_inverse or return_counts)
    out, _, inverse, counts = _ops.unique_all(x, True, _axis(axis), dtype, only)
    found = [out]
    found += [inverse] if return_inverse else []
    found += [counts] if return_counts else []
    return out if len(found) == 1 else tuple(found)


def _axis(axis):
    if isinstance(axis, (list, tuple)):
        return axis[0] if axis else None
    return axis


@method
@alias(input="arr", dim="axis")
def take_along_axis(arr, indices, axis, broadcast=True, *, out=None):
    """arr[.., indices[..], ..] along axis; arr and indices broadcast on the other axes. out: a tensor
    that becomes the result."""
    return into(out, _ops.take_along(*_aligned(arr, indices, axis, broadcast), axis))


take_along_dim = method(take_along_axis, "take_along_dim")


def _aligned(arr, indices, axis, broadcast):
    axis = axis + arr.ndim if axis < 0 else axis
    if broadcast and arr.ndim == indices.ndim and -1 in (*arr.shape, *indices.shape):
        # Zeros of the sizes beside axis, whatever these will be.
        frame = _ops.add(_frame(arr, axis), _frame(indices, axis))
        indices = _ops.expand_like(indices, _ops.add(frame, _frame(indices)))
        return _ops.expand_like(arr, _ops.add(frame, _frame(arr))), indices
    if broadcast and arr.ndim == indices.ndim:
        shape = [
            max(a, b) if d != axis else b for d, (a, b) in enumerate(zip(arr.shape, indices.shape))
        ]
        if list(indices.shape) != shape:
            indices = _ops.expand(indices, shape)
        own = [a if d == axis else s for d, (a, s) in enumerate(zip(arr.shape, shape))]
        if list(arr.shape) != own:
            arr = _ops.expand(arr, own)
    return arr, indices


def _frame(x, axis=None):
    """int32 zeros of x's shape, with size 1 on axis."""
    zeros = _ops.full_like(x, 0, "int32")
    return zeros if axis is None else _ops.cast(_ops.sum(zeros, [axis], None, True), "int32")


def _fitting(values, indices):
    """values cut to the shape of indices where they are larger."""
    if not isinstance(values, Tensor) or values.ndim != indices.ndim:
        return values
    both = enumerate(zip(values.shape, indices.shape))
    axes = [d for d, (n, m) in both if n > m or (n < 0 and m != n)]
    if -1 in values.shape and -1 in indices.shape:
        axes = list(range(values.ndim))
    if not axes:
        return values
    sizes = sizes_of(indices)
    return _ops.slice(values, axes, [0] * len(axes), [sizes[d] for d in axes])


@method
def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """A copy of arr with values put, or combined by reduce (add, mul, mean, amin, amax), at
    arr[.., indices[..], ..] along axis."""
    axis = axis + arr.ndim if axis < 0 else axis
    if broadcast and -1 in (*arr.shape, *indices.shape):
        frame = _ops.add(_frame(arr, axis), _frame(indices))
        indices = _ops.expand_like(indices, frame)
    elif broadcast:
        shape = [s if d != axis else n for d, (s, n) in enumerate(zip(arr.shape, indices.shape))]
        if list(indices.shape) != shape:
            indices = _ops.expand(indices, shape)
    if isinstance(values, Tensor):
        values = _fitting(values.astype(arr.dtype), indices)
    return _put(arr, indices, values, axis, reduce, include_self)


def _put(arr, indices, values, axis, reduce, include_self):
    op = _ops.put_along if reduce in ("assign", "add", "sum") else _ops.combine_along
    return op(arr, indices, values, axis, reduce, include_self)


@method
def put_along_axis_(arr, indices, values, axis, reduce="assign", include_self=True):
    """put_along_axis written into arr."""
    return overwrite(arr, put_along_axis(arr, indices, values, axis, reduce, include_self))


def scatter_add(input, dim, index, src):
    """A copy of input with src added at input[.., index[..], ..] along dim."""
    return _ops.put_along(input, index, _fitting(src, index), dim, "add", True)


@method
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy of input with src combined (sum, prod, mean, amax, amin) along dim at index."""
    reduce = {"sum": "add", "prod": "mul"}.get(reduce, reduce)
    return _put(input, index, _fitting(src, index), dim, reduce, include_self)


@method
def scatter_nd(index, updates, shape, name=None):
    """Zeros of `shape` with updates added at [index[.., 0], index[.., 1], ..]."""
    return _ops.scatter_nd_add(_ops.zeros(shape, updates.dtype), index, updates)


def _index_list(x, indices):
    """Index tensors with masks opened."""
    out = []
    for i in indices:
        if i.dtype == _core.bool:
            out += list(_ops.mask_indices(i))
        else:
            out.append(i)
    return out, list(range(len(out)))


@method
def index_put(x, indices, value, accumulate=False, name=None):
    """A copy of x with value, broadcast, written (or added) at x[indices]."""
    return _ops.index_put(x, value, *_index_list(x, indices), accumulate)


@method
def index_put_(x, indices, value, accumulate=False, name=None):
    """index_put written into x."""
    return _ops.index_put_(x, value, *_index_list(x, indices), accumulate)


@method
@alias(input="x", dim="axis")
def index_add(x, index, axis, value, alpha=1, name=None, *, out=None):
    """A copy of x with alpha * value added to its entries `index` along axis. out: a tensor that
    becomes the result."""
    if alpha != 1:
        value = _ops.scale(value, alpha)
    return into(out, _ops.add_slices(x, index, value, axis))


@method
@alias(input="x", dim="axis")
def index_add_(x, index, axis, value, alpha=1, name=None):
    """index_add written into x."""
    return overwrite(x, index_add(x, index, axis, value, alpha))


@method
def index_fill(x, index, axis, value, name=None):
    """A copy of x with value in its entries `index` along axis."""
    if not isinstance(value, Tensor):
        value = _ops.full([], value, x.dtype)
    return _ops.index_put(x, value, [index], [axis + x.ndim if axis < 0 else axis], False)


@method
def index_fill_(x, index, axis, value, name=None):
    """index_fill written into x."""
    if not isinstance(value, Tensor):
        value = _ops.full([], value, x.dtype)
    return _ops.index_put_(x, value, [index], [axis + x.ndim if axis < 0 else axis], False)


@method
def masked_scatter(x, mask, value, name=None):
    """A copy of x with the elements where mask holds replaced by those of value, in order."""
    mask = _ops.expand_like(mask, x)
    places = _ops.mask_indices(mask)
    count = sizes_of(places[0])[0] if places else int(bool(mask))
    if isinstance(count, int) and 0 <= value.size < count:
        raise ArgumentError(
            f"[masked_scatter] value is too short: expected {count} elements, as many as "
            f"the mask selects, got {value.size}. Do this: pass more values."
        )
    taken = _ops.slice(_ops.flatten(value), [0], [0], [count])
    return _ops.index_put(x, taken.astype(x.dtype), list(places), list(range(x.ndim)))


@method
def masked_scatter_(x, mask, value, name=None):
    """masked_scatter written into x."""
    return overwrite(x, masked_scatter(x, mask, value))


@method
def searchsorted(
    sorted_sequence,
    values,
    out_int32=False,
    right=False,
    name=None,
    *,
    side=None,
    out=None,
    sorter=None,
):
    """For each of values, the place in the sorted last dimension where it would go.

    right (or side='right'): behind equal elements, else before them. sorter: indices that sort
    sorted_sequence, which then need not be sorted.
    """
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ValueError(
            "[searchsorted] side must be 'left' or 'right' and not oppose right: got"
            f" side={side!r}, right={right}. Do this: pass one of the two."
        )
    if sorter is not None:
        sorted_sequence = take_along_axis(sorted_sequence, sorter, -1)
    found = _ops.searchsorted(sorted_sequence, values, out_int32, right or side == "right")
    return into(out, found)


@method
def take(x, index, mode="raise", name=None):
    """Elements of x, flattened, at index; out-of-range places raise, wrap or clip by mode."""
    check_choice("take", "mode", mode, ("raise", "wrap", "clip"))
    flat = _ops.flatten(x) if x.ndim != 1 else x
    size = sizes_of(flat)[0]
    if mode == "wrap":
        whole = size.astype(index.dtype) if isinstance(size, Tensor) else size
        index = _ops.remainder(index, whole)
    elif mode == "clip":
        index = index.clip(0, size - 1)
    return _ops.index_get(flat, [index], [0])


@method
def select_scatter(x, values, axis, index, name=None):
    """A copy of x with values at `index` of axis."""
    return _ops.set_slice(
        x, values, [axis], [index], [index + 1 if index != -1 else 2**62], [1], [axis]
    )
