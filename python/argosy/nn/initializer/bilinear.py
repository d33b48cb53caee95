"""Initializer of transposed convolutions that upsample."""

from __future__ import annotations

from argosy import _core
from argosy._support import ArgumentError

from .initializer import Initializer


class Bilinear(Initializer):
    """Kernels near those of linear interpolation, for transposed convolutions that enlarge images.

    The values are Paddle's, whose place in a column is not rounded down: not symmetric.

    Raises:
        ValueError: the parameter is not [out, in, size, size] (when it is filled).

    Examples:
        >>> fill = argosy.nn.initializer.Bilinear()
        >>> up = argosy.nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=fill)
        >>> up.weight[0, 0, 0].tolist()
        [0.0625, 0.2812, 0.375, 0.1562]
    """

    def __init__(self):
        pass

    def forward(self, var, block=None):
        """Gives var, a parameter, its values."""
        super().forward(var, block)

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
