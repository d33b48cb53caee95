"""Convolution layers."""

from __future__ import annotations

import functools
import operator

from argosy import _core
from argosy._support import also_named, check_choice

from .. import functional as F
from ..functional._args import CHANNEL_LAST, int_list, spatial_padding
from ..initializer import Normal
from ._forwarding import Ranked
from .layers import Layer

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
]

_MODES = ("reflect", "replicate", "circular", "zeros")
_FORMATS = ("NLC", "NHWC", "NCL", "NDHWC", "NCDHW", "NCHW")


class _ConvNd(Layer):
    """What all convolutions share: checked arguments, weight and bias."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        transposed,
        dims,
        stride=1,
        padding=0,
        padding_mode="zeros",
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        device=None,
        dtype=None,
    ):
        super().__init__()
        if weight_attr is False:
            raise AssertionError(
                f"[{type(self).__name__}] weight_attr: expected None, an initializer or a "
                "ParamAttr, got False: a convolution needs its weight. Do this: leave it out."
            )
        check_choice(type(self).__name__, "padding_mode", padding_mode, _MODES)
        if padding_mode in ("reflect", "replicate", "circular") and transposed:
            raise TypeError(
                f"[{type(self).__name__}] padding_mode: expected 'zeros' for a transposed "
                f"convolution, got {padding_mode!r}. Do this: leave it out."
            )
        check_choice(type(self).__name__, "data_format", data_format, _FORMATS)
        self._param_attr = weight_attr
        self._bias_attr = bias_attr
        self._groups = groups
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._data_format = data_format
        self._device = device
        self._channel_last = CHANNEL_LAST[data_format]
        self._channel_dim = dims + 1 if self._channel_last else 1
        self._stride = int_list(stride, dims, "stride")
        self._dilation = int_list(dilation, dims, "dilation")
        self._kernel_size = int_list(kernel_size, dims, "kernel_size")
        self._padding = padding
        self._padding_mode = padding_mode
        self.output_padding = output_padding
        padding, self._padding_algorithm = spatial_padding(padding, dims, self._channel_last)
        self._updated_padding = padding[::2] if padding[::2] == padding[1::2] else padding
        if padding_mode != "zeros":
            if self._padding_algorithm == "SAME":
                padding = [
                    side
                    for d, k in zip(self._dilation, self._kernel_size)
                    for side in (d * (k - 1) // 2, d * (k - 1) - d * (k - 1) // 2)
                ]
            pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)]
            self._reversed_padding_repeated_twice = [p for pair in pairs[::-1] for p in pair]
            self._updated_padding = [0] * dims
        if in_channels % groups != 0:
            raise ValueError(
                f"[{type(self).__name__}] in_channels must be divisible by groups: got "
                f"{in_channels} and {groups}. Do this: change one of them."
            )
        if transposed:
            shape = [in_channels, out_channels // groups, *self._kernel_size]
        else:
            shape = [out_channels, in_channels // groups, *self._kernel_size]
        self.weight = self.create_parameter(
            shape=shape,
            attr=weight_attr,
            dtype=dtype,
            default_initializer=None if transposed else self._default_weight(),
            device=device,
        )
        self.bias = self.create_parameter(
            attr=bias_attr, shape=[out_channels], dtype=dtype, is_bias=True, device=device
        )

    def _default_weight(self):
        count = functools.reduce(operator.mul, self._kernel_size, self._in_channels)
        return Normal(0.0, (2.0 / count) ** 0.5 if count else 0.0)

    def _convolve(self, op, x):
        padding, algorithm = self._updated_padding, self._padding_algorithm
        if self._padding_mode != "zeros":
            x = F.pad(
                x,
                self._reversed_padding_repeated_twice,
                mode=self._padding_mode,
                data_format=self._data_format,
            )
            algorithm = "EXPLICIT"
        if len(padding) == len(self._stride):
            padding = [side for side in padding for _ in range(2)]
        return op(
            x, self.weight, self.bias, self._stride, padding, algorithm, self._dilation,
            self._groups, self._channel_last,
        )  # fmt: skip

    def extra_repr(self):
        dims = len(self._stride)
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != [1] * dims:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self._padding_mode != "zeros":
            text += f", padding_mode={self._padding_mode}"
        if self.output_padding != 0:
            text += f", output_padding={self.output_padding}"
        if self._dilation != [1] * dims:
            text += f", dilation={self._dilation}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        return f"{text}, data_format={self._data_format}"


class _Convolution(Ranked, _ConvNd):
    _text = """{dims}-dimensional convolution (cross-correlation) with a learned weight and bias.

    Args:
        in_channels (int): channels of the input, divisible by ``groups``.
        out_channels (int): channels of the result, divisible by ``groups``.
        kernel_size, stride, dilation: {ints}.
        padding: of the borders: {ints}, a list ({sides}), a pair for each axis of the input, 'SAME' or
            'VALID'.
        groups (int): channels fall into this many groups, each with its own filters.
        bias (bool): False leaves the bias out, as ``bias_attr=False`` does.
        padding_mode (str): what the borders hold: 'zeros', 'reflect', 'replicate' or 'circular'.
        device: where the parameters live; None takes the current device.
        dtype: dtype of the parameters; None takes the default dtype.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [out_channels, in_channels / groups,
            {kernel}], which is normal with variance 2 / (in_channels * size of a filter).
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [out_channels], zeros.
        data_format (str): {formats}.

    Shape: {x} to [N, out_channels, {out_sizes}], each size being
        floor((size + pads - dilation (kernel - 1) - 1) / stride) + 1.

    Raises:
        ValueError: channels, groups, padding or data_format do not fit.
        AssertionError: ``weight_attr`` is False.

    Examples:
        >>> conv = argosy.nn.{name}(3, 8, kernel_size=3, padding=1)
        >>> conv(argosy.ones([1, 3, {four}])).shape
        paddle.Size([1, 8, {four}])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        *,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, False, self._dims, stride, padding,
            padding_mode, 0, dilation, groups, weight_attr, bias_attr if bias else False,
            data_format, device, dtype,
        )  # fmt: skip


