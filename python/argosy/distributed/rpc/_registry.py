"""How workers learn of each other."""

from __future__ import annotations

import threading
import time

from argosy._core import CommunicationTimeout
from argosy.distributed import _groups
from argosy.distributed.communication import all_gather_object

from ._messages import ask, connect
from ._server import Server

__all__ = []


class _Meeting:
    """Of worker 0: who has come. Threads: all calls; fields are guarded by `_changed`."""

    def __init__(self):
        self._changed = threading.Condition()
        self._workers = {}

    def come(self, worker, size, seconds):
        """Waits until `size` workers have come; they."""
        end = time.monotonic() + seconds
        with self._changed:
            self._workers[worker.rank] = worker
            self._changed.notify_all()
            while len(self._workers) < size:
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    missing = sorted(set(range(size)) - self._workers.keys())
                    raise CommunicationTimeout(
                        f"[rpc.init_rpc] worker {', '.join(map(str, missing))} did not come within"
                        f" {seconds:g} s. Do this: start all workers, with the same master_endpoint and"
                        " world_size."
                    )
            return list(self._workers.values())


_meeting = _Meeting()


def _come(worker, size, seconds):
    return _meeting.come(worker, size, seconds)


def meet(me, size, master, token, seconds):
    """All workers, each of which tells `me`: at the endpoint `master` of worker 0, or without one by the
    group of all processes. And worker 0's server there, which has to stay open."""
    global _meeting
    if master is None:
        _groups.connect()
        workers = []
        all_gather_object(workers, me)
        return workers, None
    host, _, port = master.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"[rpc.init_rpc] master_endpoint: expected 'ip:port', got {master!r}.")
    if me.rank == 0:
        _meeting = _Meeting()
        server = Server(host, int(port), token)
        server.begin()
        try:
            return _meeting.come(me, size, seconds), server
        except BaseException:
            server.close()
            raise
    connection = connect((host, int(port)), token, "worker 0", seconds)
    try:
        return ask(connection, (_come, (me, size, seconds), {}), "worker 0", seconds + 5), None
    finally:
        connection.close()
