"""Functions with the signatures and results that PyTorch programs expect of these names.

Where the package itself has a function of the same name with other parameters, a call with those
raises a TypeError that names it.
"""

from __future__ import annotations

from collections import namedtuple

from argosy import _core, linalg
from argosy import tensor as _tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import ArgumentError, into
from argosy.tensor.random import Generator

from . import nn  # noqa: F401
from ._keywords import refuse

__all__ = [
    "equal",
    "max",
    "median",
    "min",
    "nanmedian",
    "seed",
    "slogdet",
    "sort",
    "split",
    "unique",
]

MinMaxRetType = namedtuple("MinMaxRetType", ["values", "indices"])
MedianRetType = namedtuple("MedianRetType", ["values", "indices"])
SortRetType = namedtuple("SortRetType", ["values", "indices"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])


def _pair(kind, out, *found):
    """The results as a named pair; in the tensors of out where it is given."""
    if out is None:
        return kind(*found)
    if not isinstance(out, (list, tuple)) or len(out) != 2:
        raise TypeError(
            f"[compat] out: expected a tuple of two tensors, got {type(out).__name__}. Do this: pass"
            " out=(values, indices)."
        )
    return kind(*into(list(out), found))


def _one(op, out, found):
    """A single result; in out where it is given."""
    if out is None:
        return found
    if not isinstance(out, Tensor):
        raise TypeError(
            f"[compat.{op}] out: expected a Tensor, got {type(out).__name__}. Do this: pass one, or a"
            " dim for a pair of results."
        )
    return into(out, found)


def equal(input, other):  # noqa: A002
    """Whether two tensors have one shape and equal elements; dtypes may differ.

    Args:
        input (Tensor): One.
        other (Tensor): The other.

    Returns:
        bool: That.

    Example:
        >>> argosy.compat.equal(argosy.to_tensor([1, 2]), argosy.to_tensor([1.0, 2.0]))
        True
    """
    if list(input.shape) != list(other.shape):
        return False
    if input.dtype != other.dtype:
        numbers = "complex128" if input.is_complex() or other.is_complex() else "float64"
        input, other = input.astype(numbers), other.astype(numbers)  # noqa: A001
    return bool(_tensor.equal(input, other).all())


def seed():
    """Restarts the random numbers from a seed that the operating system draws.

    Returns:
        int: That seed.

    Example:
        >>> isinstance(argosy.compat.seed(), int)
        True
    """
    return Generator().seed()


@refuse("split", "split", "x", "num_or_sections", "axis", "name")
def split(tensor, split_size_or_sections, dim=0):
    """Parts of a tensor along a dimension.

    Args:
        tensor (Tensor): Of any dtype.
        split_size_or_sections (int | list[int]): The size of a part, where the last may be smaller; or the size
            of each part.
        dim (int): Which dimension.

    Returns:
        tuple[Tensor]: Views.

    Raises:
        ValueError: A size is not positive, or the sizes do not fit.
        TypeError: The arguments are those of argosy.split.

    Example:
        >>> [part.tolist() for part in argosy.compat.split(argosy.arange(5), 2)]
        [[0, 1], [2, 3], [4]]
    """
    axis = _axis("split", dim, tensor.ndim)
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = [int(size) for size in split_size_or_sections]
        if any(size < 0 for size in sizes):
            raise ValueError(
                f"[compat.split] sizes: expected no negative ones, got {sizes}. Do this: give the size"
                " of each part."
            )
        return tuple(_tensor.split(tensor, sizes, axis))
    size = int(split_size_or_sections)
    if size <= 0:
        raise ArgumentError(
            f"[compat.split] split_size_or_sections: expected a size above 0, got {size}. Do this:"
            " give the size of one part."
        )
    whole = tensor.shape[axis]
    if whole < 0:
        raise ValueError(
            f"[compat.split] the size of dimension {axis} is not known in this Program: {tensor.shape}."
            " Do this: give a list of sizes, or a fixed size to static.data."
        )
    if whole == 0:
        return ()
    full, rest = divmod(whole, size)
    return tuple(_tensor.split(tensor, [size] * full + ([rest] if rest else []), axis))


