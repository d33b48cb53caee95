"""Data sets: real formats written small, damaged files, missing files, worker processes."""

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image

import argosy
from argosy.vision import datasets, transforms


def write_idx(path, array, compress=True):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    data = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if compress else data)


@pytest.fixture
def mnist_files(tmp_path):
    images = np.arange(4 * 28 * 28).reshape(4, 28, 28) % 256
    write_idx(tmp_path / "images.gz", images)
    write_idx(tmp_path / "labels.gz", np.array([3, 1, 4, 1]))
    return {"image_path": str(tmp_path / "images.gz"), "label_path": str(tmp_path / "labels.gz")}


def image_bytes(array, kind):
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind)
    return file.getvalue()


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


# MNIST.


def test_mnist_samples(mnist_files):
    data = datasets.MNIST(**mnist_files)
    image, label = data[1]
    assert len(data) == 4 and image.mode == "L" and image.size == (28, 28)
    assert label.tolist() == [1] and label.dtype == np.int64
    pixels, _ = datasets.MNIST(**mnist_files, backend="cv2")[1]
    assert pixels.dtype == np.float32 and pixels.shape == (28, 28)
    np.testing.assert_array_equal(pixels, np.asarray(image))
    changed, _ = datasets.FashionMNIST(**mnist_files, transform=transforms.ToTensor())[0]
    assert changed.shape == [1, 28, 28]


def test_mnist_without_compression(tmp_path, mnist_files):
    write_idx(tmp_path / "plain", np.zeros((4, 28, 28)), compress=False)
    data = datasets.MNIST(str(tmp_path / "plain"), mnist_files["label_path"])
    assert len(data) == 4


def test_mnist_through_worker_processes(mnist_files):
    data = datasets.MNIST(**mnist_files, transform=transforms.ToTensor())
    batches = list(argosy.io.DataLoader(data, batch_size=3, num_workers=2))
    assert [images.shape for images, _ in batches] == [[3, 1, 28, 28], [1, 1, 28, 28]]
    assert [label for _, labels in batches for label in labels.reshape([-1]).tolist()] == [
        3,
        1,
        4,
        1,
    ]


@pytest.mark.parametrize(
    "damage, text",
    [
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda data: b"hello", "no IDX file"),
        (lambda data: gzip.compress(gzip.decompress(data)[:-5]), "its header says"),
        (lambda data: gzip.compress(b"\0\0\x0d\x01" + bytes(8)), "no IDX file of bytes"),
        (lambda data: gzip.compress(gzip.decompress(data)[:-1][:1000]), "its header says"),
        (lambda data: b"", "no IDX file"),
    ],
)
def test_mnist_damaged(mnist_files, tmp_path, damage, text):
    path = tmp_path / "images.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"images\.gz.*{text}"):
        datasets.MNIST(**mnist_files)


def test_mnist_files_of_two_sets(mnist_files, tmp_path):
    write_idx(tmp_path / "few.gz", np.array([1]))
    with pytest.raises(ValueError, match=r"do not belong together.*\[4, 28, 28\].*\[1\]"):
        datasets.MNIST(mnist_files["image_path"], str(tmp_path / "few.gz"))


def test_missing_files_say_where_to_put_them(tmp_path, monkeypatch):
    monkeypatch.setenv("ARGOSY_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"{tmp_path}/mnist/train-images.*downloads nothing"
    ):
        datasets.MNIST()
    with pytest.raises(AssertionError, match="downloads nothing"):
        datasets.MNIST(download=False)
    with pytest.raises(FileNotFoundError, match="no such file: image_path='/nope'"):
        datasets.MNIST(image_path="/nope")
    with pytest.raises(FileNotFoundError, match=r"cifar-10-python\.tar\.gz"):
        datasets.Cifar10()


def test_files_are_found_in_the_data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ARGOSY_DATA_HOME", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    write_idx(tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz", np.zeros((2, 28, 28)))
    write_idx(tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz", np.array([1, 2]))
    assert len(datasets.MNIST(mode="test")) == 2


def test_wrong_arguments():
    with pytest.raises(AssertionError, match="unknown mode"):
        datasets.MNIST(mode="validate")
    with pytest.raises(ValueError, match="backend: expected one of pil, cv2, got 'jax'"):
        datasets.MNIST(backend="jax")


# CIFAR.


def write_cifar(path, batches, labels_name):
    with tarfile.open(path, "w:gz") as archive:
        for name, labels in batches.items():
            images = np.arange(len(labels) * 3072).reshape(-1, 3072).astype(np.uint8)
            add(archive, name, pickle.dumps({b"data": images, labels_name: labels}, 2))


def test_cifar(tmp_path):
    path = tmp_path / "c.tar.gz"
    folder = "cifar-10-batches-py/"
    batches = {"data_batch_2": [3], "data_batch_1": [1, 2], "test_batch": [9]}
    write_cifar(path, {folder + name: labels for name, labels in batches.items()}, b"labels")
    data = datasets.Cifar10(str(path))
    assert [int(label) for _, label in data] == [1, 2, 3]
    image, label = data[0]
    assert image.mode == "RGB" and image.size == (32, 32) and label.shape == ()
    assert image.getpixel((1, 0)) == (1, 1, 1)  # planes of 1,024 bytes each
    array, _ = datasets.Cifar10(str(path), mode="test", backend="cv2")[0]
    assert array.shape == (32, 32, 3) and array.dtype == np.float32
    write_cifar(
        path, {"cifar-100-python/train": [7, 8], "cifar-100-python/test": [1]}, b"fine_labels"
    )
    assert [int(label) for _, label in datasets.Cifar100(str(path))] == [7, 8]


def test_cifar_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "witness"), "w"))

    path = tmp_path / "c.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "x/data_batch_1", pickle.dumps({b"data": Evil()}, 2))
    with pytest.raises(ValueError, match="open"):
        datasets.Cifar10(str(path))
    assert not (tmp_path / "witness").exists()
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "x/data_batch_1", pickle.dumps({"data": range(10**12), "labels": [1]}, 4))
    with pytest.raises(ValueError, match=r"\[Cifar10\].*no batch of images"):
        datasets.Cifar10(str(path))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match="damaged"):
        datasets.Cifar10(str(path))


