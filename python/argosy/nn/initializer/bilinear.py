"""Initializer of transposed convolutions that upsample."""

from __future__ import annotations

from argosy import _core
from argosy._support import ArgumentError

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
            raise ValueError(
                f"[Bilinear] the parameter must have 4 dimensions, got shape {list(shape)}. Do "
                "this: use it for the weight of Conv2DTranspose."
            )
        if shape[2] != shape[3]:
            raise ArgumentError(
                f"[Bilinear] the kernel must be square, got {shape[2]} by {shape[3]}. Do this: "
                "correct the kernel size."
            )
        return _core.ops.bilinear_fill(shape, dtype)
