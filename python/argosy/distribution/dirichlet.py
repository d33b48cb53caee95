"""The Dirichlet distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._support import sizes_of
from argosy.autograd import no_grad

from .distribution import as_parameter, check
from .exponential_family import ExponentialFamily


class Dirichlet(ExponentialFamily):
    """Distribution over points of a simplex.

    Args:
        concentration (array | Tensor): [.., K], positive; K is the event.

    Raises:
        ValueError: ``concentration`` is 0-d.

    Examples:
        >>> dist = argosy.distribution.Dirichlet(argosy.to_tensor([1.0, 3.0]))
        >>> dist.mean.tolist(), dist.event_shape
        ([0.25, 0.75], (2,))
        >>> dist.sample([2]).sum(-1).tolist()
        [1.0, 1.0]
    """

    def __init__(self, concentration):
        self.concentration = as_parameter(concentration)
        check(
            self.concentration.ndim >= 1, ValueError, "Dirichlet",
            "concentration must have a dimension or more, got a 0-d tensor", "pass a vector",
        )  # fmt: skip
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], like=self.concentration)

    @property
    def mean(self):
        """``concentration`` over its sum."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self):
        """``mean (1 - mean) / (sum + 1)``."""
        total = self.concentration.sum(-1, keepdim=True)
        return self.mean * (1 - self.mean) / (total + 1)

    def sample(self, shape=()):
        """Draws points without gradient: gamma numbers over their sum."""
        with no_grad():
            shape = self._extend_shape(shape)
            drawn = tensor.standard_gamma(self.concentration.expand(shape))
            return drawn / drawn.sum(-1, keepdim=True)

    def log_prob(self, value):
        """Logarithm of the density at value [..., K]."""
        powers = tensor.log(self._value(value)) * (self.concentration - 1)
        return powers.sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self):
        """Expected -log_prob, in nats."""
        total = self.concentration.sum(-1)
        count = sizes_of(self.concentration)[-1]
        inner = (self.concentration - 1) * tensor.digamma(self.concentration)
        return (
            self._log_normalizer(self.concentration)
            - (count - total) * tensor.digamma(total)
            - inner.sum(-1)
        )

    @property
    def _natural_parameters(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return tensor.lgamma(x).sum(-1) - tensor.lgamma(x.sum(-1))
