"""gather, scatter and index_add along one dimension.

Paddle 3.3 has two functions under each name: gather(x, index, axis) takes rows, gather(x, dim, index)
takes elements at the places of an index of x's rank; which is meant says an integer in the second place,
or a keyword that only the other one has.
"""

import functools

from argosy._core import ops as _ops
from argosy._generated import tensor as _generated
from argosy._support import alias, into, overwrite, tells
from argosy.tensor.registry import GENERATED, method
from argosy.tensor.search import put_along_axis, take_along_axis
from argosy.tensor.spellings import dimension_first

EXPORTS = ["gather", "index_add", "index_add_", "scatter", "scatter_"]


def _or_along(rows, along, keywords):
    """`rows`, but `along` for calls that an integer second argument or a keyword marks."""

    @functools.wraps(rows)
    def wrapper(*args, **options):
        if (len(args) > 1 and type(args[1]) is int) or (options and keywords & options.keys()):
            return along(*args, **options)
        return rows(*args, **options)

    return wrapper


@alias(x="input")
def _gather_along(input, dim, index, name=None, *, out=None):  # noqa: A002
    return into(out, take_along_axis(input, index, dim, broadcast=False))


@alias(x="input", value="src")
def _scatter_along(input, dim, index, src, reduce="assign", name=None, *, out=None):  # noqa: A002
    reduce = "assign" if reduce is None else reduce
    return into(out, put_along_axis(input, index, src, dim, reduce, broadcast=False))


@alias(x="input", value="src")
def _scatter_along_(input, dim, index, src, reduce="assign", name=None):  # noqa: A002
    return overwrite(input, _scatter_along(input, dim, index, src, reduce))


_OF_SCATTER = {"dim", "src", "value", "reduce"}
gather = method(_or_along(_generated.gather, _gather_along, {"dim"}), replaces=GENERATED)
scatter = method(_or_along(_generated.scatter, _scatter_along, _OF_SCATTER), replaces=GENERATED)
scatter_ = method(_or_along(_generated.scatter_, _scatter_along_, _OF_SCATTER), replaces=GENERATED)


@method
@dimension_first
@alias(input="x", dim="axis", source="value")
@tells("add_slices")
def index_add(x, index, axis, value, alpha=1, name=None, *, out=None):
    """A copy of x with alpha * value added to some of its entries along an axis.

    Args:
        x (Tensor): Of a number dtype.
        index (Tensor): A vector of n integers: which entries.
        axis (int): Along which.
        value (Tensor): Of x's shape, but for n on the axis.
        alpha (number): Factor of value.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> argosy.index_add(argosy.zeros([3]), argosy.to_tensor([1, 1]), 0, argosy.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    if alpha != 1:
        value = _ops.scale(value, alpha)
    return into(out, _ops.add_slices(x, index, value, axis))


@method
@dimension_first
@alias(input="x", dim="axis", source="value")
def index_add_(x, index, axis, value, alpha=1, name=None):
    """index_add written into x.

    Args:
        x, index, axis, value, alpha: As of index_add.

    Returns:
        Tensor: x.

    Example:
        >>> x = argosy.zeros([3])
        >>> x.index_add_(argosy.to_tensor([1]), 0, argosy.ones([1]), alpha=2).tolist()
        [0.0, 2.0, 0.0]
    """
    return overwrite(x, index_add(x, index, axis, value, alpha))
