"""The loader: batches of a data set, made in this process or in worker processes."""

import multiprocessing
import os
import select
import signal
import socket
import time
import warnings
import weakref

from argosy._framework import in_static_mode

from . import transport
from .batch_sampler import BatchSampler, _require
from .collate import default_collate_fn, default_convert_fn
from .dataset import IterableDataset
from .sampler import SequenceSampler
from .worker import EndOfStream, Fetcher, WorkerError, WorkerInfo, run_worker

__all__ = []


class _LoaderHasNoLength(ValueError, TypeError):
    """A ValueError that, being a TypeError too, ``list(loader)`` takes for "no length hint"."""


class _MapKind:
    MAP = 0
    ITER = 1


class DataLoader:
    """Iterates over `dataset` in batches of tensors.

    Args:
        dataset (Dataset | IterableDataset | sequence): The samples.
        feed_list (list): In static mode, the inputs that the parts of a sample are for.
        return_list (bool): A batch is what `collate_fn` gives, arrays made tensors; False, in static
            mode: a list of one dict by the names of feed_list, for Executor.run.
        places, use_buffer_reader, reader_buffer_size: Accepted; without effect here.
        batch_sampler (BatchSampler, optional): Gives the lists of indices, in place of `batch_size`,
            `shuffle` and `drop_last`.
        batch_size (int | None): Samples in a batch; None for single samples, not collated.
        shuffle (bool): Visit the samples in random order.
        drop_last (bool): Leave out the last batch if it is smaller.
        collate_fn (callable, optional): Makes a batch of a list of samples.
        num_workers (int): Processes that make batches; 0 makes them in this process. Order is the
            same whatever their number.
        prefetch_factor (int): Batches that each worker makes ahead.
        use_shared_memory (bool): Pass large batches by shared memory rather than through a socket.
        timeout (int): Seconds to wait for a batch of a worker; 0 waits as long as it lives.
        worker_init_fn (callable, optional): Called in each worker with its number.
        persistent_workers (bool): Keep the workers for the next iteration.

    An exception in a worker is raised here with its traceback; a worker that dies is named with its
    process id and the signal that ended it.
    """

    def __init__(
        self,
        dataset,
        feed_list=None,
        places=None,
        return_list=True,
        batch_sampler=None,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        collate_fn=None,
        num_workers=0,
        use_buffer_reader=True,
        reader_buffer_size=2,
        prefetch_factor=2,
        use_shared_memory=True,
        timeout=0,
        worker_init_fn=None,
        persistent_workers=False,
    ):
        self.return_list = return_list
        self.collate_fn = collate_fn
        self.use_buffer_reader = use_buffer_reader
        self.reader_buffer_size = reader_buffer_size
        self.prefetch_factor = prefetch_factor
        self.worker_init_fn = worker_init_fn
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = places
        self._as_feeds = not return_list and in_static_mode()
        _require(
            not self._as_feeds or feed_list is not None,
            "[DataLoader] feed_list should be set when return_list=False",
        )
        _require(
            num_workers >= 0, f"[DataLoader] num_workers: expected an int >= 0, got {num_workers}."
        )
        _require(timeout >= 0, f"[DataLoader] timeout: expected seconds >= 0, got {timeout}.")
        _require(
            prefetch_factor > 0,
            f"[DataLoader] prefetch_factor: expected a positive int, got {prefetch_factor}.",
        )
        self.num_workers = num_workers
        self.use_shared_memory = use_shared_memory and num_workers > 0
        self.timeout = timeout
        self._persistent_workers = persistent_workers
        self._iterator = None
        if isinstance(dataset, IterableDataset):
            self.dataset_kind = _MapKind.ITER
            if shuffle:
                raise ValueError(
                    "[DataLoader] an IterableDataset cannot be shuffled, got shuffle="
                    f"{shuffle}. Do this: shuffle in the data set's __iter__."
                )
            if batch_sampler is not None:
                raise ValueError(
                    "[DataLoader] an IterableDataset has no indices for a batch_sampler. Do this: "
                    "pass batch_size."
                )
        else:
            self.dataset_kind = _MapKind.MAP
        if batch_sampler is not None:
            _require(
                batch_size == 1 and not shuffle and not drop_last,
                "[DataLoader] batch_size, shuffle and drop_last are the batch_sampler's business. "
                "Do this: leave them out, or leave out batch_sampler.",
            )
            self.batch_sampler = batch_sampler
            self.batch_size = None
        elif batch_size is None:
            self.batch_sampler = None
            self.batch_size = None
        else:
            _require(
                batch_size > 0,
                f"[DataLoader] batch_size: expected None or a positive int, got {batch_size}.",
            )
            self.batch_size = batch_size
            self.batch_sampler = (
                None
                if self.dataset_kind == _MapKind.ITER
                else BatchSampler(
                    dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last
                )
            )
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.auto_collate_batch = self.batch_sampler is not None or self.batch_size is not None
        if num_workers > 0 and not hasattr(os, "fork"):
            warnings.warn(
                "[DataLoader] worker processes need fork, which this system lacks: batches are made "
                "in this process.",
                stacklevel=2,
            )
            self.num_workers = 0

    def __len__(self):
        if self.dataset_kind == _MapKind.ITER:
            raise _LoaderHasNoLength(
                "[DataLoader] the length of an IterableDataset is not known before its end. "
                "Do this: count the batches while iterating."
            )
        return len(self.batch_sampler) if self.auto_collate_batch else len(self.dataset)

    def __iter__(self):
        batches = self._batches()
        return self._feeds(batches) if self._as_feeds else batches

    def _feeds(self, batches):
        names = [v.name for v in self.feed_list]
        for batch in batches:
            yield [dict(zip(names, batch))]

    def _batches(self):
        if self.num_workers == 0:
            return _SingleProcessIterator(self)
        if not self._persistent_workers:
            return _WorkerIterator(self)
        if self._iterator is None or not self._iterator.usable():
            self._iterator = _WorkerIterator(self)
        else:
            self._iterator.restart()
        return self._iterator

    def __call__(self):
        return iter(self)

    def _tasks(self):
        """What to fetch, one after another: lists of indices, single indices, or nothing for a
        stream."""
        if self.dataset_kind == _MapKind.ITER:
            return _forever()
        if self.auto_collate_batch:
            return iter(self.batch_sampler)
        if self.shuffle:
            from .sampler import RandomSampler

            return iter(RandomSampler(self.dataset))
        return iter(SequenceSampler(self.dataset))

    def _make_fetcher(self):
        collate = self.collate_fn
        if collate is None:
            collate = default_collate_fn if self.auto_collate_batch else default_convert_fn
        return Fetcher(
            self.dataset,
            self.dataset_kind == _MapKind.ITER,
            self.auto_collate_batch,
            collate,
            self.drop_last,
            self.batch_size,
        )


