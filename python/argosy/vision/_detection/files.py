"""Images from files."""

from __future__ import annotations

import io

from argosy import tensor
from argosy._support import check_choice


def read_file(filename, name=None):
    """The bytes of a file, as a uint8 vector."""
    import numpy as np

    with open(filename, "rb") as file:
        return tensor.to_tensor(np.frombuffer(file.read(), dtype="uint8"))


def decode_jpeg(x, mode="unchanged", name=None):
    """The image [C, H, W] of the bytes x of a JPEG file, uint8; mode 'unchanged', 'gray' or 'rgb'.

    Needs Pillow.
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
