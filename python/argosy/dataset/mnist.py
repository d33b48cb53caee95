"""Readers of MNIST. New programs use ``vision.datasets.MNIST``."""

from ..vision.datasets import MNIST

__all__ = ["test", "train"]


def _reader(mode, image_path, label_path):
    data = MNIST(image_path, label_path, mode=mode, backend="cv2")

    def reader():
        for pixels, label in zip(data.images, data.labels, strict=True):
            yield pixels.astype("float32") / 255.0 * 2.0 - 1.0, int(label[0])

    return reader


def train(image_path=None, label_path=None):
    """A reader of the training images: (pixels from -1 to 1, float32 [784]; digit).

    Args:
        image_path, label_path (str, optional): files; None looks for them in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Raises:
        FileNotFoundError: a file is missing; the message says where to put it.
        ValueError: a file is damaged, or the two do not belong together.

    Examples:
        >>> import os, struct, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> images, labels = os.path.join(folder, "images"), os.path.join(folder, "labels")
        >>> with open(images, "wb") as file:
        ...     count = file.write(struct.pack(">BBBB3I", 0, 0, 8, 3, 1, 1, 2) + bytes([0, 255]))
        >>> with open(labels, "wb") as file:
        ...     count = file.write(struct.pack(">BBBBI", 0, 0, 8, 1, 1) + bytes([7]))
        >>> [(pixels.tolist(), label) for pixels, label in argosy.dataset.mnist.train(images, labels)()]
        [([-1.0, 1.0], 7)]
    """
    return _reader("train", image_path, label_path)


def test(image_path=None, label_path=None):
    """A reader of the images for testing, as :func:`train`.

    Args:
        image_path, label_path (str, optional): files; None looks for them in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.mnist.test("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [MNIST] no such file: image_path='no-such-file'
    """
    return _reader("test", image_path, label_path)
