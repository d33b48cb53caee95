"""Pascal VOC 2012, segmentation."""

import io
import os

import numpy as np

from ...io import Dataset
from ...utils.archive import Archive
from . import _files

__all__ = ["VOC2012"]

_PARTS = {"train": "trainval", "test": "train", "valid": "val"}
_ROOT = "VOCdevkit/VOC2012"


class VOC2012(Dataset):
    """Pascal VOC 2012 segmentation: 2,913 images with a class for each pixel.

    A sample is (image, label): two PIL images, or arrays float32 [H, W, 3] and [H, W]
    (``backend``); ``transform`` is applied to the image.

    Args:
        data_file (str, optional): VOCtrainval_11-May-2012.tar; None looks in the usual folders.
        mode (str): "train" (train and val), "test" (train) or "valid" (val).
        transform (callable, optional): applied to each image.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.
        backend (str, optional): "pil" or "cv2"; None means ``get_image_backend()``.

    Raises:
        FileNotFoundError: the file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.

    Examples:
        >>> argosy.vision.datasets.VOC2012(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [VOC2012] no such file: data_file='no-such-file'
    """

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        mode = _files.check_mode("VOC2012", mode, tuple(_PARTS))
        self.backend = _files.check_backend("VOC2012", backend)
        self.flag = _PARTS[mode]
        self.data_file = _files.locate(
            "VOC2012", "data_file", data_file, "voc2012", "VOCtrainval_11-May-2012.tar", download
        )
        self.transform = transform
        self._archive = None
        names = self._read(f"ImageSets/Segmentation/{self.flag}.txt").decode().split()
        self.data = [f"JPEGImages/{name}.jpg" for name in names]
        self.labels = [f"SegmentationClass/{name}.png" for name in names]
        self.dtype = "float32"

    def _read(self, name):
        # Worker processes must not share one file position: each opens the archive itself.
        if self._archive is None or self._archive[0] != os.getpid():
            self._archive = os.getpid(), Archive(self.data_file, "VOC2012")
        return self._archive[1].read(f"{_ROOT}/{name}")

    def __getstate__(self):
        return {**self.__dict__, "_archive": None}

    def __getitem__(self, index):
        image_module = _files.pil_image()
        image = image_module.open(io.BytesIO(self._read(self.data[index])))
        label = image_module.open(io.BytesIO(self._read(self.labels[index])))
        if self.backend == "cv2":
            image, label = np.array(image), np.array(label)
        if self.transform is not None:
            image = self.transform(image)
        if self.backend == "cv2":
            return image.astype(self.dtype), label.astype(self.dtype)
        return image, label

    def __len__(self):
        return len(self.data)
