"""Transforms of colours."""

import math
import numbers
import random

from . import functional as F
from ._base import BaseTransform, Compose


def _check_input(value, name, center=1, bound=(0, math.inf), clip_first_on_zero=True):
    """[low, high] of a factor given as a half width or as a range; None if it cannot vary."""
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(
                f"[transforms] {name}: expected a number >= 0 or a range (min, max), got "
                f"{value}. Do this: correct it."
            )
        low = center - value
        value = [max(low, 0) if clip_first_on_zero else low, center + value]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        if not bound[0] <= value[0] <= value[1] <= bound[1]:
            raise ValueError(
                f"[transforms] {name}: expected a range within {bound}, got {value}. Do this: "
                "correct it."
            )
    else:
        raise TypeError(
            f"[transforms] {name}: expected a number or (min, max), got {value!r}. Do this: "
            "pass one of them."
        )
    return None if value[0] == value[1] == center else value


class _FactorTransform(BaseTransform):
    """Applies `_adjust` with a factor from `self.value`, a range; None leaves the image."""

    def _apply_image(self, img):
        if self.value is None:
            return img
        return self._adjust(img, random.uniform(self.value[0], self.value[1]))


class BrightnessTransform(_FactorTransform):
    """Random brightness: a factor in [max(0, 1 - value), 1 + value], or in the given range.

    Args:
        value (float | list | tuple): half the width of the range around 1, or (min, max).
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a negative number, or a range out of order or below 0.
        TypeError: ``value`` is neither a number nor a pair.

    Examples:
        >>> brightness = argosy.vision.transforms.BrightnessTransform((1.0, 1.0))
        >>> brightness(np.array([[[10, 20, 30]]], "uint8")).tolist()
        [[[10, 20, 30]]]
    """

    _adjust = staticmethod(F.adjust_brightness)

    def __init__(self, value, keys=None):
        super().__init__(keys)
        self.value = _check_input(value, "brightness")


class ContrastTransform(_FactorTransform):
    """Random contrast: a factor in [max(0, 1 - value), 1 + value], or in the given range.

    Args:
        value (float | list | tuple): half the width of the range around 1, or (min, max).
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a negative number, or a range out of order or below 0.
        TypeError: ``value`` is neither a number nor a pair.

    Examples:
        >>> contrast = argosy.vision.transforms.ContrastTransform((1.0, 1.0))
        >>> contrast(np.array([[[10, 20, 30]]], "uint8")).tolist()
        [[[10, 20, 30]]]
    """

    _adjust = staticmethod(F.adjust_contrast)

    def __init__(self, value, keys=None):
        super().__init__(keys)
        if isinstance(value, numbers.Number) and value < 0:
            raise ValueError(
                "[ContrastTransform] contrast: expected a number >= 0 or a range (min, max), "
                f"got {value}. Do this: correct it."
            )
        self.value = _check_input(value, "contrast")


class SaturationTransform(_FactorTransform):
    """Random saturation: a factor in [max(0, 1 - value), 1 + value], or in the given range.

    Args:
        value (float | list | tuple): half the width of the range around 1, or (min, max).
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a negative number, or a range out of order or below 0.
        TypeError: ``value`` is neither a number nor a pair.

    Examples:
        >>> saturation = argosy.vision.transforms.SaturationTransform((1.0, 1.0))
        >>> saturation(np.array([[[10, 20, 30]]], "uint8")).tolist()
        [[[10, 20, 30]]]
    """

    _adjust = staticmethod(F.adjust_saturation)

    def __init__(self, value, keys=None):
        super().__init__(keys)
        self.value = _check_input(value, "saturation")


class HueTransform(_FactorTransform):
    """Random hue: a turn of the colour circle in [-value, value], or in the given range.

    Args:
        value (float | list | tuple): largest turn, or (min, max) within [-0.5, 0.5].
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a negative number, or a range out of order or bounds.
        TypeError: ``value`` is neither a number nor a pair.

    Examples:
        >>> hue = argosy.vision.transforms.HueTransform((0.0, 0.0))
        >>> hue(np.array([[[10, 20, 30]]], "uint8")).tolist()
        [[[10, 20, 30]]]
    """

    _adjust = staticmethod(F.adjust_hue)

    def __init__(self, value, keys=None):
        super().__init__(keys)
        self.value = _check_input(
            value, "hue", center=0, bound=(-0.5, 0.5), clip_first_on_zero=False
        )


class ColorJitter(BaseTransform):
    """Random brightness, contrast, saturation and hue, in random order.

    Args:
        brightness, contrast, saturation, hue: as in the transform of that name; None skips it.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> jitter = argosy.vision.transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)
        >>> jitter(np.zeros([6, 12, 3], "uint8")).shape
        (6, 12, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0, keys=None):
        super().__init__(keys)
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def _apply_image(self, img):
        kinds = (
            (BrightnessTransform, self.brightness),
            (ContrastTransform, self.contrast),
            (SaturationTransform, self.saturation),
            (HueTransform, self.hue),
        )
        transforms = [kind(value, self.keys) for kind, value in kinds if value is not None]
        random.shuffle(transforms)
        return Compose(transforms)(img)


class Grayscale(BaseTransform):
    """Grey image of a colour one.

    Args:
        num_output_channels (int): 1, or 3 equal ones.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> argosy.vision.transforms.Grayscale()(np.full([1, 2, 3], 9, "uint8")).tolist()
        [[[9], [9]]]
    """

    def __init__(self, num_output_channels=1, keys=None):
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img):
        return F.to_grayscale(img, self.num_output_channels)
