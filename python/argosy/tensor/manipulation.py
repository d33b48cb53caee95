"""Shape and placement functions whose arguments need Python; parting.py has those that cut and join."""

from argosy import _core
from argosy._beside import beside
from argosy._capturing import capturing
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._framework import in_dynamic_mode, in_static_mode
from argosy._support import (
    ArgumentError,
    alias,
    into,
    listed,
    need_tensor,
    need_type,
    overwrite,
    sizes_of,
    tells,
    whole_number,
    whole_numbers,
)
from argosy.tensor.parting import _axis
from argosy.tensor.registry import method
from argosy.tensor.spellings import numbers_of, sizes_one_by_one

_DTYPES = (_core.dtype, str)


def _ints(op, name, value):
    if hasattr(value, "tolist"):  # a tensor or an array
        value = value.tolist()
    return whole_numbers(op, name, value)


@method
@tells("transpose")
def moveaxis(x, source, destination, name=None):
    """Moves axes to other places; those that are not named keep their order. Also called movedim.

    Args:
        x (Tensor): Of any dtype.
        source (int | list[int] | tuple[int]): The axes, each once.
        destination (int | list[int] | tuple[int]): Where each goes, as many.

    Returns:
        Tensor: A view of x with transposed axes.

    Raises:
        ValueError: The two are not equally long, an axis is out of range or named twice.

    Example:
        >>> argosy.moveaxis(argosy.ones([2, 3, 4]), 0, -1).shape
        paddle.Size([3, 4, 2])
    """
    rank = x.ndim
    source = listed(whole_numbers("moveaxis", "source", source))
    destination = listed(whole_numbers("moveaxis", "destination", destination))
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
    """Exchanges two axes. Also called swapdims.

    Args:
        x (Tensor): Of any dtype.
        axis0 (int): One of them. Without axis1: the order of all axes, as perm.
        axis1 (int): The other.
        perm (list[int], optional): The order of all axes, as transpose has it, instead of two.

    Returns:
        Tensor: A view of x.

    Raises:
        IndexError: An axis is out of range.
        TypeError: An axis is no integer.

    Example:
        >>> argosy.swapaxes(argosy.ones([2, 3, 4]), 0, 2).shape
        paddle.Size([4, 3, 2])
    """
    if axis1 is None:
        return _ops.transpose(x, axis0 if perm is None else perm)
    for name, axis in (("axis0", axis0), ("axis1", axis1)):
        if not hasattr(axis, "__index__"):
            raise TypeError(
                f"(InvalidType) [swapaxes] {name}: expected an int, got {type(axis).__name__}. Do this: pass"
                " the number of an axis."
            )
    axis0, axis1 = (_axis("swapaxes", axis, x) for axis in (axis0, axis1))
    perm = list(range(x.ndim))
    perm[axis0], perm[axis1] = perm[axis1], perm[axis0]
    return _ops.transpose(x, perm)


swapdims = method(swapaxes, "swapdims")


@method
def t(input, name=None):
    """The transpose of a matrix.

    Args:
        input (Tensor): Of any dtype, with at most two dimensions.

    Returns:
        Tensor: A view of shape [n, m] for a matrix of shape [m, n]; vectors and 0-d tensors as they are.

    Raises:
        ValueError: input has more than two dimensions.

    Example:
        >>> argosy.t(argosy.ones([2, 3])).shape
        paddle.Size([3, 2])
    """
    if input.ndim > 2:
        raise ValueError(
            f"[t] takes tensors of up to 2 dimensions, got {input.ndim}. Do this: use transpose."
        )
    return input if input.ndim < 2 else _ops.transpose(input, [1, 0])


