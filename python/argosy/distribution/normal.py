"""The normal distribution."""

from __future__ import annotations

import math

from argosy import _core, tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._dtypes import COMPLEX
from argosy._support import dtype_name
from argosy.tensor import random

from .distribution import Distribution, broadcast, sizes_of


def _as_complex(loc):
    """A mean as a complex tensor; None if it is real."""
    if isinstance(loc, complex):
        wide = _core.get_default_dtype() == "float64"
        return tensor.to_tensor(loc, "complex128" if wide else "complex64")
    kind = getattr(loc, "dtype", None)
    if isinstance(loc, Tensor):
        return loc if kind in COMPLEX else None
    return tensor.to_tensor(loc) if kind is not None and kind in map(dtype_name, COMPLEX) else None


class Normal(Distribution):
    """Normal distribution.

    With a complex mean it is the circular one of the complex plane: real and imaginary part are independent,
    and scale squared is the variance of both together.

    Args:
        loc (float | complex | array | Tensor): mean.
        scale (float | array | Tensor): standard deviation, real, broadcast with loc.

    Raises:
        TypeError: scale is complex.

    Examples:
        >>> dist = argosy.distribution.Normal(0.0, 2.0)
        >>> dist.sample([3]).shape, dist.variance.item()
        (paddle.Size([3]), 4.0)
        >>> dist.log_prob(argosy.to_tensor(0.0)).item()
        -1.6121
        >>> half = dist.cdf(argosy.to_tensor(0.0))
        >>> half.item(), dist.icdf(half).item()
        (0.5, 0.0)
    """

    def __init__(self, loc, scale, name=None):
        self.name = name or "Normal"
        mean = _as_complex(loc)
        self._complex = mean is not None
        if self._complex:
            real, imaginary, self.scale = broadcast(tensor.real(mean), tensor.imag(mean), scale)
            self.loc = tensor.complex(real, imaginary)
        else:
            self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, like=self.loc)

    @property
    def mean(self):
        """``loc``."""
        return self.loc

    @property
    def variance(self):
        """``scale ** 2``."""
        return self.scale**2

    @beside
    def _noise(self, shape, seed):
        shape, dtype = self._extend_shape(shape), self.scale.dtype
        if not self._complex:
            return random.gaussian(shape, 0.0, 1.0, seed, dtype)
        parts = random.gaussian([2, *shape], 0.0, math.sqrt(0.5), seed, dtype)
        return tensor.complex(parts[0], parts[1])

    def sample(self, shape=(), seed=0):
        """``loc + scale * noise``, with gradients to both; seed 0 uses the global generator."""
        return self._noise(sizes_of(shape), seed) * self.scale + self.loc

    def rsample(self, shape=()):
        """``loc + scale * noise``, the noise being standard normal."""
        return self._noise(sizes_of(shape), 0) * self.scale + self.loc

    def entropy(self):
        """``log(scale) + log(2 pi e) / 2``; ``2 log(scale) + log(pi e)`` with a complex mean."""
        if self._complex:
            return 1.0 + math.log(math.pi) + 2.0 * tensor.log(self.scale)
        return 0.5 + 0.5 * math.log(2 * math.pi) + tensor.log(self.scale)

    def log_prob(self, value):
        """Logarithm of the density at value."""
        if self._complex:
            distance = value - self.loc
            squares = tensor.real(distance) ** 2 + tensor.imag(distance) ** 2
            return -squares / self.variance - 2.0 * tensor.log(self.scale) - math.log(math.pi)
        value = self._value(value)
        return (
            -((value - self.loc) ** 2) / (2 * self.variance)
            - tensor.log(self.scale)
            - 0.5 * math.log(2 * math.pi)
        )

    def _need_real(self, what):
        if self._complex:
            raise NotImplementedError(
                f"[Normal.{what}] complex values have no order: loc is {self.loc.dtype}. Do this: ask it of the"
                " distributions of the real and the imaginary part, Normal(part, scale / sqrt(2))."
            )

    def cdf(self, value):
        """Probability of values up to a value.

        Args:
            value (Tensor): values, broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.

        Raises:
            NotImplementedError: loc is complex.
        """
        self._need_real("cdf")
        z = (self._value(value) - self.loc) / (self.scale * math.sqrt(2))
        return 0.5 * (1 + tensor.erf(z))

    def icdf(self, value):
        """The value up to which values have a probability.

        Args:
            value (Tensor): probabilities in [0, 1], broadcast with the batch.

        Returns:
            Tensor of value's shape broadcast with the batch.

        Raises:
            NotImplementedError: loc is complex.
        """
        self._need_real("icdf")
        z = tensor.erfinv(2 * self._value(value) - 1)
        return self.loc + self.scale * z * math.sqrt(2)
