"""Pooling."""

from __future__ import annotations

import math

from argosy import _core
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import need_tensor, sizes_of

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
    """Maximum over one-dimensional windows; padded positions never win.

    Args:
        x: [N, C, L].
        kernel_size: sizes of a window, int or [int].
        stride: distances of windows; None is ``kernel_size``.
        padding: int or [int], [before, after], a pair per axis of x, 'SAME' or 'VALID'.
        return_mask (bool): also return where each maximum stands, as flat indices within the
            last axis (int32); channels first only.
        ceil_mode (bool): count last windows that overlap the border only partly.

    Returns:
        Tensor [N, C, L'], with ``return_mask`` a pair of them.

    Raises:
        ValueError: padding, data_format, ``return_mask`` or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.arange(4**1, dtype="float32").reshape([1, 1, 4])
        >>> out, mask = argosy.nn.functional.max_pool1d(x, 2, return_mask=True)
        >>> out.flatten().tolist()
        [1.0, 3.0]
        >>> mask.flatten().tolist()
        [1, 3]
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
    """Maximum over two-dimensional windows; padded positions never win.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'.
        kernel_size: sizes of a window, int or two ints.
        stride: distances of windows; None is ``kernel_size``.
        padding: int or two ints, [top, bottom, left, right], a pair per axis of x, 'SAME' or 'VALID'.
        return_mask (bool): also return where each maximum stands, as flat indices within the
            H x W plane (int32); channels first only.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, C, H', W'], with ``return_mask`` a pair of them.

    Raises:
        ValueError: padding, data_format, ``return_mask`` or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> out, mask = argosy.nn.functional.max_pool2d(x, 2, return_mask=True)
        >>> out.flatten().tolist()
        [5.0, 7.0, 13.0, 15.0]
        >>> mask.flatten().tolist()
        [5, 7, 13, 15]
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
    """Maximum over three-dimensional windows; padded positions never win.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'.
        kernel_size: sizes of a window, int or three ints.
        stride: distances of windows; None is ``kernel_size``.
        padding: int or three ints, six ints, a pair per axis of x, 'SAME' or 'VALID'.
        return_mask (bool): also return where each maximum stands, as flat indices within the
            D x H x W block (int32); channels first only.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor [N, C, D', H', W'], with ``return_mask`` a pair of them.

    Raises:
        ValueError: padding, data_format, ``return_mask`` or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> out, mask = argosy.nn.functional.max_pool3d(x, 2, return_mask=True)
        >>> out.flatten().tolist()
        [21.0, 23.0, 29.0, 31.0, 53.0, 55.0, 61.0, 63.0]
        >>> mask.flatten().tolist()
        [21, 23, 29, 31, 53, 55, 61, 63]
    """
    return _max_pool(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def _avg_pool(n, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor, data_format):
    channel_last = is_channel_last(data_format, _FORMATS[n])
    window = _window(n, kernel_size, stride, padding, ceil_mode, channel_last)
    means = getattr(ops, f"avg_pool{n}d")(x, *window, bool(exclusive), 0.0, channel_last)
    if divisor is None:
        return means
    if not isinstance(divisor, (int, float)):
        raise ValueError(
            f"[avg_pool{n}d] divisor_override: expected a number, got {type(divisor).__name__}."
            " Do this: pass an int or float."
        )
    return means * math.prod(window[0]) / divisor


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """Mean over one-dimensional windows.

    Args:
        x: [N, C, L].
        kernel_size: sizes of a window, int or [int].
        stride: distances of windows; None is ``kernel_size``.
        padding: int or [int], [before, after], a pair per axis of x, 'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        exclusive (bool): padded positions do not count in the mean.

    Returns:
        Tensor [N, C, L'].

    Raises:
        ValueError: padding, data_format or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.arange(4**1, dtype="float32").reshape([1, 1, 4])
        >>> argosy.nn.functional.avg_pool1d(x, 2).flatten().tolist()
        [0.5, 2.5]
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
    """Mean over two-dimensional windows.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'.
        kernel_size: sizes of a window, int or two ints.
        stride: distances of windows; None is ``kernel_size``.
        padding: int or two ints, [top, bottom, left, right], a pair per axis of x, 'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        exclusive (bool): padded positions do not count in the mean.
        divisor_override (float, optional): divide the means, times the elements of a whole window, by
            this number. So padding that does not count (``exclusive``) raises the results.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, C, H', W'].

    Raises:
        ValueError: padding, data_format or ``ceil_mode`` do not fit each other, or
            ``divisor_override`` is no number.

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> argosy.nn.functional.avg_pool2d(x, 2).flatten().tolist()
        [2.5, 4.5, 10.5, 12.5]
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
    """Mean over three-dimensional windows.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'.
        kernel_size: sizes of a window, int or three ints.
        stride: distances of windows; None is ``kernel_size``.
        padding: int or three ints, six ints, a pair per axis of x, 'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        exclusive (bool): padded positions do not count in the mean.
        divisor_override (float, optional): divide the means, times the elements of a whole window, by
            this number. So padding that does not count (``exclusive``) raises the results.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor [N, C, D', H', W'].

    Raises:
        ValueError: padding, data_format or ``ceil_mode`` do not fit each other, or
            ``divisor_override`` is no number.

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> argosy.nn.functional.avg_pool3d(x, 2).flatten().tolist()
        [10.5, 12.5, 18.5, 20.5, 42.5, 44.5, 50.5, 52.5]
    """
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
    """``(sum x^p)^(1/p)`` over one-dimensional windows.

    Args:
        x: [N, C, L], or [N, L, C] for data_format 'NLC'.
        norm_type (float): p; infinity gives the maximum; not 0.
        kernel_size: sizes of a window, int or [int].
        stride: distances of windows; None is ``kernel_size``.
        padding: int or [int], [before, after], a pair per axis of x, 'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): 'NCL' or 'NLC'.

    Returns:
        Tensor [N, C, L'].

    Raises:
        ValueError: ``norm_type`` is 0, or padding, data_format or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.ones([1, 1, 4])
        >>> argosy.nn.functional.lp_pool1d(x, 2, 2).flatten().tolist()
        [1.4142, 1.4142]
    """
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
    """``(sum x^p)^(1/p)`` over two-dimensional windows.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'.
        norm_type (float): p; infinity gives the maximum; not 0.
        kernel_size: sizes of a window, int or two ints.
        stride: distances of windows; None is ``kernel_size``.
        padding: int or two ints, [top, bottom, left, right], a pair per axis of x, 'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, C, H', W'].

    Raises:
        ValueError: ``norm_type`` is 0, or padding, data_format or ``ceil_mode`` do not fit each other.

    Examples:
        >>> x = argosy.ones([1, 1, 4, 4])
        >>> argosy.nn.functional.lp_pool2d(x, 2, 2).flatten().tolist()
        [2.0, 2.0, 2.0, 2.0]
    """
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
    """Means over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, L].
        output_size: length of the result, or [length].

    Returns:
        Tensor [N, C, *output_size].

    Examples:
        >>> x = argosy.arange(4**1, dtype="float32").reshape([1, 1, 4])
        >>> argosy.nn.functional.adaptive_avg_pool1d(x, 2).flatten().tolist()
        [0.5, 2.5]
    """
    return ops.adaptive_avg_pool1d(x, _adaptive_size(output_size, 1), False)


