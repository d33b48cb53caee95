"""Image functions on NumPy arrays [H, W] or [H, W, C], with the arithmetic of OpenCV.

OpenCV itself is not needed. 8-bit images are computed in the fixed-point arithmetic that OpenCV
uses, so results are equal to it, or differ by one grey level where it rounds differently.
"""

import math

import numpy as np

from argosy.tensor import to_tensor as _to_tensor

from . import _arguments, _sampling


def to_tensor(pic, data_format="CHW"):
    array = pic[:, :, None] if pic.ndim == 2 else pic
    if data_format == "CHW":
        array = np.ascontiguousarray(array.transpose(2, 0, 1))
    tensor = _to_tensor(array)
    return tensor.astype("float32") / 255.0 if pic.dtype == np.uint8 else tensor


def resize(img, size, interpolation="bilinear"):
    height, width = _arguments.output_size(size, img.shape[1], img.shape[0])
    if isinstance(size, int) and (height, width) == img.shape[:2]:
        return img
    return _sampling.resize(img, height, width, interpolation)


def pad(img, padding, fill=0, padding_mode="constant"):
    left, top, right, bottom = _arguments.pad_sides(padding, fill, padding_mode)
    widths = [(top, bottom), (left, right), (0, 0)][: img.ndim]
    if padding_mode != "constant":
        return np.pad(img, widths, padding_mode)
    height, width = img.shape[:2]
    result = _sampling.border_image((height + top + bottom, width + left + right), img, fill)
    result[top : top + height, left : left + width] = img
    return result


def crop(img, top, left, height, width):
    return img[top : top + height, left : left + width]


def center_crop(img, output_size):
    height, width = _arguments.pair(output_size)
    top = int(round((img.shape[0] - height) / 2.0))
    left = int(round((img.shape[1] - width) / 2.0))
    return crop(img, top, left, height, width)


def hflip(img):
    return np.ascontiguousarray(img[:, ::-1])


def vflip(img):
    return np.ascontiguousarray(img[::-1])


def _through_table(img, table):
    return table.clip(0, 255).astype(np.uint8)[img.astype(np.uint8)]


def adjust_brightness(img, brightness_factor):
    return _through_table(img, np.arange(256) * float(brightness_factor))


def adjust_contrast(img, contrast_factor):
    # 74 stands for the mean grey of a picture, as in Paddle.
    return _through_table(img, (np.arange(256) - 74) * float(contrast_factor) + 74)


def adjust_saturation(img, saturation_factor):
    pixels = img.astype(np.float32)
    gray = _gray(pixels)[..., None]
    result = pixels * saturation_factor + gray * (1 - saturation_factor)
    return result.clip(0, 255).astype(img.dtype)


def adjust_hue(img, hue_factor):
    shift = _arguments.hue_shift(hue_factor)
    # The first channel is taken for blue, as in Paddle: hues of RGB images turn the other way.
    hue, saturation, value = _to_hsv(img.astype(np.uint8)[..., ::-1])
    return _from_hsv((hue + shift) % 256, saturation, value)[..., ::-1].astype(img.dtype)


def affine(img, angle, translate, scale, shear, interpolation="nearest", fill=0, center=None):
    height, width = img.shape[:2]
    center = (width / 2.0, height / 2.0) if center is None else center
    rotation = _rotation(center, angle, scale)
    matrix = np.empty((2, 3))
    matrix[0] = rotation[0] + math.tan(math.radians(shear[1])) * rotation[1]
    matrix[1] = rotation[1] + math.tan(math.radians(shear[0])) * rotation[0]
    matrix[:, 2] = translate
    fill = (fill,) * 3 if isinstance(fill, int) else fill
    return _sampling.warp_affine(img, matrix, height, width, interpolation, fill)


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    height, width = img.shape[:2]
    center = (width / 2.0, height / 2.0) if center is None else center
    matrix = _rotation(center, angle, 1.0)
    if expand:
        turn = math.radians(angle)
        # Rounded, so that quarter turns give whole sizes.
        cos, sin = round(math.cos(turn), 15), round(math.sin(turn), 15)
        xs, ys = [], []
        for x, y in ((0, 0), (width, 0), (width, height), (0, height)):
            x, y = x - center[0], y - center[1]
            xs.append(cos * x - sin * y + center[0])
            ys.append(sin * x + cos * y + center[1])
        new_width = math.ceil(max(xs)) - math.floor(min(xs))
        new_height = math.ceil(max(ys)) - math.floor(min(ys))
        matrix[0, 2] += (new_width - width) * 0.5
        matrix[1, 2] += (new_height - height) * 0.5
        height, width = new_height, new_width
    return _sampling.warp_affine(img, matrix, height, width, interpolation, fill)


