"""What runs models is configured without Python."""

import pathlib
import shutil
import subprocess

import pytest

from argosy import _core

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLS = "cmake ninja c++ g++ flatc protoc nm ar ld as"


@pytest.mark.skipif(
    not all(map(shutil.which, TOOLS.split())), reason="no compiler, or no CMake, on this machine"
)
def test_cmake_wants_no_python(tmp_path):
    cache = ROOT / "build/release/CMakeCache.txt"
    if not cache.exists():
        pytest.skip("the libraries of this build are not known")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS.split():
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    environment = pathlib.Path(_core.__file__).parents[2] / ".venv"
    (dnnl,) = environment.glob("lib/cmake/dnnl")
    (openblas,) = environment.glob("lib/python3*/site-packages/scipy_openblas32")
    command = [
        "cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", "-DARGOSY_PYTHON=OFF",
        f"-Ddnnl_DIR={dnnl}", f"-DARGOSY_OPENBLAS_DIR={openblas}",
    ]  # fmt: skip
    path = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    known = (tmp_path / "build/CMakeCache.txt").read_text()
    assert "Python_EXECUTABLE" not in known and "FIND_PACKAGE_MESSAGE_DETAILS_Python" not in known
    built = subprocess.run(
        ["ninja", "-C", tmp_path / "build", "-t", "commands", "argosy_infer", "argosy_infer_onnx"],
        env=path, capture_output=True, text=True, timeout=300,
    ).stdout  # fmt: skip
    assert "libargosy_infer_onnx.so" in built
    assert not any(room in built for room in ("/src/argosy/ps/", "/src/argosy/comm/", "python/src"))
    missing = [word if "OPENBLAS_DIR" not in str(word) else "-DARGOSY_OPENBLAS_DIR=/none" for word in command]  # fmt: skip
    done = subprocess.run(missing, env=path, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "unpack the wheel scipy-openblas32" in " ".join(
        done.stderr.split()
    )