@alias(input="x")
def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """Means over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, H, W], or [N, H, W, C] for data_format 'NHWC'.
        output_size: sizes of the result, int or two of int and None (None keeps that axis).
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor [N, C, *output_size].

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> argosy.nn.functional.adaptive_avg_pool2d(x, 2).flatten().tolist()
        [2.5, 4.5, 10.5, 12.5]
    """
    channel_last = is_channel_last(data_format, _FORMATS[2])
    return ops.adaptive_avg_pool2d(x, _adaptive_size(output_size, 2), channel_last)


@alias(input="x")
def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """Means over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for data_format 'NDHWC'.
        output_size: sizes of the result, int or three of int and None (None keeps that axis).
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor [N, C, *output_size].

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> argosy.nn.functional.adaptive_avg_pool3d(x, 2).flatten().tolist()
        [10.5, 12.5, 18.5, 20.5, 42.5, 44.5, 50.5, 52.5]
    """
    channel_last = is_channel_last(data_format, _FORMATS[3])
    return ops.adaptive_avg_pool3d(x, _adaptive_size(output_size, 3), channel_last)


def _adaptive_max(n, x, output_size, return_mask):
    name = f"adaptive_max_pool{n}d" + ("_with_index" if return_mask else "")
    return getattr(ops, name)(x, _adaptive_size(output_size, n), False)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """Maxima over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, L].
        output_size: length of the result, or [length].
        return_mask (bool): also return the flat indices of the maxima within the last axis (int32).

    Returns:
        Tensor [N, C, *output_size], with ``return_mask`` a pair of them.

    Examples:
        >>> x = argosy.arange(4**1, dtype="float32").reshape([1, 1, 4])
        >>> argosy.nn.functional.adaptive_max_pool1d(x, 2).flatten().tolist()
        [1.0, 3.0]
    """
    return _adaptive_max(1, x, output_size, return_mask)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """Maxima over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, H, W].
        output_size: sizes of the result, int or two of int and None (None keeps that axis).
        return_mask (bool): also return the flat indices of the maxima within the H x W plane (int32).

    Returns:
        Tensor [N, C, *output_size], with ``return_mask`` a pair of them.

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> argosy.nn.functional.adaptive_max_pool2d(x, 2).flatten().tolist()
        [5.0, 7.0, 13.0, 15.0]
    """
    return _adaptive_max(2, x, output_size, return_mask)


