"""Distances."""

from __future__ import annotations

from argosy import _core, tensor

from ._args import alias


@alias(x1="x", x2="y", eps="epsilon")
def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False, name=None):
    """p-norm of ``x - y + epsilon`` along the last axis.

    Args:
        x, y: [N, D] or [D], floating.
        p (float): order of the norm; inf, -inf and 0 as usual.
        epsilon (float): added to each difference.
        keepdim (bool): keep the last axis with size 1.

    Returns:
        Tensor [N] or 0-d; with ``keepdim`` [N, 1] or [1].

    Examples:
        >>> x, y = argosy.zeros([1, 2]), argosy.to_tensor([[3.0, 4.0]])
        >>> argosy.nn.functional.pairwise_distance(x, y).tolist()
        [5.0]
    """
    return _core.ops.pairwise_distance(x, y, float(p), float(epsilon), bool(keepdim))


def pdist(x, p=2.0, name=None):
    """p-norm distances of all pairs of rows.

    Args:
        x: [N, M], floating.
        p (float): order of the norm.

    Returns:
        Tensor [N (N - 1) / 2]: rows 0 and 1, 0 and 2, .., 1 and 2, ..

    Examples:
        >>> x = argosy.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
        >>> argosy.nn.functional.pdist(x).tolist()
        [5.0, 1.0, 4.2426]
    """
    return tensor.pdist(x, p)
