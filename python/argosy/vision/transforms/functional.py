"""Image functions for PIL images, NumPy arrays [H, W(, C)] and tensors [C, H, W]."""

import math
import numbers
import sys

import numpy as np

from argosy._core import Tensor
from argosy._support import check_choice

from . import functional_cv2, functional_pil, functional_tensor

__all__ = []


def _is_pil_image(img):
    module = sys.modules.get("PIL.Image")  # nobody holds an image of a module never imported
    return module is not None and isinstance(img, module.Image)


def _is_tensor_image(img):
    return isinstance(img, Tensor)


def _is_numpy_image(img):
    return isinstance(img, np.ndarray) and img.ndim in (2, 3)


def _backend(name, img):
    """Module with the functions for this kind of image."""
    if _is_pil_image(img):
        return functional_pil
    if _is_tensor_image(img):
        return functional_tensor
    if _is_numpy_image(img):
        return functional_cv2
    raise TypeError(
        f"[{name}] expected a PIL image, a tensor or an array of 2 or 3 dimensions, got "
        f"{type(img).__name__}{list(img.shape) if hasattr(img, 'shape') else ''}."
        " Do this: convert it with PIL.Image.fromarray or numpy.asarray."
    )


def to_tensor(pic, data_format="CHW"):
    """Image as a tensor; 8-bit values are divided by 255 and become float32.

    Args:
        pic: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W], whose values stay as they are.
        data_format (str): "CHW" or "HWC", the layout of the result.

    Returns:
        Tensor [C, H, W] or [H, W, C].

    Raises:
        TypeError: ``pic`` is no image.
        ValueError: data_format is unknown.

    Examples:
        >>> image = np.array([[[0, 51, 255]]], "uint8")
        >>> argosy.vision.transforms.to_tensor(image).flatten().tolist()
        [0.0, 0.2, 1.0]
    """
    backend = _backend("to_tensor", pic)
    check_choice("to_tensor", "data_format", data_format, ("CHW", "HWC"))
    return backend.to_tensor(pic, data_format)


def resize(img, size, interpolation="bilinear"):
    """Resize an image.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        size (int | list | tuple): (height, width), or the length of the shorter side.
        interpolation (str): "nearest", "bilinear", "bicubic"; "lanczos", "area" (arrays), "box",
            "hamming" (PIL) where the kind of image has them.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image, or ``size`` neither an int nor a pair.

    Examples:
        >>> argosy.vision.transforms.resize(np.zeros([6, 12, 3], "uint8"), 4).shape
        (4, 8, 3)
    """
    return _backend("resize", img).resize(img, size, interpolation)


def pad(img, padding, fill=0, padding_mode="constant"):
    """Pad an image on all sides.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        padding (int | list | tuple): pixels on every side, (left/right, top/bottom) or (left, top,
            right, bottom).
        fill (int | list | tuple): value for "constant"; for an array a number fills the first channel.
        padding_mode (str): "constant", "edge", "reflect" (without the edge) or "symmetric".

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image, or an argument of another type.
        ValueError: ``padding`` has neither 2 nor 4 elements.
        AssertionError: the mode is unknown.

    Examples:
        >>> argosy.vision.transforms.pad(np.ones([1, 2], "uint8"), 1, fill=5).tolist()
        [[5, 5, 5, 5], [5, 1, 1, 5], [5, 5, 5, 5]]
    """
    return _backend("pad", img).pad(img, padding, fill, padding_mode)


def crop(img, top, left, height, width):
    """Cut a rectangle.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        top, left (int): its upper left pixel.
        height, width (int): its size.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.crop(np.arange(6).reshape(2, 3), 0, 1, 2, 2).tolist()
        [[1, 2], [4, 5]]
    """
    return _backend("crop", img).crop(img, top, left, height, width)


def center_crop(img, output_size):
    """Cut the middle of an image.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        output_size (int | list | tuple): (height, width), or both.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.center_crop(np.zeros([6, 12, 3], "uint8"), (2, 4)).shape
        (2, 4, 3)
    """
    return _backend("center_crop", img).center_crop(img, output_size)


def hflip(img):
    """Mirror left and right.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.hflip(np.array([[1, 2, 3]])).tolist()
        [[3, 2, 1]]
    """
    return _backend("hflip", img).hflip(img)


def vflip(img):
    """Mirror top and bottom.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.vflip(np.array([[1], [2]])).tolist()
        [[2], [1]]
    """
    return _backend("vflip", img).vflip(img)


def adjust_brightness(img, brightness_factor):
    """Scale all values.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        brightness_factor (float): 0 gives black, 1 the image, 2 twice the brightness.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> image = np.array([[[10, 20, 200]]], "uint8")
        >>> argosy.vision.transforms.adjust_brightness(image, 2.0).tolist()
        [[[20, 40, 255]]]
    """
    return _backend("adjust_brightness", img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img, contrast_factor):
    """Move values from the mean grey; for an array from 74, as Paddle does.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        contrast_factor (float): 0 gives grey, 1 the image, 2 twice the contrast.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> image = np.array([[[70, 74, 80]]], "uint8")
        >>> argosy.vision.transforms.adjust_contrast(image, 2.0).tolist()
        [[[66, 74, 86]]]
    """
    return _backend("adjust_contrast", img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img, saturation_factor):
    """Move values from the grey image.

    Args:
        img: PIL image, array [H, W, C] or tensor [C, H, W], in colour.
        saturation_factor (float): 0 gives grey, 1 the image, 2 twice the saturation.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> image = np.array([[[70, 70, 70]]], "uint8")
        >>> argosy.vision.transforms.adjust_saturation(image, 2.0).tolist()
        [[[70, 70, 70]]]
    """
    return _backend("adjust_saturation", img).adjust_saturation(img, saturation_factor)


def adjust_hue(img, hue_factor):
    """Turn the colour circle; grey images stay.

    Args:
        img: PIL image, array [H, W, C] or tensor [C, H, W], in colour.
        hue_factor (float): turns, within [-0.5, 0.5].

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.
        ValueError: ``hue_factor`` is out of range.

    Examples:
        >>> image = np.array([[[70, 70, 70]]], "uint8")
        >>> argosy.vision.transforms.adjust_hue(image, 0.25).tolist()
        [[[70, 70, 70]]]
    """
    return _backend("adjust_hue", img).adjust_hue(img, hue_factor)


def _affine_matrix(center, angle, translate, scale, shear):
    """Six numbers that take a place in the result to its place in the image.

    The inverse of: shear, rotate and scale about the center, then translate.
    """
    turn, shear_x, shear_y = (math.radians(value) for value in (angle, *shear))
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(turn)
    (x, y), (dx, dy) = center, translate
    rows = [[d / scale, -b / scale], [-c / scale, a / scale]]
    matrix = []
    for row, middle in zip(rows, (x, y)):
        matrix += [*row, row[0] * (-x - dx) + row[1] * (-y - dy) + middle]
    return matrix


def affine(img, angle, translate, scale, shear, interpolation="nearest", fill=0, center=None):
    """Rotate, shift, scale and shear an image; its size stays.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        angle (float): degrees, clockwise.
        translate (list | tuple): shift right and down, in pixels.
        scale (float): factor > 0.
        shear (float | list | tuple): degrees along x, or along x and y.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        fill (int | list | tuple): value outside the image; outside a PIL image it is always 0.
        center (list | tuple, optional): fixed point (x, y); None means the middle.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image, or an argument has the wrong type.
        ValueError: ``scale`` is not positive, or a list has the wrong length.

    Examples:
        >>> image = argosy.to_tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> argosy.vision.transforms.affine(image, 0, (0, 0), 1.0, 0).tolist()
        [[[1.0, 2.0], [3.0, 4.0]]]
    """
    backend = _backend("affine", img)
    if not isinstance(angle, (int, float)):
        raise TypeError(
            f"[affine] expected angle to be int or float, got {angle!r}. Do this: pass degrees."
        )
    if not isinstance(translate, (list, tuple)):
        raise TypeError(
            f"[affine] expected translate to be a list or tuple, got {translate!r}."
            " Do this: pass two numbers of pixels."
        )
    if len(translate) != 2:
        raise ValueError(
            f"[affine] expected translate to be (x, y), got {translate!r}."
            " Do this: pass two numbers of pixels."
        )
    if scale <= 0.0:
        raise ValueError(f"[affine] expected scale > 0, got {scale}. Do this: correct it.")
    if not isinstance(shear, (numbers.Number, list, tuple)):
        raise TypeError(
            f"[affine] expected shear to be a number, list or tuple, got {shear!r}."
            " Do this: pass degrees."
        )
    if not isinstance(interpolation, str):
        raise TypeError(
            f"[affine] expected interpolation to be a str, got {interpolation!r}."
            " Do this: use 'nearest', 'bilinear' or 'bicubic'."
        )
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError(
            f"[affine] expected center to be (x, y) or None, got {center!r}."
            " Do this: pass two numbers of pixels."
        )
    shear = [shear, 0.0] if isinstance(shear, numbers.Number) else list(shear)
    if len(shear) == 1:
        shear = shear * 2
    if len(shear) != 2:
        raise ValueError(
            f"[affine] expected shear of one or two numbers, got {shear!r}. Do this: pass degrees."
        )
    if backend is functional_cv2:
        # Paddle takes the array's height for its width here.
        center = (img.shape[0] * 0.5, img.shape[1] * 0.5) if center is None else center
        return backend.affine(img, angle, translate, scale, shear, interpolation, fill, center)
    if backend is functional_pil:
        center = (img.size[0] * 0.5, img.size[1] * 0.5) if center is None else center
    else:  # a tensor's places are counted from its middle
        width, height = functional_tensor.image_size(img)
        middle = (height, width)  # in Paddle's order
        center = (0.0, 0.0) if center is None else [c - 0.5 * s for c, s in zip(center, middle)]
    matrix = _affine_matrix(center, angle, translate, scale, shear)
    return backend.affine(img, matrix, interpolation, fill)


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    """Rotate an image.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        angle (float): degrees, counter-clockwise.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        expand (bool): make the result large enough for the whole image.
        center (list | tuple, optional): fixed point (x, y); None means the middle.
        fill (int | list | tuple): value outside the image.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.rotate(np.zeros([6, 12, 3], "uint8"), 90, expand=True).shape
        (12, 6, 3)
    """
    backend = _backend("rotate", img)
    if isinstance(center, list):
        center = tuple(center)
    return backend.rotate(img, angle, interpolation, expand, center, fill)


def _perspective_coefficients(startpoints, endpoints):
    """Eight numbers that take the end points to the start points."""
    rows, values = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0].tolist()


def perspective(img, startpoints, endpoints, interpolation="nearest", fill=0):
    """Move four points of an image to four others, keeping lines straight.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        startpoints (list): four (x, y) of the image: upper left, upper right, lower right, lower
            left.
        endpoints (list): where they go.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        fill (int | list | tuple): value outside the image; outside a PIL image it is always 0.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> corners = [(0, 0), (2, 0), (2, 1), (0, 1)]
        >>> image = np.array([[1, 2, 3], [4, 5, 6]], "uint8")
        >>> argosy.vision.transforms.perspective(image, corners, corners).tolist()
        [[1, 2, 3], [4, 5, 6]]
    """
    backend = _backend("perspective", img)
    if backend is functional_cv2:
        return backend.perspective(img, startpoints, endpoints, interpolation, fill)
    coefficients = _perspective_coefficients(startpoints, endpoints)
    return backend.perspective(img, coefficients, interpolation, fill)


def to_grayscale(img, num_output_channels=1):
    """Grey image of a colour one.

    Args:
        img: PIL image, array [H, W, C] or tensor [C, H, W], in colour.
        num_output_channels (int): 1, or 3 equal ones.

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.
        ValueError: the number of channels is neither 1 nor 3.

    Examples:
        >>> argosy.vision.transforms.to_grayscale(np.full([1, 2, 3], 9, "uint8")).tolist()
        [[[9], [9]]]
    """
    return _backend("to_grayscale", img).to_grayscale(img, num_output_channels)


def normalize(img, mean, std, data_format="CHW", to_rgb=False):
    """``(img - mean) / std`` for each channel, in float32.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W]; a PIL image needs data_format
            "HWC".
        mean (list | tuple): mean of each channel.
        std (list | tuple): standard deviation of each channel.
        data_format (str): layout of ``img``, "CHW" or "HWC".
        to_rgb (bool): reverse the last axis of an array first.

    Returns:
        Tensor of a tensor, else a float32 array.

    Examples:
        >>> image = np.array([[[0.0, 255.0]]])
        >>> argosy.vision.transforms.normalize(image, [127.5], [127.5]).tolist()
        [[[-1.0, 1.0]]]
    """
    if _is_tensor_image(img):
        return functional_tensor.normalize(img, mean, std, data_format)
    if _is_pil_image(img):
        img = np.array(img).astype(np.float32)
    return functional_cv2.normalize(img, mean, std, data_format, to_rgb)


def erase(img, i, j, h, w, v, inplace=False):
    """Put a value into a rectangle.

    Args:
        img: PIL image, array [H, W] or [H, W, C], or tensor [C, H, W].
        i, j (int): its upper left pixel: row and column.
        h, w (int): its height and width.
        v (number | np.ndarray | Tensor): value, broadcast to the rectangle.
        inplace (bool): write into ``img`` itself (not for PIL images).

    Returns:
        An image of the kind of ``img``.

    Raises:
        TypeError: ``img`` is no image.

    Examples:
        >>> argosy.vision.transforms.erase(np.zeros([2, 3], "uint8"), 0, 1, 1, 2, 7).tolist()
        [[0, 7, 7], [0, 0, 0]]
    """
    return _backend("erase", img).erase(img, i, j, h, w, v, inplace=inplace)
