"""The Cauchy distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy.autograd import no_grad

from .distribution import Distribution, broadcast


class Cauchy(Distribution):
    """Density ``1 / (pi scale (1 + ((x - loc) / scale)^2))``; it has no mean and no variance.

    Args:
        loc (float | array | Tensor): median.
        scale (float | array | Tensor): half of the interquartile range, positive (broadcast).

    Examples:
        >>> dist = argosy.distribution.Cauchy(0.0, 1.0)
        >>> dist.cdf(argosy.to_tensor([0.0, 1.0])).tolist()
        [0.5, 0.75]
        >>> dist.entropy().item()
        2.531
    """

    def __init__(self, loc, scale, name=None):
        self.name = name or "Cauchy"
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, like=self.loc)

    def _none(self, what):
        raise ValueError(
            f"[Cauchy] a Cauchy distribution has no {what}. Do this: use loc and scale, its median"
            " and half of its interquartile range."
        )

    @property
    def mean(self):
        """Raises ValueError: there is none."""
        return self._none("mean")

    @property
    def variance(self):
        """Raises ValueError: there is none."""
        return self._none("variance")

    @property
    def stddev(self):
        """Raises ValueError: there is none."""
        return self._none("standard deviation")

    def sample(self, shape=(), name=None):
        """Draws values without gradient."""
        with no_grad():
            return self.rsample(shape)

    @beside
    def rsample(self, shape=(), name=None):
        """Draws values by the tangent of a uniform angle."""
        unit = tensor.rand(self._extend_shape(shape), self.loc.dtype)
        return self.loc + self.scale * tensor.tan(math.pi * (unit - 0.5))

    def log_prob(self, value):
        """Logarithm of the density at value."""
        z = (self._value(value) - self.loc) / self.scale
        return -math.log(math.pi) - tensor.log(self.scale) - tensor.log1p(z * z)

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        return tensor.atan((self._value(value) - self.loc) / self.scale) / math.pi + 0.5

    def entropy(self):
        """``log(4 pi scale)``."""
        return math.log(4 * math.pi) + tensor.log(self.scale)
