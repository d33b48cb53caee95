"""CIFAR-10 and CIFAR-100: 32x32 colour images in a tar file of pickles."""

import io

import numpy as np

from ...framework.pickle_reader import DamagedFileError, PickleReader, UnsafeFileError
from ...io import Dataset
from ...utils.archive import Archive
from . import _files

__all__ = ["Cifar10", "Cifar100"]


class Cifar10(Dataset):
    """CIFAR-10: 50,000 training and 10,000 test images of ten classes.

    A sample is (image, label): a PIL image of mode RGB or a float32 array [32, 32, 3]
    (``backend``), passed through ``transform``, and an int64 array of shape [].

    Args:
        data_file (str, optional): cifar-10-python.tar.gz; None looks for it in the usual folders.
        mode (str): "train" or "test".
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: the file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: the file is damaged, or asks to run code.

    Examples:
        >>> argosy.vision.datasets.Cifar10(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar10] no such file: data_file='no-such-file'
    """

    _FILE = "cifar-10-python.tar.gz"
    _PARTS = {"train": "data_batch", "test": "test_batch"}
    _LABELS = "labels"

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        name = type(self).__name__
        self.mode = _files.check_mode(name, mode, ("train", "test"))
        self.backend = _files.check_backend(name, backend)
        self.flag = self._PARTS[self.mode]
        self.data_file = _files.locate(name, "data_file", data_file, "cifar", self._FILE, download)
        self.transform = transform
        self.data = list(self._read())
        self.dtype = "float32"

    def _read(self):
        """(pixels [3072], label) of each image."""
        with Archive(self.data_file, type(self).__name__) as archive:
            for name in sorted(archive.names()):
                if self.flag in name.rpartition("/")[2]:
                    yield from self._samples(name, archive.read(name))

    def _samples(self, name, content):
        # The pickles of the archive are from Python 2; reading them runs none of their code.
        try:
            batch = PickleReader(io.BytesIO(content), len(content)).load()
        except (DamagedFileError, UnsafeFileError) as error:
            text = f"{error} (file: {self.data_file}, {name})"
            raise type(error)(text) from error

        def part(key):
            return batch.get(key, batch.get(key.encode())) if isinstance(batch, dict) else None

        images, labels = part("data"), part(self._LABELS)
        good = isinstance(images, np.ndarray) and images.ndim == 2 and images.shape[1] == 3072
        good = good and isinstance(labels, list) and len(images) == len(labels)
        if not good or any(type(label) is not int for label in labels):
            raise ValueError(
                f"[{type(self).__name__}] {name} in {self.data_file} is no batch of images: "
                f"expected 'data', an array [n, 3072], and '{self._LABELS}', a list of n numbers."
                " Do this: fetch the file again."
            )
        return zip(images, labels)

    def __getitem__(self, index):
        image, label = self.data[index]
        image = image.reshape(3, 32, 32).transpose(1, 2, 0)
        if self.backend == "pil":
            image = _files.pil_image().fromarray(np.ascontiguousarray(image.astype(np.uint8)))
        if self.transform is not None:
            image = self.transform(image)
        if isinstance(image, np.ndarray):
            image = image.astype(self.dtype)
        return image, np.array(label).astype("int64")

    def __len__(self):
        return len(self.data)


class Cifar100(Cifar10):
    """CIFAR-100: 50,000 training and 10,000 test images of 100 classes (the fine labels).

    A sample is (image, label): a PIL image of mode RGB or a float32 array [32, 32, 3]
    (``backend``), passed through ``transform``, and an int64 array of shape [].

    Args:
        data_file (str, optional): cifar-100-python.tar.gz; None looks for it in the usual folders.
        mode (str): "train" or "test".
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: the file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: the file is damaged, or asks to run code.

    Examples:
        >>> argosy.vision.datasets.Cifar100(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar100] no such file: data_file='no-such-file'
    """

    _FILE = "cifar-100-python.tar.gz"
    _PARTS = {"train": "train", "test": "test"}
    _LABELS = "fine_labels"
