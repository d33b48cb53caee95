"""Cutting tensors into parts and joining them, where arguments need Python."""

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._support import (
    ArgumentError,
    alias,
    check_choice,
    dtype_name,
    need_tensor,
    only_known,
    sizes_of,
    tells,
    whole_number,
)
from argosy.tensor.registry import method
from argosy.tensor.spellings import numbers_of

_END = 2**63 - 1  # as the end of a slice: whatever the size


def _axis(name, axis, x, error=_core.OutOfRangeError):
    """axis as a number from 0 on."""
    axis = whole_number(name, "axis", axis)
    if not -x.ndim <= axis < x.ndim:
        raise error(
            f"[{name}] axis is out of range: expected {-x.ndim} <= axis < {x.ndim} for a tensor of"
            f" {x.ndim} dimensions, got {axis}. Do this: correct it."
        )
    return axis % x.ndim


@method
def split(x, num_or_sections, axis=0, name=None):
    """Cuts x along an axis. Elements are copied when x or a part is written in place, not before.

    Args:
        x (Tensor): Of any dtype, with one dimension or more.
        num_or_sections (int | list[int]): The number of equal parts, or the size of each part, of which
            one may be -1.
        axis (int | Tensor): Where to cut; negative values count from the end.

    Returns:
        list[Tensor]: The parts, of x's dtype.

    Raises:
        ValueError: The size of the axis is not divisible, or the sizes do not add up to it.

    Example:
        >>> a, b = argosy.split(argosy.arange(6), [2, -1])
        >>> a.tolist(), b.tolist()
        ([0, 1], [2, 3, 4, 5])
    """
    if isinstance(num_or_sections, Tensor):
        raise TypeError(
            "(InvalidType) [split] num_or_sections: expected an int or a list, got a Tensor. Do this:"
            " pass [*tensor], or tensor.item() for a number of parts."
        )
    axis = axis if isinstance(axis, Tensor) else whole_number("split", "axis", axis)
    return _ops.split(x, num_or_sections, axis)


@method
@alias(input="x", dim="axis")
@tells("split")
def chunk(x, chunks, axis=0, name=None):
    """Cuts x along an axis into a number of equal parts, as split does.

    Args:
        x (Tensor): Of any dtype, with one dimension or more.
        chunks (int): How many parts; the size of the axis must be a multiple.
        axis (int | Tensor): Where to cut; negative values count from the end.

    Returns:
        list[Tensor]: The parts, of x's dtype.

    Raises:
        ValueError: The size of the axis is not divisible.

    Example:
        >>> [part.tolist() for part in argosy.chunk(argosy.arange(6), 3)]
        [[0, 1], [2, 3], [4, 5]]
    """
    chunks = whole_number("chunk", "chunks", chunks)
    axis = axis if isinstance(axis, Tensor) else whole_number("chunk", "axis", axis)
    return _ops.split(x, chunks, axis)


@method
def crop(x, shape=None, offsets=None, name=None):
    """Cuts a block out of x.

    Args:
        x (Tensor): Of any dtype.
        shape (list | tuple | Tensor, optional): The size of the block on each axis, -1 for all up to the
            end; default: -1 everywhere.
        offsets (list | tuple | Tensor, optional): Where the block begins on each axis; default: 0.

    Returns:
        Tensor: A view of x where the numbers are known.

    Raises:
        ValueError: There is not one entry for each axis, or the block reaches outside x.

    Example:
        >>> argosy.crop(argosy.arange(9).reshape([3, 3]), [2, -1], [1, 1]).tolist()
        [[4, 5], [7, 8]]
    """
    shape = [-1] * x.ndim if shape is None else numbers_of("crop", "shape", shape)
    offsets = [0] * x.ndim if offsets is None else numbers_of("crop", "offsets", offsets)
    if len(shape) != x.ndim or len(offsets) != x.ndim:
        raise ValueError(
            f"(InvalidArgument) [crop] shape and offsets: expected {x.ndim} entries each, one for each "
            f"dimension, got {shape} and {offsets}. Do this: give one for each dimension."
        )
    ends = []
    for size, start, n in zip(x.shape, offsets, shape):
        known = isinstance(n, int) and isinstance(start, int)
        rest = isinstance(n, int) and n == -1
        ends.append((size if size >= 0 else _END) if rest else start + n)
        if known and (start < 0 or n < -1 or 0 <= size < max(start, ends[-1])):
            raise ValueError(
                f"(InvalidArgument) [crop] offsets {offsets} and shape {shape} reach outside x of shape "
                f"{list(x.shape)}. Do this: use a smaller shape, or -1 for the rest."
            )
    return _ops.assign(_ops.slice(x, list(range(x.ndim)), offsets, ends))


