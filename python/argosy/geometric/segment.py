"""Reductions of runs of rows."""

from __future__ import annotations

from argosy import tensor

from .message_passing import gather_rows


def _segments(data, ids, reduce_op):
    if ids._symbolic:
        none = tensor.full([1], -1, ids.dtype)  # there may be no rows
        count = tensor.concat([ids, none]).max().astype("int64") + 1
    else:
        count = int(ids.max()) + 1 if ids.size else 0
    return gather_rows(data, ids, count, reduce_op)


def segment_sum(data, segment_ids, name=None):
    """Sums of the rows of data [N, ...] with equal segment_ids [N], which are sorted.

    The result has ``max(segment_ids) + 1`` rows; those of ids that do not occur are 0.
    """
    return _segments(data, segment_ids, "sum")


def segment_mean(data, segment_ids, name=None):
    """Means of the rows with equal ids; see :func:`segment_sum`."""
    return _segments(data, segment_ids, "mean")


def segment_min(data, segment_ids, name=None):
    """Minima of the rows with equal ids; see :func:`segment_sum`."""
    return _segments(data, segment_ids, "min")


def segment_max(data, segment_ids, name=None):
    """Maxima of the rows with equal ids; see :func:`segment_sum`."""
    return _segments(data, segment_ids, "max")