def _axis(op, dim, rank):
    dim = int(dim)
    if not -rank <= dim < rank:
        raise ValueError(
            f"[compat.{op}] dim: expected one of {-rank} to {rank - 1}, got {dim}. Do this: name a"
            " dimension of the tensor."
        )
    return dim + rank if dim < 0 else dim


@refuse("sort", "sort", "x", "axis")
def sort(input, dim=-1, descending=False, stable=False, out=None):  # noqa: A002
    """The elements in order along a dimension, and where they were.

    Args:
        input (Tensor): Of a real dtype.
        dim (int): Which dimension.
        descending (bool): From the largest to the smallest.
        stable (bool): Equal elements keep their order, which they also do without it.
        out (tuple[Tensor, Tensor], optional): Tensors that become the results.

    Returns:
        SortRetType: values and int64 indices.

    Raises:
        TypeError: The arguments are those of argosy.sort.

    Example:
        >>> argosy.compat.sort(argosy.to_tensor([3, 1, 2])).indices.tolist()
        [1, 2, 0]
    """
    found = _core.ops.sort_with_index(input, dim, descending, stable)
    return _pair(SortRetType, out, *found)


@beside
def _extreme(op, reduce, pick, both, input, args, out, options):  # noqa: A002
    """What max and min share: of all elements, of two tensors, or along a dimension."""
    forms = (
        f"[compat.{op}] expected ({op}(input), {op}(input, other) or {op}(input, dim, keepdim=False),"
        f" got {len(args) + 1} arguments and {sorted(options)}. Do this: use one of these forms; for"
        f" several dimensions argosy.a{op}."
    )
    names = ["dim", "keepdim"]
    if args and isinstance(args[0], Tensor):
        names = ["other"]
    if len(args) > len(names):
        raise TypeError(forms)
    given = dict(zip(names, args))
    if set(given) & set(options):
        raise TypeError(forms)
    given.update(options)
    if not given:
        return _one(op, out, reduce(input))
    if set(given) == {"other"}:
        if not isinstance(given["other"], Tensor):
            raise TypeError(forms)
        return _one(op, out, both(input, given["other"]))
    dim = given.pop("dim", None)
    keepdim = given.pop("keepdim", False)
    if given or isinstance(dim, bool) or not isinstance(dim, (int, Tensor)):
        raise TypeError(forms)
    dim = int(dim)
    if input.ndim == 0:
        _axis(op, dim, 1)
        return _pair(MinMaxRetType, out, input.clone(), _tensor.zeros([], "int64"))
    indices = pick(input, dim, keepdim=True)
    values = _tensor.take_along_axis(input, indices, dim, broadcast=False)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return _pair(MinMaxRetType, out, values, indices)


@refuse("max", "max", "x", "axis")
def max(input, *args, out=None, **kwargs):  # noqa: A001, A002
    """The largest element; ``max(input, other)`` element by element; or with ``dim`` the largest along
    it and the first place of each. The gradient goes to the places returned.

    Args:
        input (Tensor): Of a real dtype.
        args: other (Tensor), or dim (int) and keepdim (bool).
        out (Tensor | tuple[Tensor, Tensor], optional): What becomes the result.
        kwargs: The same by name.

    Returns:
        Tensor | tuple: The element or elements; with dim a pair of values and int64 indices.

    Raises:
        TypeError: The arguments are those of argosy.max.

    Example:
        >>> found = argosy.compat.max(argosy.to_tensor([[3, 1], [2, 4]]), dim=1)
        >>> found.values.tolist(), found.indices.tolist()
        ([3, 4], [0, 1])
    """
    return _extreme("max", _tensor.max, _tensor.argmax, _tensor.maximum, input, args, out, kwargs)


