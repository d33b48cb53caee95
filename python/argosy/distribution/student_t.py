"""Student's t distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy.autograd import no_grad

from .distribution import Distribution, broadcast, check


class StudentT(Distribution):
    """t distribution, moved and stretched.

    Args:
        df (float | array | Tensor): degrees of freedom, positive.
        loc, scale (float | array | Tensor): what it is moved by, and stretched by (> 0) (broadcast).

    Raises:
        ValueError: ``df`` or ``scale`` is not positive.

    Examples:
        >>> dist = argosy.distribution.StudentT(argosy.to_tensor([3.0]), 0.0, 1.0)
        >>> dist.variance.tolist(), dist.log_prob(argosy.to_tensor([0.0])).tolist()
        ([3.0], [-1.0009])
    """

    def __init__(self, df, loc, scale, name=None):
        self.name = name or "StudentT"
        self.df, self.loc, self.scale = broadcast(df, loc, scale)
        for parameter in ("df", "scale"):
            value = getattr(self, parameter)
            check(
                value > 0, ValueError, "StudentT", f"{parameter} must be positive",
                f"check {parameter}",
            )  # fmt: skip
        super().__init__(self.df.shape, like=self.df)

    @property
    def mean(self):
        """``loc``; nan where df <= 1."""
        return tensor.where(self.df > 1, self.loc, tensor.full_like(self.loc, math.nan))

    @property
    def variance(self):
        """``scale^2 df / (df - 2)``; inf where df <= 2, nan where df <= 1."""
        finite = self.scale**2 * self.df / (self.df - 2)
        infinite = tensor.full_like(finite, math.inf)
        result = tensor.where(self.df > 2, finite, infinite)
        return tensor.where(self.df > 1, result, tensor.full_like(finite, math.nan))

    @beside
    def sample(self, shape=()):
        """Draws values with gradients to the parameters, but not through the chi2 numbers drawn."""
        shape = self._extend_shape(shape)
        normal = tensor.randn(shape, self.df.dtype)
        with no_grad():
            chi2 = 2 * tensor.standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * tensor.rsqrt(chi2 / self.df)

    def entropy(self):
        """Expected -log_prob, in nats."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = tensor.lgamma(half) + math.lgamma(0.5) - tensor.lgamma(more)
        return (
            tensor.log(self.scale)
            + more * (tensor.digamma(more) - tensor.digamma(half))
            + 0.5 * tensor.log(self.df)
            + log_beta
        )

    def log_prob(self, value):
        """Logarithm of the density at value."""
        z = (self._value(value) - self.loc) / self.scale
        return (
            -0.5 * (self.df + 1) * tensor.log1p(z**2 / self.df)
            - tensor.log(self.scale)
            - 0.5 * tensor.log(self.df)
            - 0.5 * math.log(math.pi)
            - tensor.lgamma(0.5 * self.df)
            + tensor.lgamma(0.5 * (self.df + 1))
        )
