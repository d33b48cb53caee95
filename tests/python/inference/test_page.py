"""docs/inference.md: its programs in C++, C and Java build, run, and give what the one in Python gives."""

import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, static

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/inference.md").read_text()
LIBRARIES = pathlib.Path(_core.__file__).parent / "lib"
LINKED = [f"-Wl,-rpath,{LIBRARIES}", "-Wl,--allow-shlib-undefined"]
BUILDS = {
    "cpp": ("main.cc", ["c++", "-std=c++20", "-O1", f"-I{ROOT}/src", "main.cc", str(LIBRARIES / "libargosy.so"), *LINKED]),
    "c": ("main.c", ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/src/argosy/infer/c", "main.c", str(LIBRARIES / "libargosy_infer.so"), *LINKED]),
    "java": ("Main.java", ["javac", "-cp", str(LIBRARIES / "argosy.jar"), "Main.java"]),
}  # fmt: skip
RUNS = {
    "cpp": ["./a.out"],
    "c": ["./a.out"],
    "java": ["java", f"-Dargosy.library.path={LIBRARIES}", "-cp", f"{LIBRARIES}/argosy.jar:.", "Main"],
}  # fmt: skip


def program(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return text


@pytest.mark.parametrize("language", BUILDS)
def test_program(language, tmp_path):
    if not shutil.which(BUILDS[language][1][0]):
        pytest.skip(f"no {BUILDS[language][1][0]} on this machine")
    if language == "java" and not (LIBRARIES / "argosy.jar").exists():
        pytest.skip("the build found no JDK")
    net = paddle.nn.Linear(4, 2)
    spec = [static.InputSpec([None, 4], "float32", "x")]
    paddle.jit.save(net, str(tmp_path / "model"), input_spec=spec)
    source, build = BUILDS[language]
    (tmp_path / source).write_text(program(language))
    for command in (build, RUNS[language]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    wanted = net(paddle.ones([3, 4])).numpy().ravel()
    np.testing.assert_allclose([float(v) for v in done.stdout.split()], wanted, 1e-4, 1e-5)


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler")
def test_a_failure_is_told(tmp_path):
    source, build = BUILDS["c"]
    (tmp_path / source).write_text(program("c"))
    subprocess.run(build, cwd=tmp_path, check=True, timeout=300)
    done = subprocess.run(RUNS["c"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "there is no model at 'model'" in done.stderr
