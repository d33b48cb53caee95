"""The normal distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy.tensor import random

from .distribution import Distribution, broadcast, sizes_of


class Normal(Distribution):
    """Normal distribution.

    Args:
        loc (float | array | Tensor): mean.
        scale (float | array | Tensor): standard deviation, broadcast with loc.

    Examples:
        >>> dist = argosy.distribution.Normal(0.0, 2.0)
        >>> dist.sample([3]).shape, dist.variance.item()
        (paddle.Size([3]), 4.0)
        >>> dist.log_prob(argosy.to_tensor(0.0)).item()
        -1.6121
        >>> half = dist.cdf(argosy.to_tensor(0.0))
        >>> half.item(), dist.icdf(half).item()
        (0.5, 0.0)
    """

    def __init__(self, loc, scale, name=None):
        self.name = name or "Normal"
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, like=self.loc)

    @property
    def mean(self):
        """``loc``."""
        return self.loc

    @property
    def variance(self):
        """``scale ** 2``."""
        return self.scale**2

    def sample(self, shape=(), seed=0):
        """``loc + scale * noise``, with gradients to both; seed 0 uses the global generator."""
        noise = random.gaussian(self._extend_shape(sizes_of(shape)), 0.0, 1.0, seed, self.loc.dtype)
        return noise * self.scale + self.loc

    def rsample(self, shape=()):
        """``loc + scale * noise``, the noise being standard normal."""
        noise = random.gaussian(self._extend_shape(shape), 0.0, 1.0, 0, self.loc.dtype)
        return noise * self.scale + self.loc

    def entropy(self):
        """``log(scale) + log(2 pi e) / 2``."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + tensor.log(self.scale)

    def log_prob(self, value):
        """Logarithm of the density at value."""
        value = self._value(value)
        return (
            -((value - self.loc) ** 2) / (2 * self.variance)
            - tensor.log(self.scale)
            - 0.5 * math.log(2 * math.pi)
        )

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        z = (self._value(value) - self.loc) / (self.scale * math.sqrt(2))
        return 0.5 * (1 + tensor.erf(z))

    def icdf(self, value):
        """The value up to which values have a probability.

        Args:
            value (Tensor): probabilities in [0, 1], broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        z = tensor.erfinv(2 * self._value(value) - 1)
        return self.loc + self.scale * z * math.sqrt(2)