@method
@alias(
    input="x",
    dim="axis",
    indices="num_or_indices",
    sections="num_or_indices",
    indices_or_sections="num_or_indices",
)
def tensor_split(x, num_or_indices, axis=0, name=None):
    """Cuts x along an axis into parts that need not be equal.

    Args:
        x (Tensor): Of any dtype, with one dimension or more.
        num_or_indices (int | list[int] | tuple[int]): The number of parts, of which the first are
            longer by one if the size is not divisible; or the places where parts after the first begin.
        axis (int): Where to cut; negative values count from the end.

    Returns:
        list[Tensor]: The parts, of x's dtype: those of split, or slices between the places, which share
        memory with x.

    Raises:
        IndexError: The axis is out of range.
        ValueError: The number of parts is not positive.

    Example:
        >>> [part.tolist() for part in argosy.tensor_split(argosy.arange(5), 2)]
        [[0, 1, 2], [3, 4]]
        >>> [part.tolist() for part in argosy.tensor_split(argosy.arange(5), [1, 3])]
        [[0], [1, 2], [3, 4]]
    """
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
    if not isinstance(num_or_indices, (list, tuple)):
        raise ArgumentError(
            "[tensor_split] num_or_indices: expected an int, a list or a tuple, got"
            f" {type(num_or_indices).__name__}. Do this: pass list(indices)."
        )
    bounds = [0, *num_or_indices, _END]
    return [_ops.slice(x, [axis], [a], [b]) for a, b in zip(bounds, bounds[1:])]


def _halved(shape, axis):
    at = 0 if callable(axis) else axis
    return [*shape[:at], 1, *shape[at + 1 :]]


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
    shape = [2] * minimum
    function.__doc__ = f"""Cuts x along axis {where} into parts that need not be equal.

    Args:
        x (Tensor): Of {minimum} dimensions or more.
        num_or_indices (int | list[int] | tuple[int]): The number of parts, or the places where parts
            after the first begin; see tensor_split.

    Returns:
        list[Tensor]: The parts, as those of tensor_split.

    Raises:
        ValueError: x has fewer dimensions, or the number of parts is not positive.

    Example:
        >>> [part.shape for part in argosy.{name}(argosy.ones({shape}), 2)]
        [paddle.Size({_halved(shape, axis)}), paddle.Size({_halved(shape, axis)})]
    """
    return method(function)


hsplit = _split_at("hsplit", 1, lambda x: 1 if x.ndim > 1 else 0)

vsplit = _split_at("vsplit", 2, 0)

dsplit = _split_at("dsplit", 3, 2)


def _each(inputs):
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        return list(inputs[0])
    return list(inputs)


def _at_least(rank, inputs, grow):
    # A list without tensors is one input: the rows of a matrix, say.
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        if any(isinstance(item, Tensor) for item in inputs[0]):
            inputs = inputs[0]
    out = [grow(t if isinstance(t, Tensor) else _core.to_tensor(t, None, True)) for t in inputs]
    return out[0] if len(out) == 1 else out


@method
def atleast_1d(*inputs, name=None):
    """Turns 0-d tensors into vectors of one element and leaves others as they are.

    Args:
        inputs (Tensor | number | list): One or several; what is no tensor becomes one.

    Returns:
        Tensor | list[Tensor]: One tensor for one input, else a list; dtypes stay.

    Example:
        >>> argosy.atleast_1d(argosy.to_tensor(3.0)).shape
        paddle.Size([1])
    """
    return _at_least(1, inputs, lambda t: t.reshape([1]) if t.ndim == 0 else t)


def _two(t):
    return t.reshape([1, 1]) if t.ndim == 0 else _ops.unsqueeze(t, 0) if t.ndim == 1 else t


@method
def atleast_2d(*inputs, name=None):
    """Adds dimensions of size 1 in front until there are two.

    Args:
        inputs (Tensor | number | list): One or several; what is no tensor becomes one.

    Returns:
        Tensor | list[Tensor]: One tensor for one input, else a list; dtypes stay. A vector of n elements
        becomes a row, [1, n].

    Example:
        >>> argosy.atleast_2d(argosy.ones([3])).shape
        paddle.Size([1, 3])
    """
    return _at_least(2, inputs, _two)


@method
def atleast_3d(*inputs, name=None):
    """Adds dimensions of size 1 until there are three.

    Args:
        inputs (Tensor | number | list): One or several; what is no tensor becomes one.

    Returns:
        Tensor | list[Tensor]: One tensor for one input, else a list; dtypes stay. Shape [n] becomes
        [1, n, 1], and [m, n] becomes [m, n, 1].

    Example:
        >>> [y.shape for y in argosy.atleast_3d(argosy.ones([3]), argosy.ones([2, 3]))]
        [paddle.Size([1, 3, 1]), paddle.Size([2, 3, 1])]
    """

    def three(t):
        if t.ndim == 0:
            return t.reshape([1, 1, 1])
        if t.ndim == 1:
            return _ops.unsqueeze(t, [0, 2])
        return _ops.unsqueeze(t, 2) if t.ndim == 2 else t

    return _at_least(3, inputs, three)


