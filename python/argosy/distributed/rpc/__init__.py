"""Calling functions in the other processes of a job."""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time
from dataclasses import dataclass

from argosy._core import CommunicationError, CommunicationTimeout
from argosy._job import get_rank, get_world_size
from argosy.distributed import _groups

from ._messages import ask, connect, token_of_job
from ._registry import meet
from ._server import Server

__all__ = [
    "get_all_worker_infos",
    "get_current_worker_info",
    "get_worker_info",
    "init_rpc",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]


@dataclass(frozen=True)
class WorkerInfo:
    """A worker: its name and rank, and where it takes calls."""

    name: str
    rank: int
    ip: str
    port: int


class _Agent:
    """This worker among all of them.

    Threads: `_idle`, connections that no call uses, is guarded by `_lock`; so is `arrived`.
    """

    def __init__(self, name, rank, size, master):
        self._token = token_of_job() if size > 1 else os.urandom(16)
        self._seconds = _groups._limit()
        self._server = Server(_own_host(), 0, self._token)
        self._meeting = None
        me = WorkerInfo(name, rank, *self._server.address)
        self.me = me
        try:
            workers = [me]
            if size > 1:
                workers, self._meeting = meet(me, size, master, self._token, self._seconds)
            self.workers = {w.name: w for w in sorted(workers, key=lambda w: w.rank)}
            if len(self.workers) < size:
                names = sorted(w.name for w in workers)
                raise ValueError(
                    f"[rpc.init_rpc] name: expected another one in each worker, got {', '.join(names)}."
                )
        except BaseException:
            self._close_servers()
            raise
        self._calls = concurrent.futures.ThreadPoolExecutor(max_workers=64)
        self._lock = threading.Condition()
        self._idle = {}
        self.arrived = set()  # who has called shutdown: of the first worker

    def begin(self):
        """Runs what others call; they know of this worker already, and may have called."""
        self._server.begin()

    def call(self, to, message, timeout):
        worker = self.worker(to)
        who = f"worker {worker.name!r} (rank {worker.rank})"
        with self._lock:
            idle = self._idle.get(to)
            connection = idle.pop() if idle else None
        if connection is None:
            address = (worker.ip, worker.port)
            connection = connect(address, self._token, who, min(self._seconds, 10.0))
        whole = False
        try:
            answer = ask(connection, message, who, timeout)
            whole = True
            return answer
        except Exception as error:
            whole = not isinstance(error, (CommunicationError, OSError))
            raise
        finally:
            if whole:
                with self._lock:
                    self._idle.setdefault(to, []).append(connection)
            else:  # an answer may still come
                connection.close()

    def start(self, to, message, timeout):
        self.worker(to)
        return self._calls.submit(self.call, to, message, timeout)

    def worker(self, name):
        if name not in self.workers:
            raise ValueError(
                f"[rpc] there is no worker {name!r}: expected one of {', '.join(self.workers)}."
            )
        return self.workers[name]

    def wait_for_all(self):
        first = next(iter(self.workers.values()))
        self.call(first.name, (_arrive, (self.me.name,), {}), 0)

    def arrive(self, name):
        end = time.monotonic() + self._seconds
        with self._lock:
            self.arrived.add(name)
            self._lock.notify_all()
            while len(self.arrived) < len(self.workers):
                if not self._lock.wait(end - time.monotonic()) and time.monotonic() >= end:
                    missing = sorted(self.workers.keys() - self.arrived)
                    raise CommunicationTimeout(
                        f"[rpc.shutdown] {', '.join(missing)} did not come within {self._seconds:g} s. Do"
                        " this: call shutdown in all workers."
                    )

    def close(self):
        self._calls.shutdown(wait=True)
        self._close_servers()
        with self._lock:
            for connections in self._idle.values():
                for connection in connections:
                    connection.close()

    def _close_servers(self):
        # The others' shutdown is a call, too, which the first worker may still have to answer.
        for server in (self._server, self._meeting):
            if server is not None:
                server.close(_ANSWERED_SECONDS)


_agent = None
# That calls which are under way when all workers have called shutdown have to be answered.
_ANSWERED_SECONDS = 10.0


def _arrive(name):
    _needed("rpc.shutdown").arrive(name)


def _own_host():
    return os.environ.get("PADDLE_CURRENT_ENDPOINT", "").rpartition(":")[0] or "127.0.0.1"


def _needed(what):
    if _agent is None:
        raise RuntimeError(
            f"[{what}] this process is no worker yet. Do this: call rpc.init_rpc(name)."
        )
    return _agent


