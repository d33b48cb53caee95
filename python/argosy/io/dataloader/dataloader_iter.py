"""Iterators of a loader: batches made in this process or in worker processes."""

import multiprocessing
import multiprocessing.util
import os
import select
import signal
import threading

from argosy._processes import stop
from argosy._waits import FOR_EVER, data_timeout

from . import transport
from .worker import EndOfStream, WorkerError, WorkerInfo, run_worker

__all__ = []

# Workers end by themselves when their socket closes, even in the middle of a batch; signals are for
# one that is stopped or stuck.
_PATIENCE_SECONDS = 2.0


class _DataLoaderIterBase:
    """What every iterator of a DataLoader is an instance of."""

    def __iter__(self):
        return self


def _to_tensors(batch, copy):
    """Arrays of a batch become tensors (that share their memory unless `copy`); sequences become
    lists."""
    import numpy

    if isinstance(batch, numpy.ndarray):
        return batch if batch.dtype.kind in "OSUMm" else transport.as_tensor(batch, copy)
    if isinstance(batch, dict):
        return {key: _to_tensors(value, copy) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_to_tensors(value, copy) for value in batch))
    if isinstance(batch, (list, tuple)):
        return [_to_tensors(value, copy) for value in batch]
    return batch


def _as_they_are(batch, copy):
    return batch


class _SingleProcessIterator(_DataLoaderIterBase):
    def __init__(self, loader, deliver):
        self._deliver = deliver
        self._fetcher = loader._make_fetcher()
        self._tasks = loader._tasks()
        # Arrays that default_collate_fn stacked belong to nobody else.
        self._copy = loader.collate_fn is not None or not loader.auto_collate_batch

    def __next__(self):
        return self._deliver(self._fetcher.fetch(next(self._tasks)), self._copy)


class _Worker:
    __slots__ = ("id", "process", "sock", "exhausted", "leases")


