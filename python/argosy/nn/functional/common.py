"""Padding, resizing, dropout and other functions that belong to no family."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._support import (
    ArgumentError,
    alone,
    alone_in,
    check_choice,
    is_array,
    is_symbolic,
    listed,
    sizes_of,
)

from ._args import alias, int_list

ops = _core.ops


def _as_list(value):
    """A list of ints, or of the elements of a tensor."""
    if isinstance(value, Tensor):
        return [value[i] for i in range(value.shape[0])]
    return list(value)


@alias(input="x")
def dropout(x, p=0.5, axis=None, training=True, inplace=False, mode="upscale_in_train", name=None):
    """Set elements to zero at random with probability ``p``.

    Args:
        x: float tensor.
        p: probability, number or 0-d tensor.
        axis: int or list of axes along which the choice varies; elements that differ only in
            other axes are kept or dropped together. None: every element for itself.
        training (bool): False switches the dropping off.
        inplace (bool): write the result into ``x``.
        mode (str): 'upscale_in_train' divides what is kept by 1 - p in training;
            'downscale_in_infer' multiplies by 1 - p when not training.

    Returns:
        Tensor like x; ``x`` itself if ``p`` is the number 0.

    Raises:
        TypeError: ``p`` is no number or ``axis`` no int or list.
        ValueError: ``p``, ``mode`` or ``axis`` is out of range.

    Paper: Srivastava et al., JMLR 15 (2014).

    Examples:
        >>> out = argosy.nn.functional.dropout(argosy.ones([50, 2]), p=0.5, axis=0)
        >>> bool((out[:, 0] == out[:, 1]).all()), set(out.flatten().tolist()) == {0.0, 2.0}
        (True, True)
    """
    if isinstance(p, (float, int)):
        if p == 0:
            return x
        if not 0 <= p <= 1:
            raise ValueError(
                f"[dropout] p: expected a probability in [0, 1], got {p}. Do this: correct it."
            )
    elif not isinstance(p, Tensor):
        raise TypeError(
            f"[dropout] p: expected a number or a Tensor, got {type(p).__name__}. Do this: "
            "pass a float."
        )
    check_choice("dropout", "mode", mode, ("downscale_in_infer", "upscale_in_train"))
    if axis is None:
        axes = []
    else:
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(
                f"[dropout] axis: expected an int or a list of ints, got {type(axis).__name__}. "
                "Do this: pass one of them."
            )
        axes = [axis] if isinstance(axis, int) else list(axis)
        rank = len(x.shape)
        if not axes or min(axes) < 0 or max(axes) >= rank or len(axes) > rank:
            raise ValueError(
                f"[dropout] axis: expected distinct axes in 0 .. {rank - 1} of x, got {axis}. "
                "Do this: correct it."
            )
    op = ops.dropout_ if inplace else ops.dropout
    return op(x, p, axes, bool(training), mode)


def _channel_dropout(x, p, training, data_format, formats, rank):
    check_choice("dropout", "data_format", data_format, formats)
    if len(x.shape) != rank:
        raise ValueError(
            f"[dropout] x: expected {rank} dimensions, got {len(x.shape)}. Do this: reshape "
            "it, or use the form for its rank."
        )
    axis = [0, 1] if data_format == formats[0] else [0, rank - 1]
    return dropout(x, p=p, axis=axis, training=training, mode="upscale_in_train")


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels; what is kept is divided by 1 - p.

    Args:
        input: [N, C, L] or [C, L], floating.
        p (float): probability that a channel of a sample becomes zero.
        training (bool): False switches the dropping off.
        inplace (bool): write the result into ``input``.

    Returns:
        Tensor like input.

    Raises:
        RuntimeError: the input has neither 2 nor 3 dimensions.

    Examples:
        >>> out = argosy.nn.functional.dropout1d(argosy.ones([1, 50, 2]))
        >>> bool((out[..., 0] == out[..., 1]).all())
        True
    """
    rank = len(input.shape)
    if rank not in (2, 3):
        raise RuntimeError(
            f"[dropout1d] x: expected 2 or 3 dimensions, got {rank}. Do this: reshape it, "
            "or use dropout2d or dropout3d."
        )
    axis = [0, 1] if rank == 3 else [0]
    return dropout(input, p=p, axis=axis, training=training, inplace=inplace)


