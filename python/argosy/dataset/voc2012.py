"""Readers of VOC2012, images and what is where in them. New programs use ``vision.datasets.VOC2012``."""

from ..vision.datasets.voc2012 import VOC2012
from ._over import reader_over

__all__ = ["test", "train", "val"]


def train(data_file=None):
    """A reader of the part 'train' of ``vision.datasets.VOC2012``.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives arrays uint8: an image [height, width, 3] and its labels [height, width].

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.voc2012.train("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [VOC2012] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: VOC2012(data_file, "train", backend="cv2"), _bytes)


def test(data_file=None):
    """A reader of the part 'test' of ``vision.datasets.VOC2012``.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives arrays uint8: an image [height, width, 3] and its labels [height, width].

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.voc2012.test("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [VOC2012] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: VOC2012(data_file, "test", backend="cv2"), _bytes)


def val(data_file=None):
    """A reader of the part 'valid' of ``vision.datasets.VOC2012``.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives arrays uint8: an image [height, width, 3] and its labels [height, width].

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.voc2012.val("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [VOC2012] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: VOC2012(data_file, "valid", backend="cv2"), _bytes)


def _bytes(sample):
    return tuple(part.astype("uint8") for part in sample)