@method
@alias(input="x", dim="axis", sizes="shape")
def unflatten(x, axis, shape, name=None):
    """Cuts one dimension into several.

    Args:
        x (Tensor): Of any dtype.
        axis (int): The dimension; negative values count from the end.
        shape (list | tuple | Tensor): The sizes that replace it, of which one may be -1; their product is
            its size. Entries may be 0-d integer tensors.

    Returns:
        Tensor: A view of x, or a copy where strides do not allow one.

    Raises:
        ValueError: The axis is out of range, or the sizes do not multiply to that of the dimension.

    Example:
        >>> argosy.unflatten(argosy.ones([2, 6]), 1, [3, -1]).shape
        paddle.Size([2, 3, 2])
    """
    axis = _axis("unflatten", axis, x, ArgumentError)
    shape = numbers_of("unflatten", "shape", shape)
    if not any(isinstance(s, Tensor) for s in shape) and -1 not in (*shape, x.shape[axis]):
        total = 1
        for size in shape:
            total *= size
        if total != x.shape[axis]:
            raise ValueError(
                f"(InvalidArgument) [unflatten] sizes {shape} multiply to {total}: expected {x.shape[axis]}, the "
                f"size of axis {axis}. Do this: let one of them be -1."
            )
    # 0 keeps a size that is not known yet.
    own = [size if size >= 0 else 0 for size in x.shape[:axis]]
    return _ops.reshape(x, own + shape + sizes_of(x)[axis + 1 :])


@method
@alias(size="shape_or_dtype", dtype="shape_or_dtype")
@sizes_one_by_one
def view(x, shape_or_dtype, name=None):
    """Shows the memory of x in another shape or as another dtype.

    Args:
        x (Tensor): Of any dtype.
        shape_or_dtype (list | tuple | dtype | str): The new shape, of which one size may be -1; or the dtype
            that the bytes are read as, where the last size grows or shrinks with the width of an element.

    Returns:
        Tensor: A tensor that shares memory with x. (A new shape that x's strides do not allow is a copy.)

    Raises:
        ValueError: The number of elements differs, or the last size does not fit the dtype.

    Example:
        >>> x = argosy.zeros([2, 4])
        >>> argosy.view(x, [8]).shape, argosy.view(x, "uint8").shape
        (paddle.Size([8]), paddle.Size([2, 16]))
    """
    if isinstance(shape_or_dtype, _DTYPES):
        return _ops.view_dtype(x, shape_or_dtype)
    return _ops.reshape(x, shape_or_dtype)


@method
def broadcast_shape(x_shape, y_shape):
    """The shape of the result of an element-wise operation on two shapes.

    Args:
        x_shape (list[int] | tuple[int]): One shape; -1 is an unknown size.
        y_shape (list[int] | tuple[int]): The other.

    Returns:
        list[int]: The common shape.

    Raises:
        ValueError: Two sizes differ and neither is 1 or unknown.

    Example:
        >>> argosy.broadcast_shape([2, 1, 3], [4, 1])
        [2, 4, 3]
    """
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
    """The shape of the result of an element-wise operation on several shapes.

    Args:
        shapes (list[int] | tuple[int]): One or several; -1 is an unknown size.

    Returns:
        list[int]: The common shape.

    Raises:
        ValueError: The shapes do not broadcast.

    Example:
        >>> argosy.broadcast_shapes([2, 1], [3], [1, 1])
        [2, 3]
    """
    out = []
    for shape in shapes:
        out = broadcast_shape(out, shape)
    return out


@method
def broadcast_tensors(input, name=None):
    """Expands tensors to their common shape.

    Args:
        input (list[Tensor] | tuple[Tensor]): Tensors whose shapes broadcast.

    Returns:
        list[Tensor]: Each of them with the common shape and its own dtype, as views.

    Raises:
        ValueError: The shapes do not broadcast.

    Example:
        >>> a, b = argosy.broadcast_tensors([argosy.ones([2, 1]), argosy.ones([3])])
        >>> a.shape, b.shape
        (paddle.Size([2, 3]), paddle.Size([2, 3]))
    """
    for t in input:
        need_tensor("broadcast_tensors", "input", t)
    if any(-1 in t.shape for t in input):
        whole = _ops.full_like(input[0], 0, "int32")
        for t in input[1:]:
            whole = _ops.add(whole, _ops.full_like(t, 0, "int32"))
        return [_ops.expand_like(t, whole) for t in input]
    shape = broadcast_shapes(*[t.shape for t in input])
    return [_ops.expand(t, shape) for t in input]


