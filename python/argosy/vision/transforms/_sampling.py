"""Resizing and warping of NumPy images with OpenCV's sample positions and rounding."""

import numpy as np

from . import _arguments

_NAMES = {name: name for name in ("nearest", "bilinear", "bicubic", "area", "lanczos")}


def border_image(shape, like, fill):
    """Image of (height, width) and of the channels and dtype of `like`, filled with `fill`.

    A number fills the first channel only, and channels that a sequence does not reach are 0.
    """
    result = np.zeros((*shape, *like.shape[2:]), like.dtype)
    values = (fill,) if np.isscalar(fill) else tuple(fill)
    if like.ndim == 2:
        result[...] = values[0]
    else:
        count = min(len(values), like.shape[2])
        result[..., :count] = values[:count]
    return result


def _round_to(values, dtype):
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        values = np.rint(values).clip(info.min, info.max)
    return values.astype(dtype)


def _require_pixels(img):
    if img.dtype not in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
        raise TypeError(
            f"[resize] expected an image of uint8, uint16, int16, float32 or float64, got "
            f"{img.dtype}. Do this: img.astype('float32')."
        )


# Resizing.


def resize(img, height, width, interpolation):
    _require_pixels(img)
    name = _arguments.interpolation_code(_NAMES, interpolation)
    if (height, width) == img.shape[:2]:
        return img.copy()
    if name == "nearest":
        rows, columns = _nearest(img.shape[0], height), _nearest(img.shape[1], width)
        return img[rows[:, None], columns]
    shrinks = height <= img.shape[0] and width <= img.shape[1]
    if name == "area" and not shrinks:
        name = "area up"
    if img.dtype == np.uint8 and name in ("bilinear", "area up"):
        return _bilinear_bytes(img, height, width, name)
    down = _taps(name, img.shape[0], height)
    across = _taps(name, img.shape[1], width)
    if img.dtype == np.uint8 and name == "lanczos":
        down, across = np.rint(down * 2048) / 2048, np.rint(across * 2048) / 2048
    result = np.tensordot(down, img.astype(np.float64), (1, 0))
    result = np.moveaxis(np.tensordot(across, result, (1, 1)), 0, 1)
    return _round_to(result, img.dtype)


def _nearest(size, new_size):
    step = 1.0 / (new_size / size)  # as OpenCV computes it: size / new_size can round otherwise
    return np.minimum((np.arange(new_size) * step).astype(np.int64), size - 1)


def _linear_positions(size, new_size, name="bilinear"):
    """Left neighbour and distance from it, of each new sample; beyond the edge the edge repeats."""
    new, scale = np.arange(new_size), size / new_size
    if name == "bilinear":
        position = ((new + 0.5) * scale - 0.5).astype(np.float32)
        left = np.floor(position).astype(np.int64)
        part = position - left.astype(np.float32)
    else:  # an area that is smaller than a pixel: the part of it that the right neighbour covers
        left = np.floor(new * scale).astype(np.int64)
        part = ((new + 1) - (left + 1) / scale).astype(np.float32)
        part = np.where(part <= 0, np.float32(0), part - np.floor(part))
    part[left < 0] = 0
    part[left >= size - 1] = 0
    return left.clip(0, size - 1), part


def _bilinear_bytes(img, height, width, name):
    """Two-tap weights in 1/2048, products shifted as OpenCV's vector code shifts them."""

    def weights(part):
        right = np.rint(part * 2048).astype(np.int32)
        return np.rint((1 - part) * 2048).astype(np.int32), right

    columns, part = _linear_positions(img.shape[1], width, name)
    extra = (1,) * (img.ndim - 2)
    left, right = (weight.reshape(1, -1, *extra) for weight in weights(part))
    pixels = img.astype(np.int32)
    following = np.minimum(columns + 1, img.shape[1] - 1)
    lines = pixels[:, columns] * left + pixels[:, following] * right
    rows, part = _linear_positions(img.shape[0], height, name)
    upper, lower = (weight.reshape(-1, 1, *extra) for weight in weights(part))
    below = np.minimum(rows + 1, img.shape[0] - 1)
    total = ((upper * (lines[rows] >> 4)) >> 16) + ((lower * (lines[below] >> 4)) >> 16)
    return ((total + 2) >> 2).clip(0, 255).astype(np.uint8)


