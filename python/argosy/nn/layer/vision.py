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
    """[N, C r^2, H, W] to [N, C, H r, W r], r = ``upscale_factor``, arXiv:1609.05158."""

    @keeps
    def __init__(self, upscale_factor, data_format="NCHW", name=None):
        _check_int("PixelShuffle", "upscale_factor", upscale_factor)
        check_choice("PixelShuffle", "data_format", data_format, ("NCHW", "NHWC"))


class PixelUnshuffle(_Rearrange, function=F.pixel_unshuffle):
    """[N, C, H r, W r] to [N, C r^2, H, W], r = ``downscale_factor``: undoes PixelShuffle."""

    @keeps
    def __init__(self, downscale_factor, data_format="NCHW", name=None):
        _check_count("PixelUnshuffle", "downscale_factor", downscale_factor)
        check_choice("PixelUnshuffle", "data_format", data_format, ("NCHW", "NHWC"))


class ChannelShuffle(_Rearrange, function=F.channel_shuffle):
    """Interleaves the channels of ``groups`` groups, arXiv:1707.01083."""

    @keeps
    def __init__(self, groups, data_format="NCHW", name=None):
        _check_count("ChannelShuffle", "groups", groups)
        check_choice("ChannelShuffle", "data_format", data_format, ("NCHW", "NHWC"))
