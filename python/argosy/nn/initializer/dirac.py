"""Initializer that makes a convolution pass its input through."""

from __future__ import annotations

from argosy import _core
from argosy._support import ArgumentError

from .initializer import Initializer


class Dirac(Initializer):
    """Kernels with a single 1 at the centre, so that a convolution copies channels.

    Args:
        groups (int): the output channels fall into this many groups, each copying the input anew.

    Raises:
        ValueError: ``groups`` is no positive int.
        AssertionError: the parameter has not 3 to 5 dimensions, or its first size is not divisible
            (when it
            is filled).

    Examples:
        >>> conv = argosy.nn.Conv1D(2, 2, 3, weight_attr=argosy.nn.initializer.Dirac())
        >>> conv.weight.tolist()
        [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """

    def __init__(self, groups=1, name=None):
        if not (isinstance(groups, int) and groups > 0):
            raise ArgumentError(
                f"[Dirac] groups: expected an int of 1 or more, got {groups!r}. Do this: "
                "correct it."
            )
        self._groups = groups

    def _values(self, shape, dtype):
        if len(shape) not in (3, 4, 5):
            raise AssertionError(
                "[Dirac] the parameter must have 3, 4 or 5 dimensions, got shape "
                f"{list(shape)}. Do this: use it for the weight of a convolution."
            )
        if shape[0] % self._groups:
            raise AssertionError(
                f"[Dirac] the first size must be divisible by groups: got {shape[0]} and "
                f"{self._groups}. Do this: change one of them."
            )
        return _core.ops.dirac_fill(shape, self._groups, dtype)
