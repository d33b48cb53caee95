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
    """Convolution whose kernel looks at moved places; with a mask that weights them.

    Args:
        x: [N, C, H, W].
        offset: [N, 2 * deformable_groups * KH * KW, OH, OW]: for each kernel element how far it is
            moved down, then how far to the right.
        weight: [out, C / groups, KH, KW].
        bias: [out] or None.
        stride, padding, dilation: int or two ints.
        deformable_groups (int): the channels fall into this many groups with offsets of their own.
        groups (int): channels fall into this many groups, each with its own filters.
        mask: [N, deformable_groups * KH * KW, OH, OW] or None.

    Returns:
        Tensor [N, out, OH, OW].

    Raises:
        ValueError: weight and groups do not fit x.

    Paper: Dai et al., arXiv:1703.06211; Zhu et al., arXiv:1811.11168.

    Examples:
        >>> x, weight = argosy.arange(9, dtype="float32").reshape([1, 1, 3, 3]), argosy.ones([1, 1, 1, 1])
        >>> right = argosy.zeros([1, 2, 3, 3])
        >>> right[:, 1] = 1.0
        >>> argosy.vision.ops.deform_conv2d(x, right, weight)[0, 0].tolist()
        [[1.0, 2.0, 0.0], [4.0, 5.0, 0.0], [7.0, 8.0, 0.0]]
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
    """Convolution whose kernel looks at moved places, with learned weight and bias.

    Args:
        in_channels (int): channels of the input, divisible by ``groups``.
        out_channels (int): channels of the result.
        kernel_size, stride, padding, dilation: int or two ints.
        deformable_groups (int): the channels fall into this many groups with offsets of their own.
        groups (int): channels fall into this many groups, each with its own filters.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [out_channels, in_channels / groups,
            KH,
            KW], normal with variance 2 / (in_channels KH KW).
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [out_channels]; False leaves it
            out.

    Shape: (x [N, in_channels, H, W], offset, mask=None), see :func:`deform_conv2d`, to [N,
        out_channels, OH,
        OW].

    Raises:
        ValueError: ``in_channels`` is not divisible by ``groups``.

    Examples:
        >>> conv = argosy.vision.ops.DeformConv2D(3, 8, kernel_size=3)
        >>> conv(argosy.ones([1, 3, 4, 4]), argosy.zeros([1, 18, 2, 2])).shape
        paddle.Size([1, 8, 2, 2])
    """

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
