"""Layers that move channels to pixels and back."""

from __future__ import annotations

from argosy._support import check_choice

from .. import functional as F
from ._forwarding import ForwardingLayer, keeps

__all__ = [
    "ChannelShuffle",
    "PixelShuffle",
    "PixelUnshuffle",
]


def _check_int(layer, name, value):
    if not isinstance(value, int):
        raise TypeError(
            f"[{layer}] {name}: expected an int, got {type(value).__name__}. Do this: pass an int."
        )


def _check_count(layer, name, value):
    _check_int(layer, name, value)
    if value <= 0:
        raise ValueError(f"[{layer}] {name}: expected 1 or more, got {value}. Do this: correct it.")


class _Rearrange(ForwardingLayer):
    """Base of the three layers: one number, a data format and a function."""

    _kept_prefix = "_"
    _repr_unless_default = ("data_format",)

    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class PixelShuffle(_Rearrange, function=F.pixel_shuffle):
    """Moves channels to pixels: each run of r^2 channels becomes r x r pixels.

    Args:
        upscale_factor (int): r.
        data_format (str): 'NCHW' or 'NHWC'.

    Shape: [N, C r^2, H, W] to [N, C, H r, W r].

    Raises:
        TypeError: ``upscale_factor`` is no int.
        ValueError: data_format is unknown.

    Paper: Shi et al., arXiv:1609.05158.

    Examples:
        >>> argosy.nn.PixelShuffle(2)(argosy.ones([1, 8, 3, 3])).shape
        paddle.Size([1, 2, 6, 6])
    """

    @keeps
    def __init__(self, upscale_factor, data_format="NCHW", name=None):
        _check_int("PixelShuffle", "upscale_factor", upscale_factor)
        check_choice("PixelShuffle", "data_format", data_format, ("NCHW", "NHWC"))


class PixelUnshuffle(_Rearrange, function=F.pixel_unshuffle):
    """Moves pixels to channels: each r x r pixels become r^2 channels.

    Args:
        downscale_factor (int): r, 1 or more.
        data_format (str): 'NCHW' or 'NHWC'.

    Shape: [N, C, H r, W r] to [N, C r^2, H, W].

    Raises:
        TypeError: ``downscale_factor`` is no int.
        ValueError: it is below 1, or data_format is unknown.

    Examples:
        >>> argosy.nn.PixelUnshuffle(2)(argosy.ones([1, 2, 6, 6])).shape
        paddle.Size([1, 8, 3, 3])
    """

    @keeps
    def __init__(self, downscale_factor, data_format="NCHW", name=None):
        _check_count("PixelUnshuffle", "downscale_factor", downscale_factor)
        check_choice("PixelUnshuffle", "data_format", data_format, ("NCHW", "NHWC"))


class ChannelShuffle(_Rearrange, function=F.channel_shuffle):
    """Interleaves the channels of ``groups`` groups: channel g of each group, then the next of each.

    Args:
        groups (int): number of groups, 1 or more.
        data_format (str): 'NCHW' or 'NHWC'.

    Shape: [N, C, H, W]; the result has the same.

    Raises:
        TypeError: ``groups`` is no int.
        ValueError: it is below 1, or data_format is unknown.

    Paper: Zhang et al., arXiv:1707.01083.

    Examples:
        >>> x = argosy.arange(6, dtype="float32").reshape([1, 6, 1, 1])
        >>> argosy.nn.ChannelShuffle(2)(x).flatten().tolist()
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    """

    @keeps
    def __init__(self, groups, data_format="NCHW", name=None):
        _check_count("ChannelShuffle", "groups", groups)
        check_choice("ChannelShuffle", "data_format", data_format, ("NCHW", "NHWC"))
