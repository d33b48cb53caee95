"""Which library loads images of data sets."""

import importlib.util

from argosy._support import check_choice

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_BACKENDS = ("pil", "cv2", "tensor")
_backend = "pil"


def set_image_backend(backend):
    """Choose what `image_load` and data sets give: "pil" images, "cv2" arrays or "tensor"s."""
    global _backend
    check_choice("set_image_backend", "backend", backend, _BACKENDS)
    _backend = backend


def get_image_backend():
    """The name given to `set_image_backend`; "pil" at first."""
    return _backend


def image_load(path, backend=None):
    """Load an image file.

    Args:
        path (str): file.
        backend (str|None): "pil" gives a PIL image, "cv2" an array [H, W, C] in blue, green, red
            order, "tensor" a uint8 tensor [C, H, W]; None means the chosen backend.

    Raises:
        ValueError: unknown backend. ImportError: Pillow is not installed.
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
