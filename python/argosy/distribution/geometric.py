"""The geometric distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside

from .bernoulli import clipped
from .distribution import Distribution, broadcast


class Geometric(Distribution):
    """Number of failures before the first success.

    Args:
        probs (float | array | Tensor): probability of a success.

    Examples:
        >>> dist = argosy.distribution.Geometric(0.5)
        >>> dist.mean.item(), dist.pmf(argosy.to_tensor(1.0)).item()
        (1.0, 0.25)
        >>> dist.log_pmf(argosy.to_tensor(1.0)).item(), dist.cdf(argosy.to_tensor(1.0)).item()
        (-1.3863, 0.75)
    """

    def __init__(self, probs):
        (self.probs,) = broadcast(probs)
        super().__init__(self.probs.shape, like=self.probs)

    @property
    def mean(self):
        """``1 / probs - 1``."""
        return 1 / self.probs - 1

    @property
    def variance(self):
        """``(1 / probs - 1) / probs``."""
        return (1 / self.probs - 1) / self.probs

    def pmf(self, k):
        """Probability of a number of failures.

        Args:
            k (int | Tensor): numbers of failures, broadcast with the batch.

        Returns:
            Tensor of k's shape broadcast with the batch.
        """
        return tensor.pow(1 - self.probs, k) * self.probs

    def log_pmf(self, k):
        """Logarithm of :meth:`pmf`.

        Args:
            k (int | Tensor): numbers of failures, broadcast with the batch.

        Returns:
            Tensor of k's shape broadcast with the batch.
        """
        return tensor.log(self.pmf(k))

    def prob(self, value):
        """Another name of pmf."""
        return self.pmf(value)

    def log_prob(self, value):
        """Another name of log_pmf."""
        return self.log_pmf(value)

    @beside
    def rsample(self, shape=()):
        """Draws counts, as floats, by icdf of a uniform number."""
        unit = clipped(tensor.rand(self._extend_shape(shape), self.probs.dtype))
        return tensor.floor(tensor.log(unit) / tensor.log1p(-self.probs))

    def entropy(self):
        """Expected -log_pmf, in nats."""
        failure = 1 - self.probs
        inner = failure * tensor.log(failure) + self.probs * tensor.log(self.probs)
        return -inner / self.probs

    def cdf(self, k):
        """Probability of so many failures or fewer.

        Args:
            k (int | Tensor): numbers of failures, broadcast with the batch.

        Returns:
            Tensor of k's shape broadcast with the batch.
        """
        return 1 - tensor.pow(1 - self.probs, k + 1)