def _taps(name, size, new_size):
    """Weights [new_size, size] of the separable filter `name`."""
    weights = np.zeros((new_size, size))
    new = np.arange(new_size)
    scale = size / new_size
    if name == "area":
        start, stop = new * scale, np.minimum((new + 1) * scale, size)
        pixel = np.arange(size)
        overlap = np.minimum(stop[:, None], pixel + 1) - np.maximum(start[:, None], pixel)
        weights = overlap.clip(0, None)
        return weights / weights.sum(1, keepdims=True)
    if name in ("bilinear", "area up"):
        left, part = _linear_positions(size, new_size, name)
        np.add.at(weights, (new, left), 1 - part)
        np.add.at(weights, (new, np.minimum(left + 1, size - 1)), part)
        return weights
    position = (new + 0.5) * scale - 0.5
    left = np.floor(position).astype(np.int64)
    part = position - left
    coefficients = _cubic(part) if name == "bicubic" else _lanczos(part)
    first = -(len(coefficients) // 2 - 1)
    for offset, weight in enumerate(coefficients, first):
        np.add.at(weights, (new, (left + offset).clip(0, size - 1)), weight)
    return weights


def _cubic(part):
    a = -0.75
    far = part + 1
    first = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    second = ((a + 2) * part - (a + 3)) * part * part + 1
    rest = 1 - part
    third = ((a + 2) * rest - (a + 3)) * rest * rest + 1
    return [first, second, third, 1 - first - second - third]


def _lanczos(part):
    offsets = np.arange(-3, 5)[:, None] - part
    weights = np.sinc(offsets) * np.sinc(offsets / 4)
    return weights / weights.sum(0)


# Warping. Positions are in 1/32 pixel, as OpenCV keeps them.


def warp_affine(img, matrix, height, width, interpolation, fill):
    """Image whose pixel matrix @ (x, y, 1) is img's pixel (x, y); `fill` outside."""
    name = _arguments.interpolation_code(_NAMES, interpolation)
    _require_pixels(img)
    linear = np.linalg.inv(matrix[:, :2])
    offset = -linear @ matrix[:, 2]
    delta = 512 if name == "nearest" else 16
    across = np.rint(linear[:, :1] * np.arange(width) * 1024).astype(np.int64)
    down = np.rint((linear[:, 1:] * np.arange(height) + offset[:, None]) * 1024).astype(np.int64)
    x, y = (down[i][:, None] + delta + across[i] for i in range(2))
    if name == "nearest":
        return _pick(img, y >> 10, x >> 10, fill)
    return _blend(img, y >> 5, x >> 5, name, fill)


def warp_perspective(img, inverse, height, width, interpolation, fill):
    """Image whose pixel (x, y) is img's pixel inverse @ (x, y, 1); `fill` outside."""
    name = _arguments.interpolation_code(_NAMES, interpolation)
    _require_pixels(img)
    columns, rows = np.arange(width), np.arange(height)[:, None]
    x, y, depth = (inverse[i, 0] * columns + inverse[i, 1] * rows + inverse[i, 2] for i in range(3))
    with np.errstate(divide="ignore"):
        scale = np.where(depth != 0, 1.0 / depth, 0.0) * (1 if name == "nearest" else 32)
    x, y = (np.rint((part * scale).clip(-(2**31), 2**31 - 1)).astype(np.int64) for part in (x, y))
    return _pick(img, y, x, fill) if name == "nearest" else _blend(img, y, x, name, fill)


def _pick(img, rows, columns, fill):
    inside = (rows >= 0) & (rows < img.shape[0]) & (columns >= 0) & (columns < img.shape[1])
    result = border_image(rows.shape, img, fill)
    result[inside] = img[rows[inside], columns[inside]]
    return result


def _blend(img, rows, columns, name, fill):
    """Weighted sum around positions in 1/32 pixel."""
    part_y, part_x = (rows & 31) / 32.0, (columns & 31) / 32.0
    rows, columns = rows >> 5, columns >> 5
    if name in ("bilinear", "area"):
        first, down, across = 0, [1 - part_y, part_y], [1 - part_x, part_x]
    else:
        taps = _cubic if name == "bicubic" else _lanczos_grid
        down, across = taps(part_y), taps(part_x)
        first = -(len(down) // 2 - 1)
    extra = (1,) * (img.ndim - 2)
    total = 0.0
    for i, weight_y in enumerate(down, first):
        for j, weight_x in enumerate(across, first):
            weight = (weight_y * weight_x).reshape(*rows.shape, *extra)
            total = total + weight * _pick(img, rows + i, columns + j, fill)
    if img.dtype == np.uint8:  # halves go up, not to even
        total = np.floor(total + 0.5)
    return _round_to(total, img.dtype)


def _lanczos_grid(part):
    return list(_lanczos(part.reshape(1, -1)).reshape(8, *part.shape))
