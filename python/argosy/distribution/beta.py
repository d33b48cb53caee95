"""The beta distribution."""

from __future__ import annotations

from argosy import tensor

from .dirichlet import Dirichlet
from .distribution import broadcast
from .exponential_family import ExponentialFamily


class Beta(ExponentialFamily):
    """Density proportional to ``x^(alpha - 1) (1 - x)^(beta - 1)`` of 0 < x < 1.

    Args:
        alpha, beta (float | array | Tensor): exponents plus 1, positive (broadcast).

    Examples:
        >>> dist = argosy.distribution.Beta(2.0, 3.0)
        >>> dist.mean.item(), dist.prob(argosy.to_tensor(0.5)).item()
        (0.4, 1.5)
    """

    def __init__(self, alpha, beta):
        self.alpha, self.beta = broadcast(alpha, beta)
        self._dirichlet = Dirichlet(tensor.stack([self.alpha, self.beta], -1))
        super().__init__(self.alpha.shape, like=self.alpha)

    @property
    def mean(self):
        """``alpha / (alpha + beta)``."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self):
        """``alpha beta / ((alpha + beta)^2 (alpha + beta + 1))``."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def log_prob(self, value):
        """Logarithm of the density at value."""
        value = self._value(value)
        return self._dirichlet.log_prob(tensor.stack([value, 1 - value], -1))

    def sample(self, shape=()):
        """Draws values without gradient, of shape ``shape + batch_shape``; a last dimension of one is
        taken away, as in Paddle."""
        drawn = self._draw(shape)
        return drawn.squeeze(-1) if drawn.ndim else drawn

    def _draw(self, shape):
        return self._dirichlet.sample(shape)[..., 0]

    def entropy(self):
        """Expected -log_prob, in nats."""
        return self._dirichlet.entropy()

    @property
    def _natural_parameters(self):
        return (self.alpha, self.beta)

    def _log_normalizer(self, x, y):
        return tensor.lgamma(x) + tensor.lgamma(y) - tensor.lgamma(x + y)
