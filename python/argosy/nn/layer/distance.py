"""Distance layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._args import alias
from ._repr import join
from .layers import Layer

__all__ = [
    "PairwiseDistance",
]


class PairwiseDistance(Layer):
    """p-norm of ``x - y + epsilon`` along the last axis; see ``F.pairwise_distance``."""

    @alias(eps="epsilon")
    def __init__(self, p=2.0, epsilon=1e-6, keepdim=False, name=None):
        super().__init__()
        self.p = p
        self.epsilon = epsilon
        self.keepdim = keepdim
        self.name = name

    def forward(self, x, y):
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    @property
    def eps(self):
        """Other name of ``epsilon``."""
        return self.epsilon

    @eps.setter
    def eps(self, value):
        self.epsilon = value

    @property
    def norm(self):
        """Other name of ``p``."""
        return self.p

    @norm.setter
    def norm(self, value):
        self.p = value

    def extra_repr(self):
        text = f"p={self.p}"
        if self.epsilon != 1e-6:
            text += f", epsilon={self.epsilon}"
        if self.keepdim is not False:
            text += f", keepdim={self.keepdim}"
        return join(text, self.name)
