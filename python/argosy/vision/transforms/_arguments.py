"""Checks of arguments that every image backend shares."""

import numbers
from collections.abc import Iterable, Sequence

from argosy._support import check_choice

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def output_size(size, width, height):
    """(height, width) that `size` asks for: a pair is (height, width), an int the shorter side."""
    if isinstance(size, int):
        if min(width, height) == size:
            return height, width
        if width < height:
            return int(size * height / width), size
        return size, int(size * width / height)
    if not isinstance(size, Iterable) or isinstance(size, str) or len(size) != 2:
        raise TypeError(
            f"[resize] expected size to be an int or a pair (height, width), got {size!r}."
            " Do this: pass an int for the shorter side, or both."
        )
    return int(size[0]), int(size[1])


def pair(size):
    """(height, width) of a crop."""
    return (int(size), int(size)) if isinstance(size, numbers.Number) else tuple(size)


def pad_sides(padding, fill, padding_mode):
    """(left, top, right, bottom) of a padding given as one, two or four numbers."""
    if not isinstance(padding, (numbers.Number, list, tuple)):
        raise TypeError(
            f"[pad] expected padding to be an int, list or tuple, got {padding!r}."
            " Do this: pass one of them."
        )
    if not isinstance(fill, (numbers.Number, str, list, tuple)):
        raise TypeError(
            f"[pad] expected fill to be a number, list, tuple or str, got {fill!r}."
            " Do this: pass one of them."
        )
    if not isinstance(padding_mode, str):
        raise TypeError(
            f"[pad] expected padding_mode to be a str, got {padding_mode!r}."
            " Do this: use 'constant', 'edge', 'reflect' or 'symmetric'."
        )
    if isinstance(padding, Sequence) and len(padding) not in (2, 4):
        raise ValueError(
            f"[pad] padding has {len(padding)} elements: expected an int, (left/right, top/bottom) "
            "or (left, top, right, bottom)."
            " Do this: pass one of them."
        )
    assert padding_mode in PADDING_MODES, (
        f"[pad] unknown padding_mode: expected one of {PADDING_MODES}, got {padding_mode!r}."
    )
    if isinstance(padding, numbers.Number):
        return (int(padding),) * 4
    return tuple(padding) if len(padding) == 4 else tuple(padding) * 2


def hue_shift(hue_factor):
    """Steps of 1/255 turn that `hue_factor` turns the colour circle by."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(
            f"[adjust_hue] expected hue_factor in [-0.5, 0.5], got {hue_factor}."
            " Do this: pass a part of the circle of hues, such as 0.1."
        )
    return int(hue_factor * 255)


def gray_channels(count):
    check_choice("to_grayscale", "num_output_channels", count, (1, 3))
    return count


def interpolation_code(codes, interpolation):
    """codes[interpolation], or a KeyError that lists the names."""
    if interpolation not in codes:
        raise KeyError(f"unknown interpolation {interpolation!r}: expected one of {sorted(codes)}.")
    return codes[interpolation]
