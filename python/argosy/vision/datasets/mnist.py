"""MNIST and Fashion-MNIST: 28x28 grey images in gzip IDX files."""

import gzip
import struct
import zlib

import numpy as np

from ...io import Dataset
from . import _files

__all__ = ["MNIST", "FashionMNIST"]

_LARGEST = 1 << 30  # bytes that a file unpacks to; those published have 47 MB


def read_idx(path):
    """Array of bytes from an IDX file, gzip or plain.

    Raises ValueError if the file is no IDX file of bytes, or its length is not what it says.
    """
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if zipped else open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"[vision.datasets] {path} is damaged: {error}. Do this: fetch the file again."
        ) from error
    if len(data) > _LARGEST:
        raise ValueError(
            f"[vision.datasets] {path} holds more than {_LARGEST} bytes: expected images or labels"
            " as published. Do this: check where the file comes from."
        )
    if len(data) < 4 or data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise ValueError(
            f"[vision.datasets] {path} is no IDX file of bytes: it starts with {data[:4]!r}, "
            "expected b'\\x00\\x00\\x08' and the number of dimensions."
            " Do this: pass the file of images or labels as published."
        )
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if values.size != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(
            f"[vision.datasets] {path} is damaged: its header says {list(shape)}, but "
            f"{values.size} values follow."
            " Do this: fetch the file again."
        )
    return values.reshape(shape)


class MNIST(Dataset):
    """MNIST: 60,000 training and 10,000 test images of handwritten digits.

    A sample is (image, label): a PIL image of mode L or a float32 array [28, 28] (``backend``),
    passed through ``transform``, and an int64 array [1].

    Args:
        image_path (str, optional): IDX file of images; None looks for it in the usual folders.
        label_path (str, optional): IDX file of labels; None looks for it in the usual folders.
        mode (str): "train" or "test".
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: a file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: a file is damaged, or the two do not belong together.

    Paper: LeCun et al., Proceedings of the IEEE 86 (1998).

    Examples:
        >>> import os, struct, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> images, labels = os.path.join(folder, "images"), os.path.join(folder, "labels")
        >>> with open(images, "wb") as file:
        ...     count = file.write(struct.pack(">BBBB3I", 0, 0, 8, 3, 1, 2, 2) + bytes([0, 1, 2, 3]))
        >>> with open(labels, "wb") as file:
        ...     count = file.write(struct.pack(">BBBBI", 0, 0, 8, 1, 1) + bytes([7]))
        >>> image, label = argosy.vision.datasets.MNIST(images, labels, backend="cv2")[0]
        >>> image.tolist(), label.tolist()
        ([[0.0, 1.0], [2.0, 3.0]], [7])
    """

    NAME = "mnist"
    _PACKAGE = None

    def __init__(
        self,
        image_path=None,
        label_path=None,
        mode="train",
        transform=None,
        download=True,
        backend=None,
    ):
        name = type(self).__name__
        self.mode = _files.check_mode(name, mode, ("train", "test"))
        self.backend = _files.check_backend(name, backend)
        part = "train" if self.mode == "train" else "t10k"

        def locate(argument, given, kind):
            file_name = f"{part}-{kind}-ubyte.gz"
            return _files.locate(
                name, argument, given, self.NAME, file_name, download, self._PACKAGE
            )

        self.image_path = locate("image_path", image_path, "images-idx3")
        self.label_path = locate("label_path", label_path, "labels-idx1")
        self.transform = transform
        images, labels = read_idx(self.image_path), read_idx(self.label_path)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"[{name}] the files do not belong together: expected images [N, H, W] and labels "
                f"[N], got {list(images.shape)} in {self.image_path} and {list(labels.shape)} in "
                f"{self.label_path}."
                " Do this: pass images and labels of one set."
            )
        self._shape = images.shape[1:]
        self.images = images.reshape(len(images), -1)
        self.labels = labels.astype(np.int64).reshape(-1, 1)
        self.dtype = "float32"

    def __getitem__(self, index):
        image = self.images[index].reshape(self._shape)
        if self.backend == "pil":
            image = _files.pil_image().fromarray(image)
        else:
            image = image.astype(np.float32)
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[index].copy()

    def __len__(self):
        return len(self.labels)


class FashionMNIST(MNIST):
    """Fashion-MNIST: 60,000 training and 10,000 test images of ten kinds of clothing.

    Samples as in :class:`MNIST`. Debian's package dataset-fashion-mnist is found without arguments.

    Args:
        image_path (str, optional): IDX file of images; None looks for it in the usual folders.
        label_path (str, optional): IDX file of labels; None looks for it in the usual folders.
        mode (str): "train" or "test".
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: a file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: a file is damaged, or the two do not belong together.

    Paper: Xiao et al., arXiv:1708.07747.

    Examples:
        >>> argosy.vision.datasets.FashionMNIST(image_path="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [FashionMNIST] no such file: image_path='no-such-file'
    """

    NAME = "fashion-mnist"
    _PACKAGE = "dataset-fashion-mnist"