@method
def slice(input, axes, starts, ends):  # noqa: A001
    """Cuts out input[start:end] on each of some axes.

    Args:
        input (Tensor): Of any dtype.
        axes (list[int] | tuple[int]): Which.
        starts (list | tuple | Tensor): Where each part begins; entries may be 0-d integer tensors.
            Negative ones count from the end, those beyond the size are cut to it.
        ends (list | tuple | Tensor): Where each part ends, that place not included.

    Returns:
        Tensor: A view of input where bounds are numbers.

    Example:
        >>> argosy.slice(argosy.arange(12).reshape([3, 4]), [0, 1], [0, 1], [2, -1]).tolist()
        [[1, 2], [5, 6]]
    """
    return _ops.slice(input, _ints("slice", "axes", axes), starts, ends)


@method
def strided_slice(x, axes, starts, ends, strides, name=None):
    """Cuts out x[start:end:stride] on each of some axes.

    Args:
        x (Tensor): Of any dtype.
        axes (list[int] | tuple[int]): Which.
        starts (list | tuple | Tensor): Where each part begins; negative ones count from the end.
        ends (list | tuple | Tensor): Where each part ends, that place not included.
        strides (list | tuple | Tensor): The step on each axis; negative ones walk backwards. In a Program: numbers.

    Returns:
        Tensor: The part, of x's dtype.

    Example:
        >>> argosy.strided_slice(argosy.arange(6), [0], [1], [6], [2]).tolist()
        [1, 3, 5]
    """
    axes, strides = _ints("strided_slice", "axes", axes), _ints("strided_slice", "strides", strides)
    return _ops.slice(x, axes, starts, ends, strides)


@method
def slice_scatter(x, value, axes, starts, ends, strides, name=None):
    """A copy of x with value written to x[start:end:stride] on each of some axes.

    Args:
        x (Tensor): Of any dtype.
        value (Tensor): What is written; its shape broadcasts to that of the part.
        axes (list[int] | tuple[int]): Which.
        starts (list | tuple | Tensor): Where the part begins on each axis.
        ends (list | tuple | Tensor): Where it ends, that place not included.
        strides (list[int] | tuple[int]): The step on each axis.

    Returns:
        Tensor: Of x's shape and dtype.

    Example:
        >>> argosy.slice_scatter(argosy.zeros([5]), argosy.ones([2]), [0], [1], [5], [2]).tolist()
        [0.0, 1.0, 0.0, 1.0, 0.0]
    """
    axes, strides = _ints("slice_scatter", "axes", axes), _ints("slice_scatter", "strides", strides)
    return _ops.set_slice(x, value, axes, starts, ends, strides)


