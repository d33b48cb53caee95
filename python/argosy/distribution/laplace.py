"""The Laplace distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy._framework import finfo

from .distribution import Distribution, broadcast


class Laplace(Distribution):
    """Density ``exp(-|x - loc| / scale) / (2 scale)``.

    Args:
        loc (float | array | Tensor): mean.
        scale (float | array | Tensor): positive (broadcast).

    Examples:
        >>> dist = argosy.distribution.Laplace(0.0, 1.0)
        >>> dist.stddev.item(), dist.cdf(argosy.to_tensor(0.0)).item()
        (1.4142, 0.5)
        >>> dist.icdf(argosy.to_tensor(0.5)).item()
        0.0
    """

    def __init__(self, loc, scale):
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, like=self.loc)

    @property
    def mean(self):
        """``loc``."""
        return self.loc

    @property
    def stddev(self):
        """``sqrt(2) * scale``."""
        return self.scale * math.sqrt(2)

    @property
    def variance(self):
        """``2 scale ** 2``."""
        return self.stddev**2

    def log_prob(self, value):
        """Logarithm of the density at value."""
        value = self._number(value, self.loc)
        return -tensor.log(2 * self.scale) - tensor.abs(value - self.loc) / self.scale

    def entropy(self):
        """``1 + log(2 scale)``."""
        return 1 + tensor.log(2 * self.scale)

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        z = (self._number(value, self.loc) - self.loc) / self.scale
        return 0.5 - 0.5 * tensor.sign(z) * tensor.expm1(-tensor.abs(z))

    def icdf(self, value):
        """The value up to which values have a probability.

        Args:
            value (Tensor): probabilities in [0, 1], broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        centred = self._number(value, self.loc) - 0.5
        return self.loc - self.scale * tensor.sign(centred) * tensor.log1p(-2 * centred.abs())

    @beside
    def rsample(self, shape=()):
        """Draws values by icdf of a uniform number."""
        # Not -1 itself, where the logarithm is infinite.
        least = finfo(self.loc.dtype).eps - 1
        unit = tensor.uniform(self._extend_shape(shape), self.loc.dtype, least, 1.0)
        return self.loc - self.scale * tensor.sign(unit) * tensor.log1p(-unit.abs())