def dropout2d(x, p=0.5, training=True, data_format="NCHW", name=None):
    """Drop whole channels; what is kept is divided by 1 - p.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for 'NHWC'; floating.
        p (float): probability that a channel of a sample becomes zero.
        training (bool): False switches the dropping off.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor like x.

    Raises:
        ValueError: x has not 4 dimensions, or ``p`` or data_format is wrong.

    Examples:
        >>> out = argosy.nn.functional.dropout2d(argosy.ones([1, 50, 2, 2]))
        >>> bool((out == out[:, :, :1, :1]).all())
        True
    """
    return _channel_dropout(x, p, training, data_format, ("NCHW", "NHWC"), 4)


def dropout3d(x, p=0.5, training=True, data_format="NCDHW", name=None):
    """Drop whole channels; what is kept is divided by 1 - p.

    Args:
        x: [N, C, D, H, W], or [N, D, H, W, C] for 'NDHWC'; floating.
        p (float): probability that a channel of a sample becomes zero.
        training (bool): False switches the dropping off.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Tensor like x.

    Raises:
        ValueError: x has not 5 dimensions, or ``p`` or data_format is wrong.

    Examples:
        >>> out = argosy.nn.functional.dropout3d(argosy.ones([1, 50, 2, 2, 2]))
        >>> bool((out == out[:, :, :1, :1, :1]).all())
        True
    """
    return _channel_dropout(x, p, training, data_format, ("NCDHW", "NDHWC"), 5)


def _alpha_dropout(x, p, training, feature):
    if not isinstance(p, (float, int)):
        raise TypeError(
            f"[alpha_dropout] p: expected a number, got {type(p).__name__}. Do this: pass a float."
        )
    if not 0 <= p <= 1:
        raise ValueError(
            f"[alpha_dropout] p: expected a probability in [0, 1], got {p}. Do this: correct it."
        )
    if not training or p == 0:
        return x
    return ops.alpha_dropout(x, float(p), True, feature)


def alpha_dropout(x, p=0.5, training=True, name=None):
    """Dropout that keeps mean and variance of a self-normalizing network.

    Args:
        x: float tensor.
        p (float): probability that an element is dropped.
        training (bool): False switches the dropping off.

    Returns:
        Tensor like x; ``x`` itself if nothing is dropped.

    Raises:
        TypeError: ``p`` is no number.
        ValueError: it is outside of [0, 1].

    Paper: Klambauer et al., arXiv:1706.02515.

    Examples:
        >>> argosy.nn.functional.alpha_dropout(argosy.ones([2]), training=False).tolist()
        [1.0, 1.0]
    """
    return _alpha_dropout(x, p, training, False)


def feature_alpha_dropout(x, p=0.5, training=True, name=None):
    """:func:`alpha_dropout` of whole channels: elements of one [n, c] fall together.

    Args:
        x: [N, C, ..], floating.
        p (float): probability that a channel is dropped.
        training (bool): False switches the dropping off.

    Returns:
        Tensor like x; ``x`` itself if nothing is dropped.

    Raises:
        TypeError: ``p`` is no number.
        ValueError: it is outside of [0, 1].

    Examples:
        >>> out = argosy.nn.functional.feature_alpha_dropout(argosy.ones([1, 8, 4]))
        >>> bool((out == out[:, :, :1]).all())
        True
    """
    return _alpha_dropout(x, p, training, True)


