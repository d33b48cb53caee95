"""The worker process of a loader."""

import itertools
import os
import queue
import signal
import sys
import threading
import traceback

from argosy import _core, tensor
from argosy._processes import die_with_parent
from argosy.device.place import CPUPlace, current

from . import transport

__all__ = []

_worker_info = None

# How often a worker looks whether its loader's process is still there.
_PARENT_CHECK_SECONDS = 1.0


class WorkerInfo:
    """What a worker process knows of itself: ``id`` (from 0), ``num_workers``, ``dataset`` (its own
    copy) and ``seed`` (of the loader; the worker's generators are seeded with it and ``id``).
    """

    def __init__(self, id, num_workers, dataset, seed):
        self.__dict__.update(id=id, num_workers=num_workers, dataset=dataset, seed=seed)

    def __setattr__(self, name, value):
        raise RuntimeError(
            f"[WorkerInfo] {name} cannot be set: the information is read only."
            " Do this: keep own data in the data set."
        )

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


def get_worker_info():
    """What a worker process of a DataLoader knows of itself.

    Returns:
        WorkerInfo | None: id (from 0), num_workers, dataset and seed; None in other processes.

    Example:
        >>> argosy.io.get_worker_info() is None
        True
    """
    return _worker_info


class WorkerError:
    """An exception on its way from a worker to the loader."""

    def __init__(self, worker_id, error):
        self.worker_id = worker_id
        self.kind = type(error)
        self.name = self.kind.__name__
        self.text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        if self.kind.__module__ != "builtins":
            import pickle

            try:
                pickle.loads(pickle.dumps(self.kind))
            except Exception:
                self.kind = RuntimeError

    def reraise(self):
        """Raises an exception of the same type, whose text has the worker's traceback."""
        text = (
            f"[DataLoader] worker {self.worker_id} raised {self.name}. Its traceback:\n{self.text}"
        )
        if self.kind is KeyError:
            text = _Verbatim(text)
        try:
            error = self.kind(text)
        except Exception:
            error = RuntimeError(text)
        raise error


class _Verbatim(str):
    """A text that KeyError shows with its line breaks."""

    def __repr__(self):
        return str(self)


class EndOfStream:
    """Sent when a worker's IterableDataset has no more samples."""


def _stray_stop(where):
    """Of a StopIteration that would end the loop early, as if there were no more samples."""
    return RuntimeError(
        f"[DataLoader] {where} raised StopIteration, which only the iterator of an IterableDataset may."
        " Do this: find the next() there that has nothing left, and give it a default, or catch it."
    )


class Fetcher:
    """Makes batches of a data set; used by workers and by the loader without workers."""

    def __init__(self, dataset, iterable, auto_collate, collate_fn, drop_last, batch_size):
        self._dataset = dataset
        self._iterator = iter(dataset) if iterable else None
        self._auto_collate = auto_collate
        self._collate = collate_fn
        self._drop_last = drop_last
        self._batch_size = batch_size

    def fetch(self, indices):
        """The batch of the samples `indices` (ignored for a stream). Raises StopIteration at the end
        of a stream, and only there."""
        samples = self._samples(indices)
        try:
            return self._collate(samples)
        except StopIteration as error:
            raise _stray_stop(where="collate_fn") from error

    def _samples(self, indices):
        if self._iterator is not None:
            return self._next_samples()
        try:
            if not self._auto_collate:
                return self._dataset[indices]
            get_many = getattr(self._dataset, "__getitems__", None)
            if callable(get_many):
                return get_many(indices)
            return [self._dataset[i] for i in indices]
        except StopIteration as error:
            raise _stray_stop(where="the data set") from error

    def _next_samples(self):
        if not self._auto_collate:
            return next(self._iterator)
        samples = list(itertools.islice(self._iterator, self._batch_size))
        if not samples or (self._drop_last and len(samples) < self._batch_size):
            raise StopIteration
        return samples


def _read_tasks(sock, tasks, parent):
    """Runs in a thread of the worker: passes tasks on, and ends the process when the loader, or its
    whole process, is gone."""
    import select

    def stalled(seconds):
        if os.getppid() != parent:
            os._exit(1)

    poll = select.poll()
    poll.register(sock, select.POLLIN)
    while True:
        try:
            ready = poll.poll(_PARENT_CHECK_SECONDS * 1000)
            if not ready:
                stalled(_PARENT_CHECK_SECONDS)
                continue
            tasks.put(transport.receive(sock, stalled=stalled))
        except transport.Closed:
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)


def _seed_generators(seed, worker_id):
    """Python's, NumPy's and Argosy's generators, each with its own stream for each worker."""
    import random

    import numpy

    python, numbers, tensors = (
        int(x) for x in numpy.random.SeedSequence([seed, worker_id]).generate_state(3)
    )
    random.seed(python)
    numpy.random.seed(numbers)
    tensor.seed(tensors)


def _answer(sock, worker_id, message, segments):
    """Sends an answer; of one that cannot be sent, why."""
    try:
        transport.send(sock, message, segments)
    except ConnectionError:
        raise
    except BaseException as error:
        epoch, number, _, given_up = message
        transport.send(sock, (epoch, number, WorkerError(worker_id, error), given_up))


def run_worker(sock, other_socks, info, make_fetcher, init_fn, keep, parent, by_main_thread):
    """Body of a worker process: answers each task with (epoch, number, batch, segments given up).

    keep: how many unused segments of shared memory to keep; None to use none.
    parent: the loader's process; the worker ends with it.
    """
    global _worker_info
    if by_main_thread:
        # Even if code of the data set never lets another thread run. The kernel means the thread
        # that forked, so this is not for others, which may end before their process.
        die_with_parent(parent)
    # Ctrl-C reaches the whole terminal group; the loader decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in other_socks:
        other.close()
    _worker_info = info
    _core.set_place(CPUPlace())  # a forked process cannot use the devices of its parent
    current.place = CPUPlace()
    tasks = queue.SimpleQueue()
    reader = threading.Thread(
        target=_read_tasks, args=(sock, tasks, parent), name="argosy-tasks", daemon=True
    )
    reader.start()
    segments = None if keep is None else transport.Segments(keep)
    fetcher, failure = None, None
    try:
        _seed_generators(info.seed, info.id)
        if init_fn is not None:
            init_fn(info.id)
        fetcher = make_fetcher()
    except BaseException as error:
        failure = WorkerError(info.id, error)
    while True:
        task = tasks.get()
        if task[0] == "reset":
            try:
                fetcher, failure = make_fetcher(), None
            except BaseException as error:
                failure = WorkerError(info.id, error)
            continue
        _, epoch, number, indices, done = task
        given_up = []
        if segments is not None:
            segments.give_back(done)
            given_up = segments.given_up()
        try:
            result = failure if failure is not None else fetcher.fetch(indices)
        except StopIteration:
            result = EndOfStream()
        except BaseException as error:
            result = WorkerError(info.id, error)
        try:
            _answer(sock, info.id, (epoch, number, result, given_up), segments)
        except ConnectionError:
            os._exit(0)
        del result
        sys.stdout.flush()
        sys.stderr.flush()
