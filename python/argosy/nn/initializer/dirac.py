"""Initializer that makes a convolution pass its input through."""

from __future__ import annotations

from argosy import _core

from .initializer import Initializer


class Dirac(Initializer):
    """Kernels with a single 1 at the centre, so that a convolution copies channels.

    Args:
        groups: the output channels fall into this many groups, each copying the input anew.

    Raises:
        AssertionError: the parameter has not 3 to 5 dimensions, or its first is not divisible.
    """

    def __init__(self, groups=1, name=None):
        if not (isinstance(groups, int) and groups > 0):
            raise AssertionError(" 'groups' must be a positive integer. ")
        self._groups = groups

    def _values(self, shape, dtype):
        if len(shape) not in (3, 4, 5):
            raise AssertionError("Only Tensor with 3/4/5 dimensions can be initialized by Dirac")
        if shape[0] % self._groups:
            raise AssertionError("Tensor 0-dimension must be divisible by groups")
        return _core.ops.dirac_fill(shape, self._groups, dtype)