_PAD_FORMATS = ("NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


@alias(input="x")
def pad(x, pad, mode="constant", value=0.0, data_format=None, pad_from_left_axis=True, name=None):
    """Enlarge ``x`` at its borders.

    Args:
        x: tensor.
        pad: list or tensor of int. With two values for every axis of ``x`` (constant mode): pairs
            (before, after) from the first axis on, or from the last if ``pad_from_left_axis`` is
            False. Otherwise pairs for the last axes, the last one first; for channel-last formats
            the spatial axes are meant. Negative values cut, but not in pairs for every axis.
        mode (str): 'constant', 'reflect' (without the border element), 'replicate' or 'circular'; the
            last three pad the spatial axes of 3-D to 5-D tensors.
        value (float): what constant mode writes.
        data_format (str, optional): 'NCL', 'NLC', 'NCHW', 'NHWC', 'NCDHW' or 'NDHWC'; None: channels
            first.
        pad_from_left_axis (bool): see ``pad``.

    Returns:
        Tensor of x's dtype; each size grows by the two values of its axis.

    Raises:
        AssertionError: mode, data_format or the number of dimensions is not supported.
        ValueError: the number or the size of pads does not fit.

    Examples:
        >>> x = argosy.to_tensor([[1.0, 2.0, 3.0]])
        >>> argosy.nn.functional.pad(x, [0, 0, 1, 2]).tolist()
        [[0.0, 1.0, 2.0, 3.0, 0.0, 0.0]]
        >>> argosy.nn.functional.pad(x.unsqueeze(0), [2, 0], mode="reflect").tolist()
        [[[3.0, 2.0, 1.0, 2.0, 3.0]]]
    """
    check_choice(
        "pad", "mode", mode, ("constant", "reflect", "replicate", "circular"), AssertionError
    )
    rank = len(x.shape)
    pads = _as_list(pad)
    if len(pads) % 2:
        pads.append(0)
    if mode == "constant" and len(pads) == 2 * rank:
        if any(isinstance(item, int) and item < 0 for item in pads):
            raise ValueError(
                f"[pad] pad: expected numbers >= 0 with mode '{mode}', got {pad}. Do this: cut "
                "x by slicing instead."
            )
        if not pad_from_left_axis:
            pads = _reverse_pairs(pads)
        return ops.pad(x, pads, mode, value)
    channel_last = False
    if data_format is not None:
        data_format = data_format.upper()
        check_choice("pad", "data_format", data_format, _PAD_FORMATS, AssertionError)
        fits = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}.get(rank)
        spatial = mode != "constant" or len(pads) == 2 * (rank - 2)
        if spatial and fits is not None and data_format not in fits:
            raise AssertionError(
                f"[pad] data_format: expected {' or '.join(fits)} for {rank} dimensions, got {data_format}. Do"
                " this: pass one of them, or leave it out."
            )
        channel_last = data_format[-1] == "C"
    if mode != "constant":
        if rank not in (3, 4, 5):
            raise AssertionError(
                f"[pad] x: expected 3, 4 or 5 dimensions, got {rank}. Do this: add dimensions "
                "of size 1, or give a pair for each axis."
            )
        if len(pads) != 2 * (rank - 2):
            raise ValueError(
                f"[pad] pad: expected {2 * (rank - 2)} numbers with mode '{mode}' (two for each "
                f"spatial axis of x {list(x.shape)}), got {len(pads)}. Do this: give a pair for "
                "each spatial axis."
            )
    # Pairs for other than the spatial axes count from the last axis, whatever it is. [= Paddle]
    after = 2 if channel_last and len(pads) == 2 * (rank - 2) else 0
    before = 2 * rank - len(pads) - after
    if before < 0:
        raise ValueError(
            f"[pad] pad: expected at most {2 * rank - after} numbers for x with shape "
            f"{list(x.shape)}, got {len(pads)}. Do this: give a pair for each axis."
        )
    return ops.pad(x, [0] * before + _reverse_pairs(pads) + [0] * after, mode, value)


def _reverse_pairs(pads):
    return [item for i in range(len(pads) - 2, -1, -2) for item in pads[i : i + 2]]


def zeropad2d(x, padding, data_format="NCHW", name=None):
    """Pad the two spatial axes with zeros.

    Args:
        x: 3 to 5 dimensions.
        padding: [left, right, top, bottom], list or int tensor.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Tensor of x's dtype.

    Raises:
        ValueError: x has another number of dimensions, or ``padding`` does not fit.

    Examples:
        >>> argosy.nn.functional.zeropad2d(argosy.ones([1, 1, 2, 2]), [1, 0, 0, 2]).shape
        paddle.Size([1, 1, 4, 3])
    """
    if x.ndim not in (3, 4, 5):
        raise ArgumentError(
            f"[zeropad2d] x: expected 3 to 5 dimensions, got shape {list(x.shape)}. Do this: unsqueeze"
            " it."
        )
    return pad(x, padding, mode="constant", value=0.0, data_format=data_format)


