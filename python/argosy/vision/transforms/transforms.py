"""Image transforms as objects, to compose and to hand to a dataset.

Random transforms draw from Python's `random`, sizes and areas from `numpy.random`.
"""

import math
import numbers
import random
from collections.abc import Iterable, Sequence

import numpy as np

from argosy import tensor

from . import _arguments
from . import functional as F
from ._base import BaseTransform, Compose, _image_size
from ._color import (
    BrightnessTransform,
    ColorJitter,
    ContrastTransform,
    Grayscale,
    HueTransform,
    SaturationTransform,
)

__all__ = [
    "BaseTransform",
    "BrightnessTransform",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "Grayscale",
    "HueTransform",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "SaturationTransform",
    "ToTensor",
    "Transpose",
]

_INTERPOLATIONS = ("nearest", "bilinear", "bicubic")


class ToTensor(BaseTransform):
    """Image to tensor; 8-bit values are divided by 255 and become float32.

    Args:
        data_format (str): "CHW" or "HWC", the layout of the result.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> image = np.array([[[0, 51, 255]]], "uint8")
        >>> argosy.vision.transforms.ToTensor()(image).flatten().tolist()
        [0.0, 0.2, 1.0]
    """

    def __init__(self, data_format="CHW", keys=None):
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, img):
        return F.to_tensor(img, self.data_format)


class Resize(BaseTransform):
    """Resize an image, see :func:`resize`.

    Args:
        size (int | list | tuple): (height, width), or the length of the shorter side.
        interpolation (str): "nearest", "bilinear", "bicubic"; "lanczos", "area" (arrays), "box",
            "hamming"
            (PIL) where the kind of image has them.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> argosy.vision.transforms.Resize(4)(np.zeros([6, 12, 3], "uint8")).shape
        (4, 8, 3)
    """

    def __init__(self, size, interpolation="bilinear", keys=None):
        super().__init__(keys)
        assert isinstance(size, int) or (isinstance(size, Iterable) and len(size) == 2), (
            f"[Resize] expected size to be an int or (height, width), got {size!r}."
        )
        self.size = size
        self.interpolation = interpolation

    def _apply_image(self, img):
        return F.resize(img, self.size, self.interpolation)


