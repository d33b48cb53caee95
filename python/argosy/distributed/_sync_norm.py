"""Batch normalization over the batches of all processes."""

from __future__ import annotations

from argosy import _core
from argosy.nn.layer import norm

from ._groups import default_group

__all__ = []


def _forward(layer, x):
    """Training of a SyncBatchNorm in one of several processes."""
    group = default_group("SyncBatchNorm")
    out, *_ = _core.ops.sync_batch_norm(
        x, layer._mean, layer._variance, layer.weight, layer.bias, group.nranks, group.id,
        layer._momentum, layer._epsilon, norm.CHANNEL_LAST[layer._data_format],
    )  # fmt: skip
    return out


norm.normalize_over_processes = _forward
