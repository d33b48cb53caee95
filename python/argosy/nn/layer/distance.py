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
    """p-norm of ``x - y + epsilon`` along the last axis; see ``F.pairwise_distance``."""

    _repr_unless_default = ("epsilon", "keepdim")
    eps = other_name("epsilon")
    norm = other_name("p")

    @alias(eps="epsilon")
    @keeps
    def __init__(self, p=2.0, epsilon=1e-6, keepdim=False, name=None): ...

    def forward(self, x, y):
        return F.pairwise_distance(x, y, *self._kept())