@method
@alias(input="x", dim="axis")
@beside
def repeat_interleave(x, repeats, axis=None, name=None, *, output_size=None):
    """Repeats elements, or entries along an axis, so that equal ones are neighbours.

    Args:
        x (Tensor): Of any dtype.
        repeats (int | list[int] | Tensor): How often each, or one integer for each entry.
        axis (int, optional): Along which; default: x is flattened before.
        output_size (int, optional): The size of the result along the axis, checked where it is known.

    Returns:
        Tensor: Of x's dtype.

    Raises:
        ValueError: output_size is not the size of the result.

    Example:
        >>> argosy.repeat_interleave(argosy.to_tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
        >>> argosy.repeat_interleave(argosy.to_tensor([[1], [2]]), argosy.to_tensor([1, 2]), 0).tolist()
        [[1], [2], [2]]
    """
    need_tensor("repeat_interleave", "x", x)
    if axis is None:
        x, axis = _ops.flatten(x), 0
    axis = whole_number("repeat_interleave", "axis", axis)
    if not isinstance(repeats, Tensor):
        repeats = _ints("repeat_interleave", "repeats", repeats)
    if x._symbolic and isinstance(repeats, int) and -x.ndim <= axis < x.ndim and repeats >= 0:
        # Sizes are known while a Program is built.
        axis = range(x.ndim)[axis]
        times = [repeats if d == axis + 1 else 1 for d in range(x.ndim + 1)]
        result = _ops.flatten(_ops.tile(_ops.unsqueeze(x, [axis + 1]), times), axis, axis + 1)
    else:
        if not isinstance(repeats, Tensor):
            repeats = _core.to_tensor(repeats, "int64", True)
        result = _ops.repeat_interleave(x, repeats, axis)
    if output_size is not None and result.shape[axis] not in (-1, output_size):
        raise ValueError(
            "[repeat_interleave] output_size must be the sum of repeats: expected"
            f" {result.shape[axis]}, got {output_size}. Do this: leave it out."
        )
    return result


