"""Some of the neighbours of nodes."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import no_effect, sizes_of


@beside
def _edges(colptr, nodes):
    """For each edge into nodes: its place in row, and which of nodes it belongs to; the counts."""
    start = tensor.gather(colptr, nodes)
    count = tensor.gather(colptr, nodes + 1) - start
    owner = tensor.repeat_interleave(tensor.arange(sizes_of(nodes)[0]), count.astype("int32"))
    before = tensor.cumsum(count) - count
    offset = tensor.arange(sizes_of(owner)[0]) - tensor.gather(before.astype("int64"), owner)
    return tensor.gather(start.astype("int64"), owner) + offset, owner, count


def _choose(row, colptr, nodes, keys_of, size, eids, return_eids):
    if return_eids and eids is None:
        raise ValueError(
            "[sample_neighbors] return_eids=True needs the ids of the edges, got eids=None. Do this:"
            " pass eids."
        )
    nodes = nodes.reshape([-1])
    place, owner, count = _edges(colptr.reshape([-1]), nodes)
    if size >= 0:
        # Edges in random order, then by owner without disturbing that order: the first of each, which
        # stay in the order of row.
        shuffled = tensor.argsort(keys_of(place), descending=True)
        order = tensor.gather(shuffled, tensor.argsort(tensor.gather(owner, shuffled), stable=True))
        before = tensor.gather((tensor.cumsum(count) - count).astype("int64"), owner)
        rank = tensor.argsort(order) - before
        place = tensor.masked_select(place, rank < size)
        count = count.clip(max=size)
    row = row.reshape([-1])
    found = tensor.gather(row, place), count.astype("int32")
    return (*found, tensor.gather(eids.reshape([-1]), place)) if return_eids else found


@beside
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
        row, colptr (Tensor): The graph by columns: the neighbours of node n are
            ``row[colptr[n] : colptr[n + 1]]``.
        input_nodes (Tensor): [N] nodes.
        sample_size (int): -1 for all neighbours.
        eids (Tensor, optional): Ids of the edges, as long as row.
        return_eids (bool): Whether to return those of the drawn edges, too.
        perm_buffer (Tensor, optional): Has no effect, which a warning says.

    Returns:
        tuple[Tensor]: The neighbours of all nodes in a row, how many each has (int32), and the ids if they are
        wanted.

    Example:
        >>> row, colptr = argosy.to_tensor([1, 2, 0]), argosy.to_tensor([0, 2, 3, 3])
        >>> found, count = argosy.geometric.sample_neighbors(row, colptr, argosy.to_tensor([0, 1]))
        >>> found.tolist(), count.tolist()
        ([1, 2, 0], [2, 1])
    """
    no_effect("sample_neighbors", "it is for GPUs", perm_buffer=(perm_buffer, None))
    return _choose(
        row, colptr, input_nodes, lambda place: tensor.rand(sizes_of(place)), sample_size, eids,
        return_eids,
    )  # fmt: skip


@beside
def weighted_sample_neighbors(
    row, colptr, edge_weight, input_nodes, sample_size=-1, eids=None, return_eids=False, name=None
):
    """At most sample_size neighbours of each node, drawn without repetition with probabilities that follow the
    weights of edges.

    Args:
        row, colptr (Tensor): The graph by columns: the neighbours of node n are
            ``row[colptr[n] : colptr[n + 1]]``.
        edge_weight (Tensor): As long as row, positive.
        input_nodes (Tensor): [N] nodes.
        sample_size (int): -1 for all neighbours.
        eids (Tensor, optional): Ids of the edges, as long as row.
        return_eids (bool): Whether to return those of the drawn edges, too.

    Returns:
        tuple[Tensor]: The neighbours of all nodes in a row, how many each has (int32), and the ids if they are
        wanted.

    Paper: Weighted random sampling with a reservoir (Efraimidis and Spirakis, 2006).

    Example:
        >>> row, colptr = argosy.to_tensor([1, 2, 0]), argosy.to_tensor([0, 2, 3, 3])
        >>> weight, nodes = argosy.to_tensor([1.0, 3.0, 1.0]), argosy.to_tensor([0, 1])
        >>> argosy.geometric.weighted_sample_neighbors(row, colptr, weight, nodes, 1)[1].tolist()
        [1, 1]
    """

    def keys(place):
        weight = tensor.gather(edge_weight.reshape([-1]), place)
        return tensor.log(tensor.rand(sizes_of(place))) / weight

    return _choose(row, colptr, input_nodes, keys, sample_size, eids, return_eids)
