"""Initializer of transposed convolutions that upsample."""

from __future__ import annotations

from argosy import _core

from .initializer import Initializer


class Bilinear(Initializer):
    """Kernels of linear interpolation, for transposed convolutions that enlarge images.

    Raises:
        ValueError: the parameter is not [out, in, size, size].
    """

    def __init__(self):
        pass

    def _values(self, shape, dtype):
        if len(shape) != 4:
            raise ValueError("the length of shape must be 4.")
        if shape[2] != shape[3]:
            raise ValueError("shape[2] must be equal to shape[3].")
        return _core.ops.bilinear_fill(shape, dtype)