_RANKS = {"linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,), "nearest": (4, 5)}
_INTERPOLATE_FORMATS = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


@alias(input="x")
def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format=None,
    recompute_scale_factor=None,
    antialias=False,
    name=None,
):
    """Resize the spatial axes of ``x``.

    Args:
        x: [N, C, W], [N, C, H, W] or [N, C, D, H, W], or channel last.
        size: new sizes of the spatial axes, list, tuple or tensor; or
        scale_factor: number, or one number per spatial axis.
        mode (str): 'nearest' (4-D, 5-D), 'linear' (3-D), 'bilinear' or 'bicubic' (4-D), 'trilinear'
            (5-D) or 'area' (means of the covered parts; needs ``size``).
        align_corners (bool): corner pixels of input and output coincide.
        align_mode (int): without ``align_corners``: 0 for half-pixel centres,
            src = scale (dst + 0.5) - 0.5; 1 for src = scale * dst.
        data_format (str, optional): 'NCW', 'NWC', 'NCHW', 'NHWC', 'NCDHW' or 'NDHWC'; None: channels
            first.
        recompute_scale_factor (bool, optional): take the scale from the rounded sizes.
        antialias (bool): bilinear and bicubic, when shrinking, average over all covered pixels.

    Returns:
        Tensor [N, C, *new sizes] of x's dtype, channels last if those of x are.

    Raises:
        ValueError: mode, size, scale and the number of dimensions do not fit each other.
        AssertionError: a size is not positive.
        TypeError: size or scale has the wrong type.

    Examples:
        >>> x = argosy.to_tensor([[[[1.0, 3.0]]]])
        >>> argosy.nn.functional.interpolate(x, size=[1, 4], mode="bilinear").flatten().tolist()
        [1.0, 1.5, 2.5, 3.0]
        >>> argosy.nn.functional.interpolate(x, scale_factor=2).shape
        paddle.Size([1, 1, 2, 4])
    """
    mode = mode.lower()
    check_choice("interpolate", "mode", mode, ("area", *_RANKS))
    rank = len(x.shape)
    _check_interpolation(x, size, scale_factor, mode, align_corners, align_mode, data_format)
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            f"[interpolate] antialias: expected mode 'bilinear' or 'bicubic', got {mode!r}. Do this: leave"
            " it out, or take one of these modes."
        )
    if recompute_scale_factor and size is not None:
        raise ValueError(
            "[interpolate] recompute_scale_factor: expected scale_factor, got size, which needs no scale."
            " Do this: leave it out."
        )
    channel_last = data_format == _INTERPOLATE_FORMATS[rank][1]
    sizes, scales = [], []
    if size is not None:
        sizes = _as_list(size)
        if len(sizes) != rank - 2:
            raise ValueError(
                f"[interpolate] size: expected {rank - 2} numbers, one for each spatial axis of "
                f"x {list(x.shape)}, got {len(sizes)}. Do this: correct it."
            )
        sizes = [item if isinstance(item, Tensor) else int(alone(item)) for item in sizes]
        if any(not isinstance(item, Tensor) and item <= 0 for item in sizes):
            raise AssertionError(
                f"[interpolate] size: expected numbers > 0, got {sizes}. Do this: correct it."
            )
    else:
        scales = _scales(scale_factor, rank)
    if mode == "area":
        if size is None:
            raise ValueError(
                "[interpolate] mode 'area' needs size, got None. Do this: pass size instead of "
                "scale_factor."
            )
        from . import pooling

        pool = getattr(pooling.ops, f"adaptive_avg_pool{rank - 2}d")
        return pool(x, sizes, channel_last)
    if recompute_scale_factor and scales:
        axes = range(1, rank - 1) if channel_last else range(2, rank)
        known = sizes_of(x)
        sizes = [_scaled(known[axis], scale) for axis, scale in zip(axes, scales)]
        scales = []
    return ops.interpolate(
        x, sizes, scales, mode, bool(align_corners), align_mode, channel_last, bool(antialias)
    )


