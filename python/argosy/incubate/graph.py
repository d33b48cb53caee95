"""Older names of functions of argosy.geometric."""

from __future__ import annotations

from argosy import geometric


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
    return geometric.reindex_graph(x, neighbors, count)


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
    return geometric.sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)
