"""The binomial distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy.autograd import no_grad

from .bernoulli import clipped
from .distribution import Distribution, broadcast


class Binomial(Distribution):
    """How often an event comes in a number of trials.

    Args:
        total_count (int | Tensor): number of trials.
        probs (float | array | Tensor): probability of the event (broadcast).

    Examples:
        >>> dist = argosy.distribution.Binomial(4, 0.5)
        >>> dist.mean.item(), dist.prob(argosy.to_tensor(2.0)).item()
        (2.0, 0.375)
    """

    def __init__(self, total_count, probs):
        if isinstance(total_count, Tensor) and isinstance(probs, Tensor):
            total_count = total_count.astype(probs.dtype)
        self.total_count, self.probs = broadcast(total_count, probs)
        super().__init__(self.probs.shape, like=self.probs)

    @property
    def mean(self):
        """``total_count * probs``."""
        return self.total_count * self.probs

    @property
    def variance(self):
        """``total_count * probs * (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, shape=()):
        """Draws counts, as floats."""
        with no_grad():
            shape = self._extend_shape(shape)
            count = self.total_count.expand(shape).astype("int32")
            return tensor.binomial(count, self.probs.expand(shape)).astype(self.probs.dtype)

    def log_prob(self, value):
        """Logarithm of the probability of the count value."""
        value = self._value(value).astype(self.probs.dtype)
        probability = clipped(self.probs)
        return (
            tensor.lgamma(self.total_count + 1)
            - tensor.lgamma(self.total_count - value + 1)
            - tensor.lgamma(value + 1)
            + value * tensor.log(probability)
            + (self.total_count - value) * tensor.log(1 - probability)
        )

    @beside
    def _support(self):
        counts = tensor.arange(0, self.total_count.max() + 1, dtype=self.probs.dtype)
        return counts.reshape([-1] + [1] * self.probs.ndim)

    def entropy(self):
        """Expected -log_prob, in nats: a sum over all counts."""
        counts = self._support()
        logs = self.log_prob(tensor.minimum(counts, self.total_count))
        terms = -tensor.exp(logs) * logs
        return tensor.where(counts <= self.total_count, terms, tensor.zeros_like(terms)).sum(0)