@alias(input="x", return_indices="return_mask")
def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """Maxima over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        x: [N, C, D, H, W].
        output_size: sizes of the result, int or three of int and None (None keeps that axis).
        return_mask (bool): also return the flat indices of the maxima within the D x H x W block (int32).

    Returns:
        Tensor [N, C, *output_size], with ``return_mask`` a pair of them.

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> argosy.nn.functional.adaptive_max_pool3d(x, 2).flatten().tolist()
        [21.0, 23.0, 29.0, 31.0, 53.0, 55.0, 61.0, 63.0]
    """
    return _adaptive_max(3, x, output_size, return_mask)


def _max_unpool(n, x, indices, kernel_size, stride, padding, data_format, output_size):
    if data_format != _FORMATS[n][0]:
        raise ValueError(
            f"[max_unpool{n}d] data_format: expected {_FORMATS[n][0]!r}, got "
            f"{data_format!r}. Do this: transpose x."
        )
    need_tensor(f"max_unpool{n}d", "x", x)
    need_tensor(f"max_unpool{n}d", "indices", indices)
    if len(x.shape) != n + 2:
        raise ValueError(
            f"[max_unpool{n}d] x: expected {n + 2} dimensions, got shape {list(x.shape)}. "
            "Do this: reshape it."
        )
    if indices.shape != x.shape and -1 not in (*indices.shape, *x.shape):
        raise ValueError(
            f"(InvalidArgument) [max_unpool{n}d] x and indices must have one shape, got"
            f" {list(x.shape)} and {list(indices.shape)}. Do this: pass both results of the pooling."
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
        x, indices: [N, C, L] values and their flat positions (int32).
        kernel_size, stride, padding: those of the pooling.
        data_format (str): 'NCL'.
        output_size: spatial sizes (or shape) of the result; None is (size - 1) stride - 2 padding +
            kernel_size
            for each axis.

    Returns:
        Tensor [N, C, *output_size].

    Raises:
        ValueError: data_format, the number of dimensions or ``output_size`` do not fit.

    Examples:
        >>> x = argosy.arange(4**1, dtype="float32").reshape([1, 1, 4])
        >>> values, indices = argosy.nn.functional.max_pool1d(x, 2, return_mask=True)
        >>> out = argosy.nn.functional.max_unpool1d(values, indices, 2)
        >>> out.shape, bool((out.sum() == values.sum()).all())
        (paddle.Size([1, 1, 4]), True)
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
    """Put values back where ``max_pool2d(return_mask=True)`` took them; zero elsewhere.

    Args:
        x, indices: [N, C, H, W] values and their flat positions (int32).
        kernel_size, stride, padding: those of the pooling.
        data_format (str): 'NCHW'.
        output_size: spatial sizes (or shape) of the result; None is (size - 1) stride - 2 padding +
            kernel_size
            for each axis.

    Returns:
        Tensor [N, C, *output_size].

    Raises:
        ValueError: data_format, the number of dimensions or ``output_size`` do not fit.

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> values, indices = argosy.nn.functional.max_pool2d(x, 2, return_mask=True)
        >>> out = argosy.nn.functional.max_unpool2d(values, indices, 2)
        >>> out.shape, bool((out.sum() == values.sum()).all())
        (paddle.Size([1, 1, 4, 4]), True)
    """
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
    """Put values back where ``max_pool3d(return_mask=True)`` took them; zero elsewhere.

    Args:
        x, indices: [N, C, D, H, W] values and their flat positions (int32).
        kernel_size, stride, padding: those of the pooling.
        data_format (str): 'NCDHW'.
        output_size: spatial sizes (or shape) of the result; None is (size - 1) stride - 2 padding +
            kernel_size
            for each axis.

    Returns:
        Tensor [N, C, *output_size].

    Raises:
        ValueError: data_format, the number of dimensions or ``output_size`` do not fit.

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> values, indices = argosy.nn.functional.max_pool3d(x, 2, return_mask=True)
        >>> out = argosy.nn.functional.max_unpool3d(values, indices, 2)
        >>> out.shape, bool((out.sum() == values.sum()).all())
        (paddle.Size([1, 1, 4, 4, 4]), True)
    """
    return _max_unpool(3, x, indices, kernel_size, stride, padding, data_format, output_size)


@beside
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

    Args:
        x: [N, C, H, W].
        output_size: sizes of the result, int or two of int and None (None keeps that axis).
        kernel_size: int or two ints: windows of this size that overlap; None for disjoint windows.
        random_u (float, optional): number in (0, 1) that fixes the windows; None draws one.
        return_mask (bool): also return flat indices of the maxima (int32).

    Returns:
        Tensor [N, C, *output_size], with ``return_mask`` a pair of them.

    Raises:
        ValueError: ``random_u`` is out of range, or sizes do not fit.

    Paper: Graham, "Fractional Max-Pooling", arXiv:1412.6071.

    Examples:
        >>> x = argosy.arange(4**2, dtype="float32").reshape([1, 1, 4, 4])
        >>> argosy.nn.functional.fractional_max_pool2d(x, 2, random_u=0.5).shape
        paddle.Size([1, 1, 2, 2])
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
):
    """Maxima over windows whose bounds are pseudo-random fractions of the input.

    Args:
        x: [N, C, D, H, W].
        output_size: sizes of the result, int or three of int and None (None keeps that axis).
        kernel_size: int or three ints: windows of this size that overlap; None for disjoint windows.
        random_u (float, optional): number in (0, 1) that fixes the windows; None draws one.
        return_mask (bool): also return flat indices of the maxima (int32).

    Returns:
        Tensor [N, C, *output_size], with ``return_mask`` a pair of them.

    Raises:
        ValueError: ``random_u`` is out of range, or sizes do not fit.

    Paper: Graham, "Fractional Max-Pooling", arXiv:1412.6071.

    Examples:
        >>> x = argosy.arange(4**3, dtype="float32").reshape([1, 1, 4, 4, 4])
        >>> argosy.nn.functional.fractional_max_pool3d(x, 2, random_u=0.5).shape
        paddle.Size([1, 1, 2, 2, 2])
    """
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)
