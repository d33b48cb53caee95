"""Kaiming (He) initializers."""

from __future__ import annotations

import math

from .initializer import Initializer, calculate_gain, draw_gaussian, draw_uniform, seed_of


class MSRAInitializer(Initializer):
    """Variance ``gain^2 / fan``, uniform or Gaussian."""

    def __init__(
        self,
        uniform=True,
        fan_in=None,
        seed=0,
        negative_slope=0.0,
        nonlinearity="relu",
        mode="fan_in",
    ):
        self._uniform = uniform
        self._fan_in = fan_in
        self._seed = seed
        self._negative_slope = negative_slope
        self._nonlinearity = nonlinearity
        self._mode = mode

    def _values(self, shape, dtype):
        fan_in, fan_out = self._compute_fans(shape)
        fan = fan_out if self._mode == "fan_out" else fan_in
        if self._fan_in is not None:
            fan = self._fan_in
        gain = calculate_gain(self._nonlinearity, self._negative_slope)
        if self._uniform:
            limit = gain * math.sqrt(3.0 / float(fan)) if fan else 0.0
            return draw_uniform(shape, -limit, limit, seed_of(self), dtype)
        return draw_gaussian(shape, 0.0, gain / math.sqrt(float(fan)) if fan else 0.0,
                             seed_of(self), dtype)  # fmt: skip


class KaimingNormal(MSRAInitializer):
    """Gaussian values with standard deviation ``gain / sqrt(fan)``.

    Args:
        fan_in (int, optional): the fan; None takes it from the parameter's shape.
        negative_slope (float): slope of leaky_relu.
        nonlinearity (str): what follows the layer, see ``calculate_gain``.
        mode (str): 'fan_in' or 'fan_out'.

    Paper: He et al., arXiv:1502.01852.

    Examples:
        >>> fill = argosy.nn.initializer.KaimingNormal()
        >>> argosy.nn.Linear(200, 100, weight_attr=fill).weight.std().round(2).item()
        0.1
    """

    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu", mode="fan_in"):
        super().__init__(False, fan_in, 0, negative_slope, nonlinearity, mode)


class KaimingUniform(MSRAInitializer):
    """Uniform values in [-x, x), x = ``gain * sqrt(3 / fan)``.

    Args:
        fan_in (int, optional): the fan; None takes it from the parameter's shape.
        negative_slope (float): slope of leaky_relu.
        nonlinearity (str): what follows the layer, see ``calculate_gain``.
        mode (str): 'fan_in' or 'fan_out'.

    Paper: He et al., arXiv:1502.01852.

    Examples:
        >>> fill = argosy.nn.initializer.KaimingUniform()
        >>> argosy.nn.Linear(6, 100, weight_attr=fill).weight.abs().max().item() <= 1.0
        True
    """

    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu", mode="fan_in"):
        super().__init__(True, fan_in, 0, negative_slope, nonlinearity, mode)
