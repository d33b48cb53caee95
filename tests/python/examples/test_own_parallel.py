"""examples/own_parallel: a communication hook of a user's own trains as well as the mean."""

import pathlib
import re
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "own_parallel" / "train.py"


def test_a_hook_of_its_own(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "argosy.cli", "launch", "--nproc_per_node", "2"),
            *("--log_dir", str(tmp_path), str(PROGRAM)),
        ],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    losses = dict(re.findall(r"(mean|largest).*loss ([0-9.]+)", done.stdout))
    mean, largest = float(losses["mean"]), float(losses["largest"])
    assert mean < 0.35 and largest < mean + 0.1, done.stdout
