"""Older names of functions of argosy.geometric."""

from __future__ import annotations

from argosy import geometric, tensor
from argosy._beside import beside
from argosy._support import ArgumentError, no_effect


def graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=None, name=None):
    """:func:`argosy.geometric.send_u_recv` under its older name.

    Args:
        x, src_index, dst_index, pool_type, out_size: as there, ``pool_type`` being its reduce_op.

    Returns:
        Tensor: as there.

    Examples:
        >>> x = argosy.to_tensor([[1.0], [2.0]])
        >>> source, target = argosy.to_tensor([0, 1]), argosy.to_tensor([1, 1])
        >>> argosy.incubate.graph_send_recv(x, source, target).tolist()
        [[0.0], [3.0]]
    """
    return geometric.send_u_recv(x, src_index, dst_index, pool_type, out_size)


def graph_reindex(
    x,
    neighbors,
    count,
    value_buffer=None,
    index_buffer=None,
    flag_buffer_hashtable=False,
    name=None,
):
    """:func:`argosy.geometric.reindex_graph` under its older name.

    Args:
        x, neighbors, count, value_buffer, index_buffer: as there.
        flag_buffer_hashtable (bool): has no effect.

    Returns:
        tuple: as there.

    Examples:
        >>> x, neighbors = argosy.to_tensor([5, 7]), argosy.to_tensor([9, 5])
        >>> count = argosy.to_tensor([1, 1], dtype="int32")
        >>> [part.tolist() for part in argosy.incubate.graph_reindex(x, neighbors, count)]
        [[2, 0], [0, 1], [5, 7, 9]]
    """
    no_effect(
        "graph_reindex", "it is for GPUs", flag_buffer_hashtable=(flag_buffer_hashtable, False)
    )
    return geometric.reindex_graph(x, neighbors, count, value_buffer, index_buffer)


def graph_sample_neighbors(
    row,
    colptr,
    input_nodes,
    eids=None,
    perm_buffer=None,
    sample_size=-1,
    return_eids=False,
    flag_perm_buffer=False,
    name=None,
):
    """:func:`argosy.geometric.sample_neighbors` under its older name.

    Args:
        row, colptr, input_nodes, eids, perm_buffer, sample_size, return_eids: as there.
        flag_perm_buffer (bool): has no effect.

    Returns:
        tuple: as there.

    Examples:
        >>> row, colptr = argosy.to_tensor([1, 2, 0]), argosy.to_tensor([0, 2, 3, 3])
        >>> found = argosy.incubate.graph_sample_neighbors(row, colptr, argosy.to_tensor([0, 1]))
        >>> [part.tolist() for part in found]
        [[1, 2, 0], [2, 1]]
    """
    no_effect(
        "graph_sample_neighbors", "it is for GPUs", flag_perm_buffer=(flag_perm_buffer, False)
    )
    return geometric.sample_neighbors(
        row, colptr, input_nodes, sample_size, eids, return_eids, perm_buffer
    )


@beside
def graph_khop_sampler(
    row, colptr, input_nodes, sample_sizes, sorted_eids=None, return_eids=False, name=None
):
    """Neighbours of nodes, neighbours of those, and so on, and the graph of all that were met.

    Args:
        row (Tensor): [edges], int32 or int64, where edges begin, sorted by where they end.
        colptr (Tensor): [nodes + 1], the edges of node i are those from colptr[i] to colptr[i + 1] - 1.
        input_nodes (Tensor): [n], all different.
        sample_sizes (list[int]): how many neighbours a node has at most in each round, -1 for all. A round
            begins with the nodes that the one before it has met first.
        sorted_eids (Tensor, optional): [edges], numbers of edges.
        return_eids (bool): whether the numbers of the sampled edges are returned.

    Returns:
        tuple: [m, 1] where the sampled edges begin and [m, 1] where they end, as positions in the next;
        [met], the nodes, input_nodes first; [n], where these are in it; and with return_eids [m], the
        numbers of the edges.

    Raises:
        ValueError: ``return_eids`` without ``sorted_eids``, or a node twice in input_nodes.

    Examples:
        >>> row, colptr = argosy.to_tensor([1, 2, 2]), argosy.to_tensor([0, 1, 2, 3])
        >>> found = argosy.incubate.graph_khop_sampler(row, colptr, argosy.to_tensor([0]), [1, 1])
        >>> [part.tolist() for part in found]
        [[[1], [2]], [[0], [1]], [0, 1, 2], [0]]
    """
    if return_eids and sorted_eids is None:
        raise ArgumentError(
            "[graph_khop_sampler] sorted_eids: expected a Tensor with return_eids, got None. Do this: pass"
            " the numbers of the edges."
        )
    row, colptr, first = (tensor.reshape(part, [-1]) for part in (row, colptr, input_nodes))
    met = first.tolist()
    if len(set(met)) != len(met):
        raise ArgumentError(
            f"[graph_khop_sampler] input_nodes: expected different nodes, got {met}. Do this: take"
            " argosy.unique of them."
        )
    known, now = set(met), first
    eids = sorted_eids if sorted_eids is None else tensor.reshape(sorted_eids, [-1])
    neighbours, counts, numbers = [], [], []
    for size in sample_sizes:
        found = geometric.sample_neighbors(row, colptr, now, size, eids, return_eids)
        neighbours.append(found[0])
        counts.append(found[1])
        numbers.extend(found[2:])
        new = [node for node in dict.fromkeys(found[0].tolist()) if node not in known]
        known.update(new)
        met.extend(new)
        now = tensor.to_tensor(new, dtype=first.dtype)
    nodes = tensor.to_tensor(met, dtype=first.dtype)
    counts = tensor.concat(counts)
    begins = nodes[: counts.shape[0]]
    source, target, nodes = geometric.reindex_graph(begins, tensor.concat(neighbours), counts)
    result = (
        tensor.unsqueeze(source, 1), tensor.unsqueeze(target, 1), nodes,
        tensor.arange(first.shape[0], dtype=first.dtype),
    )  # fmt: skip
    return (*result, tensor.concat(numbers)) if return_eids else result
