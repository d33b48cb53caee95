"""Padding layers."""

from __future__ import annotations

from argosy._core import Tensor
from argosy._support import also_named

from .. import functional as F
from ._forwarding import Ranked
from ._repr import join
from .layers import Layer


class _PadNd(Ranked, Layer):
    """Pads the spatial axes; an int pads every side."""

    _text = """Pads the spatial axes.

    Args:
        padding: int for every side, or a list or int tensor with two numbers for each spatial axis from
            the last one on (left, right, top, bottom, front, back).
        mode (str): 'constant', 'reflect' (without the border element), 'replicate' or 'circular'.
        value (float): what 'constant' writes.
        data_format (str): {formats}.

    Shape: {x} to {out}; a spatial size grows by the two numbers of its axis.

    Examples:
        >>> pad = argosy.nn.{name}(1)
        >>> pad(argosy.ones([1, 1, {four}])).shape
        paddle.Size([1, 1, {six}])
    """

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

    @also_named(input="x")
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
    _text = """Pads the spatial axes with one value.

    Args:
        padding: int for every side, or a list or int tensor with two numbers for each spatial axis from
            the last one on (left, right, top, bottom, front, back).
        value (float): what is written.
        data_format (str): {formats}.

    Shape: {x} to {out}; a spatial size grows by the two numbers of its axis.

    Examples:
        >>> pad = argosy.nn.{name}(1, value=2.0)
        >>> pad(argosy.ones([1, 1, {four}])).shape
        paddle.Size([1, 1, {six}])
    """

    def __init__(self, padding, value, data_format="NCHW", name=None):
        super().__init__(padding, "constant", value, data_format, name)


class _FixedPadNd(_PadNd):
    """One mode."""

    _text = """Pads the spatial axes with {with_}.

    Args:
        padding: int for every side, or a list or int tensor with two numbers for each spatial axis from
            the last one on (left, right, top, bottom, front, back).
        data_format (str): {formats}.

    Shape: {x} to {out}; a spatial size grows by the two numbers of its axis.

    Examples:
        >>> pad = argosy.nn.{name}(1)
        >>> pad(argosy.ones([1, 1, {four}])).shape
        paddle.Size([1, 1, {six}])
    """

    _fixed_mode = "constant"
    _words = {"with_": "zeros"}

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, self._fixed_mode, 0.0, data_format, name)


class _ReflectionPadNd(_FixedPadNd):
    _fixed_mode = "reflect"
    _words = {"with_": "the mirror image of what is inside, without the border element"}


class _ReplicationPadNd(_FixedPadNd):
    _fixed_mode = "replicate"
    _words = {"with_": "the nearest border element"}


class _CircularPadNd(_FixedPadNd):
    _fixed_mode = "circular"
    _words = {"with_": "what lies at the other end"}


class Pad1D(_PadNd, dims=1): ...


class Pad2D(_PadNd, dims=2): ...


class Pad3D(_PadNd, dims=3): ...


class ZeroPad1D(_FixedPadNd, dims=1): ...


class ZeroPad2D(_FixedPadNd, dims=2): ...


class ZeroPad3D(_FixedPadNd, dims=3): ...


class ReflectionPad1D(_ReflectionPadNd, dims=1): ...


class ReflectionPad2D(_ReflectionPadNd, dims=2): ...


class ReflectionPad3D(_ReflectionPadNd, dims=3): ...


class ReplicationPad1D(_ReplicationPadNd, dims=1): ...


class ReplicationPad2D(_ReplicationPadNd, dims=2): ...


class ReplicationPad3D(_ReplicationPadNd, dims=3): ...


class CircularPad1D(_CircularPadNd, dims=1): ...


class CircularPad2D(_CircularPadNd, dims=2): ...


class CircularPad3D(_CircularPadNd, dims=3): ...


class ConstantPad1D(_ConstantPadNd, dims=1): ...


class ConstantPad2D(_ConstantPadNd, dims=2): ...


class ConstantPad3D(_ConstantPadNd, dims=3): ...
