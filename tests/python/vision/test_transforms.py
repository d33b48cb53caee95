"""Transforms: arrays against OpenCV's results, PIL against Pillow, tensors against both."""

import json
import pathlib
import random

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import argosy
from argosy.vision import transforms as T
from argosy.vision.transforms import functional as F

# Results of OpenCV 4.10 for IMAGE, one channel of each.
OPENCV = json.loads((pathlib.Path(__file__).parent / "opencv_results.json").read_text())
IMAGE = (np.arange(5 * 6 * 3) * 37 % 251).astype(np.uint8).reshape(5, 6, 3)
PICTURE = Image.fromarray(IMAGE)


def tensor(image=IMAGE, dtype="float32"):
    return argosy.to_tensor(np.ascontiguousarray(image.transpose(2, 0, 1))).astype(dtype)


def near(found, wanted, limit=0):
    difference = np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64))
    assert found.shape == np.shape(wanted) and difference.max() <= limit, difference


# Arrays.


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "area", "lanczos"])
@pytest.mark.parametrize("height, width", [(8, 7), (3, 4)])
def test_resize_of_arrays(interpolation, height, width):
    found = F.resize(IMAGE, (height, width), interpolation)
    limit = 0 if interpolation == "nearest" else 1
    near(found[..., 1], OPENCV[f"{interpolation} {height} {width}"], limit)
    gray = F.resize(IMAGE[..., 1], (height, width), interpolation)
    near(gray, found[..., 1])
    assert F.resize(IMAGE[..., :1], (height, width), interpolation).shape == (height, width, 1)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_rotate_and_perspective_of_arrays(interpolation):
    found = F.rotate(IMAGE, 30, interpolation, center=(3.0, 2.5), fill=9)
    near(found[..., 0], OPENCV[f"rotate {interpolation}"])
    start, end = [[0, 0], [5, 0], [5, 4], [0, 4]], [[1, 0], [5, 1], [4, 4], [0, 3]]
    found = F.perspective(IMAGE, start, end, interpolation, fill=9)
    near(found[..., 0], OPENCV[f"perspective {interpolation}"])


def test_colours_of_arrays():
    near(F.to_grayscale(IMAGE)[..., 0], OPENCV["gray"])
    near(F.adjust_hue(IMAGE, 0.3)[..., 0], OPENCV["hue"], 1)
    near(F.adjust_brightness(IMAGE, 1.5), np.minimum(IMAGE * 1.5, 255).astype(np.uint8))
    near(F.adjust_contrast(IMAGE, 0.5), ((IMAGE.astype(float) - 74) * 0.5 + 74).astype(np.uint8))
    near(F.adjust_saturation(IMAGE, 1.0), IMAGE)
    assert F.to_grayscale(IMAGE, 3).shape == IMAGE.shape


def test_quarter_turns_are_exact():
    square = IMAGE[:, :5]
    near(np.asarray(F.rotate(PICTURE, 90, expand=True)), np.rot90(IMAGE))
    turned = F.rotate(tensor(square), 90)
    near(turned.numpy(), np.rot90(square).transpose(2, 0, 1))
    assert F.rotate(IMAGE[:4], 90, expand=True).shape == (6, 4, 3)
    assert F.rotate(tensor(IMAGE[:4]), 90, expand=True).shape == [3, 6, 4]


# PIL.


def test_pictures_are_computed_by_pillow():
    assert F.resize(PICTURE, (8, 7)) == PICTURE.resize((7, 8), Image.BILINEAR)
    assert F.resize(PICTURE, 3).size == (3, 3) and F.resize(PICTURE, 5) is PICTURE
    assert F.adjust_brightness(PICTURE, 1.5) == ImageEnhance.Brightness(PICTURE).enhance(1.5)
    assert F.adjust_contrast(PICTURE, 1.5) == ImageEnhance.Contrast(PICTURE).enhance(1.5)
    assert F.adjust_saturation(PICTURE, 1.5) == ImageEnhance.Color(PICTURE).enhance(1.5)
    assert F.to_grayscale(PICTURE) == PICTURE.convert("L")
    assert F.adjust_hue(PICTURE, 0.0).size == PICTURE.size
    near(np.asarray(F.crop(PICTURE, 1, 2, 3, 3)), IMAGE[1:4, 2:5])
    near(np.asarray(F.erase(PICTURE, 0, 1, 2, 3, 7))[:2, 1:4], np.full((2, 3, 3), 7))


# All kinds.


def as_array(image):
    if isinstance(image, argosy.Tensor):
        return image.numpy().transpose(1, 2, 0)
    return np.asarray(image)


