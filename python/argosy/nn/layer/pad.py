"""Padding layers."""

from __future__ import annotations

from argosy._core import Tensor

from .. import functional as F
from ._repr import join
from .layers import Layer


class _PadNd(Layer):
    """Pads the spatial axes; an int pads every side."""

    _dims = 1

    def _setup(self, padding, mode, value, data_format, name):
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


class Pad1D(_PadNd):
    """Pads the spatial axes of [N, C, L].

    Args:
        padding: int for all sides, or [left, right].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """

    _dims = 1

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCL", name=None):
        self._setup(padding, mode, value, data_format, name)


class Pad2D(_PadNd):
    """Pads the spatial axes of [N, C, H, W].

    Args:
        padding: int for all sides, or [left, right, top, bottom].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """

    _dims = 2

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        self._setup(padding, mode, value, data_format, name)


class Pad3D(_PadNd):
    """Pads the spatial axes of [N, C, D, H, W].

    Args:
        padding: int for all sides, or [left, right, top, bottom, front, back].
        mode: 'constant', 'reflect', 'replicate' or 'circular'.
        value: what 'constant' writes.
    """

    _dims = 3

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCDHW", name=None):
        self._setup(padding, mode, value, data_format, name)


class _FixedPad1D(_PadNd):
    _dims = 1
    _fixed_mode = "constant"

    def __init__(self, padding, data_format="NCL", name=None):
        self._setup(padding, self._fixed_mode, 0.0, data_format, name)


class _FixedPad2D(_PadNd):
    _dims = 2
    _fixed_mode = "constant"

    def __init__(self, padding, data_format="NCHW", name=None):
        self._setup(padding, self._fixed_mode, 0.0, data_format, name)


class _FixedPad3D(_PadNd):
    _dims = 3
    _fixed_mode = "constant"

    def __init__(self, padding, data_format="NCDHW", name=None):
        self._setup(padding, self._fixed_mode, 0.0, data_format, name)


class ZeroPad1D(_FixedPad1D):
    """Pads the spatial axes of [N, C, L] with zeros;
    ``padding`` is an int or [left, right].
    """


class ZeroPad2D(_FixedPad2D):
    """Pads the spatial axes of [N, C, H, W] with zeros;
    ``padding`` is an int or [left, right, top, bottom].
    """


class ZeroPad3D(_FixedPad3D):
    """Pads the spatial axes of [N, C, D, H, W] with zeros;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """


class ReflectionPad1D(_FixedPad1D):
    """Pads the spatial axes of [N, C, L] by mirroring at the border element;
    ``padding`` is an int or [left, right].
    """

    _fixed_mode = "reflect"


class ReflectionPad2D(_FixedPad2D):
    """Pads the spatial axes of [N, C, H, W] by mirroring at the border element;
    ``padding`` is an int or [left, right, top, bottom].
    """

    _fixed_mode = "reflect"


class ReflectionPad3D(_FixedPad3D):
    """Pads the spatial axes of [N, C, D, H, W] by mirroring at the border element;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """

    _fixed_mode = "reflect"


class ReplicationPad1D(_FixedPad1D):
    """Pads the spatial axes of [N, C, L] by repeating the border element;
    ``padding`` is an int or [left, right].
    """

    _fixed_mode = "replicate"


class ReplicationPad2D(_FixedPad2D):
    """Pads the spatial axes of [N, C, H, W] by repeating the border element;
    ``padding`` is an int or [left, right, top, bottom].
    """

    _fixed_mode = "replicate"


class ReplicationPad3D(_FixedPad3D):
    """Pads the spatial axes of [N, C, D, H, W] by repeating the border element;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """

    _fixed_mode = "replicate"


class CircularPad1D(_FixedPad1D):
    """Pads the spatial axes of [N, C, L] with what lies at the other end;
    ``padding`` is an int or [left, right].
    """

    _fixed_mode = "circular"


class CircularPad2D(_FixedPad2D):
    """Pads the spatial axes of [N, C, H, W] with what lies at the other end;
    ``padding`` is an int or [left, right, top, bottom].
    """

    _fixed_mode = "circular"


class CircularPad3D(_FixedPad3D):
    """Pads the spatial axes of [N, C, D, H, W] with what lies at the other end;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """

    _fixed_mode = "circular"


class ConstantPad1D(_PadNd):
    """Pads the spatial axes of [N, C, L] with ``value``;
    ``padding`` is an int or [left, right].
    """

    _dims = 1

    def __init__(self, padding, value, data_format="NCL", name=None):
        self._setup(padding, "constant", value, data_format, name)


class ConstantPad2D(_PadNd):
    """Pads the spatial axes of [N, C, H, W] with ``value``;
    ``padding`` is an int or [left, right, top, bottom].
    """

    _dims = 2

    def __init__(self, padding, value, data_format="NCHW", name=None):
        self._setup(padding, "constant", value, data_format, name)


class ConstantPad3D(_PadNd):
    """Pads the spatial axes of [N, C, D, H, W] with ``value``;
    ``padding`` is an int or [left, right, top, bottom, front, back].
    """

    _dims = 3

    def __init__(self, padding, value, data_format="NCDHW", name=None):
        self._setup(padding, "constant", value, data_format, name)
