"""The static graph example on a few made-up images."""

import pathlib
import re
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "static_mlp.py"


def test_it_learns_and_the_saved_model_is_the_same(data, tmp_path):
    command = [sys.executable, PROGRAM, "--data", data, "--out", tmp_path, "--epochs", 6]
    command += ["--batch", 32]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "gives the same scores" in done.stdout
    accuracies = re.findall(r"test accuracy ([0-9.]+), averaged ([0-9.]+)", done.stdout)
    assert len(accuracies) == 6 and float(accuracies[-1][0]) > 0.9
    assert float(accuracies[-1][1]) > 0.5
    assert {p.name for p in tmp_path.iterdir()} >= {"model.pdmodel", "model.pdiparams"}
