"""Sees that nothing of a job outlives its launcher.

Run by path, with the standard library only (it starts in milliseconds), in one of two ways:

    guardian.py watch MARK           waits until standard input ends, then kills what has the mark
    guardian.py start PARENT -- ..   replaces itself by the command, which the kernel kills when the
                                     process PARENT ends

A process belongs to a job when its environment has the job's mark in ARGOSY_JOB_MARK (or among
several there, with commas between): what it started belongs too, in whatever process group or session.
A mark is drawn for each launch, so two jobs of one name leave each other alone.
"""

import os
import signal
import sys
import time


def members(mark, variable="ARGOSY_JOB_MARK"):
    """Numbers of the processes whose environment has `mark` in `variable`, without this process."""
    mark = mark.rpartition(",")[2].encode()
    prefix = variable.encode() + b"="
    found = []
    try:
        entries = os.listdir("/proc")
    except OSError:
        return found
    me = os.getpid()
    for entry in entries:
        if not entry.isdigit() or int(entry) == me:
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                environ = file.read()
        except OSError:
            continue
        for one in environ.split(b"\0"):
            if one.startswith(prefix) and mark in one[len(prefix) :].split(b","):
                found.append(int(entry))
    return found


def alive(pid):
    """Whether the process runs: one that nobody has waited for yet does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def kill_members(mark, keep=(), seconds=5.0):
    """Kills all that has the mark (but keep) until there is nothing; True if it succeeded."""
    end = time.monotonic() + seconds
    while True:
        left = [pid for pid in members(mark) if pid not in keep and alive(pid)]
        if not left:
            return True
        if time.monotonic() > end:
            return False
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.01)


def die_with_parent(parent):
    """The kernel kills this process when its parent ends (Linux)."""
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)


def _start(parent, command):
    die_with_parent(parent)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"argosy launch: cannot start {command[0]}: {error}", file=sys.stderr)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _watch(mark):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    kill_members(mark)


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        _watch(sys.argv[2])
    else:
        _start(int(sys.argv[2]), sys.argv[4:])
