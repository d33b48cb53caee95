"""The uniform distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside

from .distribution import Distribution, broadcast


class Uniform(Distribution):
    """Uniform distribution on [low, high).

    Args:
        low, high (float | array | Tensor): bounds (broadcast).

    Examples:
        >>> dist = argosy.distribution.Uniform(0.0, 4.0)
        >>> dist.mean.item(), dist.entropy().item()
        (2.0, 1.3863)
        >>> dist.prob(argosy.to_tensor([1.0, 5.0])).tolist()
        [0.25, 0.0]
    """

    def __init__(self, low, high, name=None):
        self.name = name or "Uniform"
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, like=self.low)

    @property
    def mean(self):
        """The middle of the interval."""
        return (self.low + self.high) / 2

    @property
    def variance(self):
        """Square of the interval's length over 12."""
        return (self.high - self.low) ** 2 / 12

    def sample(self, shape=(), seed=0):
        """``low + (high - low) * u``, with gradients to both; seed 0 uses the global generator."""
        return self._draw(shape, seed)

    def rsample(self, shape=()):
        """``low + (high - low) * u``, u being uniform on [0, 1)."""
        return self._draw(shape, 0)

    @beside
    def _draw(self, shape, seed):
        unit = tensor.uniform(self._extend_shape(shape), self.low.dtype, 0.0, 1.0, seed)
        return unit * (self.high - self.low) + self.low

    def log_prob(self, value):
        """``-log(high - low)`` inside the interval, -inf outside."""
        return tensor.log(self.probs(value))

    def prob(self, value):
        """``1 / (high - low)`` inside the interval, 0 outside."""
        value = self._number(value, self.low)
        inside = (self.low < value).astype(value.dtype) * (value < self.high).astype(value.dtype)
        return inside / (self.high - self.low)

    def probs(self, value):
        """Another name of prob."""
        return self.prob(value)

    def entropy(self):
        """``log(high - low)``."""
        return tensor.log(self.high - self.low)
