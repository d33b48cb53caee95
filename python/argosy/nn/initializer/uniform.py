"""Uniform initializer."""

from __future__ import annotations

import math

from argosy import tensor

from .initializer import Initializer, draw_uniform, seed_of


class UniformInitializer(Initializer):
    """Uniform values in [low, high).

    Args:
        low, high: bounds, high not below low.
        seed: 0 for the default generator.
        diag_num, diag_step, diag_val: afterwards element ``i * (diag_step + 1)`` of the flattened
            parameter becomes diag_val, for each i below diag_num. (A diagonal: diag_step is the
            number of columns.)
    """

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        if low is None or high is None or seed is None:
            raise ValueError(
                f"[Uniform] low, high and seed: expected numbers, got {low!r}, {high!r} and "
                f"{seed!r}. Do this: leave out what should have its default."
            )
        if high < low:
            raise AssertionError(
                f"[Uniform] high must not be below low: got low={low}, high={high}. Do this: "
                "exchange them."
            )
        self._low = low
        self._high = high
        self._seed = seed
        self._diag_num = diag_num
        self._diag_step = diag_step
        self._diag_val = diag_val

    def _values(self, shape, dtype):
        drawn = draw_uniform(shape, float(self._low), float(self._high), seed_of(self), dtype)
        if self._diag_num == 0:
            return drawn
        size, last = math.prod(shape), (self._diag_num - 1) * (self._diag_step + 1)
        if last >= size:
            raise ValueError(
                f"[Uniform] diag_num and diag_step: expected places within the {size} elements of shape"
                f" {list(shape)}, got {self._diag_num} and {self._diag_step}, whose last place is"
                f" {last}. Do this: lower them."
            )
        places = tensor.arange(0, last + 1, self._diag_step + 1)
        values = tensor.full([self._diag_num], float(self._diag_val), drawn.dtype)
        flat = tensor.scatter(tensor.reshape(drawn, [-1]), places, values)
        return tensor.reshape(flat, shape)


class Uniform(UniformInitializer):
    """Uniform values in [low, high).

    Args:
        low (float): lower bound.
        high (float): upper bound, not below ``low``.

    Examples:
        >>> fill = argosy.nn.initializer.Uniform(-0.1, 0.1)
        >>> argosy.nn.Linear(200, 100, weight_attr=fill).weight.abs().max().item() <= 0.1
        True
    """

    def __init__(self, low=-1.0, high=1.0, name=None):
        super().__init__(low, high)
