"""Which library loads images of data sets."""

import importlib.util

from argosy._support import check_choice

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_BACKENDS = ("pil", "cv2", "tensor")
_backend = "pil"


def set_image_backend(backend):
    """Choose what ``image_load`` and data sets give.

    Args:
        backend (str): "pil" for PIL images, "cv2" for arrays [H, W, C] or "tensor" for tensors [C, H, W].

    Raises:
        ValueError: another name.

    Examples:
        >>> argosy.vision.set_image_backend("cv2")
        >>> argosy.vision.get_image_backend()
        'cv2'
    """
    global _backend
    check_choice("set_image_backend", "backend", backend, _BACKENDS)
    _backend = backend


def get_image_backend():
    """The name given to :func:`set_image_backend`.

    Returns:
        str: "pil" at first.

    Examples:
        >>> argosy.vision.get_image_backend()
        'pil'
    """
    return _backend


def image_load(path, backend=None):
    """Load an image file, by Pillow.

    Args:
        path (str): file.
        backend (str, optional): "pil" gives a PIL image, "cv2" an array [H, W, C] in blue, green, red
            order, "tensor" a uint8 tensor [C, H, W]; None means the chosen backend.

    Returns:
        The image.

    Raises:
        ValueError: the backend is unknown.
        ImportError: Pillow is not installed.

    Examples:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> path = os.path.join(tempfile.mkdtemp(), "red.png")
        >>> Image.new("RGB", (2, 1), (255, 0, 0)).save(path)
        >>> argosy.vision.image_load(path, backend="cv2").tolist()
        [[[0, 0, 255], [0, 0, 255]]]
        >>> argosy.vision.image_load(path, backend="tensor").shape
        paddle.Size([3, 1, 2])
    """
    backend = backend or get_image_backend()
    check_choice("image_load", "backend", backend, _BACKENDS)
    if importlib.util.find_spec("PIL") is None:
        raise ImportError(
            "[image_load] reading image files needs Pillow, which is not installed. "
            "Do this: pip install pillow."
        )
    from PIL import Image

    image = Image.open(path)
    if backend == "pil":
        return image
    import numpy as np

    array = np.asarray(image.convert("RGB"))
    if backend == "cv2":
        return np.ascontiguousarray(array[..., ::-1])
    from argosy.tensor import to_tensor

    return to_tensor(np.ascontiguousarray(array.transpose(2, 0, 1)))
