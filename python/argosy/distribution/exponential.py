"""The exponential distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._framework import finfo

from .distribution import broadcast
from .exponential_family import ExponentialFamily


class Exponential(ExponentialFamily):
    """Density ``rate * exp(-rate * x)`` of x >= 0.

    Args:
        rate (float | array | Tensor): positive.

    Examples:
        >>> dist = argosy.distribution.Exponential(2.0)
        >>> dist.mean.item(), dist.prob(argosy.to_tensor(0.0)).item()
        (0.5, 2.0)
        >>> dist.icdf(dist.cdf(argosy.to_tensor(1.0))).item()
        1.0
    """

    def __init__(self, rate):
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, like=self.rate)

    @property
    def mean(self):
        """``1 / rate``."""
        return 1 / self.rate

    @property
    def variance(self):
        """``1 / rate ** 2``."""
        return 1 / self.rate**2

    @beside
    def rsample(self, shape=()):
        """``-log(u) / rate``, u being uniform on (0, 1)."""
        unit = tensor.rand(self._extend_shape(shape), self.rate.dtype)
        return -tensor.log(unit.clip(finfo(unit.dtype).tiny)) / self.rate

    def log_prob(self, value):
        """Logarithm of the density at value."""
        return tensor.log(self.rate) - self.rate * self._value(value)

    def entropy(self):
        """``1 - log(rate)``."""
        return 1 - tensor.log(self.rate)

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        return -tensor.expm1(-self.rate * self._value(value))

    def icdf(self, value):
        """The value up to which values have a probability.

        Args:
            value (Tensor): probabilities in [0, 1], broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        return -tensor.log1p(-self._value(value)) / self.rate

    @property
    def _natural_parameters(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -tensor.log(-x)
