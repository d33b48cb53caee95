"""The Poisson distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._framework import finfo
from argosy.autograd import no_grad

from .distribution import Distribution, broadcast


class Poisson(Distribution):
    """Number of events, where ``rate`` are expected.

    Args:
        rate (float | array | Tensor): positive.

    Examples:
        >>> dist = argosy.distribution.Poisson(argosy.to_tensor([2.0]))
        >>> dist.prob(argosy.to_tensor([0.0])).tolist(), dist.variance.tolist()
        ([0.1353], [2.0])
    """

    def __init__(self, rate):
        (self.rate,) = broadcast(rate)
        if self.rate.ndim == 0 and not isinstance(rate, Tensor):
            self.rate = self.rate.reshape([1])
        super().__init__(self.rate.shape, like=self.rate)

    @property
    def mean(self):
        """``rate``."""
        return self.rate

    @property
    def variance(self):
        """``rate``."""
        return self.rate

    def sample(self, shape=()):
        """Draws counts, as floats."""
        with no_grad():
            return tensor.poisson(self.rate.expand(self._extend_shape(shape)))

    def log_prob(self, value):
        """Logarithm of the probability of the count value."""
        value = self._value(value).astype(self.rate.dtype)
        rate = self.rate.clip(finfo(self.rate.dtype).eps)
        return -self.rate + value * tensor.log(rate) - tensor.lgamma(value + 1)

    @beside
    def entropy(self):
        """Expected -log_prob, in nats: a sum over the counts within 30 standard deviations."""
        least, most = self.rate.min(), self.rate.max()
        low = tensor.floor((least - 30 * least**0.5).clip(0.0))
        high = tensor.floor(most + 30 * most.clip(1.0) ** 0.5) + 1
        counts = tensor.arange(low, high, dtype=self.rate.dtype)
        logs = self.log_prob(counts.reshape([-1] + [1] * self.rate.ndim))
        return -(tensor.exp(logs) * logs).sum(0)
