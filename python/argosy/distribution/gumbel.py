"""The Gumbel distribution."""

from __future__ import annotations

import math

import argosy

from .distribution import broadcast
from .transform import AffineTransform, Transform, Type
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform

_EULER = 0.57721566490153286060


class _DoubleLogTransform(Transform):
    """``-log(-log x)`` of 0 < x < 1."""

    _type = Type.BIJECTION

    def _forward(self, x):
        return -argosy.log(-argosy.log(x))

    def _inverse(self, y):
        return argosy.exp(-argosy.exp(-y))

    def _forward_log_det_jacobian(self, x):
        return -argosy.log(-argosy.log(x)) - argosy.log(x)


class Gumbel(TransformedDistribution):
    """Distribution of ``loc - scale * log(-log u)``, u being uniform on (0, 1)."""

    def __init__(self, loc, scale):
        self.loc, self.scale = broadcast(loc, scale)
        info = argosy.finfo(self.loc.dtype)
        zeros = argosy.zeros_like(self.loc)
        base = Uniform(zeros + info.tiny, zeros + (1 - info.eps))
        super().__init__(base, [_DoubleLogTransform(), AffineTransform(self.loc, self.scale)])

    @property
    def mean(self):
        """``loc + scale * Euler's constant``."""
        return self.loc + self.scale * _EULER

    @property
    def variance(self):
        """``(pi scale)^2 / 6``."""
        return self.scale**2 * (math.pi**2 / 6)

    def sample(self, shape=()):
        """Draws values without gradient."""
        with argosy.no_grad():
            return self.rsample(shape)

    def log_prob(self, value):
        """Logarithm of the density at value."""
        z = (self._value(value) - self.loc) / self.scale
        return -(z + argosy.exp(-z)) - argosy.log(self.scale)

    def cdf(self, value):
        """Probability of values up to value."""
        return argosy.exp(-argosy.exp(-(self._value(value) - self.loc) / self.scale))

    def entropy(self):
        """``log(scale) + 1 + Euler's constant``."""
        return argosy.log(self.scale) + (1 + _EULER)