class _WorkerIterator(_DataLoaderIterBase):
    """Gives tasks to workers in turn and their answers in the order of the tasks."""

    def __init__(self, loader, deliver):
        import numpy

        self._loader = loader
        self._deliver = deliver
        self._limit = float(loader.timeout) if loader.timeout else data_timeout()
        self._workers = []
        self._epoch = 0
        self._broken = False
        self._process = os.getpid()
        self._lock = threading.Lock()  # threads may take batches of one iterator in turn
        seed = int(numpy.random.randint(0, 2**63 - 1))
        # Of multiprocessing, whose own end of the program waits without limit for processes that are
        # left; those with a priority come before that.
        self._finalizer = multiprocessing.util.Finalize(
            self, stop, (os.getpid(), self._workers, _PATIENCE_SECONDS), exitpriority=10
        )
        context = multiprocessing.get_context("fork")
        for i in range(loader.num_workers):
            self._workers.append(self._start(context, i, seed))
        self._begin()

    def _start(self, context, number, seed):
        loader = self._loader
        ours, theirs = transport.pair()
        worker = _Worker()
        worker.id = number
        worker.sock = ours
        worker.exhausted = False
        worker.leases = transport.Leases()
        worker.process = context.Process(
            target=run_worker,
            args=(
                theirs,
                [w.sock for w in self._workers] + [ours],
                WorkerInfo(number, loader.num_workers, loader.dataset, seed),
                loader._make_fetcher,
                loader.worker_init_fn,
                loader.prefetch_factor + 1 if loader.use_shared_memory else None,
                os.getpid(),
                threading.current_thread() is threading.main_thread(),
            ),
            daemon=True,
            name=f"argosy-loader-{number}",
        )
        worker.process.start()
        theirs.close()
        return worker

    def _begin(self):
        self._tasks = self._loader._tasks()
        self._sent = 0  # tasks given out
        self._next = 0  # number of the task whose batch comes next
        self._ready = {}
        self._owner = {}  # task -> worker that has it
        self._turn = 0
        self._no_more_tasks = False
        for worker in self._workers:
            worker.exhausted = False
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._give_task()

    def usable(self):
        """Whether a new iteration can use these workers."""
        return (
            not self._broken
            and self._process == os.getpid()
            and all(w.process.exitcode is None for w in self._workers)
        )

    def restart(self, deliver):
        """Begins a new iteration with the same workers, whose generators go on."""
        self._deliver = deliver
        self._epoch += 1  # answers to tasks of an iteration that was left early are dropped
        self._or_fail(self._reset)

    def _reset(self):
        for worker in self._workers:
            self._send(worker, ("reset",))
        self._begin()

    def _send(self, worker, task):
        try:
            transport.send(worker.sock, task, stalled=self._patience(worker, "took no task"))
        except TimeoutError:
            raise
        except OSError:
            self._report_death(worker)

    def _patience(self, worker, what):
        """For transport: raises when the worker died or the limit has passed."""

        def stalled(seconds):
            if worker.process.exitcode is not None:
                self._report_death(worker)
            if seconds >= self._limit:
                self._report_silence(worker, what)

        return stalled

    def _report_silence(self, worker, what):
        self._fail()
        raise TimeoutError(
            f"[DataLoader] worker {worker.id} (pid {worker.process.pid}) {what} within"
            f" timeout={self._limit:g} seconds. Do this: find out what its data set waits for, or"
            " wait longer: DataLoader(timeout=SECONDS), or ARGOSY_DATA_TIMEOUT in the environment;"
            " inf is for ever."
        )

    def _give_task(self):
        if self._no_more_tasks:
            return
        for _ in range(len(self._workers)):
            worker = self._workers[self._turn % len(self._workers)]
            self._turn += 1
            if not worker.exhausted:
                break
        else:
            self._no_more_tasks = True
            return
        try:
            indices = next(self._tasks)
        except StopIteration:
            self._no_more_tasks = True
            return
        self._owner[self._sent] = worker
        self._send(worker, ("fetch", self._epoch, self._sent, indices, worker.leases.done()))
        self._sent += 1

    def __next__(self):
        if self._process != os.getpid():
            raise RuntimeError(
                f"[DataLoader] this iterator is of process {self._process}, which forked this one: both would"
                " read the same sockets. Do this: begin another iteration, iter(loader), in the child."
            )
        with self._lock:
            return self._next_batch()

    def _next_batch(self):
        while self._next < self._sent:
            if self._next not in self._ready:
                self._or_fail(self._receive)
                continue
            result = self._ready.pop(self._next)
            self._next += 1
            if isinstance(result, EndOfStream):
                self._or_fail(self._give_task)
                continue
            if isinstance(result, WorkerError):
                self._fail()
                result.reraise()
            self._or_fail(self._give_task)
            return self._deliver(result, False)
        if not self._loader._persistent_workers:
            self._finalizer()
        raise StopIteration

    def _or_fail(self, step):
        """step(); a message that was sent or received in part (Ctrl-C) leaves no usable workers."""
        try:
            step()
        except BaseException:
            self._fail()
            raise

    def _fail(self):
        self._broken = True
        self._next = self._sent
        self._finalizer()

    def _receive(self):
        """Waits until some worker has answered or died, and takes in all answers that are there."""
        poll = select.poll()
        by_fd = {}
        for worker in self._workers:
            by_fd[worker.sock.fileno()] = worker
            poll.register(worker.sock, select.POLLIN)
            # Also the process itself: a child of a dead worker may hold its socket open.
            by_fd[worker.process.sentinel] = worker
            poll.register(worker.process.sentinel, select.POLLIN)
        events = poll.poll(None if self._limit >= FOR_EVER else min(self._limit * 1e3, 2**31 - 1))
        if not events:
            self._report_silence(self._owner[self._next], "gave no batch")
        answered = [fd for fd, _ in events if by_fd[fd].sock.fileno() == fd]
        for fd in answered:
            worker = by_fd[fd]
            try:
                stalled = self._patience(worker, "sent only a part of a batch")
                epoch, number, result, given_up = transport.receive(
                    worker.sock, worker.leases, stalled
                )
            except transport.Closed:
                self._report_death(worker)
            worker.leases.forget(given_up)
            if epoch != self._epoch:
                continue
            if isinstance(result, EndOfStream):
                worker.exhausted = True
            self._owner.pop(number, None)
            self._ready[number] = result
        if not answered:
            self._report_death(by_fd[events[0][0]])

    def _report_death(self, worker):
        worker.process.join(2.0)
        code = worker.process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = "unknown"
            how = f"was killed by signal {-code} ({name})"
            if -code == signal.SIGKILL:
                how += ", which is also what the system does when memory runs out"
            elif -code == signal.SIGBUS:
                how += ", as happens when shared memory runs out"
        else:
            how = f"ended with exit code {code}"
        self._fail()
        raise RuntimeError(
            f"[DataLoader] worker {worker.id} (pid {worker.process.pid}) {how}. Do this: try "
            "num_workers=0 to see an error of the data set itself, or fewer workers or smaller "
            "batches to save memory."
        )

    def __del__(self):
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None:
            finalizer()


class _Round(_DataLoaderIterBase):
    """One iteration over batches of workers that stay."""

    def __init__(self, workers):
        self._workers = workers
        self.over = False

    def __next__(self):
        try:
            return next(self._workers)
        except BaseException:
            self.over = True
            raise
