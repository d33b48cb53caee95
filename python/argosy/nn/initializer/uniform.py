"""Uniform initializer."""

from __future__ import annotations

from .initializer import Initializer, draw_uniform, seed_of


class UniformInitializer(Initializer):
    """Uniform values in [low, high)."""

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
        return draw_uniform(shape, float(self._low), float(self._high), seed_of(self), dtype)


class Uniform(UniformInitializer):
    """Uniform values in [low, high).

    Args:
        low: lower bound.
        high: upper bound, not below ``low``.
    """

    def __init__(self, low=-1.0, high=1.0, name=None):
        super().__init__(low, high)
