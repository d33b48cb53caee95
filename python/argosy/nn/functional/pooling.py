"""Pooling."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._support import sizes_of

from ._args import alias, int_list, is_channel_last, spatial_padding

ops = _core.ops
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _window(n, kernel_size, stride, padding, ceil_mode, channel_last):
    kernel = int_list(kernel_size, n, "pool_size")
    stride = kernel if stride is None else int_list(stride, n, "pool_stride")
    padding, algorithm = spatial_padding(padding, n, channel_last)
    if ceil_mode and algorithm == "VALID":
        raise ValueError(
            "[pool] ceil_mode=True has no meaning for padding='VALID'. Do this: leave one "
            "of them out."
        )
    return kernel, stride, padding, algorithm, bool(ceil_mode)


def _max_pool(n, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format):
    channel_last = is_channel_last(data_format, _FORMATS[n])
    if return_mask and channel_last:
        raise ValueError(
            f"[max_pool{n}d] return_mask=True needs data_format={_FORMATS[n][0]!r}. Do "
            "this: transpose x."
        )
    window = _window(n, kernel_size, stride, padding, ceil_mode, channel_last)
    op = getattr(ops, f"max_pool{n}d_with_index" if return_mask else f"max_pool{n}d")
    return op(x, *window, channel_last)


def max_pool1d(
    x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None
):
    """Maximum over windows of the last axis.

    Args:
        x: [N, C, L].
        kernel_size: window length.
        stride: distance of windows; None is ``kernel_size``.
        padding: int, [int], [before, after], pairs per axis, 'SAME' or 'VALID'.
        return_mask: also return the position of each maximum along L (int32).
        ceil_mode: count a last window that overlaps the end only partly.

    Returns:
        Tensor [N, C, L'], with ``return_mask`` a pair of them.
    """
    return _max_pool(1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


def max_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    return_mask=False,
    ceil_mode=False,
    data_format="NCHW",
    name=None,
):
    """Maximum over two-dimensional windows.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'.
        kernel_size, stride: int or two ints; stride None is ``kernel_size``.
        padding: int, two ints, four ints, pairs per axis, 'SAME' or 'VALID'.
        return_mask: also return the flat index of each maximum in its H x W plane (int32).
        ceil_mode: count last windows that overlap the border only partly.

    Returns:
        Tensor [N, C, H', W'], with ``return_mask`` a pair of them.
    """
    return _max_pool(2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def max_pool3d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    return_mask=False,
    ceil_mode=False,
    data_format="NCDHW",
    name=None,
):
    """Maximum over three-dimensional windows; arguments as for :func:`max_pool2d`.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'.

    Returns:
        Tensor [N, C, D', H', W'], with ``return_mask`` a pair of them.
    """
    return _max_pool(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def _avg_pool(n, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor, data_format):
    channel_last = is_channel_last(data_format, _FORMATS[n])
    window = _window(n, kernel_size, stride, padding, ceil_mode, channel_last)
    op = getattr(ops, f"avg_pool{n}d")
    return op(x, *window, bool(exclusive), float(divisor or 0), channel_last)


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """Mean over windows of the last axis of ``x`` [N, C, L].

    Args:
        kernel_size, stride, padding, ceil_mode: as for :func:`max_pool1d`.
        exclusive: padded positions do not count in the mean.
    """
    return _avg_pool(1, x, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def avg_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCHW",
    name=None,
):
    """Mean over two-dimensional windows of ``x`` [N, C, H, W] or [N, H, W, C].

    Args:
        kernel_size, stride, padding, ceil_mode: as for :func:`max_pool2d`.
        exclusive: padded positions do not count in the mean.
        divisor_override: divide the sum by this number instead of the count.
    """
    return _avg_pool(
        2, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def avg_pool3d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCDHW",
    name=None,
):
    """Mean over three-dimensional windows; arguments as for :func:`avg_pool2d`."""
    return _avg_pool(
        3, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def _lp_pool(n, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format):
    channel_last = is_channel_last(data_format, _FORMATS[n])
    if norm_type == 0:
        raise ValueError(
            "[lp_pool] norm_type: expected a number other than 0, got 0. Do this: correct it."
        )
    window = _window(n, kernel_size, stride, padding, ceil_mode, channel_last)
    return getattr(ops, f"lp_pool{n}d")(x, float(norm_type), *window, channel_last)


@alias(input="x")
def lp_pool1d(
    x,
    norm_type,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    data_format="NCL",
    name=None,
):
    """``(sum x^p)^(1/p)`` over windows of length ``kernel_size``, p = ``norm_type`` (inf: max)."""
    return _lp_pool(1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@alias(input="x")
def lp_pool2d(
    x,
    norm_type,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    data_format="NCHW",
    name=None,
):
    """``(sum x^p)^(1/p)`` over two-dimensional windows, p = ``norm_type`` (inf: maximum)."""
    return _lp_pool(2, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def _adaptive_size(output_size, n):
    """``output_size`` as n sizes, -1 where the input's size is kept; tensors stay as they are."""
    if isinstance(output_size, Tensor):
        return output_size
    if isinstance(output_size, int):
        return [output_size] * n
    if isinstance(output_size, str):
        return int_list(output_size, n, "pool_size")
    sizes = [-1 if size is None else size for size in output_size]
    if len(sizes) != n:
        raise ValueError(
            f"(InvalidArgument) [adaptive_pool] output_size: expected {n} ints or one int, got {output_size}. "
            "Do this: correct it."
        )
    return sizes


@alias(input="x")
def adaptive_avg_pool1d(x, output_size, name=None):
    """Means over ``output_size`` windows that cover the last axis of ``x`` [N, C, L] evenly."""
    return ops.adaptive_avg_pool1d(x, _adaptive_size(output_size, 1), False)


@alias(input="x")
def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """Means over windows that divide the input into ``output_size`` parts.

    Window i of an axis of length L runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, H, W] or [N, H, W, C].
        output_size: int, or two of int and None (None keeps that axis).
    """
    channel_last = is_channel_last(data_format, _FORMATS[2])
    return ops.adaptive_avg_pool2d(x, _adaptive_size(output_size, 2), channel_last)


@alias(input="x")
def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """Means over windows that divide the input into ``output_size`` parts, see the 2-D form."""
    channel_last = is_channel_last(data_format, _FORMATS[3])
    return ops.adaptive_avg_pool3d(x, _adaptive_size(output_size, 3), channel_last)


def _adaptive_max(n, x, output_size, return_mask):
    name = f"adaptive_max_pool{n}d" + ("_with_index" if return_mask else "")
    return getattr(ops, name)(x, _adaptive_size(output_size, n), False)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """Maxima over ``output_size`` windows that cover the last axis of ``x`` [N, C, L] evenly."""
    return _adaptive_max(1, x, output_size, return_mask)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """Maxima over windows that divide ``x`` [N, C, H, W] into ``output_size`` parts.

    With ``return_mask`` also the flat indices of the maxima in their H x W planes (int32).
    """
    return _adaptive_max(2, x, output_size, return_mask)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """Maxima over windows that divide ``x`` [N, C, D, H, W] into ``output_size`` parts."""
    return _adaptive_max(3, x, output_size, return_mask)


def _max_unpool(n, x, indices, kernel_size, stride, padding, data_format, output_size):
    if data_format != _FORMATS[n][0]:
        raise ValueError(
            f"[max_unpool{n}d] data_format: expected {_FORMATS[n][0]!r}, got "
            f"{data_format!r}. Do this: transpose x."
        )
    if len(x.shape) != n + 2:
        raise ValueError(
            f"[max_unpool{n}d] x: expected {n + 2} dimensions, got shape {list(x.shape)}. "
            "Do this: reshape it."
        )
    kernel = int_list(kernel_size, n, "pool_size")
    stride = kernel if stride is None else int_list(stride, n, "pool_stride")
    padding = int_list(padding, n, "padding")
    default = [
        (size - 1) * s - 2 * p + k
        for size, k, s, p in zip(sizes_of(x)[2:], kernel, stride, padding)
    ]
    if output_size is None:
        sizes = default
    else:
        sizes = output_size.tolist() if isinstance(output_size, Tensor) else list(output_size)
        if len(sizes) == n + 2:
            sizes = sizes[2:]
        if len(sizes) != n:
            raise ValueError(
                f"[max_unpool{n}d] output_size: expected {n} or {n + 2} numbers, got "
                f"{len(sizes)}. Do this: correct it."
            )
        for axis, (size, wanted, s) in enumerate(zip(default, sizes, stride)):
            if isinstance(size, int) and not size - s < wanted < size + s:
                raise ValueError(
                    f"[max_unpool{n}d] output_size {sizes} does not fit: expected axis {axis} "
                    f"between {size - s} and {size + s}. Do this: give the size that was pooled."
                )
    return getattr(ops, f"max_unpool{n}d")(x, indices, sizes)


def max_unpool1d(
    x,
    indices,
    kernel_size,
    stride=None,
    padding=0,
    data_format="NCL",
    output_size=None,
    name=None,
):
    """Put values back where ``max_pool1d(return_mask=True)`` took them; zero elsewhere.

    Args:
        x, indices: [N, C, L] values and their positions (int32).
        kernel_size, stride, padding: those of the pooling.
        output_size: length of the result; None is (L - 1) stride - 2 padding + kernel_size.
    """
    return _max_unpool(1, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool2d(
    x,
    indices,
    kernel_size,
    stride=None,
    padding=0,
    data_format="NCHW",
    output_size=None,
    name=None,
):
    """Put values back where ``max_pool2d(return_mask=True)`` took them; zero elsewhere."""
    return _max_unpool(2, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool3d(
    x,
    indices,
    kernel_size,
    stride=None,
    padding=0,
    data_format="NCDHW",
    output_size=None,
    name=None,
):
    """Put values back where ``max_pool3d(return_mask=True)`` took them; zero elsewhere."""
    return _max_unpool(3, x, indices, kernel_size, stride, padding, data_format, output_size)


def _fractional(n, x, output_size, kernel_size, random_u, return_mask):
    if random_u is not None and not 0 < random_u < 1:
        raise ValueError(
            f"[fractional_max_pool] random_u: expected a number in (0, 1), got {random_u}. "
            "Do this: correct it."
        )
    sizes = _adaptive_size(output_size, n)
    kernel = [0] * n if kernel_size is None else int_list(kernel_size, n, "kernel_size")
    op = getattr(ops, f"fractional_max_pool{n}d")
    out, mask = op(x, sizes, kernel, ops.uniform([1], 0.0, 1.0) if random_u is None else random_u)
    return (out, mask) if return_mask else out


def fractional_max_pool2d(
    x, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
):
    """Maxima over windows whose bounds are pseudo-random fractions of the input.

    Graham, "Fractional Max-Pooling", arXiv:1412.6071.

    Args:
        x: [N, C, H, W].
        output_size: int, or two of int and None (None keeps that axis).
        kernel_size: windows of this size that overlap; None for disjoint windows.
        random_u: number in (0, 1) that fixes the windows; None draws one.
        return_mask: also return flat indices of the maxima (int32).
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
):
    """Three-dimensional form of :func:`fractional_max_pool2d`, ``x`` being [N, C, D, H, W]."""
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)
