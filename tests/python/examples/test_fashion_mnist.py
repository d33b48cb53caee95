"""The demo on a few made-up images: killed and resumed, reloaded, pictures written."""

import gzip
import pathlib
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import argosy

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "fashion_mnist.py"


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
    end = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < end:
        time.sleep(0.01)
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