def _check_interpolation(x, size, scale_factor, mode, align_corners, align_mode, data_format):
    """Raises for arguments of interpolate that do not go together."""
    rank = len(x.shape)
    if size is None and scale_factor is None:
        raise ValueError(
            "[interpolate] needs size or scale_factor, got neither. Do this: pass one of them."
        )
    if mode in _RANKS and rank not in _RANKS[mode]:
        raise ValueError(
            f"[interpolate] mode '{mode}' needs x with "
            f"{' or '.join(str(r) for r in _RANKS[mode])} dimensions, got shape "
            f"{list(x.shape)}. Do this: reshape it, or use another mode."
        )
    check_choice("interpolate", "align_mode", align_mode, (0, 1))
    if align_corners and mode in ("nearest", "area"):
        raise ValueError(
            f"[interpolate] align_corners=True has no meaning for mode '{mode}'. Do this: "
            "leave it out, or use linear, bilinear, trilinear or bicubic."
        )
    formats = _INTERPOLATE_FORMATS.get(rank)
    if formats is None:
        raise ValueError(
            f"[interpolate] x: expected 3 to 5 dimensions, got shape {list(x.shape)}. Do "
            "this: reshape it."
        )
    if data_format is not None:
        argument = f"data_format of x with {rank} dimensions"
        check_choice("interpolate", argument, data_format, formats)
    if size is not None and scale_factor is not None:
        raise ValueError(
            "[interpolate] size and scale_factor exclude one another, got both. Do this: "
            "pass one of them."
        )


def _scaled(size, scale):
    if isinstance(size, int):
        return int(size * scale)
    return tensor.cast(tensor.scale(tensor.cast(size, "float64"), scale), "int64")


def _scales(scale_factor, rank):
    if any(is_symbolic(scale) for scale in listed(scale_factor)):
        raise NotImplementedError(
            "[interpolate] scale_factor is a value of the Program: expected numbers. Do this: give"
            " numbers, or size, which may be a value of the Program."
        )
    scale_factor = alone(scale_factor)
    if isinstance(scale_factor, Tensor) or is_array(scale_factor):
        scale_factor = scale_factor.tolist()
    if isinstance(scale_factor, (int, float)):
        scales = [float(scale_factor)] * (rank - 2)
    elif isinstance(scale_factor, (list, tuple)):
        scales = [float(item) for item in scale_factor]
        if len(scales) == 1 and rank == 3:
            pass
        elif len(scales) != rank - 2:
            raise ValueError(
                f"[interpolate] scale_factor: expected {rank - 2} numbers for x with {rank} "
                f"dimensions, got {len(scales)}. Do this: give one for each spatial axis."
            )
    else:
        raise TypeError(
            "[interpolate] scale_factor: expected a number, a list of them or a Tensor, "
            f"got {type(scale_factor).__name__}. Do this: pass one of these."
        )
    if min(scales) <= 0:
        raise ValueError(
            f"[interpolate] scale_factor: expected numbers > 0, got {scales}. Do this: correct it."
        )
    return scales


def upsample(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format=None,
    name=None,
):
    """Same as :func:`interpolate`.

    Args:
        x: [N, C, W], [N, C, H, W] or [N, C, D, H, W], or channel last.
        size, scale_factor, mode, align_corners, align_mode, data_format: as there.

    Returns:
        Tensor [N, C, *new sizes] of x's dtype.

    Examples:
        >>> argosy.nn.functional.upsample(argosy.ones([1, 2, 3, 3]), scale_factor=2).shape
        paddle.Size([1, 2, 6, 6])
    """
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def _two(value, name):
    if isinstance(value, int):
        return [value, value]
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return int_list(value, 2, name)
    raise ValueError(
        f"[{name}] expected an int or two ints, got {value!r}. Do this: pass one of them."
    )


