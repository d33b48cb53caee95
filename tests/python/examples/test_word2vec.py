"""Word vectors of a made corpus tell its topics apart, also with two threads and from a text."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

TRAIN = pathlib.Path(__file__).resolve().parents[3] / "examples" / "word2vec" / "train.py"


def run(*arguments):
    done = subprocess.run(
        [sys.executable, TRAIN, *map(str, arguments)], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_topics_are_told_apart(threads):
    out = run("--sentences", 12000, "--epochs", 2, "--dim", 48, "--threads", threads)
    assert float(re.search(r"separation of topics: ([\d.]+)", out)[1]) > 0.9
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", out)]
    assert losses[1] < losses[0] < 6 * np.log(2)


def test_text(tmp_path):
    random = np.random.default_rng(0)
    animals, metals = ["cat", "dog", "cow", "hen"], ["iron", "zinc", "gold", "lead"]
    lines = [random.choice([animals, metals][i % 2], 8) for i in range(1500)]
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(line) for line in lines) + "\nonce\n")
    vectors = tmp_path / "vectors.npy"
    out = run("--text", text, "--dim", 16, "--epochs", 6, "--save", vectors)
    assert np.load(vectors).shape == (8, 16)
    first = re.search(r"^(\w+): (.*)$", out.split("epoch 6")[1], re.M)
    group = animals if first[1] in animals else metals
    assert set(first[2].split(", ")[:3]) == set(group) - {first[1]}
