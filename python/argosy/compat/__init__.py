"""Functions with the signatures and results that PyTorch programs expect of these names.

Where the package itself has a function of the same name with other parameters, a call with those
raises a TypeError that names it.
"""

from __future__ import annotations

from collections import namedtuple

from argosy import _core, linalg
from argosy import tensor as _tensor
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
    """Whether two tensors have one shape and equal elements, as a bool; dtypes may differ."""
    if list(input.shape) != list(other.shape):
        return False
    if input.dtype != other.dtype:
        numbers = "complex128" if input.is_complex() or other.is_complex() else "float64"
        input, other = input.astype(numbers), other.astype(numbers)  # noqa: A001
    return bool(_tensor.equal(input, other).all())


def seed():
    """Restarts the random numbers from a seed drawn anew, and returns it."""
    return Generator().seed()


@refuse("split", "split", "x", "num_or_sections", "axis", "name")
def split(tensor, split_size_or_sections, dim=0):
    """Parts of tensor along dim: of the given size (the last may be smaller), or of a list of sizes.

    Returns:
        tuple of Tensor
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
    """The elements in order along dim and where they were: (values, indices)."""
    found = _core.ops.sort_with_index(input, dim, descending, stable)
    return _pair(SortRetType, out, *found)


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
    it and the first place of each: (values, indices). The gradient goes to the places returned."""
    return _extreme("max", _tensor.max, _tensor.argmax, _tensor.maximum, input, args, out, kwargs)


@refuse("min", "min", "x", "axis")
def min(input, *args, out=None, **kwargs):  # noqa: A001, A002
    """The least element; ``min(input, other)`` element by element; or with ``dim`` the least along it
    and the first place of each: (values, indices). The gradient goes to the places returned."""
    return _extreme("min", _tensor.min, _tensor.argmin, _tensor.minimum, input, args, out, kwargs)


def _median(op, of, input, dim, keepdim, out):  # noqa: A002
    if dim is None:
        return _one(op, out, of(input, None, keepdim, mode="min"))
    return _pair(MedianRetType, out, *of(input, dim, keepdim, mode="min"))


@refuse("median", "median", "x", "axis", "mode")
def median(input, dim=None, keepdim=False, *, out=None):  # noqa: A002
    """The median, the lower one of an even number; with ``dim`` along it: (values, indices)."""
    return _median("median", _tensor.median, input, dim, keepdim, out)


@refuse("nanmedian", "nanmedian", "x", "axis", "mode")
def nanmedian(input, dim=None, keepdim=False, *, out=None):  # noqa: A002
    """median of the elements that are not nan."""
    return _median("nanmedian", _tensor.nanmedian, input, dim, keepdim, out)


@refuse("unique", "unique", "x", "axis")
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):  # noqa: A002
    """Distinct elements, or slices along dim, in order; the inverse counts elements in row order."""
    return _tensor.unique(
        input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )


def slogdet(x, out=None):
    """Sign and logarithm of the absolute value of the determinant: (sign, logabsdet)."""
    sign, logarithm = _tensor.unbind(linalg.slogdet(x), 0)
    return _pair(SlogdetResult, out, sign, logarithm)
