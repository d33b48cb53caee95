"""Oxford 102 Flowers."""

import os

import numpy as np

from ...io import Dataset
from ...utils.archive import Archive
from . import _files

__all__ = ["Flowers"]

# The larger published part is used to train, as in Paddle.
_PARTS = {"train": "tstid", "test": "trnid", "valid": "valid"}


class Flowers(Dataset):
    """Oxford 102 Flowers: 8,189 images of 102 kinds of flowers.

    A sample is (image, label): a PIL image or a float32 array [H, W, 3] (``backend``), passed
    through ``transform``, and an int64 array [1] counted from 1. The archive is unpacked beside
    itself at first use.

    Args:
        data_file (str, optional): 102flowers.tgz; None looks for it in the usual folders.
        label_file (str, optional): imagelabels.mat; likewise. Reading it needs SciPy.
        setid_file (str, optional): setid.mat; likewise.
        mode (str): "train", "valid" or "test".
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: a file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ImportError: SciPy is not installed.

    Paper: Nilsback and Zisserman, ICVGIP 2008.

    Examples:
        >>> argosy.vision.datasets.Flowers(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Flowers] no such file: data_file='no-such-file'
    """

    def __init__(
        self,
        data_file=None,
        label_file=None,
        setid_file=None,
        mode="train",
        transform=None,
        download=True,
        backend=None,
    ):
        mode = _files.check_mode("Flowers", mode, tuple(_PARTS))
        self.backend = _files.check_backend("Flowers", backend)
        self.flag = _PARTS[mode]

        def locate(argument, given, file_name):
            return _files.locate("Flowers", argument, given, "flowers", file_name, download)

        self.data_file = locate("data_file", data_file, "102flowers.tgz")
        self.label_file = locate("label_file", label_file, "imagelabels.mat")
        self.setid_file = locate("setid_file", setid_file, "setid.mat")
        self.transform = transform
        self.data_path = self._unpack()
        loadmat = self._loadmat()
        self.labels = loadmat(self.label_file)["labels"][0]
        self.indexes = loadmat(self.setid_file)[self.flag][0]
        self.dtype = "float32"

    @staticmethod
    def _loadmat():
        try:
            from scipy.io import loadmat
        except ImportError as error:
            raise ImportError(
                "[Flowers] reading .mat files needs SciPy, which is not installed. "
                "Do this: pip install scipy."
            ) from error
        return loadmat

    def _unpack(self):
        folder = os.path.splitext(self.data_file)[0]
        os.makedirs(os.path.join(folder, "jpg"), exist_ok=True)
        with Archive(self.data_file, "Flowers") as archive:
            for path, _ in archive.files():
                # Only the images, by their last name.
                target = os.path.join(folder, "jpg", path[-1])
                if not path[-1].endswith(".jpg") or os.path.exists(target):
                    continue
                with open(target + ".part", "wb") as file:
                    archive.copy(path, file.write)
                os.replace(target + ".part", target)
        return folder

    def __getitem__(self, index):
        number = self.indexes[index]
        label = np.array([self.labels[number - 1]])
        path = os.path.join(self.data_path, "jpg", f"image_{number:05d}.jpg")
        image = _files.pil_image().open(path)
        if self.backend == "cv2":
            image = np.array(image)
        if self.transform is not None:
            image = self.transform(image)
        if isinstance(image, np.ndarray):
            image = image.astype(self.dtype)
        return image, label.astype("int64")

    def __len__(self):
        return len(self.indexes)
