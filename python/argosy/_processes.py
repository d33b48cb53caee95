"""Processes that are forked to make samples or batches, and end with who forked them."""

import os
import signal
import threading
import time

_CHECK_SECONDS = 1.0


def die_with_parent(parent):
    """The kernel kills this process when the thread of `parent` that forked it ends (Linux)."""
    # launch/guardian.py has its own: it runs without this package, and its import takes another.
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)


def end_with(parent, by_main_thread):
    """Called in a new process: it ends when `parent`, which forked it, does.

    by_main_thread: whether the main thread forked it. The kernel, which would end it whatever it does,
    means the thread that forked, and others may end before their process; they are looked for instead.
    """
    if by_main_thread:
        die_with_parent(parent)
        return

    def look():
        while os.getppid() == parent:
            time.sleep(_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, name="argosy-parent", daemon=True).start()


def stop(owner, workers, patience):
    """Ends processes that `owner` forked, in a few seconds whatever they do.

    Args:
        workers (list): Each has a `process` and a `sock`, which is closed; emptied.
        patience (float): Seconds for them to end by themselves, before there are signals.
    """
    if os.getpid() != owner:
        return  # a forked child has a copy of the list; the processes are not its own
    for worker in workers:
        worker.sock.close()
    deadline = time.monotonic() + patience
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
    for end in (signal.SIGTERM, signal.SIGKILL):
        left = [w for w in workers if w.process.exitcode is None]
        for worker in left:
            try:
                os.kill(worker.process.pid, end)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 1.0
        for worker in left:
            worker.process.join(max(0.0, deadline - time.monotonic()))
    workers.clear()
