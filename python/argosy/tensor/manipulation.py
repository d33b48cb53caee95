"""Shape and placement functions whose arguments need Python."""

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._support import ArgumentError, alias, check_choice, into, only_known, sizes_of
from argosy.tensor.registry import method
from argosy.tensor.spellings import sizes_one_by_one

_DTYPES = (_core.dtype, str)
_END = 2**63 - 1  # as the end of a slice: whatever the size


def _ints(value):
    return [int(v) for v in value] if isinstance(value, (list, tuple)) else int(value)


def _axis(name, axis, x, error=_core.OutOfRangeError):
    """axis as a number from 0 on."""
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise error(
            f"[{name}] axis is out of range: expected {-x.ndim} <= axis < {x.ndim} for a tensor of"
            f" {x.ndim} dimensions, got {axis}. Do this: correct it."
        )
    return axis % x.ndim


def _tensor(name, x):
    if not isinstance(x, Tensor):
        raise _core.OperandError(
            f"[{name}] x: expected a Tensor, got {type(x).__name__}. Do this: make it one with"
            " argosy.to_tensor(..)."
        )


@method
def split(x, num_or_sections, axis=0, name=None):
    """x cut along axis into views, as a list.

    num_or_sections: number of equal parts, or the sizes of the parts, one of which may be -1.
    """
    axis = int(axis)
    return _ops.split(x, num_or_sections, axis)


@method
@alias(input="x", dim="axis")
def chunk(x, chunks, axis=0, name=None):
    """x cut along axis into `chunks` equal views, as a list."""
    return _ops.split(x, int(chunks), int(axis))