class Conv1D(_Convolution, dims=1):
    @also_named(input="x")
    def forward(self, x):
        return self._convolve(_core.ops.conv1d, x)


class Conv2D(_Convolution, dims=2):
    @also_named(input="x")
    def forward(self, x):
        return self._convolve(_core.ops.conv2d, x)


class Conv3D(_Convolution, dims=3):
    @also_named(input="x")
    def forward(self, x):
        return self._convolve(_core.ops.conv3d, x)


class _ConvTransposeNd(Ranked, _ConvNd):
    _text = """{dims}-dimensional transposed convolution: what a gradient does to a convolution's result.

    A call may name the spatial sizes of the result as ``output_size``, in place of ``output_padding``.

    Args:
        in_channels (int): channels of the input, divisible by ``groups``.
        out_channels (int): channels of the result.
        kernel_size, stride, dilation: {ints}.
        padding: what the convolution that is transposed would have: {ints}, a list ({sides}), a pair for
            each axis of the input, 'SAME' or 'VALID'.
        output_padding: {ints}, added to one side of each axis of the result.
        groups (int): channels fall into this many groups, each with its own filters.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [in_channels, out_channels / groups,
            {kernel}], Xavier uniform.
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [out_channels], zeros; False
            leaves it out.
        data_format (str): {formats}.

    Shape: {x} to [N, out_channels, {out_sizes}], each size being
        (size - 1) stride - pads + dilation (kernel - 1) + 1 + output_padding.

    Raises:
        ValueError: channels, groups, padding or data_format do not fit.
        AssertionError: ``weight_attr`` is False.

    Examples:
        >>> conv = argosy.nn.{name}(3, 8, kernel_size=2, stride=2)
        >>> conv(argosy.ones([1, 3, {two}])).shape
        paddle.Size([1, 8, {four}])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, True, self._dims, stride, padding, "zeros",
            output_padding, dilation, groups, weight_attr, bias_attr, data_format,
        )  # fmt: skip

    def _transpose(self, function, x, output_size):
        padding = self._padding_algorithm
        return function(
            x,
            self.weight,
            bias=self.bias,
            stride=self._stride,
            padding=self._updated_padding if padding == "EXPLICIT" else padding,
            output_padding=self.output_padding if output_size is None else 0,
            dilation=self._dilation,
            groups=self._groups,
            output_size=output_size,
            data_format=self._data_format,
        )


class Conv1DTranspose(_ConvTransposeNd, dims=1):
    def __init__(  # groups stands before dilation here
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
    ):
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation,
            groups, weight_attr, bias_attr, data_format,
        )  # fmt: skip

    def forward(self, x, output_size=None):
        return self._transpose(F.conv1d_transpose, x, output_size)


class Conv2DTranspose(_ConvTransposeNd, dims=2):
    def forward(self, x, output_size=None):
        return self._transpose(F.conv2d_transpose, x, output_size)


class Conv3DTranspose(_ConvTransposeNd, dims=3):
    def forward(self, x, output_size=None):
        return self._transpose(F.conv3d_transpose, x, output_size)
