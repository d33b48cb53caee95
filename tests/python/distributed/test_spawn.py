"""Processes of distributed.spawn end when who started them does."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

_PROGRAM = """
import os, sys, time
import argosy.distributed as dist

def wait(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(1000)

if __name__ == "__main__":
    dist.spawn(wait, (sys.argv[1],), nprocs=2, start_method=sys.argv[2])
"""


def _lives(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _until(what, seconds=100):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.05)


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
        _until(lambda: len(os.listdir(folder)) == 2)
        pids = [int(name) for name in os.listdir(folder)]
        process.send_signal(number)
        process.wait(100)
        _until(lambda: not any(map(_lives, pids)))
    finally:
        process.kill()
        process.wait()
        for pid in filter(_lives, pids):
            os.kill(pid, signal.SIGKILL)
