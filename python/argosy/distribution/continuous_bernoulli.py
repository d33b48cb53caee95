"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor

from .bernoulli import clipped
from .distribution import Distribution, as_parameter


class ContinuousBernoulli(Distribution):
    """Density ``C p^x (1 - p)^(1 - x)`` of 0 < x < 1, p = ``probs``.

    Args:
        probs (float | array | Tensor): p.
        lims (tuple): between these two, around 1 / 2 where the exact formulas lose their digits, the
            functions of p are replaced by their Taylor series.

    Paper: Loaiza-Ganem and Cunningham, arXiv:1907.06845.

    Examples:
        >>> dist = argosy.distribution.ContinuousBernoulli(0.5)
        >>> dist.mean.tolist(), dist.cdf(argosy.to_tensor([0.25])).tolist()
        ([0.5], [0.25])
        >>> dist.icdf(argosy.to_tensor([0.25])).tolist()
        [0.25]
    """

    def __init__(self, probs, lims=(0.499, 0.501)):
        given = as_parameter(probs)
        if given.ndim == 0 and not isinstance(probs, Tensor):
            given = given.reshape([1])
        self.probs = clipped(given)
        self.lims = tuple(float(limit) for limit in lims)
        super().__init__(given.shape, like=given)

    def _around_half(self, exact, series):
        """exact(p) where it is stable, series(p - 1/2) elsewhere."""
        low, high = self.lims
        stable = (self.probs <= low).logical_or(self.probs > high)
        safe = tensor.where(stable, self.probs, tensor.full_like(self.probs, low))
        return tensor.where(stable, exact(safe), series(self.probs - 0.5))

    def _log_constant(self):
        def exact(p):
            # 2 artanh(1 - 2 p) / (1 - 2 p), both parts positive
            gap = tensor.abs(1 - 2 * p)
            return tensor.log(tensor.abs(tensor.log1p(-p) - tensor.log(p))) - tensor.log(gap)

        return self._around_half(exact, lambda d: math.log(2) + (4 / 3 + 104 / 45 * d**2) * d**2)

    @property
    def mean(self):
        """Expected value."""

        def exact(p):
            return p / (2 * p - 1) + 1 / (tensor.log1p(-p) - tensor.log(p))

        return self._around_half(exact, lambda d: 0.5 + (1 / 3 + 16 / 45 * d**2) * d)

    @property
    def variance(self):
        """Expected square of the distance from the mean."""

        def exact(p):
            inverse = 1 / (tensor.log1p(-p) - tensor.log(p))
            return p * (p - 1) / (1 - 2 * p) ** 2 + inverse**2

        return self._around_half(exact, lambda d: 1 / 12 - (1 / 15 - 128 / 945 * d**2) * d**2)

    def log_prob(self, value):
        """Logarithm of the density at value."""
        value = self._value(value).astype(self.probs.dtype)
        return (
            value * tensor.log(self.probs)
            + (1 - value) * tensor.log1p(-self.probs)
            + self._log_constant()
        )

    @beside
    def rsample(self, shape=()):
        """Draws values by icdf of a uniform number."""
        return self.icdf(tensor.rand(self._extend_shape(shape), self.probs.dtype))

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        value = self._value(value).astype(self.probs.dtype)

        def exact(p):
            power = tensor.pow(p, value) * tensor.pow(1 - p, 1 - value)
            return (power + p - 1) / (2 * p - 1)

        inside = self._around_half(exact, lambda d: value + 0 * d)
        inside = tensor.where(value <= 0, tensor.zeros_like(inside), inside)
        return tensor.where(value >= 1, tensor.ones_like(inside), inside)

    def icdf(self, value):
        """The value up to which values have a probability.

        Args:
            value (Tensor): probabilities in [0, 1], broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        value = self._value(value).astype(self.probs.dtype)

        def exact(p):
            inner = tensor.log1p(-p + value * (2 * p - 1)) - tensor.log1p(-p)
            return inner / (tensor.log(p) - tensor.log1p(-p))

        return self._around_half(exact, lambda d: value + 0 * d)

    def entropy(self):
        """Expected -log_prob, in nats."""
        log_p, log_q = tensor.log(self.probs), tensor.log1p(-self.probs)
        return self.mean * (log_q - log_p) - self._log_constant() - log_q
