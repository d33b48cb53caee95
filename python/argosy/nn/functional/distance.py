"""Distances."""

from __future__ import annotations

from argosy import _core, tensor

from ._args import alias


@alias(x1="x", x2="y", eps="epsilon")
def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False, name=None):
    """p-norm of ``x - y + epsilon`` along the last axis.

    Args:
        x, y: [N, D] or [D].
        p: order of the norm; inf, -inf and 0 as usual.
        keepdim: keep the last axis with size 1.
    """
    return _core.ops.pairwise_distance(x, y, float(p), float(epsilon), bool(keepdim))


def pdist(x, p=2.0, name=None):
    """p-norm distances of all pairs of rows of ``x`` [N, M]: a vector of N (N - 1) / 2."""
    return tensor.pdist(x, p)
