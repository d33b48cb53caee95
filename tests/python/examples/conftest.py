import gzip
import struct

import numpy as np
import pytest


@pytest.fixture
def data(tmp_path):
    """Folder with 320 training and 80 test images whose class is easy to see."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.RandomState(0)
    for part, count in (("train", 320), ("t10k", 80)):
        labels = rng.randint(0, 10, count)
        images = rng.randint(0, 60, (count, 28, 28))
        for image, label in zip(images, labels):
            image[label * 2 : label * 2 + 6] += 150
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            content = gzip.compress(header + array.astype(np.uint8).tobytes())
            (folder / f"{part}-{kind}-ubyte.gz").write_bytes(content)
    return folder
