"""Distance layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._args import alias
from ._forwarding import ForwardingLayer, keeps
from ._repr import other_name

__all__ = [
    "PairwiseDistance",
]


class PairwiseDistance(ForwardingLayer):
    """p-norm of ``x - y + epsilon`` along the last axis.

    Args:
        p (float): order of the norm.
        epsilon (float): added to each difference.
        keepdim (bool): keep the last axis with size 1.

    Shape: two of [N, D] (or [D]) to [N] (0-d), with ``keepdim`` to [N, 1] ([1]).

    Examples:
        >>> distance = argosy.nn.PairwiseDistance()
        >>> distance(argosy.zeros([1, 2]), argosy.to_tensor([[3.0, 4.0]])).tolist()
        [5.0]
    """

    _repr_unless_default = ("epsilon", "keepdim")
    eps = other_name("epsilon")
    norm = other_name("p")

    @alias(eps="epsilon")
    @keeps
    def __init__(self, p=2.0, epsilon=1e-6, keepdim=False, name=None): ...

    @alias(x1="x", x2="y")
    def forward(self, x, y):
        return F.pairwise_distance(x, y, *self._kept())
