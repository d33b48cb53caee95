"""Each click model of examples/ctr, trained on little data; generator and UCI Adult's reader."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import argosy
from argosy import static

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "ctr"
SMALL = ["--lines", "16000", "--rows", "2001", "--batch", "128"]


@pytest.fixture
def ctr(monkeypatch):
    """The example's module train, in static mode and with a scope of its own."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("TRAINING_ROLE", raising=False)
    import train

    with argosy.utils.unique_name.guard(), static.scope_guard(static.Scope()):
        yield train
    argosy.disable_static()
    for name in ("train", "models", "generate", "adult"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("model", ["lr", "fm", "deepfm", "wide_deep", "dcn", "dlrm", "din"])
def test_learns(ctr, model):
    more = [] if model in ("lr", "fm") else ["--layers", "32", "16"]
    more += ["--rate", "0.01", "--epochs", "3"] if model == "din" else ["--rate", "0.006"]
    said = []
    results = ctr.run(["--model", model, *SMALL, *more], said.append)
    best = float(said[0].rpartition(" ")[2])
    assert len(said) == 1 + len(results) and all(line.startswith("epoch") for line in said[1:])
    trained, tested = results[-1]
    assert 0.66 < tested < best + 0.03, (results, best)
    assert trained > 0.55


def test_the_generator_says_what_is_best(ctr, tmp_path):
    import generate

    paths, best = generate.write(str(tmp_path), 4000, 2, rows=1001, scale=0.001)
    lines = [line.split() for p in paths for line in open(p)]
    assert len(lines) == 4000 and len(paths) == 2
    assert all(len(line) == 2 * 26 + 14 + 2 for line in lines)
    table = np.array(lines, "float64")
    assert (table[:, 0:52:2] == 1).all() and (table[:, 52] == 13).all()
    ids = table[:, 1:52:2]
    assert ids.min() > 0 and ids.max() < 1001
    # Frequent values are frequent: the third slot has millions.
    _, counts = np.unique(ids[:, 2], return_counts=True)
    assert np.sort(counts)[::-1][:40].sum() > 1500
    # The same model again, and the AUC that it says.
    g = generate.Generator(rows=1001, scale=0.001)
    rng = np.random.default_rng(3)
    chance = g.batch(rng, 20000)[2]
    click = rng.random(20000) < chance
    assert abs(generate.auc(chance, click) - generate.bayes_auc(chance)) < 0.01
    assert abs(best - generate.bayes_auc(chance)) < 0.02
    assert generate.auc(np.array([1, 2, 2, 3]), np.array([0, 0, 1, 1])) == 0.875


def adult_like(folder, count, seed):
    """Files of the form of UCI Adult whose answer depends on education and hours."""
    rng = np.random.default_rng(seed)
    head = (
        "age, workclass, fnlwgt, education, education_num, marital_status, occupation,"
        " relationship, race, sex, capital_gain, capital_loss, hours_per_week, native_country,"
        " wage_class\n"
    )
    for part, end in (("data", ""), ("test", ".")):
        rows = []
        for _ in range(count):
            level, hours = int(rng.integers(1, 17)), int(rng.integers(10, 70))
            rich = rng.random() < 1 / (1 + np.exp(10 - 0.6 * level - 0.08 * hours))
            rows.append(
                f"{rng.integers(17, 80)}, Private, 1000, E{level}, {level}, Married, Sales, Wife,"
                f" White, Female, 0, 0, {hours}, Cuba, {'>' if rich else '<='}50K{end}\n"
            )
        with gzip.open(folder / f"adult.{part}.gz", "wt") as f:
            f.write(head + "".join(rows))


def test_adult(ctr, tmp_path):
    adult_like(tmp_path, 3000, 1)
    more = ["--epochs", "3", "--batch", "64", "--rate", "0.01", "--layers", "16"]
    said = []
    for model in ("lr", "wide_deep"):
        with argosy.utils.unique_name.guard(), static.scope_guard(static.Scope()):
            results = ctr.run(["--adult", str(tmp_path), "--model", model, *more], said.append)
        assert results[-1][1] > 0.8
    assert len(said) == 6


@pytest.mark.parametrize("mode", ["async", "geo"])
def test_with_servers(mode, tmp_path):
    command = [
        sys.executable,
        "-m",
        "argosy.distributed.launch",
        "--servers",
        "1",
        "--workers",
        "2",
    ]
    command += [
        "--log_dir",
        str(tmp_path / "log"),
        str(FOLDER / "train.py"),
        "--mode",
        mode,
        *SMALL,
    ]
    command += ["--model", "deepfm", "--layers", "16", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"epoch 0: .* training AUC ([\d.]+), test AUC ([\d.]+)", done.stdout)
    assert said and float(said[2]) > 0.5


@pytest.mark.skipif("ARGOSY_ADULT" not in os.environ, reason="ARGOSY_ADULT names no folder")
def test_the_real_adult(ctr):
    for model, least in (("lr", 0.905), ("wide_deep", 0.912)):
        more = ["--model", model, "--epochs", "6", "--rate", "3e-3", "--batch", "256"]
        with argosy.utils.unique_name.guard(), static.scope_guard(static.Scope()):
            results = ctr.run(["--adult", os.environ["ARGOSY_ADULT"], *more])
        assert results[-1][1] > least