@refuse("min", "min", "x", "axis")
def min(input, *args, out=None, **kwargs):  # noqa: A001, A002
    """The least element; ``min(input, other)`` element by element; or with ``dim`` the least along it
    and the first place of each. The gradient goes to the places returned.

    Args:
        input (Tensor): Of a real dtype.
        args: other (Tensor), or dim (int) and keepdim (bool).
        out (Tensor | tuple[Tensor, Tensor], optional): What becomes the result.
        kwargs: The same by name.

    Returns:
        Tensor | tuple: The element or elements; with dim a pair of values and int64 indices.

    Raises:
        TypeError: The arguments are those of argosy.min.

    Example:
        >>> argosy.compat.min(argosy.to_tensor([3, 1]), argosy.to_tensor([2, 4])).tolist()
        [2, 1]
    """
    return _extreme("min", _tensor.min, _tensor.argmin, _tensor.minimum, input, args, out, kwargs)


def _median(op, of, input, dim, keepdim, out):  # noqa: A002
    if dim is None:
        return _one(op, out, of(input, None, keepdim, mode="min"))
    return _pair(MedianRetType, out, *of(input, dim, keepdim, mode="min"))


@refuse("median", "median", "x", "axis", "mode")
def median(input, dim=None, keepdim=False, *, out=None):  # noqa: A002
    """The median, the lower one of an even number.

    Args:
        input (Tensor): Of a real dtype.
        dim (int, optional): Along which; default: of all elements.
        keepdim (bool): Whether the dimension stays, with size 1.
        out (Tensor | tuple[Tensor, Tensor], optional): What becomes the result.

    Returns:
        Tensor | tuple: The median; with dim a pair of values and int64 indices.

    Raises:
        TypeError: The arguments are those of argosy.median.

    Example:
        >>> float(argosy.compat.median(argosy.to_tensor([1.0, 4.0, 2.0, 3.0])))
        2.0
    """
    return _median("median", _tensor.median, input, dim, keepdim, out)


@refuse("nanmedian", "nanmedian", "x", "axis", "mode")
def nanmedian(input, dim=None, keepdim=False, *, out=None):  # noqa: A002
    """The median of the elements that are not nan, the lower one of an even number.

    Args:
        input (Tensor): Of a real dtype.
        dim (int, optional): Along which; default: of all elements.
        keepdim (bool): Whether the dimension stays, with size 1.
        out (Tensor | tuple[Tensor, Tensor], optional): What becomes the result.

    Returns:
        Tensor | tuple: The median; with dim a pair of values and int64 indices.

    Raises:
        TypeError: The arguments are those of argosy.nanmedian.

    Example:
        >>> float(argosy.compat.nanmedian(argosy.to_tensor([1.0, float("nan"), 2.0])))
        1.0
    """
    return _median("nanmedian", _tensor.nanmedian, input, dim, keepdim, out)


@refuse("unique", "unique", "x", "axis")
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):  # noqa: A002
    """Distinct elements, or slices along a dimension, in order.

    Args:
        input (Tensor): Of a real dtype.
        sorted (bool): They are in order in any case; False gives a warning.
        return_inverse (bool): Also which of them each element is.
        return_counts (bool): Also how often each comes.
        dim (int, optional): Along which slices are compared; default: input is flattened.

    Returns:
        Tensor | tuple[Tensor]: The elements, followed by what was asked for.

    Raises:
        TypeError: The arguments are those of argosy.unique.

    Example:
        >>> argosy.compat.unique(argosy.to_tensor([2, 1, 2])).tolist()
        [1, 2]
    """
    return _tensor.unique(
        input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )


def slogdet(x, out=None):
    """Sign and logarithm of the absolute value of the determinant.

    Args:
        x (Tensor): [.., n, n].
        out (tuple[Tensor, Tensor], optional): Tensors that become the results.

    Returns:
        SlogdetResult: sign and logabsdet, [..].

    Example:
        >>> found = argosy.compat.slogdet(argosy.to_tensor([[1.0, 0.0], [0.0, -1.0]]))
        >>> float(found.sign), float(found.logabsdet)
        (-1.0, 0.0)
    """
    sign, logarithm = _tensor.unbind(linalg.slogdet(x), 0)
    return _pair(SlogdetResult, out, sign, logarithm)
