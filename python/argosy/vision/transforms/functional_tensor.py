"""Image functions on tensors [C, H, W] (or [H, W, C] where there is a data_format)."""

import math
import numbers

from argosy import tensor
from argosy._beside import beside
from argosy.tensor import concat, is_floating_point, linspace, ones, stack

from ...nn import functional as F
from . import _arguments


def _check(img, data_format):
    if img.ndim not in (3, 4) or data_format.lower() not in ("chw", "hwc"):
        raise RuntimeError(
            "[transforms] img: expected 3 or 4 dimensions and data_format 'CHW' or 'HWC', "
            f"got shape {list(img.shape)} and {data_format!r}. Do this: reshape it, or name "
            "its format."
        )


def _first(data_format):
    return data_format.lower() == "chw"


def image_size(img, data_format="CHW"):
    """(width, height) of an image tensor."""
    _check(img, data_format)
    shape = img.shape[-2:] if _first(data_format) else img.shape[-3:-1]
    return shape[1], shape[0]


def to_tensor(img, data_format="CHW"):
    return img if data_format == "CHW" else img.transpose([1, 2, 0])


@beside
def normalize(img, mean, std, data_format="CHW"):
    _check(img, data_format)
    mean, std = tensor.to_tensor(mean), tensor.to_tensor(std)
    if _first(data_format):
        mean, std = mean.reshape([-1, 1, 1]), std.reshape([-1, 1, 1])
    return (img - mean) / std


def resize(img, size, interpolation="bilinear", data_format="CHW"):
    width, height = image_size(img, data_format)
    new_height, new_width = _arguments.output_size(size, width, height)
    if isinstance(size, int) and (new_height, new_width) == (height, width):
        return img
    batch = img.unsqueeze(0)
    layout = "N" + data_format.upper()
    mode = interpolation.lower()
    size = (new_height, new_width)
    return F.interpolate(batch, size=size, mode=mode, data_format=layout).squeeze(0)


def pad(img, padding, fill=0, padding_mode="constant", data_format="CHW"):
    _check(img, data_format)
    left, top, right, bottom = _arguments.pad_sides(padding, fill, padding_mode)
    if padding_mode == "symmetric":
        raise ValueError(
            "[pad] padding_mode 'symmetric' is not supported for tensors: expected 'constant', "
            "'edge' or 'reflect'. Do this: pad the NumPy array or PIL image."
        )
    mode = "replicate" if padding_mode == "edge" else padding_mode
    sides, layout = [left, right, top, bottom], "N" + data_format
    batch = img.unsqueeze(0)
    return F.pad(batch, sides, mode=mode, value=float(fill), data_format=layout).squeeze(0)


def crop(img, top, left, height, width, data_format="CHW"):
    _check(img, data_format)
    if _first(data_format):
        return img[..., top : top + height, left : left + width]
    return img[..., top : top + height, left : left + width, :]


def center_crop(img, output_size, data_format="CHW"):
    width, height = image_size(img, data_format)
    new_height, new_width = _arguments.pair(output_size)
    top = int(round((height - new_height) / 2.0))
    left = int(round((width - new_width) / 2.0))
    return crop(img, top, left, new_height, new_width, data_format)


def hflip(img, data_format="CHW"):
    _check(img, data_format)
    return img.flip(axis=[-1 if _first(data_format) else -2])


def vflip(img, data_format="CHW"):
    _check(img, data_format)
    return img.flip(axis=[-2 if _first(data_format) else -3])


def erase(img, i, j, h, w, v, inplace=False):
    _check(img, "CHW")
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


@beside
def to_grayscale(img, num_output_channels=1, data_format="CHW"):
    _check(img, data_format)
    count = _arguments.gray_channels(num_output_channels)
    axis = -3 if _first(data_format) else -1
    weights = tensor.to_tensor([0.2989, 0.587, 0.114]).astype(img.dtype)
    if axis == -3:
        weights = weights.reshape([-1, 1, 1])
    gray = (img * weights).sum(axis=axis, keepdim=True)
    shape = list(gray.shape)
    shape[axis] = count
    return gray.expand(shape)


def _mix(img, other, factor):
    """factor * img + (1 - factor) * other, within the range of the image's dtype."""
    dtype = img.dtype if is_floating_point(img) else "float32"
    top = 1.0 if is_floating_point(img) else 255.0
    other = other.astype(dtype)
    mixed = other + float(factor) * (img.astype(dtype) - other)
    return mixed.clip(0, top).astype(img.dtype)


def _not_negative(name, factor):
    assert factor >= 0, f"[{name}] expected a factor >= 0, got {factor}."


def _channels(img):
    _check(img, "CHW")
    count = img.shape[-3]
    if count not in (1, 3):
        raise ValueError(
            f"[transforms] img: expected 1 or 3 channels, got {count}. Do this: check data_format."
        )
    return count


def adjust_brightness(img, brightness_factor):
    _check(img, "CHW")
    _not_negative("adjust_brightness", brightness_factor)
    return _mix(img, img * 0, brightness_factor)


def adjust_contrast(img, contrast_factor):
    _not_negative("adjust_contrast", contrast_factor)
    gray = img if _channels(img) == 1 else to_grayscale(img)
    dtype = img.dtype if is_floating_point(img) else "float32"
    mean = gray.astype(dtype).mean(axis=[-3, -2, -1], keepdim=True)
    return _mix(img, mean, contrast_factor)


def adjust_saturation(img, saturation_factor):
    _not_negative("adjust_saturation", saturation_factor)
    if _channels(img) == 1:
        return img
    return _mix(img, to_grayscale(img), saturation_factor)


