"""Some of the neighbours of nodes."""

from __future__ import annotations

import argosy


def _edges(colptr, nodes):
    """For each edge into nodes: its place in row, and which of nodes it belongs to; the counts."""
    start = argosy.gather(colptr, nodes)
    count = argosy.gather(colptr, nodes + 1) - start
    owner = argosy.repeat_interleave(argosy.arange(nodes.shape[0]), count.astype("int32"))
    before = argosy.cumsum(count) - count
    offset = argosy.arange(owner.shape[0]) - argosy.gather(before.astype("int64"), owner)
    return argosy.gather(start.astype("int64"), owner) + offset, owner, count


def _choose(row, colptr, nodes, keys_of, size, eids, return_eids):
    if return_eids and eids is None:
        raise ValueError(
            "[sample_neighbors] return_eids=True needs the ids of the edges, got eids=None. Do this:"
            " pass eids."
        )
    nodes = nodes.reshape([-1])
    place, owner, count = _edges(colptr.reshape([-1]), nodes)
    if size >= 0:
        # Edges in random order, then by owner without disturbing that order: the first of each.
        shuffled = argosy.argsort(keys_of(place), descending=True)
        order = argosy.gather(shuffled, argosy.argsort(argosy.gather(owner, shuffled), stable=True))
        before = argosy.cumsum(count) - count
        owner = argosy.gather(owner, order)
        rank = argosy.arange(order.shape[0]) - argosy.gather(before.astype("int64"), owner)
        place = argosy.masked_select(argosy.gather(place, order), rank < size)
        count = count.clip(max=size)
    row = row.reshape([-1])
    found = argosy.gather(row, place), count.astype("int32")
    return (*found, argosy.gather(eids.reshape([-1]), place)) if return_eids else found


def sample_neighbors(
    row,
    colptr,
    input_nodes,
    sample_size=-1,
    eids=None,
    return_eids=False,
    perm_buffer=None,
    name=None,
):
    """At most sample_size neighbours of each node, drawn evenly without repetition.

    Args:
        row, colptr: the graph by columns: the neighbours of node n are
            ``row[colptr[n] : colptr[n + 1]]``.
        input_nodes: [N] nodes.
        sample_size: -1 for all neighbours.
        eids: ids of the edges, as long as row; with return_eids those of the drawn edges are
            returned, too.

    Returns:
        the neighbours of all nodes in a row, and how many each has (int32).
    """
    return _choose(
        row, colptr, input_nodes, lambda place: argosy.rand(place.shape), sample_size, eids,
        return_eids,
    )  # fmt: skip


def weighted_sample_neighbors(
    row, colptr, edge_weight, input_nodes, sample_size=-1, eids=None, return_eids=False, name=None
):
    """:func:`sample_neighbors` with probabilities that follow edge_weight (as long as row).

    By the largest ``u ** (1 / weight)`` (P. Efraimidis and P. Spirakis, 2006).
    """

    def keys(place):
        weight = argosy.gather(edge_weight.reshape([-1]), place)
        return argosy.log(argosy.rand(place.shape)) / weight

    return _choose(row, colptr, input_nodes, keys, sample_size, eids, return_eids)
