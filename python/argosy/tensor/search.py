"""Order, places and picking, where arguments need Python."""

import operator
from collections import namedtuple

from argosy import _core
from argosy._beside import beside, call_beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, REAL
from argosy._support import (
    ArgumentError,
    alias,
    check_choice,
    into,
    need_tensor,
    no_effect,
    overwrite,
    sizes_of,
    tells,
)
from argosy.tensor.registry import method

TopKRetType = namedtuple("TopKRetType", ["values", "indices"])

_SORTED = "the elements are sorted anyway"


@method
@tells("sort_with_index")
def sort(x, axis=-1, descending=False, stable=False, name=None):
    """Sorts x along an axis; nan counts as the largest number.

    Args:
        x (Tensor): Of a real dtype.
        axis (int): Along which; negative values count from the end.
        descending (bool): From the largest to the smallest.
        stable (bool): Equal elements keep their order, which they also do without it.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        IndexError: The axis is out of range.

    Example:
        >>> argosy.sort(argosy.to_tensor([3, 1, 2]), descending=True).tolist()
        [3, 2, 1]
    """
    return _ops.sort_with_index(x, axis, descending, stable)[0]


@method
@alias(input="x", dim="axis")
@tells("sort_with_index")
def argsort(x, axis=-1, descending=False, stable=False, name=None):
    """Where the elements of sort(x) come from.

    Args:
        x (Tensor): Of a real dtype.
        axis (int): Along which x is sorted; negative values count from the end.
        descending (bool): From the largest to the smallest.
        stable (bool): Equal elements keep their order, which they also do without it.

    Returns:
        Tensor: int64 of x's shape, places along the axis.

    Raises:
        IndexError: The axis is out of range.

    Example:
        >>> argosy.argsort(argosy.to_tensor([3, 1, 2])).tolist()
        [1, 2, 0]
    """
    return _ops.sort_with_index(x, axis, descending, stable)[1]


@method
@alias(input="x", dim="axis")
def topk(x, k, axis=None, largest=True, sorted=True, name=None, *, out=None):  # noqa: A002
    """The k largest or smallest elements along an axis.

    Args:
        x (Tensor): Of a real dtype.
        k (int | Tensor): How many, from 1 to the size of the axis.
        axis (int, optional): Along which; default: the last.
        largest (bool): False for the smallest.
        sorted (bool): Whether they must come in order.
        out (tuple[Tensor, Tensor], optional): Tensors that become values and indices.

    Returns:
        TopKRetType: A pair: values, of x's dtype, and indices, int64; their size along the axis is k.

    Raises:
        ValueError: k is out of range.
        IndexError: The axis is.

    Example:
        >>> values, indices = argosy.topk(argosy.to_tensor([3, 1, 2]), 2)
        >>> values.tolist(), indices.tolist()
        ([3, 2], [0, 2])
    """
    found = _ops.topk(x, k, -1 if axis is None else axis, largest, sorted)
    if out is not None:
        into(out, found)
    return TopKRetType(*found)


@method
@alias(input="x", other="y")
def where(condition, x=None, y=None, name=None, *, out=None):
    """Takes elements of x where a condition holds and of y elsewhere.

    Args:
        condition (Tensor): bool; its shape broadcasts with those of x and y.
        x (Tensor | number, optional): What is taken where it holds.
        y (Tensor | number, optional): What is taken elsewhere.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor | tuple[Tensor]: Of the common shape and dtype of x and y. Without both: the places of the
        true elements, as nonzero(condition, as_tuple=True) gives them.

    Raises:
        ValueError: Only one of x and y is given.
        TypeError: condition is not bool, or the dtypes of x and y do not mix.

    Example:
        >>> x = argosy.to_tensor([-1.0, 2.0])
        >>> argosy.where(x > 0, x, 0.0).tolist()
        [0.0, 2.0]
    """
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
    if _is_number(x) or _is_number(y):
        x, y = _same_dtype(*_numbers_as_tensors(x, y, condition))
    elif x.dtype != y.dtype:
        _check_mixed(x, y)
        x, y = _same_dtype(x, y)
    return into(out, _ops.where_select(condition, x, y))


where._takes_made_numbers = True


def _is_number(x):
    """Whether it is a Python number, or stands for one in a captured function."""
    return type(x) is not Tensor and (
        not isinstance(x, Tensor) or getattr(x, "_stands_for_number", False)
    )