def adjust_hue(img, hue_factor):
    _arguments.hue_shift(hue_factor)
    if _channels(img) == 1:
        return img
    pixels = img if is_floating_point(img) else img.astype("float32") / 255.0
    hue, saturation, value = _to_hsv(pixels)
    hue = hue + hue_factor
    result = _from_hsv(hue - hue.floor(), saturation, value)
    return result if is_floating_point(img) else (result * 255.0).astype(img.dtype)


def _to_hsv(img):
    red, green, blue = img.unbind(axis=-3)
    value, least = img.max(axis=-3), img.min(axis=-3)
    spread = value - least
    flat = spread == 0
    # Where a denominator is 0 any number will do: its factor is 0.
    saturation = spread / (value + (value == 0).astype(value.dtype))
    divisor = spread + flat.astype(spread.dtype)
    red_most = (value == red).astype(img.dtype)
    green_most = (value == green).astype(img.dtype) * (1 - red_most)
    blue_most = (1 - red_most) * (1 - green_most)
    red, green, blue = ((value - channel) / divisor for channel in (red, green, blue))
    sixths = (
        red_most * (blue - green)
        + green_most * (red - blue + 2.0)
        + blue_most * (green - red + 4.0)
    )
    hue = sixths / 6.0 + 1.0
    return hue - hue.floor(), saturation, value


def _from_hsv(hue, saturation, value):
    sixths = hue * 6.0
    sector = sixths.floor()
    part = sixths - sector
    low = (value * (1.0 - saturation)).clip(0.0, 1.0)
    down = (value * (1.0 - saturation * part)).clip(0.0, 1.0)
    up = (value * (1.0 - saturation * (1.0 - part))).clip(0.0, 1.0)
    by_sector = [
        (value, up, low),
        (down, value, low),
        (low, value, up),
        (low, down, value),
        (up, low, value),
        (value, low, down),
    ]
    result = 0.0
    for i, channels in enumerate(by_sector):
        chosen = (sector == float(i)).astype(value.dtype).unsqueeze(-3)
        result = result + chosen * stack(list(channels), axis=-3)
    return result


# Warping: for each pixel of the result, its place in the image in [-1, 1], then grid_sample.


def _pixel_grid(width, height, first_x, first_y):
    x = linspace(first_x, first_x + width - 1, width).unsqueeze(0).expand([height, width])
    y = linspace(first_y, first_y + height - 1, height).unsqueeze(1).expand([height, width])
    return stack([x, y, ones([height, width])], axis=-1).reshape([1, height * width, 3])


@beside
def _sample(img, grid, interpolation, fill):
    batch = img.unsqueeze(0) if img.ndim == 3 else img
    count = batch.shape[0]
    if count > 1:
        grid = grid.expand([count, *grid.shape[1:]])
    # A channel of ones beside the image tells where the result lies outside it.
    marked = concat([batch, ones([count, 1, *batch.shape[2:]], dtype=batch.dtype)], axis=1)
    marked = F.grid_sample(
        marked, grid, mode=interpolation, padding_mode="zeros", align_corners=False
    )
    result, inside = marked[:, :-1], marked[:, -1:]
    if interpolation == "nearest":
        inside = (inside >= 0.5).astype(result.dtype)
    values = [fill] if isinstance(fill, numbers.Number) else list(fill)
    outside = tensor.to_tensor([float(value) for value in values]).astype(result.dtype)
    result = result * inside + (1.0 - inside) * outside.reshape([1, -1, 1, 1])
    return result.squeeze(0) if img.ndim == 3 else result


@beside
def _affine_sample(img, matrix, new_width, new_height, interpolation, fill):
    width, height = image_size(img)
    theta = tensor.to_tensor(matrix, dtype="float32").reshape([1, 2, 3]).transpose([0, 2, 1])
    theta = theta / tensor.to_tensor([0.5 * width, 0.5 * height])
    pixels = _pixel_grid(new_width, new_height, 0.5 - new_width * 0.5, 0.5 - new_height * 0.5)
    grid = pixels.bmm(theta).reshape([1, new_height, new_width, 2])
    return _sample(img, grid, interpolation, fill)


def affine(img, matrix, interpolation="nearest", fill=0):
    width, height = image_size(img)
    return _affine_sample(img, matrix, width, height, interpolation, fill)


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    width, height = image_size(img)
    turn = math.radians(-angle % 360)
    cos, sin = math.cos(turn), math.sin(turn)
    x, y = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = [cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y]
    new_width, new_height = width, height
    if expand:
        corners = [(sx * width * 0.5, sy * height * 0.5) for sx in (-1, 1) for sy in (-1, 1)]
        # Rounded, so that quarter turns give whole sizes.
        xs = [round(matrix[0] * cx + matrix[1] * cy + matrix[2], 5) for cx, cy in corners]
        ys = [round(matrix[3] * cx + matrix[4] * cy + matrix[5], 5) for cx, cy in corners]
        new_width = math.ceil(max(xs)) - math.floor(min(xs))
        new_height = math.ceil(max(ys)) - math.floor(min(ys))
    return _affine_sample(img, matrix, new_width, new_height, interpolation, fill)


@beside
def perspective(img, coeffs, interpolation="nearest", fill=0):
    width, height = image_size(img)
    coeffs = [float(value) for value in coeffs]
    pixels = _pixel_grid(width, height, 0.5, 0.5)
    plane = tensor.to_tensor(coeffs[:6], dtype="float32").reshape([1, 2, 3]).transpose([0, 2, 1])
    plane = plane / tensor.to_tensor([0.5 * width, 0.5 * height])
    depth = tensor.to_tensor([*coeffs[6:], 1.0], dtype="float32").reshape([1, 3, 1])
    grid = pixels.bmm(plane) / pixels.bmm(depth) - 1.0
    return _sample(img, grid.reshape([1, height, width, 2]), interpolation, fill)