def init_rpc(name, rank=None, world_size=None, master_endpoint=None):
    """Makes this process a worker that others call functions in, and waits until all are there.

    Workers are of one job, whose launcher (or distributed.spawn) drew a token: without it nobody connects.

    Args:
        name (str): Of this worker; another one in each.
        rank (int, optional): Its number; by default the launcher's.
        world_size (int, optional): How many workers there are; by default the launcher's number.
        master_endpoint (str, optional): ip:port at which worker 0 tells all about each other; by default
            they do as init_parallel_env does.

    Raises:
        RuntimeError: It is a worker already, or the job has no token.
        ValueError: Two workers have one name, or the endpoint is none.
        CommunicationTimeout: Not all workers came.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:8001")
        >>> rpc.rpc_sync("worker0", max, args=(2, 3))
        3
        >>> rpc.get_worker_info("worker0").rank
        0
        >>> rpc.shutdown()
    """
    global _agent
    if _agent is not None:
        raise RuntimeError(
            f"[rpc.init_rpc] this process is worker {_agent.me.name!r} already. Do this: rpc.shutdown()."
        )
    rank = get_rank() if rank is None else rank
    size = get_world_size() if world_size is None else world_size
    if not 0 <= rank < size:
        raise ValueError(f"[rpc.init_rpc] rank: expected one below {size}, got {rank}.")
    _agent = _Agent(name, rank, size, master_endpoint)
    _agent.begin()


def rpc_sync(to, fn, args=None, kwargs=None, timeout=-1):
    """Calls fn(*args, **kwargs) in a worker and waits for it.

    Args:
        to (str): The worker's name.
        fn (callable): Can be imported there under the same name.
        args (tuple, optional): Its arguments, which are pickled, as is the result.
        kwargs (dict, optional): The same by name.
        timeout (float): Seconds at most; 0 or less: as long as the worker lives and is not stopped.

    Returns:
        What fn returned. What it raised is raised here.

    Raises:
        ValueError: There is no such worker.
        CommunicationTimeout: It did not answer in time.
        RankLostError: It has ended.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.rpc_sync("worker0", sum, args=([1, 2],))
        3
        >>> rpc.shutdown()
    """
    return _needed("rpc.rpc_sync").call(to, (fn, tuple(args or ()), dict(kwargs or {})), timeout)


class _Future:
    """A call under way."""

    def __init__(self, future):
        self._future = future

    def wait(self):
        """What the function returned; raises what it raised."""
        return self._future.result()


def rpc_async(to, fn, args=None, kwargs=None, timeout=-1):
    """Begins a call of fn(*args, **kwargs) in a worker.

    Args:
        to (str): The worker's name.
        fn (callable): Can be imported there under the same name.
        args (tuple, optional): Its arguments.
        kwargs (dict, optional): The same by name.
        timeout (float): As of rpc_sync, from when the call begins.

    Returns:
        What has wait(), which gives the result or raises what rpc_sync would.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.rpc_async("worker0", max, args=(2, 3)).wait()
        3
        >>> rpc.shutdown()
    """
    message = (fn, tuple(args or ()), dict(kwargs or {}))
    return _Future(_needed("rpc.rpc_async").start(to, message, timeout))


def shutdown():
    """Waits until all workers have called it, and takes no more calls then.

    Raises:
        CommunicationTimeout: Not all of them came.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.shutdown()
    """
    global _agent
    agent = _needed("rpc.shutdown")
    try:
        agent.wait_for_all()
    finally:
        _agent = None
        agent.close()


def get_worker_info(name):
    """A worker by its name.

    Args:
        name (str): That.

    Returns:
        WorkerInfo: With name, rank, ip and port.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.get_worker_info("worker0").name
        'worker0'
        >>> rpc.shutdown()
    """
    return _needed("rpc.get_worker_info").worker(name)


def get_all_worker_infos():
    """All workers.

    Returns:
        list[WorkerInfo]: By rank.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> len(rpc.get_all_worker_infos())
        1
        >>> rpc.shutdown()
    """
    return list(_needed("rpc.get_all_worker_infos").workers.values())


def get_current_worker_info():
    """This worker.

    Returns:
        WorkerInfo: It.

    Example:
        >>> from argosy.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1)
        >>> rpc.get_current_worker_info().rank
        0
        >>> rpc.shutdown()
    """
    return _needed("rpc.get_current_worker_info").me
