"""Random calls (tests/fuzz/calls.py): some of them run, and what fails is found and made shorter."""

import random
import subprocess
import sys

import pytest
from tests.fuzz import calls, mutations


def run(*options):
    command = [sys.executable, "-m", "tests.fuzz.calls", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=550)


def test_random_calls_end_no_process(tmp_path):
    done = run("--calls", 1500, "--seed", 11, "--jobs", 2, "--out", tmp_path / "found.jsonl")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "1500 calls in" in done.stdout


@pytest.mark.parametrize(
    "call, ending",
    [
        ("__import__('os').kill(__import__('os').getpid(), 11) or T(2, seed=3)", "SIGSEGV"),
        ("T(2) + T(3)", "fine"),
        ("(_ for _ in ()).throw(SystemError('x'))", "SystemError"),
    ],
)
def test_how_a_call_ends(tmp_path, call, ending):
    done = run("--call", call, "--out", tmp_path / "found.jsonl")
    assert done.stdout.split()[0] == ending, done.stdout + done.stderr


def test_a_call_depends_on_its_number():
    assert [mutations.call(5, n, 0.25)[1] for n in range(40)] == [
        mutations.call(5, n, 0.25)[1] for n in range(40)
    ]
    assert len({mutations.call(5, n, 0.25)[1] for n in range(40)}) > 30


def test_calls_get_shorter():
    shorter = list(mutations.simpler("F.f(T(5, 7, fill='nan'), [1, 2], axis=3)"))
    assert "F.f(T(5, 7, fill='nan'), [1, 2])" in shorter
    assert "F.f(T(5, 7), [1, 2], axis=3)" in shorter
    assert "F.f(T(2, 7, fill='nan'), [1, 2], axis=3)" in shorter
    assert "F.f(T(5, 7, fill='nan'), [2], axis=3)" in shorter


def test_mutations_are_calls():
    for seed in range(200):
        changed = mutations.mutated("y = T(2, 3, low=1);; F.relu(y, [1, 2.5])", random.Random(seed))
        assert changed is None or compile(
            changed.replace(";;", "\n").replace("\n ", "\n"), "", "exec"
        )


def test_large_numbers_are_told():
    assert mutations.is_large("paddle.ones([65536, 2])", 10_000)
    assert mutations.is_large("paddle.ones([300, 300])", 10_000)
    assert not mutations.is_large("paddle.ones([30, 30])", 10_000)
    assert calls.DEFECTS.search("A result has another form than was inferred")
