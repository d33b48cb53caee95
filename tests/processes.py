"""Waiting for what processes do, as /proc tells it. Tests wait for events, not for time: limits are for
hangs, and far above what a busy machine needs."""

import collections
import pathlib
import time

__all__ = ["alive", "state", "until", "until_it_waits"]


def until(what, seconds=200, told="it did not come to be"):
    """The first what() that is true; fails with `told` (or what told() gives) if none comes."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, told() if callable(told) else told
        time.sleep(0.01)
    return found


def state(pid):
    """S sleeps, R runs or would, T is stopped, Z has ended; Z, too, for one that is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def alive(pid):
    """Whether the process has not ended."""
    return state(pid) not in "ZX"


def until_it_waits(pid):
    """Until the main thread of a process that has nothing to do but wait does so: it sleeps nearly always,
    where one that wants a busy machine's processor does not."""
    looks = collections.deque(maxlen=20)

    def mostly_asleep():
        time.sleep(0.01)
        looks.append(state(pid))
        return looks.count("S") >= 19

    until(mostly_asleep, told=lambda: f"process {pid} does not wait: {''.join(looks)}")