def _check_mixed(x, y):
    """Tensors of two dtypes mix if both are floating or one is complex."""
    both = x.dtype, y.dtype
    if not (all(dtype in REAL for dtype in both) or any(dtype in COMPLEX for dtype in both)):
        raise _core.OperandError(
            f"(InvalidType) [where] operands of these dtypes do not mix: {x.dtype} and {y.dtype}."
            " Do this: convert one of them with .astype(..)."
        )


@beside
def _numbers_as_tensors(x, y, condition):
    """Two operands as tensors, where one is a Python number, which is weak. Two numbers come beside `condition`."""
    if _is_number(x) and _is_number(y):
        return _core.to_tensor(x, None, True), _core.to_tensor(y, None, True)
    if _is_number(x):
        return _ops.add(_ops.zeros([], y.dtype), x), y
    return x, _ops.add(_ops.zeros([], x.dtype), y)


def _same_dtype(x, y):
    """Two tensors in their common dtype."""
    if x.dtype != y.dtype:
        common = _ops.add(_ops.zeros([], x.dtype), _ops.zeros([], y.dtype)).dtype
        x, y = x.astype(common), y.astype(common)
    return x, y


@method
def where_(condition, x, y, name=None):
    """where(condition, x, y) written into x.

    Args:
        condition (Tensor): bool; its shape broadcasts to that of x.
        x (Tensor): Keeps its elements where the condition holds.
        y (Tensor | number): What is written elsewhere.

    Returns:
        Tensor: x.

    Example:
        >>> x = argosy.to_tensor([-1.0, 2.0])
        >>> argosy.where_(x > 0, x, argosy.zeros([2])).tolist()
        [0.0, 2.0]
    """
    return overwrite(x, where(condition, x, y))


@method
@alias(input="x")
def nonzero(x, as_tuple=False, *, out=None):
    """Places of the elements that are not 0, in the order of memory.

    Args:
        x (Tensor): Of any dtype and rank r, with n such elements.
        as_tuple (bool): Whether to return a vector for each dimension.
        out (Tensor, optional): A tensor that becomes the [n, r] places.

    Returns:
        Tensor | tuple[Tensor]: [n, r] int64, or r vectors of n.

    Raises:
        TypeError: x is no Tensor.

    Example:
        >>> argosy.nonzero(argosy.to_tensor([[0, 1], [1, 0]])).tolist()
        [[0, 1], [1, 0]]
    """
    need_tensor("nonzero", "x", x)
    mask = x if x.dtype == _core.bool else x.astype("bool")
    number = None if x.ndim else call_beside(mask, _ops.zeros, [int(bool(mask)), 0], "int64")
    if out is not None:
        into(out, _ops.mask_places(mask) if x.ndim else number)
        return nonzero(x, True) if as_tuple else out
    if x.ndim == 0:
        return tuple() if as_tuple else number
    return tuple(_ops.mask_indices(mask)) if as_tuple else _ops.mask_places(mask)


@method
@tells("unique_all")
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
    """Distinct elements of x, or distinct entries along an axis, sorted.

    Args:
        x (Tensor): Of a real dtype.
        return_index (bool): Also where each comes first.
        return_inverse (bool): Also which of them each element of x is.
        return_counts (bool): Also how often each comes.
        axis (int, optional): Along which entries are compared; default: x is flattened.
        dtype (dtype | str): Of the indices and counts, int32 or int64.
        sorted (bool): They are sorted in any case; False gives a warning.

    Returns:
        Tensor | tuple[Tensor]: The elements, followed by what was asked for: vectors of dtype.

    Example:
        >>> values, counts = argosy.unique(argosy.to_tensor([2, 1, 2]), return_counts=True)
        >>> values.tolist(), counts.tolist()
        ([1, 2], [1, 2])
    """
    if sorted is not True:
        no_effect("unique", _SORTED, sorted=(sorted, True))
    only = not (return_index or return_inverse or return_counts)
    out, index, inverse, counts = _ops.unique_all(x, False, _axis("unique", axis), dtype, only)
    return _with(out, (index, return_index), (inverse, return_inverse), (counts, return_counts))


