import gzip
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import argosy

ROOT = Path(__file__).resolve().parents[3]


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


@pytest.fixture(scope="session")
def runner(tmp_path_factory):
    """Path of examples/cpp/run_model, built against this package laid out as it is installed."""
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    stage = tmp_path_factory.mktemp("stage")
    package = Path(argosy.__path__[0])
    (stage / "lib").symlink_to(package / "lib")
    include = package / "include"
    (stage / "include").symlink_to(include if include.is_dir() else ROOT / "src")
    (stage / "cmake").mkdir()
    shutil.copy(ROOT / "cmake/argosyConfig.cmake", stage / "cmake")
    build = tmp_path_factory.mktemp("build")
    source = ROOT / "examples/cpp/run_model"
    for command in (
        ["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={stage}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "run_model"
