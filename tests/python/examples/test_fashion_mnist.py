"""The demo on a few made-up images: killed and resumed, reloaded, pictures written."""

import pathlib
import signal
import subprocess
import sys

from PIL import Image
from tests.processes import until

import argosy

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "fashion_mnist.py"


def command(data, out, *more):
    arguments = ["--data", data, "--out", out, "--epochs", "3", "--batch", "32", *more]
    return [sys.executable, str(PROGRAM), *map(str, arguments)]


def run(data, out, *more):
    done = subprocess.run(command(data, out, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_run_goes_on_as_if_nothing_had_been(data, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    text = run(data, whole)
    assert "epoch 3: test accuracy" in text and "in a new process" in text
    for name in ("loss.png", "wrong.png"):
        assert Image.open(whole / name).size[0] > 300 and name in text

    process = subprocess.Popen(command(data, broken), stdout=subprocess.DEVNULL)
    checkpoint = broken / "checkpoint.pdparams"
    until(checkpoint.exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = argosy.load(checkpoint)
    assert 1 <= before["epoch"] <= 3
    text = run(data, broken)
    assert f"Going on after epoch {before['epoch']}" in text

    one, two = (argosy.load(folder / "checkpoint.pdparams") for folder in (whole, broken))
    assert one["losses"] == two["losses"] and one["accuracies"] == two["accuracies"]
    for name, value in one["model"].items():
        assert bool((value == two["model"][name]).all()), name


def test_evaluate_and_fresh(data, tmp_path):
    first = run(data, tmp_path / "out")
    assert "Going on" in run(data, tmp_path / "out")
    assert "Going on" not in run(data, tmp_path / "out", "--fresh")
    model = tmp_path / "out" / "model.pdparams"
    text = run(data, tmp_path / "other", "--evaluate", model)
    accuracy = float(text.split()[-1])
    assert f"test accuracy {accuracy:.4f}" in first
    assert not (tmp_path / "other").exists()
