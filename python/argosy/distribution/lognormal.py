"""The log-normal distribution."""

from __future__ import annotations

from argosy import tensor

from .normal import Normal
from .transform import ExpTransform
from .transformed_distribution import TransformedDistribution


class LogNormal(TransformedDistribution):
    """exp of a normal number.

    Args:
        loc (float | array | Tensor): mean of the normal number.
        scale (float | array | Tensor): its standard deviation (broadcast).

    Examples:
        >>> dist = argosy.distribution.LogNormal(0.0, 1.0)
        >>> dist.mean.item(), dist.log_prob(argosy.to_tensor(1.0)).item()
        (1.6487, -0.9189)
    """

    def __init__(self, loc, scale):
        self._normal = Normal(loc, scale)
        self.loc, self.scale = self._normal.loc, self._normal.scale
        super().__init__(self._normal, [ExpTransform()])

    @property
    def mean(self):
        """``exp(loc + scale^2 / 2)``."""
        return tensor.exp(self.loc + self.scale**2 / 2)

    @property
    def variance(self):
        """``(exp(scale^2) - 1) exp(2 loc + scale^2)``."""
        return tensor.expm1(self.scale**2) * tensor.exp(2 * self.loc + self.scale**2)

    def entropy(self):
        """Entropy of the normal distribution plus ``loc``."""
        return self._normal.entropy() + self.loc
