"""Older names of functions of argosy.geometric."""

from __future__ import annotations

from argosy import geometric
from argosy._support import no_effect


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
