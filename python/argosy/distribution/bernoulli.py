"""The Bernoulli distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._framework import finfo
from argosy.autograd import no_grad
from argosy.nn import functional as F

from .distribution import broadcast
from .exponential_family import ExponentialFamily


def clipped(probability):
    """Probabilities away from 0 and 1, whose logarithms are infinite."""
    eps = finfo(probability.dtype).eps
    return probability.clip(eps, 1 - eps)


class Bernoulli(ExponentialFamily):
    """1 with probability ``probs``, else 0.

    Args:
        probs (float | array | Tensor): probabilities of 1.

    Examples:
        >>> dist = argosy.distribution.Bernoulli(argosy.to_tensor([0.25, 0.5]))
        >>> dist.mean.tolist(), dist.variance.tolist()
        ([0.25, 0.5], [0.1875, 0.25])
        >>> dist.prob(argosy.to_tensor([1.0, 1.0])).tolist()
        [0.25, 0.5]
        >>> dist.cdf(argosy.to_tensor([0.0, 1.0])).tolist()
        [0.75, 1.0]
    """

    def __init__(self, probs, name=None):
        self.name = name or "Bernoulli"
        (self.probs,) = broadcast(probs)
        self.logits = self._logit(self.probs)
        super().__init__(self.probs.shape, like=self.probs)

    @staticmethod
    def _logit(probability):
        probability = clipped(probability)
        return tensor.log(probability) - tensor.log1p(-probability)

    @property
    def mean(self):
        """``probs``."""
        return self.probs

    @property
    def variance(self):
        """``probs (1 - probs)``."""
        return self.probs * (1 - self.probs)

    def sample(self, shape=()):
        """Draws zeros and ones, as floats."""
        with no_grad():
            return tensor.bernoulli(self.probs.expand(self._extend_shape(shape)))

    @beside
    def rsample(self, shape=(), temperature=1.0):
        """Logistic noise around the logits over temperature; its sigmoid is near 0 or 1, the nearer
        the lower the temperature (arXiv:1611.00712, before the sigmoid)."""
        unit = clipped(tensor.rand(self._extend_shape(shape), self.probs.dtype))
        return (self.logits + tensor.log(unit) - tensor.log1p(-unit)) / temperature

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        value = self._value(value)
        zeros, ones = tensor.zeros_like(value), tensor.ones_like(value)
        below_one = tensor.where(value < 0, zeros, 1 - self.probs.astype(value.dtype))
        return tensor.where(value < 1, below_one, ones)

    def log_prob(self, value):
        """Logarithm of the probability of value, 0 or 1."""
        value = self._value(value)
        softplus = F.softplus
        return -value * softplus(-self.logits) - (1 - value) * softplus(self.logits)

    def entropy(self):
        """Expected -log_prob, in nats."""
        return F.softplus(self.logits) - self.probs * self.logits

    @property
    def _natural_parameters(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return F.softplus(x)