@pytest.mark.parametrize("image", [IMAGE, PICTURE, tensor()], ids=["array", "picture", "tensor"])
@pytest.mark.parametrize(
    "function, wanted",
    [
        (F.hflip, IMAGE[:, ::-1]),
        (F.vflip, IMAGE[::-1]),
        (lambda x: F.crop(x, 1, 2, 3, 4), IMAGE[1:4, 2:6]),
        (lambda x: F.center_crop(x, (3, 2)), IMAGE[1:4, 2:4]),
        (lambda x: F.center_crop(x, 3), IMAGE[1:4, 2:5]),
        (lambda x: F.pad(x, 1), np.pad(IMAGE, ((1, 1), (1, 1), (0, 0)))),
        (lambda x: F.pad(x, (1, 2)), np.pad(IMAGE, ((2, 2), (1, 1), (0, 0)))),
        (
            lambda x: F.pad(x, (1, 2, 3, 4), padding_mode="reflect"),
            np.pad(IMAGE, ((2, 4), (1, 3), (0, 0)), "reflect"),
        ),
        (
            lambda x: F.pad(x, 2, padding_mode="edge"),
            np.pad(IMAGE, ((2, 2), (2, 2), (0, 0)), "edge"),
        ),
    ],
)
def test_places(image, function, wanted):
    near(as_array(function(image)), wanted)


def test_to_tensor():
    wanted = IMAGE.transpose(2, 0, 1) / np.float32(255)
    for image in (IMAGE, PICTURE):
        found = F.to_tensor(image)
        assert found.dtype == argosy.float32 and found.shape == [3, 5, 6]
        near(found.numpy(), wanted, 1e-7)
        assert F.to_tensor(image, "HWC").shape == [5, 6, 3]
    assert F.to_tensor(IMAGE[..., 0]).shape == [1, 5, 6]
    near(F.to_tensor(IMAGE.astype(np.float32)).numpy(), IMAGE.transpose(2, 0, 1))
    assert F.to_tensor(PICTURE.convert("I")).dtype == argosy.int32
    assert F.to_tensor(PICTURE.convert("1")).max().item() == 1.0
    with pytest.raises(TypeError, match=r"\[to_tensor\] expected a PIL image.*got list"):
        F.to_tensor([1, 2])
    with pytest.raises(ValueError, match="data_format: expected one of CHW, HWC, got 'XYZ'"):
        F.to_tensor(IMAGE, "XYZ")


def test_normalize():
    mean, std = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    wanted = (IMAGE - np.array(mean)) / np.array(std)
    near(F.normalize(IMAGE, mean, std, "HWC"), wanted, 1e-5)
    near(F.normalize(PICTURE, mean, std, "HWC"), wanted, 1e-5)
    near(F.normalize(tensor(), mean, std).numpy(), wanted.transpose(2, 0, 1), 1e-5)
    assert T.Normalize(1.0, 2.0)(IMAGE.transpose(2, 0, 1)).dtype == np.float32


def test_tensors_and_arrays_agree():
    image = (IMAGE / 255.0).astype(np.float32)
    for size in ((8, 7), (4, 3)):
        found = as_array(F.resize(tensor(image), size, "bilinear"))
        near(found, F.resize(image, size, "bilinear"), 1e-5)
    gray = F.to_grayscale(tensor(image))
    assert gray.shape == [1, 5, 6]
    near(gray.numpy()[0], image @ np.array([0.2989, 0.587, 0.114]), 1e-5)
    near(as_array(F.adjust_hue(tensor(image), 0.0)), image, 1e-5)
    red = tensor(np.tile(np.float32([1, 0, 0]), (2, 2, 1)))
    near(F.adjust_hue(red, 1 / 3).numpy()[:, 0, 0], [0, 1, 0], 1e-5)


def test_affine_of_a_grey_tensor_keeps_its_channel():
    assert list(F.affine(tensor()[:1], 0.0, [1, 2], 1.0, 0.0).shape) == [1, *tensor().shape[1:]]


def test_affine_moves():
    moved = F.affine(tensor(), 0.0, [1, 2], 1.0, 0.0)
    near(as_array(moved)[2:, 1:], IMAGE[:-2, :-1])
    assert as_array(moved)[:2].max() == 0
    near(np.asarray(F.affine(PICTURE, 0.0, [1, 2], 1.0, 0.0))[2:, 1:], IMAGE[:-2, :-1])


# Classes.


