"""The short form of tests/soak: memory stays flat when calls fail between training steps."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "soak" / "failing_calls.py"


def soak(*options):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, timeout=550
    )
    return done.returncode, done.stdout + done.stderr


def test_memory_stays_flat():
    status, text = soak("--steps", "2000")
    assert status == 0, text
    assert text.endswith("flat\n")


@pytest.mark.parametrize(
    "leak, seen", [("tensor", "allocator bytes"), ("object", "gc objects, python blocks")]
)
def test_a_leak_is_found(leak, seen):
    status, text = soak("--steps", "600", "--leak", leak)
    assert status == 1 and seen in text.splitlines()[-1], text
