"""Processes of distributed.spawn end when who started them does."""

import os
import signal
import subprocess
import sys

import pytest
from tests.processes import alive, until

from argosy.distributed._spawn import SpawnContext

_PROGRAM = """
import os, sys, time
import argosy.distributed as dist

def wait(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(1000)

if __name__ == "__main__":
    dist.spawn(wait, (sys.argv[1],), nprocs=2, start_method=sys.argv[2])
"""


@pytest.mark.parametrize(
    "number, method",
    [
        (signal.SIGKILL, "spawn"),
        (signal.SIGTERM, "fork"),
        (signal.SIGINT, "spawn"),
        (signal.SIGKILL, "forkserver"),
    ],
)
def test_nothing_outlives_who_called_spawn(tmp_path, number, method):
    program, folder = tmp_path / "program.py", tmp_path / "up"
    program.write_text(_PROGRAM)
    folder.mkdir()
    process = subprocess.Popen([sys.executable, str(program), str(folder), method])
    pids = []
    try:
        until(lambda: len(os.listdir(folder)) == 2)
        pids = [int(name) for name in os.listdir(folder)]
        process.send_signal(number)
        process.wait(100)
        until(lambda: not any(map(alive, pids)))
    finally:
        process.kill()
        process.wait()
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)


class _EndsWhileItIsLookedAt:
    """A process whose exit code is there the second time that somebody asks."""

    pid = 1

    def __init__(self):
        self.sentinel, writing = os.pipe()
        os.close(writing)
        self._codes = iter([None] + [7] * 100)

    @property
    def exitcode(self):
        return next(self._codes)

    def join(self, timeout=None):
        pass


def test_a_process_that_fails_while_others_are_looked_at_is_not_passed_over():
    process = _EndsWhileItIsLookedAt()
    try:
        with pytest.raises(RuntimeError, match="process 1 ended with 7"):
            SpawnContext([process]).join()
    finally:
        os.close(process.sentinel)
