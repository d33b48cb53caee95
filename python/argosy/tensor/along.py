"""gather and scatter along one dimension.

Paddle 3.3 has two functions under each name: gather(x, index, axis) takes rows, gather(x, dim, index)
takes elements at the places of an index of x's rank; which is meant says an integer in the second place,
or a keyword that only the other one has.
"""

import functools

from argosy._generated import tensor as _generated
from argosy._support import alias, into, overwrite
from argosy.tensor.registry import GENERATED, method
from argosy.tensor.search import put_along_axis, take_along_axis

EXPORTS = ["gather", "scatter", "scatter_"]


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