@method
@alias(input="x", dim="axis")
@tells("unique_all", "unique")
def unique_consecutive(
    x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None
):
    """x without elements, or entries along an axis, that equal the one before.

    Args:
        x (Tensor): Of a real dtype.
        return_inverse (bool): Also which of the result's elements each element of x is.
        return_counts (bool): Also how long each run of equal elements is.
        axis (int, optional): Along which entries are compared; default: x is flattened.
        dtype (dtype | str): Of inverse and counts, int32 or int64.

    Returns:
        Tensor | tuple[Tensor]: The elements, followed by what was asked for: vectors of dtype.

    Example:
        >>> argosy.unique_consecutive(argosy.to_tensor([1, 1, 2, 1])).tolist()
        [1, 2, 1]
    """
    only = not (return_inverse or return_counts)
    out, _, inverse, counts = _ops.unique_all(
        x, True, _axis("unique_consecutive", axis), dtype, only
    )
    return _with(out, (inverse, return_inverse), (counts, return_counts))


def _with(out, *others):
    """out, in a tuple with those of (tensor, whether it is wanted) that are wanted, if any is."""
    wanted = [other for other, asked in others if asked]
    return (out, *wanted) if wanted else out


def _axis(name, axis):
    """A list of one axis is that one."""
    if isinstance(axis, (list, tuple)):
        if len(axis) > 1:
            raise ArgumentError(
                f"[{name}] axis: expected one int, got {list(axis)}. Do this: name one axis, or none."
            )
        return axis[0] if axis else None
    return axis


