"""Student's t distribution."""

from __future__ import annotations

import math

import argosy

from .distribution import Distribution, broadcast, check


class StudentT(Distribution):
    """t distribution of ``df`` degrees of freedom, moved by ``loc`` and stretched by ``scale``."""

    def __init__(self, df, loc, scale, name=None):
        self.name = name or "StudentT"
        self.df, self.loc, self.scale = broadcast(df, loc, scale)
        for parameter in ("df", "scale"):
            value = getattr(self, parameter)
            check(
                value > 0, ValueError, "StudentT", f"{parameter} must be positive",
                f"check {parameter}",
            )  # fmt: skip
        super().__init__(self.df.shape)

    @property
    def mean(self):
        """``loc``; nan where df <= 1."""
        return argosy.where(self.df > 1, self.loc, argosy.full_like(self.loc, math.nan))

    @property
    def variance(self):
        """``scale^2 df / (df - 2)``; inf where df <= 2, nan where df <= 1."""
        finite = self.scale**2 * self.df / (self.df - 2)
        infinite = argosy.full_like(finite, math.inf)
        result = argosy.where(self.df > 2, finite, infinite)
        return argosy.where(self.df > 1, result, argosy.full_like(finite, math.nan))

    def sample(self, shape=()):
        """Draws values with gradients to the parameters, but not through the chi2 numbers drawn."""
        shape = self._extend_shape(shape)
        normal = argosy.randn(shape, self.df.dtype)
        with argosy.no_grad():
            chi2 = 2 * argosy.standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * argosy.rsqrt(chi2 / self.df)

    def entropy(self):
        """Expected -log_prob, in nats."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = argosy.lgamma(half) + math.lgamma(0.5) - argosy.lgamma(more)
        return (
            argosy.log(self.scale)
            + more * (argosy.digamma(more) - argosy.digamma(half))
            + 0.5 * argosy.log(self.df)
            + log_beta
        )

    def log_prob(self, value):
        """Logarithm of the density at value."""
        z = (self._value(value) - self.loc) / self.scale
        return (
            -0.5 * (self.df + 1) * argosy.log1p(z**2 / self.df)
            - argosy.log(self.scale)
            - 0.5 * argosy.log(self.df)
            - 0.5 * math.log(math.pi)
            - argosy.lgamma(0.5 * self.df)
            + argosy.lgamma(0.5 * (self.df + 1))
        )
