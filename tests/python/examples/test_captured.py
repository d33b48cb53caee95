"""Examples that train captured: what they print about eager and captured runs."""

import gzip
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples"


def run(name, *options):
    command = [sys.executable, FOLDER / name, *options]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def differences(text):
    return [float(v) for v in re.findall(r"difference of .* eager: (\S+)", text)]


def test_gradient_penalty_gives_the_same_losses_eager_and_captured():
    text = run("gradient_penalty.py", "--steps", 60, "--hidden", 16, "--tolerance", 1e-4)
    assert len(differences(text)) == 2 and max(differences(text)) <= 1e-4
    losses = [float(v) for v in re.findall(r"critic loss (\S+)", text)]
    assert len(losses) == 15 and len(set(losses)) > 3


def test_resnet_gives_the_same_losses_eager_and_captured():
    options = ["--steps", 3, "--batch", 4, "--held-out", 8, "--learning-rate", 0.002]
    text = run("resnet_cifar.py", *options)
    assert len(differences(text)) == 2 and max(differences(text)) <= 1e-3


def test_language_model_learns_and_captured_samples_are_the_same():
    options = ["--steps", 60, "--width", 48, "--batch", 16, "--length", 16, "--compare", 10]
    text = run("language_model.py", *options, "--learning-rate", 0.02)
    assert max(differences(text)) <= 1e-3
    assert float(re.search(r"perplexity (\S+)", text)[1]) < 5
    assert "captured samples are the same" in text


def test_language_model_reads_a_text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("A rose is a rose,\n\nand it's a rose.\n" * 40)
    options = ["--data", file, "--prompt", "it's", "--steps", 30, "--width", 16, "--top", 2]
    text = run("language_model.py", *options, "--length", 8, "--compare", 2, "--learning-rate", 0.1)
    assert "520 words, 9 different ones" in text and "it's | a rose ." in text


def test_translations_are_the_same_eager_captured_loaded_and_in_cpp(runner, tmp_path):
    options = ["--steps", 30, "--width", 16, "--heads", 2, "--batch", 16, "--held-out", 8]
    text = run("translate.py", *options, "--compare", 6, "--runner", runner, "--out", tmp_path)
    assert max(differences(text)) <= 1e-3 and "OTHER" not in text
    for search in ("greedy", "beam"):
        for way in ("captured", "loaded", "C++"):
            assert f"{search}, {way}: the same words as eager" in text


def test_translate_reads_two_files(tmp_path):
    (tmp_path / "source").write_text("one two\ntwo three one\n" * 40)
    with gzip.open(tmp_path / "target.gz", "wt") as file:
        file.write("eins zwei\nzwei drei eins\n" * 40)
    options = ["--source", tmp_path / "source", "--target", tmp_path / "target.gz"]
    options += ["--steps", 80, "--width", 16, "--heads", 2, "--layers", 1, "--learning-rate", 0.02]
    text = run("translate.py", *options, "--held-out", 4, "--compare", 2, "--out", tmp_path)
    assert "76 pairs of sentences, 7 and 7 words" in text
    assert "greedy: 1.00 of sentences exact" in text
