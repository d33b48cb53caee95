"""Readers of CIFAR-10 and CIFAR-100. New programs use ``vision.datasets``."""

from ..vision.datasets import Cifar10, Cifar100

__all__ = ["test10", "test100", "train10", "train100"]


def _reader(data_set, mode, data_file, cycle=False):
    data = data_set(data_file, mode=mode, backend="cv2").data

    def reader():
        while True:
            for pixels, label in data:
                yield (pixels / 255.0).astype("float32"), label
            if not cycle or not data:
                return

    return reader


def train10(cycle=False, data_file=None):
    """A reader of CIFAR-10's training images: (pixels from 0 to 1, float32 [3072], channel by channel; class).

    Args:
        cycle (bool): begin again at the end, for ever.
        data_file (str, optional): archive; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.cifar.train10(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar10] no such file: data_file='no-such-file'
    """
    return _reader(Cifar10, "train", data_file, cycle)


def test10(cycle=False, data_file=None):
    """A reader of CIFAR-10's images for testing, as :func:`train10`.

    Args:
        cycle (bool): begin again at the end, for ever.
        data_file (str, optional): archive; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.cifar.test10(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar10] no such file: data_file='no-such-file'
    """
    return _reader(Cifar10, "test", data_file, cycle)


def train100(data_file=None):
    """A reader of CIFAR-100's training images with their fine classes, as :func:`train10`.

    Args:
        data_file (str, optional): archive; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.cifar.train100("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar100] no such file: data_file='no-such-file'
    """
    return _reader(Cifar100, "train", data_file)


def test100(data_file=None):
    """A reader of CIFAR-100's images for testing with their fine classes, as :func:`train10`.

    Args:
        data_file (str, optional): archive; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.cifar.test100("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Cifar100] no such file: data_file='no-such-file'
    """
    return _reader(Cifar100, "test", data_file)
