"""The Gumbel distribution."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._framework import finfo
from argosy.autograd import no_grad

from .distribution import broadcast
from .transform import AffineTransform, Transform, Type
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform

_EULER = 0.57721566490153286060


class _DoubleLogTransform(Transform):
    """``-log(-log x)`` of 0 < x < 1."""

    _type = Type.BIJECTION

    def _forward(self, x):
        return -tensor.log(-tensor.log(x))

    def _inverse(self, y):
        return tensor.exp(-tensor.exp(-y))

    def _forward_log_det_jacobian(self, x):
        return -tensor.log(-tensor.log(x)) - tensor.log(x)


class Gumbel(TransformedDistribution):
    """Distribution of ``loc - scale * log(-log u)``, u being uniform on (0, 1).

    Args:
        loc, scale (float | array | Tensor): see above (broadcast).

    Examples:
        >>> dist = argosy.distribution.Gumbel(0.0, 1.0)
        >>> dist.mean.item(), dist.cdf(argosy.to_tensor(0.0)).item()
        (0.5772, 0.3679)
    """

    def __init__(self, loc, scale):
        self.loc, self.scale = broadcast(loc, scale)
        info = finfo(self.loc.dtype)
        zeros = tensor.zeros_like(self.loc)
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
        with no_grad():
            return self.rsample(shape)

    def log_prob(self, value):
        """Logarithm of the density at value."""
        z = (self._number(value, self.loc) - self.loc) / self.scale
        return -(z + tensor.exp(-z)) - tensor.log(self.scale)

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.
        """
        return tensor.exp(-tensor.exp(-(self._number(value, self.loc) - self.loc) / self.scale))

    def entropy(self):
        """``log(scale) + 1 + Euler's constant``."""
        return tensor.log(self.scale) + (1 + _EULER)