@method
def rot90(x, k=1, axes=(0, 1), name=None):
    """Turns x by quarter turns in the plane of two axes.

    Args:
        x (Tensor): Of two dimensions or more.
        k (int): How many turns, from the first axis towards the second; negative: the other way.
        axes (list[int] | tuple[int]): The two.

    Returns:
        Tensor: The turned tensor, of x's dtype.

    Raises:
        ValueError: x has fewer than two dimensions, or axes are not two different ones of x.

    Example:
        >>> argosy.rot90(argosy.to_tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    need_tensor("rot90", "x", x)
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
@tells("diagonal", "diag_embed", "diagonal_scatter")
@beside
def diag(x, offset=0, padding_value=0, name=None):
    """A matrix with a given diagonal, or the diagonal of a matrix.

    Args:
        x (Tensor): A vector of n elements (a 0-d tensor has one), or a matrix.
        offset (int): Which diagonal: above the main one if positive, below it if negative.
        padding_value (number): What stands beside the diagonal.

    Returns:
        Tensor: Of x's dtype: a matrix with n + abs(offset) rows and columns, or a copy of the diagonal.

    Raises:
        ValueError: x has more than two dimensions.

    Example:
        >>> argosy.diag(argosy.to_tensor([1, 2]), padding_value=9).tolist()
        [[1, 9], [9, 2]]
        >>> argosy.diag(argosy.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    need_tensor("diag", "x", x)
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
@tells("diag_embed")
def diagflat(x, offset=0, name=None):
    """A matrix with all elements of x on a diagonal.

    Args:
        x (Tensor): Of any shape, n elements.
        offset (int): Which diagonal: above the main one if positive, below it if negative.

    Returns:
        Tensor: Of x's dtype, with n + abs(offset) rows and columns, zeros beside the diagonal.

    Example:
        >>> argosy.diagflat(argosy.to_tensor([1, 2]), offset=1).tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    return _ops.diag_embed(_ops.flatten(x), offset)


def tril_indices(row, col, offset=0, dtype="int64"):
    """Places of the lower triangle of a matrix.

    Args:
        row (int): Its number of rows.
        col (int): Its number of columns.
        offset (int): The highest diagonal that belongs to it, 0 for the main one.
        dtype (dtype | str): int32 or int64.

    Returns:
        Tensor: [2, n] of that dtype: row indices, column indices.

    Example:
        >>> argosy.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _places(_ops.tril(_ops.ones([row, col], "bool"), offset), dtype)


def triu_indices(row, col=None, offset=0, dtype="int64"):
    """Places of the upper triangle of a matrix.

    Args:
        row (int): Its number of rows.
        col (int, optional): Its number of columns; default: as many as rows.
        offset (int): The lowest diagonal that belongs to it, 0 for the main one.
        dtype (dtype | str): int32 or int64.

    Returns:
        Tensor: [2, n] of that dtype: row indices, column indices.

    Example:
        >>> argosy.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _places(_ops.triu(_ops.ones([row, row if col is None else col], "bool"), offset), dtype)


def _places(mask, dtype):
    return _ops.stack(list(_ops.mask_indices(mask)), 0).astype(dtype)


def shape(input):
    """The shape of a tensor as a tensor, which a Program knows when it runs.

    Args:
        input (Tensor): Of any dtype and rank r.

    Returns:
        Tensor: [r] int64.

    Example:
        >>> argosy.shape(argosy.ones([2, 3])).tolist()
        [2, 3]
    """
    return _ops.shape(input)


@method
def rank(input):
    """The number of dimensions of a tensor.

    Args:
        input (Tensor): Of any dtype.

    Returns:
        Tensor: 0-d int32.

    Example:
        >>> int(argosy.rank(argosy.ones([2, 3])))
        2
    """
    if not hasattr(input, "ndim"):  # arrays have one, too
        need_type("rank", "input", input, Tensor, "make it a tensor with to_tensor")
    return _core.to_tensor(input.ndim, "int32", True)


@method
def numel(x, name=None):
    """The number of elements of a tensor.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        Tensor: 0-d int64.

    Example:
        >>> int(argosy.numel(argosy.ones([2, 3])))
        6
    """
    return _ops.numel(x)


def _holds_tensor(x):
    if isinstance(x, (list, tuple)):
        return any(_holds_tensor(item) for item in x)
    return isinstance(x, Tensor)


def assign(x, output=None):
    """A copy of a value, through which gradients pass.

    Args:
        x (Tensor | numpy.ndarray | number | list | tuple): What is copied. Numbers have NumPy's dtypes
            here, float64 for those with a point, and become vectors of one element.
        output (Tensor, optional): What the copy is written into. A tensor of another shape or dtype, and
            one that needs a gradient of its own, becomes the copy instead.

    Returns:
        Tensor: output, or a new tensor.

    Example:
        >>> argosy.assign([1.5, 2.0])
        Tensor(shape=[2], dtype=float64, place=Place(cpu), stop_gradient=True,
               [1.5000, 2.    ])
    """
    if output is not None:
        need_tensor("assign", "output", output)
    if not isinstance(x, Tensor):
        import numpy as np

        if isinstance(x, (bool, int, float, complex, np.generic)):
            x = [x]
        if isinstance(x, (list, tuple)) and not _holds_tensor(x):
            x = np.asarray(x)
        x = _core.to_tensor(x, None, True, not in_static_mode())
        return overwrite(output, x) if _may_be_written(output, x) else into(output, x)
    if _may_be_written(output, x):
        return overwrite(output, x)
    return into(output, _ops.assign(x))


def _may_be_written(output, x):
    """Whether assign writes x into output's memory, so that views of output show it."""
    return (
        output is not None
        and (capturing() or (in_dynamic_mode() and not (output._symbolic or x._symbolic)))
        and output.shape == x.shape
        and output.dtype == x.dtype
        and (
            output.stop_gradient
            or not (_core.refuses_recorded_write(output) if output._symbolic else output.is_leaf)
            or not _core.is_grad_enabled()
        )
    )


def tolist(x):
    """The elements of a tensor as Python numbers.

    Args:
        x (Tensor): Of any dtype; it has values, so it is not of a Program.

    Returns:
        list | number: Nested lists, one level for each dimension; a number for a 0-d tensor.

    Example:
        >>> argosy.tolist(argosy.to_tensor([[1, 2], [3, 4]]))
        [[1, 2], [3, 4]]
    """
    return _core.tolist(x)


@method
def is_empty(x, name=None):
    """Whether a tensor has no elements.

    Args:
        x (Tensor): Of any dtype.

    Returns:
        Tensor: 0-d bool.

    Example:
        >>> bool(argosy.is_empty(argosy.zeros([0, 3])))
        True
    """
    need_tensor("is_empty", "x", x)
    if -1 in x.shape:
        return _ops.equal(_ops.prod(_ops.shape(x), [0]), _core.to_tensor(0, "int64", True))
    return _core.to_tensor(x.size == 0, None, True)


@method
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Renumbers indices for one of several shards of equal size.

    Args:
        input (Tensor): Integers from 0 to index_num - 1.
        index_num (int): How many indices there are in all.
        nshards (int): How many shards; each has ceil(index_num / nshards) indices.
        shard_id (int): Whose numbers are asked for.
        ignore_value (int): What indices of other shards become.

    Returns:
        Tensor: Of input's shape and dtype: places within the shard, or ignore_value.

    Raises:
        ValueError: shard_id is not between 0 and nshards - 1.

    Example:
        >>> argosy.shard_index(argosy.to_tensor([1, 12]), 20, 2, 1).tolist()
        [-1, 2]
    """
    if not 0 <= shard_id < nshards:
        raise ValueError(
            f"(InvalidArgument) [shard_index] shard_id: expected 0 <= shard_id < nshards = {nshards}, got "
            f"{shard_id}. Do this: correct it."
        )
    size = (index_num + nshards - 1) // nshards
    mine = _ops.equal(_ops.floor_divide(input, size), shard_id)
    return _ops.where_select(mine, _ops.remainder(input, size), _ops.full_like(input, ignore_value))


def as_complex(x, name=None):
    """Reads pairs of real numbers as complex ones.

    Args:
        x (Tensor): float32 or float64 of shape [.., 2]: real and imaginary part.

    Returns:
        Tensor: complex64 or complex128 of shape [..].

    Example:
        >>> argosy.as_complex(argosy.to_tensor([[1.0, 2.0]])).tolist()
        [(1+2j)]
    """
    return _ops.as_complex(x)


@method
@alias(dimension="axis")
@beside
def unfold(x, axis, size, step, name=None):
    """Windows of x along an axis.

    Args:
        x (Tensor): Of any dtype.
        axis (int): Along which, of size n.
        size (int): Elements of a window.
        step (int): From one window to the next.

    Returns:
        Tensor: (n - size) // step + 1 windows stand in place of the axis; their elements are a new last
        dimension.

    Raises:
        IndexError: The axis is out of range.
        ValueError: size is larger than the axis, or step is not positive.

    Example:
        >>> argosy.unfold(argosy.arange(5), 0, 3, 2).tolist()
        [[0, 1, 2], [2, 3, 4]]
    """
    need_tensor("unfold", "x", x)
    if x.ndim == 0:
        x = _ops.unsqueeze(x, [0])
    axis = _axis("unfold", axis, x)
    sizes, count = sizes_of(x), -1
    size, step = whole_number("unfold", "size", size), whole_number("unfold", "step", step)
    known = x.shape[axis] >= 0
    if known and (not 0 <= size <= x.shape[axis] or step <= 0):
        raise ValueError(
            f"(InvalidArgument) [unfold] size and step: expected 0 <= size <= {x.shape[axis]} and step > 0, "
            f"got {size} and {step}. Do this: correct them."
        )
    if known:
        count = (x.shape[axis] - size) // step + 1
    starts = _ops.arange(0, sizes[axis] - (size - 1), step, "int64")
    places = _ops.add(_ops.unsqueeze(starts, 1), _ops.arange(0, size, 1, "int64"))
    picked = _ops.index_select(x, _ops.flatten(places), axis)
    shape = [*sizes[:axis], count, size, *sizes[axis + 1 :]]
    return moveaxis(_ops.reshape(picked, shape), axis + 1, -1)
