"""Padding layers."""

from __future__ import annotations

from argosy._core import Tensor

from .. import functional as F
from ._forwarding import Ranked
from ._repr import join
from .layers import Layer


class _PadNd(Ranked, Layer):
    """Pads the spatial axes; an int pads every side."""

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        super().__init__()
        if not isinstance(padding, Tensor) and hasattr(padding, "__index__"):
            padding = [int(padding)] * (2 * self._dims)
        if isinstance(padding, Tensor):
            object.__setattr__(self, "padding", padding)
        else:
            self.padding = padding
        self._mode = mode
        self.value = value
        self._data_format = data_format
        self._name = name

    def forward(self, x):
        return F.pad(
            x,
            self.padding,
            mode=self._mode,
            value=self.value,
            data_format=self._data_format,
            pad_from_left_axis=True,
        )

    def extra_repr(self):
        return join(
            f"padding={self.padding}, mode={self._mode}, value={self.value}, "
            f"data_format={self._data_format}",
            self._name,
        )


class _ConstantPadNd(_PadNd):
    def __init__(self, padding, value, data_format="NCHW", name=None):
        super().__init__(padding, "constant", value, data_format, name)


class _FixedPadNd(_PadNd):
    _fixed_mode = "constant"

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, self._fixed_mode, 0.0, data_format, name)


class _ReflectionPadNd(_FixedPadNd):
    _fixed_mode = "reflect"


class _ReplicationPadNd(_FixedPadNd):
    _fixed_mode = "replicate"


class _CircularPadNd(_FixedPadNd):
    _fixed_mode = "circular"


class Pad1D(_PadNd, dims=1):
    """Pads the spatial axes of [N, C, L].

    Args:
        padding: int for all sides, or [left, right].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """


class Pad2D(_PadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W].

    Args:
        padding: int for all sides, or [left, right, top, bottom].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """


class Pad3D(_PadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W].

    Args:
        padding: int for all sides, or [left, right, top, bottom, front, back].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """


class ZeroPad1D(_FixedPadNd, dims=1):
    """Pads the spatial axes of [N, C, L] with zeros;
    ``padding`` is an int or [left, right].
    """


class ZeroPad2D(_FixedPadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W] with zeros;
    ``padding`` is an int or [left, right, top, bottom].
    """


class ZeroPad3D(_FixedPadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W] with zeros;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """


class ReflectionPad1D(_ReflectionPadNd, dims=1):
    """Pads the spatial axes of [N, C, L] by mirroring at the border element;
    ``padding`` is an int or [left, right].
    """


class ReflectionPad2D(_ReflectionPadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W] by mirroring at the border element;
    ``padding`` is an int or [left, right, top, bottom].
    """


class ReflectionPad3D(_ReflectionPadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W] by mirroring at the border element;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """


class ReplicationPad1D(_ReplicationPadNd, dims=1):
    """Pads the spatial axes of [N, C, L] by repeating the border element;
    ``padding`` is an int or [left, right].
    """


class ReplicationPad2D(_ReplicationPadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W] by repeating the border element;
    ``padding`` is an int or [left, right, top, bottom].
    """


class ReplicationPad3D(_ReplicationPadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W] by repeating the border element;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """


class CircularPad1D(_CircularPadNd, dims=1):
    """Pads the spatial axes of [N, C, L] with what lies at the other end;
    ``padding`` is an int or [left, right].
    """


class CircularPad2D(_CircularPadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W] with what lies at the other end;
    ``padding`` is an int or [left, right, top, bottom].
    """


class CircularPad3D(_CircularPadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W] with what lies at the other end;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """


class ConstantPad1D(_ConstantPadNd, dims=1):
    """Pads the spatial axes of [N, C, L] with ``value``;
    ``padding`` is an int or [left, right].
    """


class ConstantPad2D(_ConstantPadNd, dims=2):
    """Pads the spatial axes of [N, C, H, W] with ``value``;
    ``padding`` is an int or [left, right, top, bottom].
    """


class ConstantPad3D(_ConstantPadNd, dims=3):
    """Pads the spatial axes of [N, C, D, H, W] with ``value``;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """
