"""Images as arrays [H, W, C] in blue, green, red order. New programs use ``vision.transforms``."""

import io

import numpy as np

from .._support import no_effect
from ..vision.transforms import functional

__all__ = [
    "center_crop",
    "left_right_flip",
    "load_and_transform",
    "load_image",
    "load_image_bytes",
    "random_crop",
    "resize_short",
    "simple_transform",
    "to_chw",
]


def load_image(file, is_color=True):
    """An image file as an array, by Pillow.

    Args:
        file (str): its path.
        is_color (bool): False gives grey levels.

    Returns:
        numpy.ndarray: uint8 [H, W, 3], or [H, W].

    Raises:
        ImportError: Pillow is not installed.

    Examples:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> path = os.path.join(tempfile.mkdtemp(), "red.png")
        >>> Image.new("RGB", (2, 1), (255, 0, 0)).save(path)
        >>> argosy.dataset.image.load_image(path).tolist()
        [[[0, 0, 255], [0, 0, 255]]]
        >>> argosy.dataset.image.load_image(path, is_color=False).tolist()
        [[76, 76]]
    """
    from ..vision.datasets._files import pil_image

    image = pil_image().open(file)
    if not is_color:
        return np.asarray(image.convert("L"))
    return np.ascontiguousarray(np.asarray(image.convert("RGB"))[..., ::-1])


def load_image_bytes(bytes, is_color=True):  # noqa: A002 - Paddle's name
    """The content of an image file as an array: see :func:`load_image`.

    Args:
        bytes (bytes): the content.
        is_color (bool): False gives grey levels.

    Returns:
        numpy.ndarray: uint8 [H, W, 3], or [H, W].

    Examples:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (2, 1), (255, 0, 0)).save(file, "png")
        >>> argosy.dataset.image.load_image_bytes(file.getvalue()).shape
        (1, 2, 3)
    """
    return load_image(io.BytesIO(bytes), is_color)


def resize_short(im, size):
    """The image with a shorter side of `size`, by cubic interpolation.

    Args:
        im (numpy.ndarray): [H, W, C] or [H, W].
        size (int): length of the shorter side.

    Returns:
        numpy.ndarray: of im's dtype.

    Examples:
        >>> argosy.dataset.image.resize_short(np.zeros((6, 4, 3), "uint8"), 2).shape
        (3, 2, 3)
    """
    height, width = im.shape[:2]
    new = (size * height // width, size) if height > width else (size, size * width // height)
    return functional.resize(im, new, "bicubic")


def to_chw(im, order=(2, 0, 1)):
    """The image with its dimensions in another order.

    Args:
        im (numpy.ndarray): [H, W, C].
        order (tuple): where the new dimensions were.

    Returns:
        numpy.ndarray: [C, H, W].

    Raises:
        AssertionError: im has another number of dimensions.

    Examples:
        >>> argosy.dataset.image.to_chw(np.zeros((6, 4, 3))).shape
        (3, 6, 4)
    """
    if im.ndim != len(order):
        raise AssertionError(
            f"[to_chw] im: expected {len(order)} dimensions, got {im.ndim}. Do this: pass order."
        )
    return im.transpose(order)


def _crop(function, im, size, is_color, place):
    if is_color and im.ndim != 3:
        raise ValueError(
            f"[{function}] im: expected [H, W, C], got {list(im.shape)}. Do this: pass is_color=False."
        )
    height, width = im.shape[:2]
    if size > min(height, width):
        raise ValueError(
            f"[{function}] size: expected at most {min(height, width)}, as im has {height}x{width} pixels,"
            f" got {size}. Do this: call resize_short first."
        )
    top, left = place(height - size), place(width - size)
    return im[top : top + size, left : left + size]


def center_crop(im, size, is_color=True):
    """The middle square of an image.

    Args:
        im (numpy.ndarray): [H, W, C] or [H, W].
        size (int): sides of the square.
        is_color (bool): im has channels; False does not look.

    Returns:
        numpy.ndarray: [size, size, C] or [size, size], a view.

    Raises:
        ValueError: the image is smaller, or has no channels.

    Examples:
        >>> argosy.dataset.image.center_crop(np.arange(16).reshape(4, 4), 2, is_color=False).tolist()
        [[5, 6], [9, 10]]
    """
    return _crop("center_crop", im, size, is_color, lambda room: room // 2)


def random_crop(im, size, is_color=True):
    """A square of an image, drawn by NumPy's generator.

    Args:
        im (numpy.ndarray): [H, W, C] or [H, W].
        size (int): sides of the square.
        is_color (bool): im has channels; False does not look.

    Returns:
        numpy.ndarray: [size, size, C] or [size, size], a view.

    Raises:
        ValueError: the image is smaller, or has no channels.

    Examples:
        >>> argosy.dataset.image.random_crop(np.zeros((6, 4, 3)), 2).shape
        (2, 2, 3)
    """
    return _crop("random_crop", im, size, is_color, lambda room: np.random.randint(0, room + 1))


def left_right_flip(im, is_color=True):
    """The image mirrored: left is right.

    Args:
        im (numpy.ndarray): [H, W, C] or [H, W].
        is_color (bool): has no effect: the array says it.

    Returns:
        numpy.ndarray: a view.

    Examples:
        >>> argosy.dataset.image.left_right_flip(np.array([[1, 2, 3]]), is_color=False).tolist()
        [[3, 2, 1]]
    """
    no_effect("left_right_flip", "im's dimensions say it", is_color=(is_color, True))
    return im[:, ::-1]


def simple_transform(im, resize_size, crop_size, is_train, is_color=True, mean=None):
    """An image resized, cropped and, for training, perhaps mirrored.

    Args:
        im (numpy.ndarray): [H, W, C] or [H, W].
        resize_size (int): length of the shorter side first.
        crop_size (int): sides of the square that is taken: any in training, else the middle one.
        is_train (bool): see above.
        is_color (bool): whether a mean of one dimension has a value for each channel.
        mean (list | numpy.ndarray, optional): subtracted: by channel, or [C, H, W].

    Returns:
        numpy.ndarray: float32 [C, crop_size, crop_size], or without C.

    Examples:
        >>> image = np.full((6, 4, 3), 7, "uint8")
        >>> argosy.dataset.image.simple_transform(image, 4, 2, False, mean=[1, 2, 3])[:, 0, 0].tolist()
        [6.0, 5.0, 4.0]
    """
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        if np.random.randint(2) == 0:
            im = left_right_flip(im, is_color)
    else:
        im = center_crop(im, crop_size, is_color)
    if im.ndim == 3:
        im = to_chw(im)
    im = im.astype("float32")
    if mean is not None:
        mean = np.array(mean, "float32")
        im -= mean[:, None, None] if mean.ndim == 1 and is_color else mean
    return im


def load_and_transform(filename, resize_size, crop_size, is_train, is_color=True, mean=None):
    """:func:`simple_transform` of an image file.

    Args:
        filename (str): its path.
        resize_size, crop_size (int): see :func:`simple_transform`, as all others.
        is_train, is_color (bool): whether to draw a square; whether the array has channels.
        mean (list | numpy.ndarray, optional): subtracted.

    Returns:
        numpy.ndarray: float32 [C, crop_size, crop_size], or without C.

    Examples:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> path = os.path.join(tempfile.mkdtemp(), "red.png")
        >>> Image.new("RGB", (6, 4), (255, 0, 0)).save(path)
        >>> argosy.dataset.image.load_and_transform(path, 4, 2, is_train=False).shape
        (3, 2, 2)
    """
    return simple_transform(
        load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean
    )