def hstack(x, name=None):
    """Joins tensors side by side: along axis 1, vectors along axis 0.

    Args:
        x (list[Tensor] | tuple[Tensor]): Tensors of equal shape but for the joined axis; 0-d ones count
            as vectors of one element.

    Returns:
        Tensor: The joined tensor.

    Example:
        >>> argosy.hstack([argosy.ones([2, 1]), argosy.zeros([2, 2])]).tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    parts = [atleast_1d(t) for t in x]
    return _ops.concat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(x, name=None):
    """Joins tensors one above the other: along axis 0, vectors as rows. Also called row_stack.

    Args:
        x (list[Tensor] | tuple[Tensor]): Tensors of equal shape but for the first dimension; those with
            fewer than two dimensions count as rows.

    Returns:
        Tensor: The joined tensor, of two dimensions or more.

    Example:
        >>> argosy.vstack([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    return _ops.concat([_two(t) for t in x], 0)


row_stack = vstack


def dstack(x, name=None):
    """Joins tensors along axis 2, after atleast_3d.

    Args:
        x (list[Tensor] | tuple[Tensor]): Tensors whose shapes, with three dimensions, are equal but for
            axis 2.

    Returns:
        Tensor: The joined tensor, of three dimensions or more.

    Example:
        >>> argosy.dstack([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])]).tolist()
        [[[1, 3], [2, 4]]]
    """
    return _ops.concat([atleast_3d(t) for t in x], 2)


def column_stack(x, name=None):
    """Joins tensors along axis 1, vectors as columns.

    Args:
        x (list[Tensor] | tuple[Tensor]): Vectors of n elements (0-d tensors have one) and tensors of
            shape [n, ..].

    Returns:
        Tensor: The joined tensor, of two dimensions or more.

    Example:
        >>> argosy.column_stack([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    return _ops.concat([_ops.unsqueeze(atleast_1d(t), 1) if t.ndim < 2 else t for t in x], 1)


@method
def unstack(x, axis=0, num=None):
    """Takes x apart along an axis, which goes.

    Args:
        x (Tensor): Of any dtype, with one dimension or more.
        axis (int): Which; negative values count from the end.
        num (int, optional): The size of the axis. Needed where a Program does not know it.

    Returns:
        list[Tensor]: One for each index, with one dimension less than x. Their elements are copied
        when x or one of them is written in place, not before.

    Raises:
        ValueError: num is not the size of the axis.

    Example:
        >>> [row.tolist() for row in argosy.unstack(argosy.to_tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    if num is not None and x.shape[axis] < 0:
        return [_ops.squeeze(part, axis) for part in _ops.split(x, num, axis)]
    if num is not None and num != x.shape[axis]:
        raise ValueError(
            f"[unstack] num: expected {x.shape[axis]}, the size of axis {axis}, got {num}. "
            "Do this: leave it out."
        )
    return _ops.unstack(x, axis)


def meshgrid(*args, **kwargs):
    """Coordinates of a grid, from the coordinates along each axis.

    Args:
        args (Tensor | list[Tensor]): Vectors (or 0-d tensors) of sizes n0, n1, .., one by one or as a list.
        kwargs: indexing, 'ij' (the default) for results of shape [n0, n1, ..], or 'xy' to exchange the
            first two dimensions, [n1, n0, ..]; and name.

    Returns:
        list[Tensor]: One for each vector, of its dtype: the i-th varies along the dimension of vector i.

    Raises:
        ValueError: indexing is another one, a keyword is unknown, something is a matrix, or dtypes differ.
        TypeError: Something is no tensor.

    Example:
        >>> rows, columns = argosy.meshgrid(argosy.arange(2), argosy.arange(3))
        >>> rows.tolist(), columns.tolist()
        ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    only_known("meshgrid", kwargs, ("indexing", "name"))
    check_choice("meshgrid", "indexing", kwargs.get("indexing", "ij"), ("ij", "xy"))
    vectors = _each(args)
    if not vectors:
        raise ValueError(
            "(InvalidArgument) [meshgrid] needs at least one vector, got none. Do this: check that the"
            " list was filled."
        )
    for v in vectors:
        need_tensor("meshgrid", "x", v)
        if v.ndim > 1 or v.dtype != vectors[0].dtype:
            raise ValueError(
                "(InvalidArgument) [meshgrid] expected vectors or 0-d tensors of one dtype, got"
                f" {[f'{dtype_name(t.dtype)}{list(t.shape)}' for t in vectors]}."
                " Do this: flatten them, and cast them to one dtype."
            )
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