class RandomResizedCrop(BaseTransform):
    """Cut a random rectangle and resize it.

    Args:
        size (int | list | tuple): (height, width) of the result, or both.
        scale (list | tuple): range of the rectangle's part of the area.
        ratio (list | tuple): range of width / height.
        interpolation (str): as in :func:`resize`.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> argosy.vision.transforms.RandomResizedCrop(4)(np.zeros([6, 12, 3], "uint8")).shape
        (4, 4, 3)
    """

    def __init__(
        self,
        size,
        scale=(0.08, 1.0),
        ratio=(3.0 / 4, 4.0 / 3),
        interpolation="bilinear",
        keys=None,
    ):
        super().__init__(keys)
        self.size = (size, size) if isinstance(size, int) else size
        assert scale[0] <= scale[1], f"[RandomResizedCrop] expected scale (min, max), got {scale}."
        assert ratio[0] <= ratio[1], f"[RandomResizedCrop] expected ratio (min, max), got {ratio}."
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation

    def _rectangle(self, img, attempts=10):
        """(top, left, height, width)."""
        width, height = _image_size(img)
        log_ratio = [math.log(value) for value in self.ratio]
        for _ in range(attempts):
            area = np.random.uniform(*self.scale) * width * height
            ratio = math.exp(np.random.uniform(*log_ratio))
            w, h = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if 0 < w <= width and 0 < h <= height:
                top = random.randint(0, height - h)
                return top, random.randint(0, width - w), h, w
        w, h = width, height
        if width / height < min(self.ratio):
            h = int(round(width / min(self.ratio)))
        elif width / height > max(self.ratio):
            w = int(round(height * max(self.ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply_image(self, img):
        return F.resize(F.crop(img, *self._rectangle(img)), self.size, self.interpolation)


class CenterCrop(BaseTransform):
    """Cut the middle of an image.

    Args:
        size (int | list | tuple): (height, width), or both.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> argosy.vision.transforms.CenterCrop((2, 4))(np.zeros([6, 12, 3], "uint8")).shape
        (2, 4, 3)
    """

    def __init__(self, size, keys=None):
        super().__init__(keys)
        self.size = _arguments.pair(size) if isinstance(size, numbers.Number) else size

    def _apply_image(self, img):
        return F.center_crop(img, self.size)


class _RandomFlip(BaseTransform):
    def __init__(self, prob=0.5, keys=None):
        super().__init__(keys)
        assert 0 <= prob <= 1, f"[{type(self).__name__}] expected prob in [0, 1], got {prob}."
        self.prob = prob

    def _apply_image(self, img):
        return self._flip(img) if random.random() < self.prob else img


class RandomHorizontalFlip(_RandomFlip):
    """Mirror left and right at random.

    Args:
        prob (float): probability.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> flip = argosy.vision.transforms.RandomHorizontalFlip(prob=1.0)
        >>> flip(np.array([[1, 2, 3]], "uint8")).tolist()
        [[3, 2, 1]]
    """

    _flip = staticmethod(F.hflip)


class RandomVerticalFlip(_RandomFlip):
    """Mirror top and bottom at random.

    Args:
        prob (float): probability.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> flip = argosy.vision.transforms.RandomVerticalFlip(prob=1.0)
        >>> flip(np.array([[1], [2]], "uint8")).tolist()
        [[2], [1]]
    """

    _flip = staticmethod(F.vflip)


class Normalize(BaseTransform):
    """``(img - mean) / std`` for each channel, in float32.

    Args:
        mean, std (float | list | tuple): of each channel; a number counts for three channels.
        data_format (str): layout of the image, "CHW" or "HWC".
        to_rgb (bool): reverse the last axis of an array first.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> normalize = argosy.vision.transforms.Normalize(mean=127.5, std=127.5, data_format="HWC")
        >>> normalize(np.array([[[0, 255, 51]]], "uint8")).tolist()
        [[[-1.0, 1.0, -0.6]]]
    """

    def __init__(self, mean=0.0, std=1.0, data_format="CHW", to_rgb=False, keys=None):
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Number) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Number) else std
        self.data_format = data_format
        self.to_rgb = to_rgb

    def _apply_image(self, img):
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


class Transpose(BaseTransform):
    """Permute the axes of [H, W, C]; a grey image gets an axis C first.

    Args:
        order (list | tuple): old axis of each new one.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> argosy.vision.transforms.Transpose()(np.zeros([6, 12, 3], "uint8")).shape
        (3, 6, 12)
    """

    def __init__(self, order=(2, 0, 1), keys=None):
        super().__init__(keys)
        self.order = order

    def _apply_image(self, img):
        if F._is_tensor_image(img):
            return img.transpose(self.order)
        if F._is_pil_image(img):
            img = np.asarray(img)
        return (img[..., np.newaxis] if img.ndim == 2 else img).transpose(self.order)


class RandomCrop(BaseTransform):
    """Cut a rectangle of a given size at a random place.

    Args:
        size (int | list | tuple): (height, width), or both.
        padding (int | list | tuple, optional): padding before the cut, as in :func:`pad`.
        pad_if_needed (bool): pad images that are smaller than ``size``.
        fill, padding_mode: as in :func:`pad`.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: the image is smaller than the crop (at the call).

    Examples:
        >>> argosy.vision.transforms.RandomCrop(4)(np.zeros([6, 12, 3], "uint8")).shape
        (4, 4, 3)
    """

    def __init__(
        self,
        size,
        padding=None,
        pad_if_needed=False,
        fill=0,
        padding_mode="constant",
        keys=None,
    ):
        super().__init__(keys)
        self.size = _arguments.pair(size) if isinstance(size, numbers.Number) else size
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply_image(self, img):
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = self.size
        if self.pad_if_needed:
            missing = width - _image_size(img)[0]
            if missing > 0:
                img = F.pad(img, (missing, 0), self.fill, self.padding_mode)
            missing = height - _image_size(img)[1]
            if missing > 0:
                img = F.pad(img, (0, missing), self.fill, self.padding_mode)
        full_width, full_height = _image_size(img)
        if (full_width, full_height) == (width, height):
            return F.crop(img, 0, 0, height, width)
        if full_width < width or full_height < height:
            raise ValueError(
                f"[RandomCrop] the image is smaller than the crop: expected at least {height} x "
                f"{width}, got {full_height} x {full_width}. Do this: pad_if_needed=True."
            )
        top = random.randint(0, full_height - height)
        return F.crop(img, top, random.randint(0, full_width - width), height, width)


class Pad(BaseTransform):
    """Pad an image on all sides.

    Args:
        padding (int | list | tuple): pixels on every side, (left/right, top/bottom) or (left, top, right,
            bottom).
        fill (int | list | tuple): value for "constant".
        padding_mode (str): "constant", "edge", "reflect" (without the edge) or "symmetric".
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: ``padding`` has neither 2 nor 4 elements.
        AssertionError: an argument has the wrong type, or the mode is unknown.

    Examples:
        >>> argosy.vision.transforms.Pad((1, 2))(np.zeros([6, 12, 3], "uint8")).shape
        (10, 14, 3)
    """

    def __init__(self, padding, fill=0, padding_mode="constant", keys=None):
        assert isinstance(padding, (numbers.Number, list, tuple))
        assert isinstance(fill, (numbers.Number, str, list, tuple))
        _arguments.pad_sides(padding, fill, padding_mode)
        super().__init__(keys)
        self.padding = tuple(padding) if isinstance(padding, list) else padding
        self.fill = tuple(fill) if isinstance(fill, list) else fill
        self.padding_mode = padding_mode

    def _apply_image(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)


def _check_sequence(value, name, sizes):
    text = " or ".join(map(str, sizes))
    if not isinstance(value, Sequence):
        raise TypeError(
            f"[transforms] {name}: expected a sequence of length {text}, got {value!r}. Do "
            "this: correct it."
        )
    if len(value) not in sizes:
        raise ValueError(
            f"[transforms] {name}: expected a sequence of length {text}, got {value!r}. Do "
            "this: correct it."
        )


def _angles(value, name, sizes=(2,)):
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(
                f"[transforms] {name}: expected a number >= 0 or a range, got {value}. Do this: "
                "correct it."
            )
        value = [-value, value]
    else:
        _check_sequence(value, name, sizes)
    return [float(angle) for angle in value]


class RandomAffine(BaseTransform):
    """Random rotation, shift, scale and shear.

    Args:
        degrees (float | list | tuple): range of the angle; a number d means (-d, d).
        translate (list | tuple, optional): largest shift as parts of width and height.
        scale (list | tuple, optional): range of the factor.
        shear (float | list | tuple, optional): range of the shear along x, or along x and y.
        interpolation, fill, center: as in :func:`affine`.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a number or range is out of bounds.
        TypeError: an argument is no number or sequence.

    Examples:
        >>> affine = argosy.vision.transforms.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1))
        >>> affine(np.zeros([6, 12, 3], "uint8")).shape
        (6, 12, 3)
    """

    def __init__(
        self,
        degrees,
        translate=None,
        scale=None,
        shear=None,
        interpolation="nearest",
        fill=0,
        center=None,
        keys=None,
    ):
        self.degrees = _angles(degrees, "degrees")
        super().__init__(keys)
        assert interpolation in _INTERPOLATIONS, f"unknown interpolation {interpolation!r}."
        self.interpolation = interpolation
        if translate is not None:
            _check_sequence(translate, "translate", (2,))
            if not all(0.0 <= part <= 1.0 for part in translate):
                raise ValueError(
                    "[RandomAffine] translate: expected parts of the image in [0, 1], got "
                    f"{translate}. Do this: divide pixels by the image's size."
                )
        self.translate = translate
        if scale is not None:
            _check_sequence(scale, "scale", (2,))
            if not all(factor > 0 for factor in scale):
                raise ValueError(
                    f"[RandomAffine] scale: expected factors > 0, got {scale}. Do this: correct it."
                )
        self.scale = scale
        self.shear = None if shear is None else _angles(shear, "shear", (2, 4))
        if fill is None:
            fill = 0
        elif not isinstance(fill, (Sequence, numbers.Number)):
            raise TypeError(
                f"[RandomAffine] fill: expected a number or a sequence, got {fill!r}. Do this: "
                "pass one number for each channel."
            )
        self.fill = fill
        if center is not None:
            _check_sequence(center, "center", (2,))
        self.center = center

    def _apply_image(self, img):
        angle = random.uniform(*self.degrees)
        shift = (0, 0)
        if self.translate is not None:
            limits = [part * size for part, size in zip(self.translate, _image_size(img))]
            shift = tuple(int(random.uniform(-limit, limit)) for limit in limits)
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        shear = [0.0, 0.0]
        if self.shear is not None:
            shear[0] = random.uniform(*self.shear[:2])
            if len(self.shear) == 4:
                shear[1] = random.uniform(*self.shear[2:])
        return F.affine(img, angle, shift, scale, shear, self.interpolation, self.fill, self.center)


class RandomRotation(BaseTransform):
    """Rotate by a random angle.

    Args:
        degrees (float | list | tuple): range of the angle; a number d means (-d, d).
        interpolation, expand, center, fill: as in :func:`rotate`.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: a negative number, or a range of other than two numbers.

    Examples:
        >>> argosy.vision.transforms.RandomRotation(10)(np.zeros([6, 12, 3], "uint8")).shape
        (6, 12, 3)
    """

    def __init__(
        self, degrees, interpolation="nearest", expand=False, center=None, fill=0, keys=None
    ):
        if isinstance(degrees, numbers.Number):
            if degrees < 0:
                raise ValueError(
                    "[RandomRotation] degrees: expected a number >= 0 or (min, max), got "
                    f"{degrees}. Do this: pass a range to rotate one way only."
                )
            degrees = (-degrees, degrees)
        elif len(degrees) != 2:
            raise ValueError(
                f"[RandomRotation] degrees: expected (min, max), got {degrees!r}. Do this: "
                "correct it."
            )
        super().__init__(keys)
        self.degrees = degrees
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    def _apply_image(self, img):
        angle = random.uniform(self.degrees[0], self.degrees[1])
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


class RandomPerspective(BaseTransform):
    """Move the corners of an image inwards at random, keeping lines straight.

    Args:
        prob (float): probability.
        distortion_scale (float): how far corners may go, in [0, 1].
        interpolation, fill: as in :func:`perspective`.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Examples:
        >>> tilt = argosy.vision.transforms.RandomPerspective(prob=1.0)
        >>> tilt(np.zeros([6, 12, 3], "uint8")).shape
        (6, 12, 3)
        >>> tilt.get_params(12, 6, distortion_scale=0.0)[0]
        [[0, 0], [11, 0], [11, 5], [0, 5]]
    """

    def __init__(self, prob=0.5, distortion_scale=0.5, interpolation="nearest", fill=0, keys=None):
        super().__init__(keys)
        assert 0 <= prob <= 1, f"[RandomPerspective] expected prob in [0, 1], got {prob}."
        assert 0 <= distortion_scale <= 1, (
            f"[RandomPerspective] expected distortion_scale in [0, 1], got {distortion_scale}."
        )
        assert interpolation in _INTERPOLATIONS, f"unknown interpolation {interpolation!r}."
        assert isinstance(fill, (numbers.Number, str, list, tuple))
        self.prob = prob
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill

    def get_params(self, width, height, distortion_scale):
        """The corners of an image, and places that they go to.

        Args:
            width, height (int): size of the image.
            distortion_scale (float): how far corners may go, in [0, 1].

        Returns:
            (startpoints, endpoints), four [x, y] each: upper left, upper right, lower right, lower left.
        """
        reach_x = int(distortion_scale * (width // 2)) + 1
        reach_y = int(distortion_scale * (height // 2)) + 1
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        ends = []
        for x, y in corners:
            x_range = (width - reach_x, width) if x else (0, reach_x)
            y_range = (height - reach_y, height) if y else (0, reach_y)
            ends.append([int(random.uniform(*x_range)), int(random.uniform(*y_range))])
        return corners, ends

    def _apply_image(self, img):
        width, height = _image_size(img)
        if random.random() >= self.prob:
            return img
        points = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *points, self.interpolation, self.fill)


class RandomErasing(BaseTransform):
    """Fill a random rectangle.

    Args:
        prob (float): probability.
        scale (list | tuple): range of the rectangle's part of the area.
        ratio (list | tuple): range of height / width.
        value (float | list | tuple | str): value for all channels, for each of three, or "random".
        inplace (bool): write into the image itself.
        keys (list | tuple, optional): kinds of the input's parts, as in :class:`BaseTransform`.

    Raises:
        ValueError: ``value`` is another word, or has neither 1 nor 3 numbers (at the call).
        AssertionError: a probability or range is out of bounds.

    Paper: Zhong et al., arXiv:1708.04896.

    Examples:
        >>> erase = argosy.vision.transforms.RandomErasing(prob=1.0, value=7)
        >>> image = erase(np.zeros([8, 8, 3], "uint8"))
        >>> sorted(set(image.flatten().tolist()))
        [0, 7]
    """

    def __init__(
        self,
        prob=0.5,
        scale=(0.02, 0.33),
        ratio=(0.3, 3.3),
        value=0,
        inplace=False,
        keys=None,
    ):
        super().__init__(keys)
        assert isinstance(scale, (tuple, list)), "scale should be a tuple or list"
        assert 0 <= scale[0] <= scale[1] <= 1, f"expected scale (min, max) in [0, 1], got {scale}."
        assert isinstance(ratio, (tuple, list)), "ratio should be a tuple or list"
        assert 0 <= ratio[0] <= ratio[1], f"expected ratio (min, max), got {ratio}."
        assert 0 <= prob <= 1, f"expected prob in [0, 1], got {prob}."
        assert isinstance(value, (numbers.Number, str, tuple, list)), (
            "value should be a number, tuple, list or str"
        )
        if isinstance(value, str) and value != "random":
            raise ValueError(
                f"[RandomErasing] value: expected numbers or 'random', got {value!r}. Do this: "
                "use one of them."
            )
        self.prob = prob
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def _content(self, img, values, channels, height, width):
        if F._is_tensor_image(img):
            if values is None:
                return tensor.normal(shape=[channels, height, width]).astype(img.dtype)
            return tensor.to_tensor(values, dtype=img.dtype)[:, None, None]
        if values is None:
            return np.random.normal(size=[height, width, channels]) * 255
        return np.array(values)[None, None, :]

    def _apply_image(self, img):
        if random.random() >= self.prob:
            return img
        values = [self.value] if isinstance(self.value, numbers.Number) else self.value
        values = None if isinstance(values, str) else values
        if values is not None and len(values) not in (1, 3):
            raise ValueError(
                f"[RandomErasing] value: expected 1 or 3 numbers, got {len(values)}. Do this: "
                "pass one number for each channel."
            )
        if F._is_tensor_image(img):
            channels, full_height, full_width = img.shape[-3:]
        else:
            full_height, full_width, channels = np.asarray(img).shape[-3:]
        log_ratio = np.log(self.ratio)
        for _ in range(10):
            area = np.random.uniform(*self.scale) * full_height * full_width
            ratio = np.exp(np.random.uniform(*log_ratio))
            height = int(round(np.sqrt(area * ratio)))
            width = int(round(np.sqrt(area / ratio)))
            if height < full_height and width < full_width:
                content = self._content(img, values, channels, height, width)
                top = np.random.randint(0, full_height - height + 1)
                left = np.random.randint(0, full_width - width + 1)
                return F.erase(img, top, left, height, width, content, self.inplace)
        return img
