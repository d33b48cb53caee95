"""Images from files."""

from __future__ import annotations

import io

from argosy import tensor
from argosy._support import check_choice


def read_file(filename, name=None):
    """The bytes of a file.

    Args:
        filename (str): the file.

    Returns:
        uint8 Tensor [bytes].

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
        >>> with open(path, "wb") as file:
        ...     count = file.write(b"ab")
        >>> argosy.vision.ops.read_file(path).tolist()
        [97, 98]
    """
    import numpy as np

    with open(filename, "rb") as file:
        return tensor.to_tensor(np.frombuffer(file.read(), dtype="uint8"))


def decode_jpeg(x, mode="unchanged", name=None):
    """The image of a JPEG file, by Pillow.

    Args:
        x: uint8 Tensor [bytes], as of :func:`read_file`.
        mode (str): 'unchanged', 'gray' or 'rgb'.

    Returns:
        uint8 Tensor [C, H, W].

    Raises:
        ValueError: ``mode`` is unknown.
        ImportError: Pillow is not installed.

    Examples:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (3, 2), (255, 255, 255)).save(file, "jpeg")
        >>> data = argosy.to_tensor(np.frombuffer(file.getvalue(), "uint8"))
        >>> argosy.vision.ops.decode_jpeg(data, mode="gray").tolist()
        [[[255, 255, 255], [255, 255, 255]]]
    """
    import numpy as np
    from PIL import Image

    check_choice("decode_jpeg", "mode", mode, ("unchanged", "gray", "rgb"))
    image = Image.open(io.BytesIO(x.numpy().tobytes()))
    if mode != "unchanged":
        image = image.convert("L" if mode == "gray" else "RGB")
    pixels = np.asarray(image)
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    return tensor.to_tensor(np.ascontiguousarray(pixels))