def _forever():
    while True:
        yield None


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


class _SingleProcessIterator:
    def __init__(self, loader):
        self._fetcher = loader._make_fetcher()
        self._tasks = loader._tasks()
        # Arrays that default_collate_fn stacked belong to nobody else.
        self._copy = loader.collate_fn is not None or not loader.auto_collate_batch

    def __iter__(self):
        return self

    def __next__(self):
        return _to_tensors(self._fetcher.fetch(next(self._tasks)), self._copy)


class _Worker:
    __slots__ = ("id", "process", "sock", "exhausted", "leases")


def _stop(owner, workers):
    """Ends worker processes. They end by themselves when their socket closes, even in the middle of
    a batch; signals are for one that is stopped or stuck in the kernel."""
    if os.getpid() != owner:
        return  # a forked child has a copy of the loader; the workers are not its own
    for worker in workers:
        worker.sock.close()
    deadline = time.monotonic() + 2.0
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
    for end in (signal.SIGTERM, signal.SIGKILL):
        left = [w for w in workers if w.process.exitcode is None]
        for worker in left:
            try:
                os.kill(worker.process.pid, end)
            except ProcessLookupError:
                pass
        for worker in left:
            worker.process.join(1.0)
    workers.clear()


class _WorkerIterator:
    """Gives tasks to workers in turn and their answers in the order of the tasks."""

    def __init__(self, loader):
        import numpy

        self._loader = loader
        self._workers = []
        self._epoch = 0
        self._broken = False
        seed = int(numpy.random.randint(0, 2**63 - 1))
        self._finalizer = weakref.finalize(self, _stop, os.getpid(), self._workers)
        context = multiprocessing.get_context("fork")
        for i in range(loader.num_workers):
            self._workers.append(self._start(context, i, seed))
        self._begin()

    def _start(self, context, number, seed):
        loader = self._loader
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
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
        return not self._broken and all(w.process.exitcode is None for w in self._workers)

    def restart(self):
        """Begins a new iteration with the same workers, whose generators go on."""
        self._epoch += 1  # answers to tasks of an iteration that was left early are dropped
        for worker in self._workers:
            self._send(worker, ("reset",))
        self._begin()

    def __iter__(self):
        return self

    def _send(self, worker, task):
        try:
            transport.send(worker.sock, task)
        except OSError:
            self._report_death(worker)

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
        while self._next < self._sent:
            if self._next not in self._ready:
                try:
                    self._receive()
                except Exception:
                    self._fail()
                    raise
                continue
            result = self._ready.pop(self._next)
            self._next += 1
            if isinstance(result, EndOfStream):
                self._give_task()
                continue
            if isinstance(result, WorkerError):
                self._fail()
                result.reraise()
            self._give_task()
            return _to_tensors(result, copy=False)
        if not self._loader._persistent_workers:
            self._finalizer()
        raise StopIteration

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
        timeout = self._loader.timeout
        events = poll.poll(timeout * 1000 if timeout else None)
        if not events:
            waiting = self._owner[self._next]
            raise TimeoutError(
                f"[DataLoader] worker {waiting.id} (pid {waiting.process.pid}) gave no batch within "
                f"timeout={timeout} seconds. Do this: pass a larger timeout, or find out what its "
                "data set waits for."
            )
        answered = [fd for fd, _ in events if by_fd[fd].sock.fileno() == fd]
        for fd in answered:
            worker = by_fd[fd]
            try:
                epoch, number, result, given_up = transport.receive(worker.sock, worker.leases)
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
