"""Layers that move channels to pixels and back."""

from __future__ import annotations

from .. import functional as F
from ._repr import join
from .layers import Layer

__all__ = [
    "ChannelShuffle",
    "PixelShuffle",
    "PixelUnshuffle",
]


def _check_format(data_format):
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(
            f"[data_format] expected 'NCHW' or 'NHWC', got {data_format!r}. Do this: use "
            "one of them."
        )


class _Rearrange(Layer):
    """Base of the three layers: one number, a data format and a function."""

    def _text(self, text):
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return join(text, self._name)


class PixelShuffle(_Rearrange):
    """[N, C r^2, H, W] to [N, C, H r, W r], r = ``upscale_factor``, arXiv:1609.05158."""

    def __init__(self, upscale_factor, data_format="NCHW", name=None):
        super().__init__()
        if not isinstance(upscale_factor, int):
            raise TypeError(
                "[PixelShuffle] upscale_factor: expected an int, got "
                f"{type(upscale_factor).__name__}. Do this: pass an int."
            )
        _check_format(data_format)
        self._upscale_factor = upscale_factor
        self._data_format = data_format
        self._name = name

    def forward(self, x):
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)

    def extra_repr(self):
        return self._text(f"upscale_factor={self._upscale_factor}")


class PixelUnshuffle(_Rearrange):
    """[N, C, H r, W r] to [N, C r^2, H, W], r = ``downscale_factor``: undoes PixelShuffle."""

    def __init__(self, downscale_factor, data_format="NCHW", name=None):
        super().__init__()
        if not isinstance(downscale_factor, int):
            raise TypeError(
                "[PixelUnshuffle] downscale_factor: expected an int, got "
                f"{type(downscale_factor).__name__}. Do this: pass an int."
            )
        if downscale_factor <= 0:
            raise ValueError(
                "[PixelUnshuffle] downscale_factor: expected 1 or more, got "
                f"{downscale_factor}. Do this: correct it."
            )
        _check_format(data_format)
        self._downscale_factor = downscale_factor
        self._data_format = data_format
        self._name = name

    def forward(self, x):
        return F.pixel_unshuffle(x, self._downscale_factor, self._data_format)

    def extra_repr(self):
        return self._text(f"downscale_factor={self._downscale_factor}")


class ChannelShuffle(_Rearrange):
    """Interleaves the channels of ``groups`` groups, arXiv:1707.01083."""

    def __init__(self, groups, data_format="NCHW", name=None):
        super().__init__()
        if not isinstance(groups, int):
            raise TypeError(
                f"[ChannelShuffle] groups: expected an int, got {type(groups).__name__}. Do "
                "this: pass an int."
            )
        if groups <= 0:
            raise ValueError(
                f"[ChannelShuffle] groups: expected 1 or more, got {groups}. Do this: correct it."
            )
        _check_format(data_format)
        self._groups = groups
        self._data_format = data_format
        self._name = name

    def forward(self, x):
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self):
        return self._text(f"groups={self._groups}")
