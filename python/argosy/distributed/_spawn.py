"""Starting the processes of a job from Python."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import secrets
import threading
import time

from argosy._processes import end_with
from argosy._support import only_known, unsupported

from .launch import ports

__all__ = []

# Options of spawn that say of this host what is so anyway.
_OF_ONE = {"gpus": None, "xpus": None, "ips": None, "print_config": False}
# Seconds that processes have to end when one of them failed, before they are ended.
_PATIENCE = 3.0


def _environment(count):
    """What each process finds in its environment."""
    if count == 1:
        return [{}]
    endpoints = [f"127.0.0.1:{port}" for port in ports.pick(count)]
    common = {
        "PADDLE_TRAINERS_NUM": str(count),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_MASTER": endpoints[0],
        "PADDLE_NNODES": "1",
        "ARGOSY_JOB_TOKEN": os.environ.get("ARGOSY_JOB_TOKEN", "") or secrets.token_hex(16),
        "ARGOSY_JOB_ID": f"spawn-{os.getpid()}-{secrets.token_hex(4)}",
    }
    if not os.environ.get("ARGOSY_NUM_THREADS") and not os.environ.get("OMP_NUM_THREADS"):
        common["ARGOSY_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // count))
    return [
        dict(
            common,
            PADDLE_TRAINER_ID=str(rank),
            PADDLE_LOCAL_RANK=str(rank),
            PADDLE_RANK_IN_NODE=str(rank),
            PADDLE_CURRENT_ENDPOINT=endpoint,
        )
        for rank, endpoint in enumerate(endpoints)
    ]


@contextlib.contextmanager
def _with_environment(environ):
    """os.environ with these: a new interpreter reads some of them before it runs a line."""
    old = {name: os.environ.get(name) for name in environ}
    os.environ.update(environ)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run(environ, parent, by_main_thread, func, args):
    if os.getppid() == parent:
        end_with(parent, by_main_thread)
    else:  # started by a fork server, or the parent has ended
        threading.Thread(target=_end_with_starter, name="argosy-parent", daemon=True).start()
    os.environ.update(environ)  # a forked process has what its parent had
    func(*args)


def _end_with_starter():
    multiprocessing.parent_process().join()
    os._exit(1)


class SpawnContext:
    """Processes that spawn started."""

    def __init__(self, processes):
        self.processes = processes

    def join(self, timeout=None):
        """Waits for the end. False if it has not come after `timeout` seconds.

        Raises:
            RuntimeError: one of the processes failed; the others have been ended then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        running = list(self.processes)
        while running:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready = multiprocessing.connection.wait([p.sentinel for p in running], left)
            if not ready:
                return False
            for process in running:
                if process.sentinel in ready:
                    process.join()
            codes = {p: p.exitcode for p in running}  # asked once: any may end at any moment
            failed = [p for p, code in codes.items() if code]
            running = [p for p, code in codes.items() if code is None]
            if failed:
                self._fail(failed)
        return True

    def _end(self):
        """Ends all that have not ended by themselves in a few seconds."""
        end = time.monotonic() + _PATIENCE
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            if process.exitcode is None:
                process.kill()
                process.join()

    def _fail(self, failed):
        """The others would wait for who failed."""
        self._end()
        # Who died by a signal did not fail because of another one.
        first = min(failed, key=lambda p: p.exitcode > 0)
        rank = f" (rank {self.processes.index(first)})" if len(self.processes) > 1 else ""
        raise RuntimeError(
            f"[distributed.spawn] process {first.pid}{rank} ended with {first.exitcode}; what it"
            " wrote stands above. Do this: call the function directly to debug it."
        )


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Calls ``func(*args)`` in new processes, and waits for them unless join is False.

    In each, get_rank() says which it is; init_parallel_env() connects them. They do not
    outlive this process, however it ends.

    Args:
        func (callable): Can be imported by the new processes: no lambda, no inner function.
        args (tuple): Its arguments.
        nprocs (int): How many; -1 for as many as the machine has devices, which is 1.
        join (bool): Whether to wait.
        daemon (bool): Whether this process, when it is through, ends them rather than waits for them.
        **options: start_method, as of multiprocessing.get_context ("spawn"); backend, "auto" or "gloo",
            which is shared memory; gpus, xpus, ips and print_config, only as they are by default.

    Returns:
        What has `join` and `processes`.

    Raises:
        NotImplementedError: options name devices or hosts.
        ValueError: Other options, or nprocs is no number of processes.
        RuntimeError: The function did not return in one of the processes.

    Example:
        >>> import time
        >>> import argosy as paddle
        >>> paddle.distributed.spawn(time.sleep, (0.0,), nprocs=1).join()
        True
    """
    what = "distributed.spawn"
    only_known(what, options, ("start_method", "backend", *_OF_ONE))
    unsupported(
        what, "leave it out; processes run on the CPUs of this host",
        **{name: (value, _OF_ONE[name]) for name, value in options.items() if name in _OF_ONE},
    )  # fmt: skip
    if options.get("backend", "auto") not in ("auto", "gloo"):
        raise NotImplementedError(
            f"[{what}] backend: expected 'auto' or 'gloo', got {options['backend']!r}."
        )
    if not isinstance(nprocs, int) or (nprocs < 1 and nprocs != -1):
        raise ValueError(f"[{what}] nprocs: expected a number above 0, or -1, got {nprocs!r}.")
    way = multiprocessing.get_context(options.get("start_method", "spawn"))
    context = SpawnContext([])
    by_main_thread = threading.current_thread() is threading.main_thread()
    try:
        for environ in _environment(max(nprocs, 1)):
            what_runs = (environ, os.getpid(), by_main_thread, func, args)
            process = way.Process(target=_run, args=what_runs, daemon=daemon)
            with _with_environment(environ):
                process.start()
            context.processes.append(process)
        if join:
            context.join()
    except BaseException:  # Ctrl-C, too: nobody would wait for them any more
        context._end()
        raise
    return context