def perspective(img, startpoints, endpoints, interpolation="nearest", fill=0):
    height, width = img.shape[:2]
    inverse = _perspective_matrix(endpoints, startpoints)
    return _sampling.warp_perspective(img, inverse, height, width, interpolation, fill)


def to_grayscale(img, num_output_channels=1):
    count = _arguments.gray_channels(num_output_channels)
    gray = _gray(img)[..., None]
    return np.broadcast_to(gray, (*img.shape[:2], count)) if count == 3 else gray


def normalize(img, mean, std, data_format="CHW", to_rgb=False):
    shape = (-1, 1, 1) if data_format == "CHW" else (1, 1, -1)
    mean = np.asarray(mean, np.float32).reshape(shape)
    std = np.asarray(std, np.float32).reshape(shape)
    if to_rgb:
        img = img[..., ::-1]
    return ((img - mean) / std).astype(np.float32, copy=False)


def erase(img, i, j, h, w, v, inplace=False):
    result = img if inplace else img.copy()
    result[i : i + h, j : j + w, ...] = v
    return result


def _rotation(center, angle, scale):
    cos, sin = scale * math.cos(math.radians(angle)), scale * math.sin(math.radians(angle))
    x, y = center
    return np.array([[cos, sin, (1 - cos) * x - sin * y], [-sin, cos, sin * x + (1 - cos) * y]])


def _perspective_matrix(source, target):
    """3x3 matrix that takes the four source points to the target points."""
    rows, values = [], []
    for (x, y), (u, v) in zip(source, target):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solved = np.linalg.solve(np.array(rows, np.float64), np.array(values, np.float64))
    return np.append(solved, 1.0).reshape(3, 3)


def _gray(img):
    if img.ndim != 3 or img.shape[2] not in (3, 4):
        raise ValueError(
            "[to_grayscale] img: expected a colour image [H, W, 3], got shape "
            f"{list(img.shape)}. Do this: convert it to RGB first."
        )
    red, green, blue = img[..., 0], img[..., 1], img[..., 2]
    if img.dtype == np.uint8:
        red, green, blue = (channel.astype(np.int32) for channel in (red, green, blue))
        return ((9798 * red + 19235 * green + 3735 * blue + (1 << 14)) >> 15).astype(np.uint8)
    return (0.299 * red + 0.587 * green + 0.114 * blue).astype(img.dtype)


def _to_hsv(rgb):
    """Hue in 1/256 turn, saturation and value in 0..255, all int32, of a uint8 image."""
    red, green, blue = (rgb[..., i].astype(np.int32) for i in range(3))
    value = rgb[..., :3].max(-1).astype(np.int32)
    spread = value - rgb[..., :3].min(-1)
    steps = np.arange(1, 256)
    one_over_value = np.concatenate([[0], np.rint((255 << 12) / steps)]).astype(np.int64)
    one_over_spread = np.concatenate([[0], np.rint((256 << 12) / (6.0 * steps))]).astype(np.int64)
    saturation = (spread * one_over_value[value] + (1 << 11)) >> 12
    sector = np.where(
        value == red,
        green - blue,
        np.where(value == green, blue - red + 2 * spread, red - green + 4 * spread),
    )
    hue = (sector * one_over_spread[spread] + (1 << 11)) >> 12
    return (np.where(hue < 0, hue + 256, hue) & 255).astype(np.int32), saturation, value


def _from_hsv(hue, saturation, value):
    turns = hue.astype(np.float32) * np.float32(6.0 / 255.0)
    sector = np.floor(turns).astype(np.int32)
    part = turns - sector
    saturation = saturation.astype(np.float32) * np.float32(1 / 255.0)
    value = value.astype(np.float32) * np.float32(1 / 255.0)
    low = value * (1 - saturation)
    down = value * (1 - saturation * part)
    up = value * (1 - saturation * (1 - part))
    choices = [
        (value, up, low),
        (down, value, low),
        (low, value, up),
        (low, down, value),
        (up, low, value),
        (value, low, down),
    ]
    channels = [np.choose(sector % 6, [choice[i] for choice in choices]) for i in range(3)]
    return np.rint(np.stack(channels, -1) * 255).clip(0, 255).astype(np.uint8)
