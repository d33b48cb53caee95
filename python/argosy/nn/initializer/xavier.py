"""Xavier (Glorot) initializers."""

from __future__ import annotations

import math

from .initializer import Initializer, draw_gaussian, draw_uniform, seed_of


class XavierInitializer(Initializer):
    """Variance ``2 gain^2 / (fan_in + fan_out)``, uniform or Gaussian."""

    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0, gain=1.0):
        self._uniform = uniform
        self._fan_in = fan_in
        self._fan_out = fan_out
        self._seed = seed
        self._gain = gain

    def _values(self, shape, dtype):
        fan_in, fan_out = self._compute_fans(shape)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        total = float(fan_in + fan_out)
        if self._uniform:
            limit = self._gain * math.sqrt(6.0 / total) if total else 0.0
            return draw_uniform(shape, -limit, limit, seed_of(self), dtype)
        std = self._gain * math.sqrt(2.0 / total) if total else 0.0
        return draw_gaussian(shape, 0.0, std, seed_of(self), dtype)


class XavierNormal(XavierInitializer):
    """Gaussian values with standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Args:
        fan_in, fan_out (int, optional): None takes them from the parameter's shape.
        gain (float): factor for the nonlinearity that follows, see ``calculate_gain``.

    Paper: Glorot and Bengio, AISTATS 2010.

    Examples:
        >>> fill = argosy.nn.initializer.XavierNormal()
        >>> argosy.nn.Linear(300, 500, weight_attr=fill).weight.std().round(2).item()
        0.05
    """

    def __init__(self, fan_in=None, fan_out=None, gain=1.0, name=None):
        super().__init__(False, fan_in, fan_out, 0, gain)


class XavierUniform(XavierInitializer):
    """Uniform values in [-x, x), x = ``gain * sqrt(6 / (fan_in + fan_out))``.

    Args:
        fan_in, fan_out (int, optional): None takes them from the parameter's shape.
        gain (float): factor for the nonlinearity that follows, see ``calculate_gain``.

    Paper: Glorot and Bengio, AISTATS 2010.

    Examples:
        >>> fill = argosy.nn.initializer.XavierUniform()
        >>> argosy.nn.Linear(2, 4, weight_attr=fill).weight.abs().max().item() <= 1.0
        True
    """

    def __init__(self, fan_in=None, fan_out=None, gain=1.0, name=None):
        super().__init__(True, fan_in, fan_out, 0, gain)
