"""Running a program as the ranks of a job, with limits."""

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import time

from tests.processes import until

from argosy.distributed.launch import ports

HERE = pathlib.Path(__file__).resolve().parent


class Rank:
    """A process, and what it wrote once it has ended."""

    def __init__(self, process):
        self.process = process
        self.code = None
        self.text = ""

    def collect(self, limit):
        """Waits for the end; one that does not come is killed, and its code is None."""
        try:
            self.text = self.process.communicate(timeout=max(0.1, limit))[0]
            self.code = self.process.returncode
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.text = self.process.communicate()[0]


def start(name, count, *arguments, environ=None, each=None):
    """Starts ranks/NAME.py `count` times; a list of Rank. each(rank): more of one's environment."""
    endpoints = [f"127.0.0.1:{20000 + i}" for i in range(count)]
    common = dict(
        os.environ,
        PADDLE_TRAINERS_NUM=str(count),
        PADDLE_TRAINER_ENDPOINTS=",".join(endpoints),
        PADDLE_MASTER=f"127.0.0.1:{ports.pick(1)[0]}",
        ARGOSY_JOB_ID=secrets.token_hex(8),
        ARGOSY_JOB_TOKEN=secrets.token_hex(8),
        ARGOSY_COMM_TIMEOUT="60",
        ARGOSY_NUM_THREADS="1",
    )
    ranks = []
    for rank in range(count):
        own = dict(common, PADDLE_TRAINER_ID=str(rank), **(environ or {}))
        own.update(each(rank) if each else {})
        ranks.append(
            Rank(
                subprocess.Popen(
                    [sys.executable, str(HERE / f"{name}.py"), *arguments],
                    env=own,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        )
    return ranks


def finish(ranks, limit=500):
    """Waits for all of them, `limit` seconds together."""
    end = time.monotonic() + limit
    for rank in ranks:
        rank.collect(end - time.monotonic())
    return ranks


def run(name, count, *arguments, limit=500, **options):
    """start and finish; all must end with 0."""
    ranks = finish(start(name, count, *arguments, **options), limit)
    for number, rank in enumerate(ranks):
        assert rank.code == 0, f"rank {number} ended with {rank.code}:\n{rank.text}"
    return ranks


def wait_for(path):
    """Until a file is there."""
    until(path.exists, told=f"{path} did not come")


def stop(rank):
    """SIGSTOP."""
    rank.process.send_signal(signal.SIGSTOP)
