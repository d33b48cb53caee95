"""The gamma distribution."""

from __future__ import annotations

from argosy import tensor

from .distribution import broadcast
from .exponential_family import ExponentialFamily


class Gamma(ExponentialFamily):
    """Density proportional to ``x^(concentration - 1) exp(-rate x)`` of x > 0.

    Args:
        concentration, rate (float | array | Tensor): positive (broadcast).

    Examples:
        >>> dist = argosy.distribution.Gamma(3.0, 2.0)
        >>> dist.mean.item(), dist.variance.item(), dist.sample([4]).shape
        (1.5, 0.75, paddle.Size([4]))
    """

    def __init__(self, concentration, rate):
        self.concentration, self.rate = broadcast(concentration, rate)
        super().__init__(self.concentration.shape, like=self.concentration)

    @property
    def mean(self):
        """``concentration / rate``."""
        return self.concentration / self.rate

    @property
    def variance(self):
        """``concentration / rate ** 2``."""
        return self.concentration / self.rate**2

    def log_prob(self, value):
        """Logarithm of the density at value."""
        value = self._value(value)
        return (
            self.concentration * tensor.log(self.rate)
            + (self.concentration - 1) * tensor.log(value)
            - self.rate * value
            - tensor.lgamma(self.concentration)
        )

    def entropy(self):
        """Expected -log_prob, in nats."""
        return (
            self.concentration
            - tensor.log(self.rate)
            + tensor.lgamma(self.concentration)
            + (1 - self.concentration) * tensor.digamma(self.concentration)
        )

    def rsample(self, shape=()):
        """Draws of the standard gamma distribution over ``rate``; gradients flow to rate."""
        shape = self._extend_shape(shape)
        return tensor.standard_gamma(self.concentration.expand(shape)) / self.rate

    @property
    def _natural_parameters(self):
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x, y):
        return tensor.lgamma(x + 1) + (x + 1) * tensor.log(-1 / y)
