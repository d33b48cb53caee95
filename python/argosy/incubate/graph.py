"""Older names of functions of argosy.geometric."""

from __future__ import annotations

from argosy import geometric
from argosy._support import no_effect


def graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=None, name=None):
    """:func:`argosy.geometric.send_u_recv`."""
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
    """:func:`argosy.geometric.reindex_graph`."""
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
    """:func:`argosy.geometric.sample_neighbors`."""
    no_effect(
        "graph_sample_neighbors", "it is for GPUs", flag_perm_buffer=(flag_perm_buffer, False)
    )
    return geometric.sample_neighbors(
        row, colptr, input_nodes, sample_size, eids, return_eids, perm_buffer
    )