@method
@alias(input="x", dim="axis", indices="num_or_indices", sections="num_or_indices")
def tensor_split(x, num_or_indices, axis=0, name=None):
    """x cut along axis into nearly equal parts (an int: the first parts are longer by one), or at
    the given indices. Returns a list of views."""
    axis = _axis("tensor_split", axis, x)
    if isinstance(num_or_indices, int):
        n = num_or_indices
        if n <= 0:
            raise ValueError(
                f"[tensor_split] expected 1 part or more, got {n}. Do this: correct it."
            )
        size = sizes_of(x)[axis]
        # Part i has every element that is left after it, divided by the parts that are.
        return _ops.split(x, [(size + n - 1 - i) // n for i in range(n)], axis)
    bounds = [0, *num_or_indices, _END]
    return [_ops.slice(x, [axis], [a], [b]) for a, b in zip(bounds, bounds[1:])]


def _split_at(name, minimum, axis):
    def function(x, num_or_indices, name=None):
        if x.ndim < minimum:
            raise ValueError(
                f"[{function.__name__}] x: expected {minimum} dimensions or more, got {x.ndim}. "
                "Do this: add some with unsqueeze, or use tensor_split."
            )
        return tensor_split(x, num_or_indices, axis(x) if callable(axis) else axis)

    function.__name__ = function.__qualname__ = name
    where = "1 (0 for vectors)" if callable(axis) else axis
    function.__doc__ = f"tensor_split along axis {where}."
    return method(function)


hsplit = _split_at("hsplit", 1, lambda x: 1 if x.ndim > 1 else 0)
vsplit = _split_at("vsplit", 2, 0)
dsplit = _split_at("dsplit", 3, 2)


def _each(inputs):
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        return list(inputs[0])
    return list(inputs)


def _at_least(rank, inputs, grow):
    out = [grow(t if isinstance(t, Tensor) else _core.to_tensor(t, None, True)) for t in inputs]
    return out[0] if len(out) == 1 else out


@method
def atleast_1d(*inputs, name=None):
    """Tensors with at least 1 dimension; one tensor for one input, else a list."""
    return _at_least(1, _each(inputs), lambda t: t.reshape([1]) if t.ndim == 0 else t)


def _two(t):
    return t.reshape([1, 1]) if t.ndim == 0 else _ops.unsqueeze(t, 0) if t.ndim == 1 else t


@method
def atleast_2d(*inputs, name=None):
    """Tensors with at least 2 dimensions; one tensor for one input, else a list."""
    return _at_least(2, _each(inputs), _two)


@method
def atleast_3d(*inputs, name=None):
    """Tensors with at least 3 dimensions; one tensor for one input, else a list."""

    def three(t):
        if t.ndim == 0:
            return t.reshape([1, 1, 1])
        if t.ndim == 1:
            return _ops.unsqueeze(t, [0, 2])
        return _ops.unsqueeze(t, 2) if t.ndim == 2 else t

    return _at_least(3, _each(inputs), three)


def hstack(x, name=None):
    """Tensors joined along axis 1 (axis 0 for vectors)."""
    parts = [atleast_1d(t) for t in x]
    return _ops.concat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(x, name=None):
    """Tensors joined along axis 0, vectors as rows."""
    return _ops.concat([_two(t) for t in x], 0)


row_stack = vstack


def dstack(x, name=None):
    """Tensors joined along axis 2."""
    return _ops.concat([atleast_3d(t) for t in x], 2)


def column_stack(x, name=None):
    """Tensors joined along axis 1, vectors as columns."""
    return _ops.concat([_ops.unsqueeze(atleast_1d(t), 1) if t.ndim < 2 else t for t in x], 1)


@method
def unstack(x, axis=0, num=None):
    """x at each index of axis, as a list of views."""
    if num is not None and x.shape[axis] < 0:
        return [_ops.squeeze(part, axis) for part in _ops.split(x, num, axis)]
    if num is not None and num != x.shape[axis]:
        raise ValueError(
            f"[unstack] num: expected {x.shape[axis]}, the size of axis {axis}, got {num}. "
            "Do this: leave it out."
        )
    return _ops.unbind(x, axis)


@method
def moveaxis(x, source, destination, name=None):
    """x with its axes `source` moved to the places `destination`; the others keep their order."""
    rank = x.ndim
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    if len(source) != len(destination):
        raise ArgumentError(
            f"[moveaxis] source and destination must be equally long, got {len(source)} and "
            f"{len(destination)} axes. Do this: name a destination for each source."
        )
    for axis in source + destination:
        if not -rank <= axis < rank:
            raise ArgumentError(
                f"[moveaxis] axis {axis} is out of range: expected -{rank} <= axis < {rank}. Do "
                "this: correct it."
            )
    source = [a % rank for a in source]
    destination = [a % rank for a in destination]
    if len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise ArgumentError(
            f"[moveaxis] an axis is named twice: source {source}, destination "
            f"{destination}. Do this: name each once."
        )
    perm = [a for a in range(rank) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        perm.insert(to, axis)
    return _ops.transpose(x, perm)


movedim = moveaxis


@method
@alias(input="x", dim0="axis0", dim1="axis1")
def swapaxes(x, axis0=None, axis1=None, name=None, *, perm=None):
    """x with two axes exchanged; or with all of them in the order perm, as transpose has it."""
    if axis1 is None:
        return _ops.transpose(x, axis0 if perm is None else perm)
    perm = list(range(x.ndim))
    perm[axis0], perm[axis1] = perm[axis1], perm[axis0]
    return _ops.transpose(x, perm)


swapdims = method(swapaxes, "swapdims")


@method
def t(input, name=None):
    """The transposed matrix; vectors and 0-d tensors stay as they are."""
    if input.ndim > 2:
        raise ValueError(
            f"[t] takes tensors of up to 2 dimensions, got {input.ndim}. Do this: use transpose."
        )
    return input if input.ndim < 2 else _ops.transpose(input, [1, 0])


@method
@alias(input="x", dim="axis", sizes="shape")
def unflatten(x, axis, shape, name=None):
    """x with dimension axis cut into `shape`, of which one size may be -1."""
    axis = _axis("unflatten", axis, x, ArgumentError)
    shape = shape.tolist() if isinstance(shape, Tensor) else list(shape)
    if -1 not in (*shape, x.shape[axis]) and not any(isinstance(s, Tensor) for s in shape):
        total = 1
        for size in shape:
            total *= size
        if total != x.shape[axis]:
            raise ValueError(
                f"(InvalidArgument) [unflatten] sizes {shape} multiply to {total}: expected {x.shape[axis]}, the "
                f"size of axis {axis}. Do this: let one of them be -1."
            )
    own = [0] * axis
    return _ops.reshape(x, own + shape + sizes_of(x)[axis + 1 :])


@alias(size="shape_or_dtype", dtype="shape_or_dtype")
def view(x, shape_or_dtype, name=None):
    """x's memory in another shape, or read as another dtype (the last size then scales)."""
    if isinstance(shape_or_dtype, _DTYPES):
        return _ops.view_dtype(x, shape_or_dtype)
    return _ops.reshape(x, shape_or_dtype)


method(sizes_one_by_one(view))


@method
def broadcast_shape(x_shape, y_shape):
    """The shape that two shapes broadcast to, as a list."""
    x, y = list(x_shape), list(y_shape)
    rank = max(len(x), len(y))
    x = [1] * (rank - len(x)) + x
    y = [1] * (rank - len(y)) + y
    out = []
    for a, b in zip(x, y):
        if a != b and 1 not in (a, b) and -1 not in (a, b):
            raise ValueError(
                f"(InvalidArgument) [broadcast_shape] shapes {list(x_shape)} and {list(y_shape)} do not "
                f"broadcast: {a} meets {b}. Do this: make one of the two 1 or equal."
            )
        out.append(b if a == 1 else a if b in (1, a) else max(a, b))
    return out


def broadcast_shapes(*shapes):
    """The shape that several shapes broadcast to, as a list."""
    out = []
    for shape in shapes:
        out = broadcast_shape(out, shape)
    return out


@method
def broadcast_tensors(input, name=None):
    """The tensors broadcast to their common shape, as a list."""
    if any(-1 in t.shape for t in input):
        whole = _ops.full_like(input[0], 0, "int32")
        for t in input[1:]:
            whole = _ops.add(whole, _ops.full_like(t, 0, "int32"))
        return [_ops.expand_like(t, whole) for t in input]
    shape = broadcast_shapes(*[t.shape for t in input])
    return [_ops.expand(t, shape) for t in input]


def meshgrid(*args, **kwargs):
    """For vectors of sizes n0, n1, ..: tensors of shape [n0, n1, ..], the i-th of which varies along
    dimension i.

    Args:
        indexing (str): 'ij', as said; 'xy': the first two dimensions are exchanged, [n1, n0, ..].

    Raises:
        ValueError: another indexing, or unknown keywords.
    """
    only_known("meshgrid", kwargs, ("indexing", "name"))
    check_choice("meshgrid", "indexing", kwargs.get("indexing", "ij"), ("ij", "xy"))
    vectors = _each(args)
    for v in vectors:
        _tensor("meshgrid", v)
    shape = [t.size if t.size >= 0 else sizes_of(t)[0] for t in vectors]
    out = []
    for i, v in enumerate(vectors):
        own = [1] * len(shape)
        own[i] = -1
        out.append(_ops.expand(_ops.reshape(v, own), shape))
    if kwargs.get("indexing") == "xy" and len(out) > 1:
        order = [1, 0, *range(2, len(out))]
        out = [_ops.transpose(v, order) for v in out]
    return out


@method
def slice(input, axes, starts, ends):  # noqa: A001
    """input[start:end] on each of axes; bounds may be tensors, negative, or beyond the size."""
    return _ops.slice(input, _ints(axes), starts, ends)


@method
def strided_slice(x, axes, starts, ends, strides, name=None):
    """x[start:end:stride] on each of axes."""
    return _ops.slice(x, _ints(axes), starts, ends, _ints(strides))


@method
def slice_scatter(x, value, axes, starts, ends, strides, name=None):
    """A copy of x with value, broadcast, written to x[start:end:stride] on each of axes."""
    return _ops.set_slice(x, value, _ints(axes), starts, ends, _ints(strides))


def _crop_numbers(value):
    """The elements of a list or vector: numbers where they are known."""
    if isinstance(value, Tensor):
        if value._symbolic:
            return [value[i] for i in range(value.shape[0])]
        return value.tolist()
    return [v if isinstance(v, Tensor) and v._symbolic else int(v) for v in value]


@method
def crop(x, shape=None, offsets=None, name=None):
    """The part of x of the given shape (-1: up to the end) that begins at offsets."""
    shape = [-1] * x.ndim if shape is None else _crop_numbers(shape)
    offsets = [0] * x.ndim if offsets is None else _crop_numbers(offsets)
    if len(shape) != x.ndim or len(offsets) != x.ndim:
        raise ValueError(
            f"(InvalidArgument) [crop] shape and offsets: expected {x.ndim} entries each, one for each "
            f"dimension, got {shape} and {offsets}. Do this: give one for each dimension."
        )
    ends = []
    for size, start, n in zip(x.shape, offsets, shape):
        known = isinstance(n, int) and isinstance(start, int)
        ends.append((size if size >= 0 else _END) if known and n == -1 else start + n)
        if known and (start < 0 or (0 <= size < ends[-1])):
            raise ValueError(
                f"(InvalidArgument) [crop] offsets {offsets} and shape {shape} reach outside x of shape "
                f"{list(x.shape)}. Do this: use a smaller shape, or -1 for the rest."
            )
    return _ops.slice(x, list(range(x.ndim)), offsets, ends)


@method
@alias(input="x", dim="axis")
def repeat_interleave(x, repeats, axis=None, name=None, *, output_size=None):
    """Each element (or index of axis) repeated, neighbours together; without axis x is flattened.

    repeats: an int, or a Tensor with one number for each index. output_size: the size of the result
    along axis, where it is known; another one raises ValueError.
    """
    if axis is None:
        x, axis = _ops.flatten(x), 0
    if x._symbolic and isinstance(repeats, int) and -x.ndim <= axis < x.ndim and repeats >= 0:
        # Sizes are known while a Program is built.
        axis = range(x.ndim)[axis]
        times = [repeats if d == axis + 1 else 1 for d in range(x.ndim + 1)]
        result = _ops.flatten(_ops.tile(_ops.unsqueeze(x, [axis + 1]), times), axis, axis + 1)
    else:
        if not isinstance(repeats, Tensor):
            repeats = _core.to_tensor(repeats, "int64", True)
        result = _ops.repeat_interleave(x, repeats, int(axis))
    if output_size is not None and result.shape[axis] not in (-1, output_size):
        raise ValueError(
            "[repeat_interleave] output_size must be the sum of repeats: expected"
            f" {result.shape[axis]}, got {output_size}. Do this: leave it out."
        )
    return result


@method
def rot90(x, k=1, axes=(0, 1), name=None):
    """x turned by 90 degrees k times in the plane of two axes, from the first towards the second."""
    if x.ndim < 2 or len(axes) != 2:
        raise ValueError(
            f"[rot90] expected a tensor of 2 dimensions or more and two axes, got shape"
            f" {list(x.shape)} and axes {list(axes)}. Do this: correct them."
        )
    a, b = axes
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise ArgumentError(
            f"[rot90] axes: expected numbers from {-x.ndim} to {x.ndim - 1}, got {list(axes)}."
            " Do this: correct them."
        )
    if len(set((a % x.ndim, b % x.ndim))) != 2:
        raise ValueError(
            f"[rot90] axes: expected two different ones, got {list(axes)}. Do this: correct them."
        )
    k %= 4
    if k == 0:
        return _ops.assign(x)
    if k == 2:
        return _ops.flip(_ops.flip(x, [a]), [b])
    return swapaxes(_ops.flip(x, [b]), a, b) if k == 1 else _ops.flip(swapaxes(x, a, b), [b])


@method
def diag(x, offset=0, padding_value=0, name=None):
    """A matrix with vector x on its diagonal and padding_value elsewhere, or the diagonal of a
    matrix x."""
    _tensor("diag", x)
    if x.ndim == 0:
        x = x.unsqueeze(0)
    if x.ndim == 2:
        return _ops.assign(_ops.diagonal(x, offset, 0, 1))
    if x.ndim != 1:
        raise ValueError(
            f"(InvalidArgument) [diag] x: expected 0 to 2 dimensions, got {x.ndim}. Do this: use diagonal or "
            "diag_embed."
        )
    if not padding_value:
        return _ops.diag_embed(x, offset)
    n = sizes_of(x)[0] + abs(offset)
    return _ops.diagonal_scatter(_ops.full([n, n], padding_value, x.dtype), x, offset)


@method
def diagflat(x, offset=0, name=None):
    """A matrix with the elements of x, flattened, on its diagonal."""
    return _ops.diag_embed(_ops.flatten(x), offset)


def tril_indices(row, col, offset=0, dtype="int64"):
    """Row and column indices of the lower triangle of a row x col matrix, as a [2, n] tensor."""
    return _places(_ops.tril(_ops.ones([row, col], "bool"), offset), dtype)


def triu_indices(row, col=None, offset=0, dtype="int64"):
    """Row and column indices of the upper triangle of a row x col matrix, as a [2, n] tensor."""
    return _places(_ops.triu(_ops.ones([row, row if col is None else col], "bool"), offset), dtype)


def _places(mask, dtype):
    return _ops.stack(list(_ops.mask_indices(mask)), 0).astype(dtype)


def shape(input):
    """The shape of a tensor, as an int64 vector."""
    return _ops.shape(input)


@method
def rank(input):
    """Number of dimensions, as a 0-d int32 tensor."""
    return _core.to_tensor(input.ndim, "int32", True)


@method
def numel(x, name=None):
    """Number of elements, as a 0-d int64 tensor."""
    return _ops.numel(x)


def _holds_tensor(x):
    if isinstance(x, (list, tuple)):
        return any(_holds_tensor(item) for item in x)
    return isinstance(x, Tensor)


def assign(x, output=None):
    """A copy of x (tensor, array, number or list), put into output if given.

    Numbers have NumPy's dtypes here, float64 for those with a point, and one dimension.
    """
    if not isinstance(x, Tensor):
        import numpy as np

        if isinstance(x, (bool, int, float, complex, np.generic)):
            x = [x]
        if isinstance(x, (list, tuple)) and not _holds_tensor(x):
            x = np.asarray(x)
        copy = _core.to_tensor(x, None, True)
    else:
        copy = _ops.assign(x)
    return into(output, copy)


def tolist(x):
    """The values as nested Python lists; a number for a 0-d tensor."""
    return _core.tolist(x)


@method
def is_empty(x, name=None):
    """Whether x has no elements, as a 0-d bool tensor."""
    if -1 in x.shape:
        return _ops.equal(_ops.prod(_ops.shape(x), [0]), _core.to_tensor(0, "int64", True))
    return _core.to_tensor(x.size == 0, None, True)


@method
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Indices within shard `shard_id` of `nshards` equal ones; ignore_value for other shards."""
    if not 0 <= shard_id < nshards:
        raise ValueError(
            f"(InvalidArgument) [shard_index] shard_id: expected 0 <= shard_id < nshards = {nshards}, got "
            f"{shard_id}. Do this: correct it."
        )
    size = (index_num + nshards - 1) // nshards
    mine = _ops.equal(_ops.floor_divide(input, size), shard_id)
    return _ops.where_select(mine, _ops.remainder(input, size), _ops.full_like(input, ignore_value))


def as_complex(x, name=None):
    """Complex numbers from a last dimension of two: real and imaginary part."""
    return _ops.as_complex(x)


@method
def unfold(x, axis, size, step, name=None):
    """Windows of `size` elements along axis, `step` apart, as a last dimension; a view."""
    if x.ndim == 0:
        x = _ops.unsqueeze(x, [0])
    axis = _axis("unfold", axis, x)
    if x.shape[axis] < 0:
        sizes = sizes_of(x)
        starts = _ops.arange(0, sizes[axis] - (size - 1), step, "int64")
        places = _ops.add(_ops.unsqueeze(starts, 1), _ops.arange(0, size, 1, "int64"))
        picked = _ops.index_select(x, _ops.flatten(places), axis)
        shape = [*sizes[:axis], -1, size, *sizes[axis + 1 :]]
        return moveaxis(_ops.reshape(picked, shape), axis + 1, -1)
    if not 0 <= size <= x.shape[axis] or step <= 0:
        raise ValueError(
            f"(InvalidArgument) [unfold] size and step: expected 0 <= size <= {x.shape[axis]} and step > 0, "
            f"got {size} and {step}. Do this: correct them."
        )
    count = (x.shape[axis] - size) // step + 1
    starts = [_ops.slice(x, [axis], [i * step], [i * step + size]) for i in range(count)]
    return moveaxis(_ops.stack(starts, axis), axis + 1, -1)