# Flowers and VOC.


def test_flowers(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    with tarfile.open(tmp_path / "flowers.tgz", "w:gz") as archive:
        for i in range(1, 4):
            pixels = np.full((4, 5, 3), i * 40, np.uint8)
            add(archive, f"jpg/image_{i:05d}.jpg", image_bytes(pixels, "JPEG"))
    savemat(tmp_path / "labels.mat", {"labels": np.array([[5, 6, 7]])})
    savemat(tmp_path / "sets.mat", {"tstid": [[1, 3]], "trnid": [[2]], "valid": [[2]]})
    files = [str(tmp_path / name) for name in ("flowers.tgz", "labels.mat", "sets.mat")]
    data = datasets.Flowers(*files)
    image, label = data[1]
    assert len(data) == 2 and image.size == (5, 4) and label.tolist() == [7]
    array, label = datasets.Flowers(*files, mode="test", backend="cv2")[0]
    assert array.shape == (4, 5, 3) and abs(array.mean() - 80) < 2 and label.tolist() == [6]
    with tarfile.open(tmp_path / "flowers.tgz", "w:gz") as archive:
        add(archive, "../escape.jpg", b"x")
    with pytest.raises(ValueError, match=r"\[Flowers\].*'\.\./escape\.jpg' is unsafe"):
        datasets.Flowers(*files)
    assert not (tmp_path / "escape.jpg").exists()


def test_voc2012(tmp_path):
    root = "VOCdevkit/VOC2012"
    with tarfile.open(tmp_path / "voc.tar", "w") as archive:
        add(archive, f"{root}/ImageSets/Segmentation/trainval.txt", b"a\nb\n")
        add(archive, f"{root}/ImageSets/Segmentation/val.txt", b"b\n")
        for i, name in enumerate("ab"):
            pixels = np.full((4, 5, 3), 100 * i, np.uint8)
            add(archive, f"{root}/JPEGImages/{name}.jpg", image_bytes(pixels, "JPEG"))
            classes = np.full((4, 5), i, np.uint8)
            add(archive, f"{root}/SegmentationClass/{name}.png", image_bytes(classes, "PNG"))
    data = datasets.VOC2012(str(tmp_path / "voc.tar"), backend="cv2")
    assert len(data) == 2 and len(datasets.VOC2012(str(tmp_path / "voc.tar"), mode="valid")) == 1
    for copy in (data, pickle.loads(pickle.dumps(data))):
        image, classes = copy[1]
        assert image.shape == (4, 5, 3) and classes.tolist() == np.ones((4, 5)).tolist()


# Folders.


def test_folders(tmp_path):
    for name in ("cat/1.png", "cat/more/2.PNG", "dog/3.jpg", "dog/notes.txt"):
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes(np.zeros((3, 2, 3), np.uint8), "PNG"))
    root = str(tmp_path / "set")
    data = datasets.DatasetFolder(root)
    assert data.classes == ["cat", "dog"] and data.targets == [0, 0, 1]
    assert data.class_to_idx == {"cat": 0, "dog": 1}
    image, target = data[2]
    assert image.size == (2, 3) and target == 1
    texts = datasets.DatasetFolder(root, loader=str, extensions=[".txt"])
    assert texts[0] == (f"{root}/dog/notes.txt", 1)
    chosen = datasets.DatasetFolder(root, is_valid_file=lambda path: path.endswith("2.PNG"))
    assert [path for path, _ in chosen.samples] == [f"{root}/cat/more/2.PNG"]
    flat = datasets.ImageFolder(root, transform=lambda image: image.size)
    assert len(flat) == 3 and flat[0] == [(2, 3)]
    with pytest.raises(RuntimeError, match="Found 0 directories"):
        datasets.DatasetFolder(root, extensions=[".wav"])
    with pytest.raises(RuntimeError, match="Found 0 files"):
        datasets.ImageFolder(root, extensions=[".wav"])
    with pytest.raises(FileNotFoundError):
        datasets.DatasetFolder(str(tmp_path / "nowhere"))


def test_image_backends(tmp_path):
    from argosy import vision

    path = str(tmp_path / "x.png")
    Image.fromarray(np.array([[[1, 2, 3]]], np.uint8)).save(path)
    assert vision.get_image_backend() == "pil" and vision.image_load(path).size == (1, 1)
    assert vision.image_load(path, "cv2").tolist() == [[[3, 2, 1]]]
    assert vision.image_load(path, "tensor").shape == [3, 1, 1]
    try:
        vision.set_image_backend("cv2")
        assert isinstance(vision.image_load(path), np.ndarray)
    finally:
        vision.set_image_backend("pil")
    with pytest.raises(ValueError, match="backend: expected one of pil, cv2, tensor"):
        vision.set_image_backend("jax")
