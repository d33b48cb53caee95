"""Deformable convolution."""

from __future__ import annotations

import math

from argosy import _core, nn, tensor
from argosy._support import sizes_of
from argosy.nn.initializer import Normal


def _pair(value):
    return [value, value] if isinstance(value, int) else [int(v) for v in value]


def deform_conv2d(
    x,
    offset,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    deformable_groups=1,
    groups=1,
    mask=None,
    name=None,
):
    """Convolution whose kernel looks at moved places, arXiv:1703.06211; with a mask that weights
    them, arXiv:1811.11168.

    Args:
        x: [N, C, H, W].
        offset: [N, 2 * deformable_groups * KH * KW, OH, OW]: for each kernel element how far it is
            moved down, then how far to the right.
        weight: [out, C / groups, KH, KW]; bias: [out].
        deformable_groups: the channels fall into this many groups with offsets of their own.
        mask: [N, deformable_groups * KH * KW, OH, OW].

    Returns:
        [N, out, OH, OW].
    """
    stride, padding, dilation = _pair(stride), _pair(padding), _pair(dilation)
    out, share, *kernel = weight.shape
    columns = _core.ops.deform_columns(
        x, offset, mask, kernel, stride, padding, dilation, deformable_groups
    )
    batch, taps = sizes_of(x)[0], kernel[0] * kernel[1]
    if x.shape[1] not in (-1, share * groups) or out % groups:
        raise ValueError(
            f"[deform_conv2d] weight does not fit: expected [out, {x.shape[1]} / {groups}, KH, KW]"
            f" with out a multiple of {groups}, got {list(weight.shape)}. Do this: check groups."
        )
    columns = columns.reshape([batch, groups, share * taps, -1])
    product = tensor.matmul(weight.reshape([groups, out // groups, share * taps]), columns)
    result = product.reshape([batch, out, *sizes_of(offset)[2:]])
    return result if bias is None else result + bias.reshape([1, out, 1, 1])


class DeformConv2D(nn.Layer):
    """Layer of :func:`deform_conv2d` with learned weight and bias; called with (x, offset, mask)."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        deformable_groups=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        if in_channels % groups:
            raise ValueError(
                f"[DeformConv2D] in_channels must be divisible by groups: got {in_channels} and"
                f" {groups}. Do this: change one of them."
            )
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self._deformable_groups, self._groups = deformable_groups, groups
        self._in_channels, self._out_channels = in_channels, out_channels
        self._stride, self._padding = _pair(stride), _pair(padding)
        self._dilation, self._kernel_size = _pair(dilation), _pair(kernel_size)
        fan_in = math.prod(self._kernel_size) * in_channels
        self.weight = self.create_parameter(
            shape=[out_channels, in_channels // groups, *self._kernel_size],
            attr=weight_attr,
            default_initializer=Normal(0.0, math.sqrt(2.0 / fan_in)),
        )
        self.bias = self.create_parameter(attr=bias_attr, shape=[out_channels], is_bias=True)

    def forward(self, x, offset, mask=None):
        return deform_conv2d(
            x, offset, self.weight, self.bias, self._stride, self._padding, self._dilation,
            self._deformable_groups, self._groups, mask,
        )  # fmt: skip
