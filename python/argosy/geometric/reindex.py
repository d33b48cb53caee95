"""Numbers 0, 1, .. for the nodes of a sampled graph."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import no_effect, sizes_of

_NO_BUFFERS = "buffers are for GPUs"


def reindex_heter_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """:func:`reindex_graph` of several kinds of edges.

    Args:
        x (Tensor): [N] distinct nodes.
        neighbors (list[Tensor]): For each kind: neighbors of x[0], then of x[1], ..
        count (list[Tensor]): For each kind: [N] int32, how many each has.
        value_buffer, index_buffer (Tensor, optional): Have no effect, which a warning says.

    Returns:
        tuple[Tensor, Tensor, Tensor]: Sources and targets of the kinds one after the other, as numbers, and the
        nodes that the numbers stand for: x, then the others in the order in which they come.

    Example:
        >>> x = argosy.to_tensor([5, 7])
        >>> neighbors, count = argosy.to_tensor([7, 9]), argosy.to_tensor([1, 1], "int32")
        >>> found = argosy.geometric.reindex_heter_graph(x, [neighbors, neighbors], [count, count])
        >>> [part.tolist() for part in found]
        [[1, 2, 1, 2], [0, 1, 0, 1], [5, 7, 9]]
    """
    no_effect(
        "reindex_graph", _NO_BUFFERS, value_buffer=(value_buffer, None), index_buffer=(index_buffer, None)
    )  # fmt: skip
    own = sizes_of(x)[0]
    nodes = tensor.concat([x, *neighbors])
    distinct, first, inverse = tensor.unique(nodes, return_index=True, return_inverse=True)
    order = tensor.argsort(first)
    number = tensor.argsort(order).astype(x.dtype)
    targets = [_targets(x, own, part) for part in count]
    sources = tensor.gather(number, inverse)[own:]
    return sources, tensor.concat(targets), tensor.gather(distinct, order)


@beside
def _targets(x, own, count):
    """The number of each node as often as it has neighbors; count may hold several kinds one after the other."""
    number = tensor.arange(own, dtype=x.dtype)
    kinds = sizes_of(count)[0] // own if isinstance(own, int) and own > 0 else 1
    if isinstance(kinds, int) and kinds > 1:
        number = tensor.tile(number, [kinds])
    return tensor.repeat_interleave(number, count.astype("int32"))


def reindex_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """Edges from sampled neighbors to the nodes x, with nodes numbered from 0.

    Args:
        x: [N] distinct nodes.
        neighbors: [E] neighbors of x[0], then of x[1], ..
        count: [N] int32, how many each has; [k * N] where neighbors holds k kinds of edges one after the other.
        value_buffer, index_buffer: have no effect on CPUs.

    Returns:
        sources [E], targets [E] (numbers), and the nodes that the numbers stand for: x, then the
        others in the order in which they come.

    Example:
        >>> x, neighbors = argosy.to_tensor([5, 7]), argosy.to_tensor([7, 9, 5])
        >>> count = argosy.to_tensor([2, 1], "int32")
        >>> [part.tolist() for part in argosy.geometric.reindex_graph(x, neighbors, count)]
        [[1, 2, 0], [0, 0, 1], [5, 7, 9]]
    """
    return reindex_heter_graph(x, [neighbors], [count], value_buffer, index_buffer)
