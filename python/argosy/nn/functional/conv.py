"""Convolutions."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._support import check_choice, need_tensor

from ._args import alias, int_list, is_channel_last, spatial_padding

ops = _core.ops
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _for_all(bias, channels):
    """A bias of one element is that of all channels."""
    if bias is None or channels == 1 or bias.size != 1:
        return bias
    return ops.expand(ops.reshape(bias, [1]), [channels])


def _conv(op, n, x, weight, bias, stride, padding, dilation, groups, data_format):
    channel_last = is_channel_last(data_format, _FORMATS[n])
    padding, algorithm = spatial_padding(padding, n, channel_last)
    stride = int_list(stride, n, "stride")
    dilation = int_list(dilation, n, "dilation")
    need_tensor(f"conv{n}d", "weight", weight)
    bias = _for_all(bias, weight.shape[0])
    return op(x, weight, bias, stride, padding, algorithm, dilation, groups, channel_last)


@alias(input="x")
def conv1d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCL",
    name=None,
):
    """One-dimensional convolution (cross-correlation) of ``x`` with ``weight``.

    Args:
        x: [N, C, L], or [N, L, C] for data_format 'NLC'; floating.
        weight: [out channels, C / groups, K].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or [int].
        padding: int or [int], [before, after], a pair per axis of x, 'SAME' or 'VALID'.
        groups (int): channels fall into this many groups, each with its own filters.
        data_format (str): 'NCL' or 'NLC'.

    Returns:
        Tensor [N, out channels, L'], each size being
        floor((size + pads - dilation (kernel - 1) - 1) / stride) + 1; channels last if those of x are.

    Raises:
        ValueError: shapes, padding, groups or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 4]), argosy.ones([8, 3, 2])
        >>> argosy.nn.functional.conv1d(x, weight, stride=2).shape
        paddle.Size([1, 8, 2])
    """
    return _conv(ops.conv1d, 1, x, weight, bias, stride, padding, dilation, groups, data_format)


@alias(input="x")
def conv2d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCHW",
    name=None,
):
    """Two-dimensional convolution (cross-correlation) of ``x`` with ``weight``.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'; floating.
        weight: [out channels, C / groups, KH, KW].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or two ints.
        padding: int or two ints, [top, bottom, left, right], a pair per axis of x, 'SAME' or 'VALID'.
        groups (int): channels fall into this many groups, each with its own filters.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, out channels, H', W'], each size being
        floor((size + pads - dilation (kernel - 1) - 1) / stride) + 1; channels last if those of x are.

    Raises:
        ValueError: shapes, padding, groups or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 4, 4]), argosy.ones([8, 3, 2, 2])
        >>> argosy.nn.functional.conv2d(x, weight, stride=2).shape
        paddle.Size([1, 8, 2, 2])
    """
    return _conv(ops.conv2d, 2, x, weight, bias, stride, padding, dilation, groups, data_format)


@alias(input="x")
def conv3d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCDHW",
    name=None,
):
    """Three-dimensional convolution (cross-correlation) of ``x`` with ``weight``.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'; floating.
        weight: [out channels, C / groups, KD, KH, KW].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or three ints.
        padding: int or three ints, six ints, a pair per axis of x, 'SAME' or 'VALID'.
        groups (int): channels fall into this many groups, each with its own filters.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor [N, out channels, D', H', W'], each size being
        floor((size + pads - dilation (kernel - 1) - 1) / stride) + 1; channels last if those of x are.

    Raises:
        ValueError: shapes, padding, groups or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 4, 4, 4]), argosy.ones([8, 3, 2, 2, 2])
        >>> argosy.nn.functional.conv3d(x, weight, stride=2).shape
        paddle.Size([1, 8, 2, 2, 2])
    """
    return _conv(ops.conv3d, 3, x, weight, bias, stride, padding, dilation, groups, data_format)


def _conv_nd(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    padding_algorithm=None,
    dilation=1,
    groups=1,
    data_format="NCHW",
    channel_dim=1,
    op_type="conv2d",
    use_cudnn=True,
    name=None,
):
    """The convolution that ``op_type`` names, as exported programs call it.

    Args:
        padding_algorithm: 'SAME' or 'VALID', for which ``padding`` is not read; else 'EXPLICIT'.
        channel_dim, use_cudnn: have no effect.

    Raises:
        ValueError: ``op_type`` is no convolution, or what conv2d and conv3d raise.
    """
    functions = {"conv2d": conv2d, "depthwise_conv2d": conv2d, "conv3d": conv3d}
    check_choice("_conv_nd", "op_type", op_type, functions)
    if padding_algorithm in ("SAME", "VALID"):
        padding = padding_algorithm
    return functions[op_type](x, weight, bias, stride, padding, dilation, groups, data_format)


def _output_size(output_size, output_padding, n):
    if output_size is None:
        return []
    if output_padding != 0:
        raise ValueError(
            f"[output_size] excludes output_padding: got output_padding={output_padding}. "
            "Do this: leave one of them out."
        )
    if isinstance(output_size, int):
        return [output_size] * n
    if isinstance(output_size, Tensor):
        return output_size
    if isinstance(output_size, (list, tuple)):
        return list(output_size)
    raise ValueError(
        "[output_size] expected an int, a list of ints or a Tensor, got "
        f"{type(output_size).__name__}. Do this: pass one of them."
    )


def _conv_transpose(op, n, x, weight, bias, stride, padding, output_padding, dilation, groups,
                    output_size, data_format):  # fmt: skip
    channel_last = is_channel_last(data_format, _FORMATS[n])
    padding, algorithm = spatial_padding(padding, n, channel_last)
    stride = int_list(stride, n, "stride")
    dilation = int_list(dilation, n, "dilation")
    size = _output_size(output_size, output_padding, n)
    extra = int_list(output_padding, n, "output_padding")
    bias = _for_all(bias, weight.shape[1] * groups)
    return op(
        x, weight, bias, stride, padding, algorithm, extra, dilation, groups, size, channel_last
    )


def conv1d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCL",
    name=None,
):
    """Transposed one-dimensional convolution: the gradient of ``conv1d`` with respect to x.

    Args:
        x: [N, C, L], or [N, L, C] for data_format 'NLC'; floating.
        weight: [C, out channels / groups, K].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or [int].
        padding: what the convolution would have: int or [int], [before, after], a pair per axis of x,
            'SAME' or
            'VALID'.
        output_padding: int or [int], added to one side of the result; below stride or dilation.
        groups (int): channels fall into this many groups, each with its own filters.
        output_size: sizes of the result, instead of ``output_padding``; each in [formula, formula +
            stride).
        data_format (str): 'NCL' or 'NLC'.

    Returns:
        Tensor [N, out channels, L'], each size being
        (size - 1) stride - pads + dilation (kernel - 1) + 1 + output_padding.

    Raises:
        ValueError: shapes, padding, groups, output_size or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 2]), argosy.ones([3, 8, 2])
        >>> argosy.nn.functional.conv1d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 8, 4])
    """
    return _conv_transpose(
        ops.conv1d_transpose, 1, x, weight, bias, stride, padding, output_padding, dilation,
        groups, output_size, data_format,
    )  # fmt: skip


def conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    dilation=1,
    groups=1,
    output_size=None,
    data_format="NCHW",
    name=None,
):
    """Transposed two-dimensional convolution: the gradient of ``conv2d`` with respect to x.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'; floating.
        weight: [C, out channels / groups, KH, KW].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or two ints.
        padding: what the convolution would have: int or two ints, [top, bottom, left, right], a pair
            per axis of x, 'SAME' or
            'VALID'.
        output_padding: int or two ints, added to one side of the result; below stride or dilation.
        groups (int): channels fall into this many groups, each with its own filters.
        output_size: sizes of the result, instead of ``output_padding``; each in [formula, formula +
            stride).
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, out channels, H', W'], each size being
        (size - 1) stride - pads + dilation (kernel - 1) + 1 + output_padding.

    Raises:
        ValueError: shapes, padding, groups, output_size or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 2, 2]), argosy.ones([3, 8, 2, 2])
        >>> argosy.nn.functional.conv2d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 8, 4, 4])
    """
    return _conv_transpose(
        ops.conv2d_transpose, 2, x, weight, bias, stride, padding, output_padding, dilation,
        groups, output_size, data_format,
    )  # fmt: skip


def conv3d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCDHW",
    name=None,
):
    """Transposed three-dimensional convolution: the gradient of ``conv3d`` with respect to x.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'; floating.
        weight: [C, out channels / groups, KD, KH, KW].
        bias: [out channels], [1] for all of them, or None.
        stride, dilation: int or three ints.
        padding: what the convolution would have: int or three ints, six ints, a pair per axis of x,
            'SAME' or
            'VALID'.
        output_padding: int or three ints, added to one side of the result; below stride or dilation.
        groups (int): channels fall into this many groups, each with its own filters.
        output_size: sizes of the result, instead of ``output_padding``; each in [formula, formula +
            stride).
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor [N, out channels, D', H', W'], each size being
        (size - 1) stride - pads + dilation (kernel - 1) + 1 + output_padding.

    Raises:
        ValueError: shapes, padding, groups, output_size or data_format do not fit.

    Examples:
        >>> x, weight = argosy.ones([1, 3, 2, 2, 2]), argosy.ones([3, 8, 2, 2, 2])
        >>> argosy.nn.functional.conv3d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 8, 4, 4, 4])
    """
    return _conv_transpose(
        ops.conv3d_transpose, 3, x, weight, bias, stride, padding, output_padding, dilation,
        groups, output_size, data_format,
    )  # fmt: skip
