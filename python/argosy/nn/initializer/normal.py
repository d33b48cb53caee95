"""Gaussian initializers."""

from __future__ import annotations

from argosy import _core
from argosy._support import ArgumentError

from .initializer import Initializer, _drawn, draw_gaussian, seed_of


class NormalInitializer(Initializer):
    """Gaussian values."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        if loc is None or scale is None or seed is None:
            raise ArgumentError(
                "[Normal] mean, std and seed: expected numbers, got None. Do this: leave out what should have its default."
            )
        self._mean = loc
        self._std_dev = scale
        self._seed = seed

    def _values(self, shape, dtype):
        if isinstance(self._mean, complex):
            raise NotImplementedError(
                "[Normal] complex mean is not supported: expected a real number, got "
                f"{self._mean}. Do this: draw real and imaginary parts apart."
            )
        return draw_gaussian(shape, float(self._mean), float(self._std_dev), seed_of(self), dtype)


class Normal(NormalInitializer):
    """Gaussian values.

    Args:
        mean (float): mean of the distribution.
        std (float): standard deviation.

    Examples:
        >>> fill = argosy.nn.initializer.Normal(std=0.1)
        >>> argosy.nn.Linear(200, 100, weight_attr=fill).weight.std().round(2).item()
        0.1
    """

    def __init__(self, mean=0.0, std=1.0, name=None):
        super().__init__(mean, std)


class TruncatedNormalInitializer(Initializer):
    """Gaussian values, drawn anew while they lie outside of [a, b]."""

    def __init__(self, loc=0.0, scale=1.0, seed=0, a=-2.0, b=2.0):
        if None in (loc, scale, seed, a, b):
            raise ValueError(
                "[TruncatedNormal] mean, std, a and b: expected numbers, got None. Do this: leave out what should have its default."
            )
        self._mean = loc
        self._std_dev = scale
        self._seed = seed
        self._a = a
        self._b = b

    def _values(self, shape, dtype):
        numbers = [float(v) for v in (self._mean, self._std_dev)]
        bounds = float(self._a), float(self._b)
        draw = _core.ops.truncated_gaussian_random
        return _drawn(lambda kind: draw(shape, *numbers, seed_of(self), *bounds, kind), dtype)


class TruncatedNormal(TruncatedNormalInitializer):
    """Gaussian values, drawn anew while they lie outside of [a, b].

    Args:
        mean (float): mean of the distribution before truncation.
        std (float): its standard deviation.
        a (float): smallest value (not a multiple of ``std``).
        b (float): largest value.

    Examples:
        >>> fill = argosy.nn.initializer.TruncatedNormal(std=1.0, a=-0.5, b=0.5)
        >>> argosy.nn.Linear(200, 100, weight_attr=fill).weight.abs().max().item() <= 0.5
        True
    """

    def __init__(self, mean=0.0, std=1.0, a=-2.0, b=2.0, name=None):
        super().__init__(mean, std, seed=0, a=a, b=b)