@method
@alias(input="arr", dim="axis")
@tells("take_along", "expand")
def take_along_axis(arr, indices, axis, broadcast=True, *, out=None):
    """Takes arr[.., indices[..], ..] along an axis. Also called take_along_dim.

    Args:
        arr (Tensor): Of any dtype.
        indices (Tensor): Integers of arr's rank; negative ones count from the end.
        axis (int): Along which.
        broadcast (bool): Whether arr and indices broadcast on the other axes.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Of the (broadcast) shape of indices and arr's dtype.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> x = argosy.to_tensor([[1, 2], [3, 4]])
        >>> argosy.take_along_axis(x, argosy.to_tensor([[1], [0]]), 1).tolist()
        [[2], [3]]
    """
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
@tells("put_along", "combine_along", "expand")
def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """A copy of arr with values written, or combined with what is there, at arr[.., indices[..], ..].

    Args:
        arr (Tensor): Of any dtype.
        indices (Tensor): Integers of arr's rank; negative ones count from the end.
        values (Tensor | number): For each index one; cast to arr's dtype.
        axis (int): Along which indices count.
        reduce (str): assign, add, mul (multiply), mean, amin or amax.
        include_self (bool): Whether the element that was there counts in the reduction.
        broadcast (bool): Whether indices are expanded to arr's sizes on the other axes.

    Returns:
        Tensor: Of arr's shape and dtype.

    Raises:
        ValueError: reduce is another one.
        IndexError: An index is out of range.

    Example:
        >>> x = argosy.zeros([2, 2])
        >>> argosy.put_along_axis(x, argosy.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
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
def put_along_axis_(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """put_along_axis written into arr.

    Args:
        arr (Tensor): Of any dtype.
        indices (Tensor): Integers of arr's rank.
        values (Tensor | number): For each index one.
        axis (int): Along which indices count.
        reduce (str): assign, add, mul (multiply), mean, amin or amax.
        include_self (bool): Whether the element that was there counts in the reduction.
        broadcast (bool): Whether indices broadcast to arr but for axis.

    Returns:
        Tensor: arr.

    Example:
        >>> x = argosy.zeros([2, 2])
        >>> x.put_along_axis_(argosy.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    put = put_along_axis(arr, indices, values, axis, reduce, include_self, broadcast)
    return overwrite(arr, put)


def scatter_add(input, dim, index, src):
    """A copy of input with src added at input[.., index[..], ..] along a dimension.

    Args:
        input (Tensor): Of a number dtype.
        dim (int): Along which index counts.
        index (Tensor): Integers of input's rank.
        src (Tensor): Of index's shape, or larger: the rest is not used.

    Returns:
        Tensor: Of input's shape and dtype.

    Raises:
        IndexError: An index is out of range.
    """
    return _ops.put_along(input, index, _fitting(src, index), dim, "add", True)


@method
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy of input with src combined with what is at input[.., index[..], ..] along a dimension.

    Args:
        input (Tensor): Of a number dtype.
        dim (int): Along which index counts.
        index (Tensor): Integers of input's rank.
        src (Tensor): Of index's shape, or larger: the rest is not used.
        reduce (str): sum, prod, mean, amax or amin.
        include_self (bool): Whether the element that was there counts.

    Returns:
        Tensor: Of input's shape and dtype.

    Raises:
        ValueError: reduce is another one.
        IndexError: An index is out of range.

    Example:
        >>> x = argosy.ones([3])
        >>> argosy.scatter_reduce(x, 0, argosy.to_tensor([1, 1]), argosy.full([2], 3.0), "prod").tolist()
        [1.0, 9.0, 1.0]
    """
    reduce = {"sum": "add", "prod": "mul"}.get(reduce, reduce)
    return _put(input, index, _fitting(src, index), dim, reduce, include_self)


@method
@beside
def scatter_nd(index, updates, shape, name=None):
    """Zeros with updates added at given places.

    Args:
        index (Tensor): Integers of shape [.., k]: each last vector is a place in the first k dimensions.
        updates (Tensor): Of shape index.shape[:-1] + shape[k:].
        shape (list | tuple | Tensor): Of the result.

    Returns:
        Tensor: Of that shape and the dtype of updates.

    Raises:
        IndexError: A place is out of range.

    Example:
        >>> argosy.scatter_nd(argosy.to_tensor([[1], [1]]), argosy.ones([2]), [3]).tolist()
        [0.0, 2.0, 0.0]
    """
    return _ops.scatter_nd_add(_ops.zeros(shape, updates.dtype), index, updates)


def _index_list(indices):
    """Index tensors with masks opened."""
    out = []
    for i in indices:
        need_tensor("index_put", "indices", i)
        if i.dtype == _core.bool:
            out += list(_ops.mask_indices(i))
        else:
            out.append(i)
    return out, list(range(len(out)))


@method
@alias(input="x", values="value")
def index_put(x, indices, value, accumulate=False, name=None):
    """A copy of x with value written, or added, at x[indices].

    Args:
        x (Tensor): Of any dtype.
        indices (tuple[Tensor]): Integer tensors that broadcast together, or bool masks.
        value (Tensor): Cast to x's dtype; its shape broadcasts to that of x[indices].
        accumulate (bool): Whether to add.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> argosy.index_put(argosy.zeros([3]), (argosy.to_tensor([1]),), argosy.to_tensor(5.0)).tolist()
        [0.0, 5.0, 0.0]
    """
    return _ops.index_put(x, value, *_index_list(indices), accumulate)


@method
def index_put_(x, indices, value, accumulate=False, name=None):
    """index_put written into x.

    Args:
        x, indices, value, accumulate: As of index_put.

    Returns:
        Tensor: x.

    Example:
        >>> x = argosy.zeros([3])
        >>> x.index_put_((argosy.to_tensor([1]),), argosy.to_tensor(5.0)).tolist()
        [0.0, 5.0, 0.0]
    """
    return _ops.index_put_(x, value, *_index_list(indices), accumulate)


def _filled_axis(x, axis):
    need_tensor("index_fill", "x", x)
    try:
        place = x.ndim if isinstance(axis, bool) else operator.index(axis)
    except TypeError:
        place = x.ndim
    if not -x.ndim <= place < x.ndim:
        raise _core.OutOfRangeError(
            f"(InvalidArgument) [index_fill] axis: expected an int from {-x.ndim} to {x.ndim - 1}, got"
            f" {axis!r}. Do this: correct it."
        )
    return place % x.ndim


@beside
def _fill_value(x, value):
    return value if isinstance(value, Tensor) else _ops.full([], value, x.dtype)


@method
def index_fill(x, index, axis, value, name=None):
    """A copy of x with one value in some of its entries along an axis.

    Args:
        x (Tensor): Of any dtype.
        index (Tensor): A vector of integers: which entries.
        axis (int): Along which.
        value (number | Tensor): The value; a tensor is 0-d.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> argosy.index_fill(argosy.zeros([2, 2]), argosy.to_tensor([1]), 1, 5.0).tolist()
        [[0.0, 5.0], [0.0, 5.0]]
    """
    axis, value = _filled_axis(x, axis), _fill_value(x, value)
    return _ops.index_put(x, value, [index], [axis], False)


@method
def index_fill_(x, index, axis, value, name=None):
    """index_fill written into x.

    Args:
        x, index, axis, value: As of index_fill.

    Returns:
        Tensor: x.

    Example:
        >>> x = argosy.zeros([3])
        >>> x.index_fill_(argosy.to_tensor([1]), 0, 5.0).tolist()
        [0.0, 5.0, 0.0]
    """
    axis, value = _filled_axis(x, axis), _fill_value(x, value)
    return _ops.index_put_(x, value, [index], [axis], False)


@method
def masked_scatter(x, mask, value, name=None):
    """A copy of x whose elements under a mask are replaced by those of value, in order.

    Args:
        x (Tensor): Of any dtype.
        mask (Tensor): bool; its shape broadcasts to x's.
        value (Tensor): As many elements as the mask selects, or more; cast to x's dtype.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        ValueError: value has too few elements.

    Example:
        >>> x = argosy.zeros([3])
        >>> mask = argosy.to_tensor([True, False, True])
        >>> argosy.masked_scatter(x, mask, argosy.to_tensor([1.0, 2.0])).tolist()
        [1.0, 0.0, 2.0]
    """
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
    """masked_scatter written into x.

    Args:
        x, mask, value: As of masked_scatter.

    Returns:
        Tensor: x.

    Example:
        >>> x = argosy.zeros([2])
        >>> x.masked_scatter_(argosy.to_tensor([True, False]), argosy.ones([1])).tolist()
        [1.0, 0.0]
    """
    return overwrite(x, masked_scatter(x, mask, value))


@method
@alias(input="values")
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
    """For each of some values, the place in a sorted last dimension where it would go.

    Args:
        sorted_sequence (Tensor): A vector, or [.., n] with the leading sizes of values.
        values (Tensor): [.., m], of a real dtype.
        out_int32 (bool): Whether places are int32, else int64.
        right (bool): Whether the place is behind equal elements, else before them.
        side (str, optional): 'right' for right=True, or 'left'.
        out (Tensor, optional): A tensor that becomes the result.
        sorter (Tensor, optional): Indices that sort sorted_sequence, which then need not be sorted.

    Returns:
        Tensor: Places from 0 to n, of values' shape.

    Raises:
        ValueError: side is another one or opposes right, or the shapes do not fit.

    Example:
        >>> argosy.searchsorted(argosy.to_tensor([1, 3, 5]), argosy.to_tensor([3, 4])).tolist()
        [1, 2]
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
    """Elements of x as if it were flattened.

    Args:
        x (Tensor): Of any dtype.
        index (Tensor): Places in the flattened x.
        mode (str): What places outside do: 'raise', where negative ones count from the end; 'wrap', modulo
            the number of elements; 'clip', the first or last element.

    Returns:
        Tensor: Of index's shape and x's dtype.

    Raises:
        ValueError: mode is another one.
        IndexError: A place is out of range, with mode 'raise'.

    Example:
        >>> argosy.take(argosy.to_tensor([[1, 2], [3, 4]]), argosy.to_tensor([0, 5]), mode="wrap").tolist()
        [1, 2]
    """
    check_choice("take", "mode", mode, ("raise", "wrap", "clip"))
    need_tensor("take", "x", x)
    need_tensor("take", "index", index)
    flat = _ops.flatten(x) if x.ndim != 1 else x
    size = sizes_of(flat)[0]
    if mode == "wrap":
        whole = size.astype(index.dtype) if isinstance(size, Tensor) else size
        index = _ops.remainder(index, whole)
    elif mode == "clip":
        index = index.clip(0, max(size - 1, 0) if isinstance(size, int) else size - 1)
    return _ops.index_get(flat, [index], [0])


@method
def select_scatter(x, values, axis, index, name=None):
    """A copy of x with values at one index of an axis.

    Args:
        x (Tensor): Of any dtype.
        values (Tensor): Of x's shape without the axis.
        axis (int): Which.
        index (int): Where; negative values count from the end.

    Returns:
        Tensor: Of x's shape and dtype.

    Example:
        >>> argosy.select_scatter(argosy.zeros([2, 2]), argosy.ones([2]), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    return _ops.set_slice(
        x, values, [axis], [index], [index + 1 if index != -1 else 2**62], [1], [axis]
    )