def _four_sides(paddings):
    if isinstance(paddings, int):
        return [paddings] * 4
    if isinstance(paddings, (list, tuple)):
        if len(paddings) == 2:
            return int_list([paddings[0], paddings[1]] * 2, 4, "paddings")
        if len(paddings) == 4:
            return int_list(paddings, 4, "paddings")
    raise ValueError(
        f"[paddings] expected an int, or 2 or 4 ints, got {paddings!r}. Do this: pass one of them."
    )


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Columns of all sliding windows (im2col).

    Args:
        x: [N, C, H, W].
        kernel_sizes, strides, dilations: int or two ints.
        paddings: int, [h, w] or [top, left, bottom, right].

    Returns:
        Tensor [N, C * KH * KW, number of windows].

    Raises:
        AssertionError: ``x`` has not 4 dimensions.
        ValueError: the sizes do not fit.

    Examples:
        >>> x = argosy.arange(9, dtype="float32").reshape([1, 1, 3, 3])
        >>> argosy.nn.functional.unfold(x, 2)[0, :, 0].tolist()
        [0.0, 1.0, 3.0, 4.0]
    """
    if len(x.shape) != 4:
        raise AssertionError(
            f"[unfold] x: expected [N, C, H, W], got shape {list(x.shape)}. Do this: reshape it."
        )
    return ops.unfold(
        x,
        _two(kernel_sizes, "kernel_sizes"),
        _two(strides, "strides"),
        _four_sides(paddings),
        _two(dilations, "dilations"),
    )


@alias(
    input="x",
    output_size="output_sizes",
    kernel_size="kernel_sizes",
    stride="strides",
    padding="paddings",
    dilation="dilations",
)
def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Sum windows back into an image: the transpose of :func:`unfold` (col2im).

    Args:
        x: [N, C * KH * KW, number of windows].
        output_sizes: H and W of the image, int or two ints.
        kernel_sizes, strides, paddings, dilations: as for :func:`unfold`.

    Returns:
        Tensor [N, C, H, W].

    Raises:
        AssertionError: ``x`` has not 3 dimensions.
        ValueError: the sizes do not fit.

    Examples:
        >>> argosy.nn.functional.fold(argosy.ones([1, 4, 4]), [3, 3], 2).flatten().tolist()
        [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]
    """
    if len(x.shape) != 3:
        raise AssertionError(
            f"[fold] x: expected [N, C, L], got shape {list(x.shape)}. Do this: reshape it."
        )
    return ops.fold(
        x,
        _two(output_sizes, "output_sizes"),
        _two(kernel_sizes, "kernel_sizes"),
        _two(strides, "strides"),
        _four_sides(paddings),
        _two(dilations, "dilations"),
    )


def class_center_sample(label, num_classes, num_samples, group=None):
    """All classes that occur in ``label`` and, at random, as many others as fill num_samples.

    Args:
        label: [N] int32 or int64.
        num_classes (int): number of classes.
        num_samples (int): number of classes to return (more if more occur), at most ``num_classes``.
        group: of this process alone, or False or None.

    Returns:
        (labels renumbered by their place in the sample, sampled classes: those that occur in
        ascending order, then the others).

    Raises:
        ValueError: ``num_samples`` exceeds ``num_classes``, or label has not one dimension.

    Paper: An et al., "Partial FC", arXiv:2010.05222.

    Examples:
        >>> label = argosy.to_tensor([7, 2, 7])
        >>> labels, classes = argosy.nn.functional.class_center_sample(label, 20, 4)
        >>> labels.tolist(), classes[:2].tolist(), classes.shape
        ([1, 0, 1], [2, 7], paddle.Size([4]))
    """
    alone_in("class_center_sample", group)
    if num_samples > num_classes:
        raise ValueError(
            "[class_center_sample] num_samples: expected at most num_classes = "
            f"{num_classes}, got {num_samples}. Do this: lower it."
        )
    if len(label.shape) != 1:
        raise ValueError(
            "[class_center_sample] label: expected one dimension, got shape "
            f"{list(label.shape)}. Do this: flatten it."
        )
    return ops.class_center_sample(label, num_classes, num_samples)
