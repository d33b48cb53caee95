"""Image functions on PIL images. Pillow is imported at the first call."""

import numpy as np

from argosy._support import no_effect
from argosy.tensor import to_tensor as _to_tensor

from . import _arguments


def _image():
    from PIL import Image

    return Image


def _resampling(interpolation):
    image = _image()
    codes = {
        "nearest": image.NEAREST,
        "bilinear": image.BILINEAR,
        "bicubic": image.BICUBIC,
        "box": image.BOX,
        "lanczos": image.LANCZOS,
        "hamming": image.HAMMING,
    }
    return _arguments.interpolation_code(codes, interpolation)


def to_tensor(pic, data_format="CHW"):
    kinds = {"I": np.int32, "I;16": np.int16, "F": np.float32}
    array = np.array(pic, kinds.get(pic.mode, np.uint8))
    if pic.mode == "1":
        array = array * 255
    if array.ndim == 2:
        array = array[:, :, None]
    if data_format == "CHW":
        array = np.ascontiguousarray(array.transpose(2, 0, 1))
    tensor = _to_tensor(array)
    return tensor.astype("float32") / 255.0 if array.dtype == np.uint8 else tensor


def resize(img, size, interpolation="bilinear"):
    height, width = _arguments.output_size(size, *img.size)
    if isinstance(size, int) and (width, height) == img.size:
        return img
    return img.resize((width, height), _resampling(interpolation))


def pad(img, padding, fill=0, padding_mode="constant"):
    from PIL import ImageOps

    left, top, right, bottom = _arguments.pad_sides(padding, fill, padding_mode)
    palette = img.getpalette() if img.mode == "P" else None
    if padding_mode == "constant":
        result = ImageOps.expand(img, border=(left, top, right, bottom), fill=fill)
    else:
        array = np.asarray(img)
        widths = [(top, bottom), (left, right), (0, 0)][: array.ndim]
        result = _image().fromarray(np.pad(array, widths, padding_mode))
    if palette is not None:
        result.putpalette(palette)
    return result


def crop(img, top, left, height, width):
    return img.crop((left, top, left + width, top + height))


def center_crop(img, output_size):
    height, width = _arguments.pair(output_size)
    left = int(round((img.size[0] - width) / 2.0))
    top = int(round((img.size[1] - height) / 2.0))
    return crop(img, top, left, height, width)


def hflip(img):
    return img.transpose(_image().FLIP_LEFT_RIGHT)


def vflip(img):
    return img.transpose(_image().FLIP_TOP_BOTTOM)


def _enhance(kind, img, factor):
    from PIL import ImageEnhance

    return getattr(ImageEnhance, kind)(img).enhance(factor)


def adjust_brightness(img, brightness_factor):
    return _enhance("Brightness", img, brightness_factor)


def adjust_contrast(img, contrast_factor):
    return _enhance("Contrast", img, contrast_factor)


def adjust_saturation(img, saturation_factor):
    return _enhance("Color", img, saturation_factor)


def adjust_hue(img, hue_factor):
    shift = _arguments.hue_shift(hue_factor)
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = (np.array(hue, np.int16) + shift) % 256
    hue = _image().fromarray(turned.astype(np.uint8))
    return _image().merge("HSV", (hue, saturation, value)).convert(img.mode)


def affine(img, matrix, interpolation="nearest", fill=0):
    method, outside = _resampling(interpolation), _of_bands(img, fill)
    return img.transform(img.size, _image().AFFINE, matrix, method, fillcolor=outside)


def _of_bands(img, fill):
    """fill, the value outside of the image, for each of its bands."""
    bands = len(img.getbands())
    if isinstance(fill, (list, tuple)):
        return tuple(int(v) for v in fill) if len(fill) > 1 else _of_bands(img, fill[0])
    return int(fill) if bands == 1 else (int(fill),) * bands


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    outside = _of_bands(img, fill)
    return img.rotate(angle, _resampling(interpolation), expand, center, fillcolor=outside)


def perspective(img, coeffs, interpolation="nearest", fill=0):
    method, outside = _resampling(interpolation), _of_bands(img, fill)
    return img.transform(img.size, _image().PERSPECTIVE, coeffs, method, fillcolor=outside)


def to_grayscale(img, num_output_channels=1):
    gray = img.convert("L")
    if _arguments.gray_channels(num_output_channels) == 1:
        return gray
    return _image().merge("RGB", (gray, gray, gray))


def erase(img, i, j, h, w, v, inplace=False):
    no_effect("transforms.erase", "a PIL image is copied", inplace=(inplace, False))
    array = np.array(img, np.uint8)
    array[i : i + h, j : j + w, ...] = v
    return _image().fromarray(array)
