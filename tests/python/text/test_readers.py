"""Readers at the old address argosy.dataset, from small files in the folder for data sets."""

import gzip
import io
import itertools
import pickle
import re
import struct
import tarfile

import numpy as np
import pytest

import argosy
from argosy import dataset


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder for data sets: files in folders of it are found without arguments."""
    monkeypatch.setenv("ARGOSY_DATA_HOME", str(tmp_path))
    return tmp_path


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def write_tar(path, files):
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("part, reader", [("train", "train"), ("t10k", "test")])
def test_mnist(home, part, reader):
    images = np.random.RandomState(0).randint(0, 256, (3, 28, 28), "uint8")
    head = struct.pack(">BBBB3I", 0, 0, 8, 3, *images.shape)
    write(home / "mnist" / f"{part}-images-idx3-ubyte.gz", gzip.compress(head + images.tobytes()))
    labels = struct.pack(">BBBBI", 0, 0, 8, 1, 3) + bytes([7, 0, 9])
    write(home / "mnist" / f"{part}-labels-idx1-ubyte.gz", gzip.compress(labels))
    read = getattr(dataset.mnist, reader)()
    for _ in range(2):
        pixels, digits = zip(*read(), strict=True)
        assert digits == (7, 0, 9) and type(digits[0]) is int
        assert pixels[0].dtype == np.float32
        np.testing.assert_allclose(pixels, images.reshape(3, 784) / 127.5 - 1, atol=1e-6)
    batch = next(argosy.batch(read, 2)())
    assert len(batch) == 2 and batch[1][1] == 0


def test_cifar(home):
    pixels = np.random.RandomState(0).randint(0, 256, (2, 3072), "uint8")
    for name, parts, labels in (
        ("10", ("data_batch_1", "test_batch"), b"labels"),
        ("100", ("train", "test"), b"fine_labels"),
    ):
        batches = {
            part: pickle.dumps({b"data": pixels + k, labels: [5, k]}, protocol=2)
            for k, part in enumerate(parts)
        }
        write_tar(home / "cifar" / f"cifar-{name}-python.tar.gz", batches)
    readers = (
        (dataset.cifar.train10(), 0),
        (dataset.cifar.test10(), 1),
        (dataset.cifar.train100(), 0),
        (dataset.cifar.test100(), 1),
    )
    for read, k in readers:
        first, second = read()
        assert first[1] == 5 and second[1] == k and first[0].dtype == np.float32
        np.testing.assert_array_equal(second[0], ((pixels + k)[1] / 255.0).astype("float32"))
    around = itertools.islice(dataset.cifar.train10(cycle=True)(), 5)
    assert [label for _, label in around] == [5, 0, 5, 0, 5]


def test_uci_housing(home):
    table = np.random.RandomState(0).rand(10, 14) * 50
    write(
        home / "uci_housing" / "housing.data",
        b"\n".join(b" ".join(b"%.17g" % v for v in r) for r in table),
    )
    x = table[:, :13]
    x = (x - x.mean(0)) / (x.max(0) - x.min(0))
    for read, rows in (
        (dataset.uci_housing.train(), slice(8)),
        (dataset.uci_housing.test(), slice(8, 10)),
    ):
        features, prices = zip(*read(), strict=True)
        np.testing.assert_allclose(features, x[rows], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(prices, table[rows, 13:])
    (one,) = dataset.uci_housing.predict_reader()
    np.testing.assert_allclose(one, x[8], rtol=1e-12, atol=1e-12)
    assert len(dataset.uci_housing.feature_names) == 13


def test_imdb(home):
    files = {
        "aclImdb/train/neg/1.txt": b"bad film",
        "aclImdb/train/pos/0.txt": b"Good, good film!\n",
        "aclImdb/test/pos/2.txt": b"good " + b"film " * 150,
        "aclImdb/test/neg/3.txt": b"a bad, bad film",
        "aclImdb/train/unsup/4.txt": b"bad " * 200,
    }
    write_tar(home / "imdb" / "aclImdb_v1.tar.gz", files)
    assert dataset.imdb.word_dict() == {b"film": 0, "<unk>": 1}
    numbers = dataset.imdb.build_dict(re.compile(r"aclImdb/t\w+/(pos|neg)/.*\.txt$"), 1)
    assert numbers == {b"film": 0, b"bad": 1, b"good": 2, "<unk>": 3}
    assert list(dataset.imdb.train(numbers)()) == [([2, 2, 0], 0), ([1, 0], 1)]
    read = dataset.imdb.test(numbers)
    assert list(read())[1] == ([3, 1, 1, 0], 1) and len(list(read())) == 2
    with pytest.raises(ValueError, match="no word occurs more than 150 times"):
        dataset.imdb.build_dict(re.compile("aclImdb/train/pos"), 150)


def test_nothing_is_downloaded(home):
    for reader in (dataset.mnist.train, dataset.cifar.train10, dataset.imdb.word_dict):
        with pytest.raises(FileNotFoundError, match="downloads nothing at run time.*Do this"):
            reader()


def test_images(tmp_path):
    from PIL import Image

    rng = np.random.RandomState(0)
    image = rng.randint(0, 256, (9, 6, 3), "uint8")
    path = str(tmp_path / "x.png")
    Image.fromarray(image[..., ::-1]).save(path)  # (red is first in a file)
    loaded = dataset.image.load_image(path)
    np.testing.assert_array_equal(loaded, image)
    np.testing.assert_array_equal(
        dataset.image.load_image_bytes((tmp_path / "x.png").read_bytes()), image
    )
    assert dataset.image.load_image(path, is_color=False).shape == (9, 6)
    small = dataset.image.resize_short(image, 4)
    assert small.shape == (6, 4, 3) and small.dtype == np.uint8
    assert dataset.image.resize_short(image.transpose(1, 0, 2), 4).shape == (4, 6, 3)
    np.testing.assert_array_equal(dataset.image.resize_short(image, 6), image)
    np.testing.assert_array_equal(dataset.image.center_crop(image, 4), image[2:6, 1:5])
    np.testing.assert_array_equal(dataset.image.left_right_flip(image), image[:, ::-1])
    np.testing.assert_array_equal(dataset.image.to_chw(image), image.transpose(2, 0, 1))
    places = {
        (dataset.image.random_crop(np.arange(12).reshape(4, 3), 2, is_color=False))[0, 0]
        for _ in range(200)
    }
    assert places == {0, 1, 3, 4, 6, 7}
    got = dataset.image.load_and_transform(path, 6, 4, is_train=False, mean=[1.0, 2.0, 3.0])
    want = image[2:6, 1:5].transpose(2, 0, 1).astype("float32") - np.reshape([1, 2, 3], (3, 1, 1))
    np.testing.assert_array_equal(got, want)
    whole = np.full((3, 4, 4), 2, "float32")
    got = dataset.image.simple_transform(image, 6, 4, is_train=True, mean=whole)
    assert got.shape == (3, 4, 4) and got.dtype == np.float32
    with pytest.raises(ValueError, match=r"\[center_crop\] size: expected at most 6"):
        dataset.image.center_crop(image, 7)
    with pytest.raises(ValueError, match=r"\[random_crop\] im: expected \[H, W, C\], got \[9, 6\]"):
        dataset.image.random_crop(image[..., 0], 2)
    with pytest.raises(AssertionError, match="expected 3 dimensions, got 2"):
        dataset.image.to_chw(image[..., 0])