def test_random_transforms_repeat_with_the_seed():
    transforms = [
        T.RandomCrop(3),
        T.RandomCrop(4, padding=2),
        T.RandomHorizontalFlip(),
        T.RandomVerticalFlip(),
        T.RandomResizedCrop(4),
        T.ColorJitter(0.4, 0.4, 0.4, 0.4),
        T.RandomRotation(30),
        T.RandomAffine(20, [0.1, 0.1], [0.8, 1.2], 5),
        T.RandomPerspective(1.0),
        T.RandomErasing(1.0),
    ]
    for transform in transforms:
        found = []
        for _ in range(2):
            random.seed(3)
            np.random.seed(3)
            found.append(np.asarray(transform(PICTURE)))
        near(*found)


def test_random_crop_reaches_every_place_and_no_other():
    random.seed(0)
    found = {tuple(np.asarray(T.RandomCrop((4, 4))(IMAGE))[0, 0]) for _ in range(200)}
    assert found == {tuple(IMAGE[i, j]) for i in range(2) for j in range(3)}
    with pytest.raises(ValueError, match="pad_if_needed=True"):
        T.RandomCrop(9)(IMAGE)


def test_flips_follow_their_probability():
    assert T.RandomHorizontalFlip(0.0)(IMAGE) is IMAGE
    near(T.RandomHorizontalFlip(1.0)(IMAGE), IMAGE[:, ::-1])
    near(T.RandomVerticalFlip(1.0)(IMAGE), IMAGE[::-1])


def test_random_erasing_fills_one_rectangle():
    np.random.seed(1)
    image = np.full((20, 20, 3), 9, np.uint8)
    found = T.RandomErasing(1.0, value=(1, 2, 3))(image)
    rows, columns = np.nonzero(found[..., 0] == 1)
    block = found[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert len(rows) == block[..., 0].size and (block == [1, 2, 3]).all()
    assert image.min() == 9  # inplace=False


def test_compose_keys_and_own_transforms(capsys):
    class Twice(T.BaseTransform):
        def _get_params(self, inputs):
            return len(inputs)

        def _apply_image(self, image):
            return image * 2

        def _apply_mask(self, mask):
            return mask + self.params

    both = Twice(keys=("image", "mask"))
    assert both((1, 2, "rest")) == (2, 5, "rest")
    assert Twice()(4) == 8
    chain = T.Compose([T.Resize((4, 4)), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
    assert chain(PICTURE).shape == [3, 4, 4] and "Resize" in repr(chain)
    with pytest.raises(NotImplementedError, match="_apply_boxxes"):
        Twice(keys=["boxxes"])
    with pytest.raises(TypeError):
        T.Compose([T.Resize(3)])("no image")
    assert "fail to perform transform" in capsys.readouterr().out


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: T.Resize((1, 2, 3)), AssertionError),
        (lambda: T.Pad((1, 2, 3)), ValueError),
        (lambda: T.Pad(1, padding_mode="wrap"), AssertionError),
        (lambda: T.RandomRotation(-1), ValueError),
        (lambda: T.RandomRotation((1, 2, 3)), ValueError),
        (lambda: T.RandomAffine(-3), ValueError),
        (lambda: T.RandomAffine(3, translate=[2, 3]), ValueError),
        (lambda: T.RandomAffine(3, scale=[0, 1]), ValueError),
        (lambda: T.RandomAffine(3, shear=(1, 2, 3)), ValueError),
        (lambda: T.RandomHorizontalFlip(3), AssertionError),
        (lambda: T.RandomErasing(value="x"), ValueError),
        (lambda: T.BrightnessTransform(-1), ValueError),
        (lambda: T.HueTransform((-1, 1)), ValueError),
        (lambda: T.ContrastTransform("a"), TypeError),
        (lambda: T.BaseTransform(keys=3), ValueError),
        (lambda: F.resize(IMAGE, "x"), TypeError),
        (lambda: F.resize(IMAGE, 3, "foo"), KeyError),
        (lambda: F.resize(IMAGE.astype(np.int32), (3, 3)), TypeError),
        (lambda: F.adjust_hue(IMAGE, 0.6), ValueError),
        (lambda: F.to_grayscale(IMAGE, 2), ValueError),
        (lambda: F.affine(IMAGE, "a", [0, 0], 1.0, 0), TypeError),
        (lambda: F.affine(IMAGE, 0, [0, 0], -1.0, 0), ValueError),
        (lambda: F.pad(tensor(), 1, padding_mode="symmetric"), ValueError),
    ],
)
def test_mistakes_are_refused(make, kind):
    with pytest.raises(kind):
        make()


def test_importing_vision_does_not_import_pillow():
    import subprocess
    import sys

    code = "import sys, argosy.vision; print('PIL' in sys.modules, 'argosy.vision.models' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
