"""Reductions of runs of rows."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import need_tensor

from .message_passing import gather_rows


@beside
def _segments(data, ids, reduce_op):
    need_tensor(f"segment_{reduce_op}", "data", data)
    need_tensor(f"segment_{reduce_op}", "segment_ids", ids)
    if ids._symbolic or _core.program_recording() is not None:
        none = tensor.full([1], -1, ids.dtype)  # there may be no rows
        count = tensor.concat([ids, none]).max().astype("int64") + 1
    else:
        count = int(ids.max()) + 1 if ids.size else 0
    return gather_rows(data, ids, count, reduce_op)


def segment_sum(data, segment_ids, name=None):
    """Sums of rows whose ids are equal.

    Args:
        data (Tensor): [N, ...].
        segment_ids (Tensor): [N] integers, sorted.

    Returns:
        Tensor: [max(segment_ids) + 1, ...] of data's dtype; rows of ids that do not occur are 0.

    Example:
        >>> data = argosy.to_tensor([[1.0], [2.0], [4.0]])
        >>> argosy.geometric.segment_sum(data, argosy.to_tensor([0, 0, 1])).tolist()
        [[3.0], [4.0]]
    """
    return _segments(data, segment_ids, "sum")


def segment_mean(data, segment_ids, name=None):
    """Means of rows whose ids are equal.

    Args:
        data (Tensor): [N, ...].
        segment_ids (Tensor): [N] integers, sorted.

    Returns:
        Tensor: [max(segment_ids) + 1, ...] of data's dtype; rows of ids that do not occur are 0.

    Example:
        >>> data = argosy.to_tensor([[1.0], [2.0], [4.0]])
        >>> argosy.geometric.segment_mean(data, argosy.to_tensor([0, 0, 1])).tolist()
        [[1.5], [4.0]]
    """
    return _segments(data, segment_ids, "mean")


def segment_min(data, segment_ids, name=None):
    """Minima of rows whose ids are equal.

    Args:
        data (Tensor): [N, ...].
        segment_ids (Tensor): [N] integers, sorted.

    Returns:
        Tensor: [max(segment_ids) + 1, ...] of data's dtype; rows of ids that do not occur are 0.

    Example:
        >>> data = argosy.to_tensor([[1.0], [2.0], [4.0]])
        >>> argosy.geometric.segment_min(data, argosy.to_tensor([0, 0, 1])).tolist()
        [[1.0], [4.0]]
    """
    return _segments(data, segment_ids, "min")


def segment_max(data, segment_ids, name=None):
    """Maxima of rows whose ids are equal.

    Args:
        data (Tensor): [N, ...].
        segment_ids (Tensor): [N] integers, sorted.

    Returns:
        Tensor: [max(segment_ids) + 1, ...] of data's dtype; rows of ids that do not occur are 0.

    Example:
        >>> data = argosy.to_tensor([[1.0], [2.0], [4.0]])
        >>> argosy.geometric.segment_max(data, argosy.to_tensor([0, 0, 1])).tolist()
        [[2.0], [4.0]]
    """
    return _segments(data, segment_ids, "max")
