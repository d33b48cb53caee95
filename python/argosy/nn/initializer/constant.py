"""Constant initializer."""

from __future__ import annotations

from argosy import tensor
from argosy._support import no_effect

from .initializer import Initializer


class ConstantInitializer(Initializer):
    """Every element is ``value``."""

    def __init__(self, value=0.0, force_cpu=False):
        self._value = value
        no_effect("Constant", "a parameter is where it was made", force_cpu=(force_cpu, False))

    def _values(self, shape, dtype):
        return tensor.full(shape, self._value, dtype)


class Constant(ConstantInitializer):
    """Every element is one number.

    Args:
        value (float): the number.

    Raises:
        ValueError: it is None.

    Examples:
        >>> argosy.nn.Linear(1, 2, weight_attr=argosy.nn.initializer.Constant(3.0)).weight.tolist()
        [[3.0, 3.0]]
    """

    def __init__(self, value=0.0):
        if value is None:
            raise ValueError(
                "[Constant] value is None: expected a number. Do this: pass one, e.g. 0.0."
            )
        super().__init__(value, force_cpu=False)
