"""Functions from readers to a reader."""

import itertools
import os
import pickle
import queue
import random
import select
import threading
import time

from argosy._processes import end_with, stop
from argosy._support import no_effect
from argosy._waits import FOR_EVER, data_timeout

__all__ = []


def cache(reader):
    """The samples of a reader, which is read once, now, and kept in memory.

    Args:
        reader (callable): Returns an iterator of samples.

    Returns:
        callable: A reader.

    Example:
        >>> list(argosy.reader.cache(lambda: iter("ab"))())
        ['a', 'b']
    """
    samples = tuple(reader())
    return lambda: iter(samples)


def map_readers(func, *readers):
    """``func(a, b, ..)`` of the samples of some readers, side by side.

    Args:
        func (callable): Takes a sample of each.
        readers (callable): Each returns an iterator of samples.

    Returns:
        callable: A reader; it ends with the shortest.

    Example:
        >>> list(argosy.reader.map_readers(max, lambda: iter([1, 5]), lambda: iter([3, 4]))())
        [3, 5]
    """
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader, buf_size):
    """Samples in random order (Python's ``random``) within each `buf_size` of them.

    Args:
        reader (callable): Returns an iterator of samples.
        buf_size (int): How many are held.

    Returns:
        callable: A reader.

    Example:
        >>> sorted(argosy.reader.shuffle(lambda: iter(range(4)), 2)())
        [0, 1, 2, 3]
    """

    def shuffled():
        samples = iter(reader())
        while part := list(itertools.islice(samples, buf_size)):
            random.shuffle(part)
            yield from part

    return shuffled


def chain(*readers):
    """The samples of the first reader, then of the second, and so on.

    Args:
        readers (callable): Each returns an iterator of samples.

    Returns:
        callable: A reader.

    Example:
        >>> list(argosy.reader.chain(lambda: iter("ab"), lambda: iter("c"))())
        ['a', 'b', 'c']
    """
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


class ComposeNotAligned(ValueError):
    """Readers to be composed do not have the same number of samples."""


def compose(*readers, check_alignment=True):
    """One tuple of the samples of all readers, side by side; tuples among them are opened.

    Args:
        readers (callable): Each returns an iterator of samples.
        check_alignment (bool): raise ComposeNotAligned when one reader ends before the others;
            otherwise samples that are left over are dropped.

    Returns:
        callable: A reader.

    Raises:
        ComposeNotAligned: While it is read, see check_alignment.

    Example:
        >>> list(argosy.reader.compose(lambda: iter([1, 2]), lambda: iter([(3, 4), (5, 6)]))())
        [(1, 3, 4), (2, 5, 6)]
    """
    missing = object()

    def composed():
        iterators = [reader() for reader in readers]
        rows = itertools.zip_longest(*iterators, fillvalue=missing)
        for row in rows if check_alignment else zip(*iterators):
            if any(sample is missing for sample in row):
                raise ComposeNotAligned(
                    "[reader.compose] the readers do not have the same number of samples."
                    " Do this: pass check_alignment=False to drop what is left over."
                )
            parts = (sample if isinstance(sample, tuple) else (sample,) for sample in row)
            yield tuple(itertools.chain.from_iterable(parts))

    return composed


def firstn(reader, n):
    """The first samples of a reader.

    Args:
        reader (callable): Returns an iterator of samples.
        n (int): How many.

    Returns:
        callable: A reader.

    Example:
        >>> list(argosy.reader.firstn(lambda: iter(range(9)), 2)())
        [0, 1]
    """
    return lambda: itertools.islice(reader(), n)


class _End:
    """What a producer puts last: the error that ended it, or None."""

    def __init__(self, error=None):
        self.error = error


def _silence(place, who, limit):
    return TimeoutError(
        f"[reader.{place}] {who} gave no sample for {limit:g} s. Do this: look at what is waited for"
        " there, or set ARGOSY_DATA_TIMEOUT (seconds; inf: for ever) in the environment."
    )


def _drain(results, producers, place, who):
    """What `producers` put until each has put its _End. Raises their errors, and TimeoutError when
    there is nothing for the seconds of ARGOSY_DATA_TIMEOUT."""
    limit = data_timeout()
    while producers:
        item = results.get(limit)
        if item is None:
            raise _silence(place, who, limit)
        if not isinstance(item, _End):
            yield item
        elif item.error is not None:
            raise item.error
        else:
            producers -= 1


class _Pipe:
    """A queue of bounded length that its consumer can close, so that no producer waits forever."""

    def __init__(self, size):
        self._queue = queue.Queue(max(size, 1))
        self.closed = threading.Event()

    def put(self, item):
        while not self.closed.is_set():
            try:
                return self._queue.put(item, timeout=0.1)
            except queue.Full:
                pass
        raise _Closed

    def get(self, limit=float("inf")):
        """The next item; None when there is none for `limit` seconds."""
        end = time.monotonic() + limit
        while not self.closed.is_set():
            try:
                return self._queue.get(timeout=0.1)
            except queue.Empty:
                if time.monotonic() >= end:
                    return None
        raise _Closed


class _Closed(Exception):
    pass


def _start(work, results):
    """Runs `work` in a thread, which ends with an _End in `results`."""

    def run():
        try:
            try:
                work()
            except _Closed:
                raise
            except BaseException as error:
                results.put(_End(error))
            else:
                results.put(_End())
        except _Closed:
            pass

    threading.Thread(target=run, daemon=True).start()


def buffered(reader, size):
    """The samples of a reader, read ahead by a thread.

    Args:
        reader (callable): Returns an iterator of samples.
        size (int): How many are read ahead at most.

    Returns:
        callable: A reader.

    Example:
        >>> list(argosy.reader.buffered(lambda: iter(range(3)), 2)())
        [0, 1, 2]
    """

    def reading_ahead():
        results = _Pipe(size)

        def work():
            for sample in reader():
                results.put((sample,))

        _start(work, results)
        try:
            for (sample,) in _drain(results, 1, "buffered", "the reader"):
                yield sample
        finally:
            results.closed.set()

    return reading_ahead


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """``mapper(sample)`` of all samples, computed by threads.

    Args:
        mapper (callable): Takes a sample.
        reader (callable): Returns an iterator of samples.
        process_num (int): How many threads.
        buffer_size (int): how many samples, and results, may wait.
        order (bool): results in the order of the samples.

    Returns:
        callable: A reader.

    Example:
        >>> list(argosy.reader.xmap_readers(abs, lambda: iter([-1, 2]), 2, 4, order=True)())
        [1, 2]
    """

    def mapped():
        samples, results = _Pipe(buffer_size), _Pipe(buffer_size)

        def read():
            try:
                for item in enumerate(reader()):
                    samples.put(item)
            finally:
                for _ in range(process_num):
                    samples.put(None)

        def work():
            while (item := samples.get()) is not None:
                results.put((item[0], mapper(item[1])))

        _start(read, results)
        for _ in range(process_num):
            _start(work, results)
        early, due = {}, 0
        try:
            who = f"the reader, or the mapper in {process_num} threads,"
            for number, value in _drain(results, process_num + 1, "xmap_readers", who):
                if not order:
                    yield value
                    continue
                early[number] = value
                while due in early:
                    yield early.pop(due)
                    due += 1
        finally:
            samples.closed.set()
            results.closed.set()

    return mapped


def _produce(reader, sock, others, parent, by_main_thread):
    from argosy.io.dataloader import transport

    for other in others:
        other.close()
    end_with(parent, by_main_thread)
    try:
        for sample in reader():
            if sample is None:
                raise ValueError(
                    "[reader.multiprocess_reader] a sample is None."
                    " Do this: leave such samples out."
                )
            transport.send(sock, sample)
    except BaseException as error:
        try:
            transport.send(sock, _End(pickle.loads(pickle.dumps(error))))
        except Exception:  # it does not pickle
            transport.send(sock, _End(RuntimeError(f"[reader.multiprocess_reader] {error!r}.")))
    else:
        transport.send(sock, _End())


class _Producer:
    """A process that reads."""

    def __init__(self, reader, before):
        import multiprocessing

        from argosy.io.dataloader import transport

        self._transport = transport
        self.sock, theirs = transport.pair()
        others = [p.sock for p in before] + [self.sock]
        main = threading.current_thread() is threading.main_thread()
        self.process = multiprocessing.get_context("fork").Process(
            target=_produce, args=(reader, theirs, others, os.getpid(), main), daemon=True
        )
        self.process.start()
        theirs.close()  # the process alone has it, so that its death ends the connection

    def receive(self, limit):
        """What it sent next; to be called when something is there."""
        transport = self._transport

        def stalled(seconds):
            if self.process.exitcode is not None:
                raise transport.Closed
            if seconds >= limit:
                raise _silence(
                    "multiprocess_reader", f"the process {self.process.pid} of a reader", limit
                )

        try:
            return transport.receive(self.sock, stalled=stalled)
        except transport.Closed:
            raise self.death() from None

    def death(self):
        self.process.join(2.0)
        return RuntimeError(
            f"[reader.multiprocess_reader] the process {self.process.pid} of a reader died with exit"
            f" code {self.process.exitcode} (-9: killed, by the kernel when memory is short). Do this:"
            " look at its output, or use fewer readers."
        )


class _Running:
    """Producers that have more to send."""

    def __init__(self, producers, limit):
        self.limit = limit
        self._poll = select.poll()
        self._by_end = {}
        for producer in producers:
            # The process, too: a child of a dead one may hold its socket open.
            for end in (producer.sock.fileno(), producer.process.sentinel):
                self._by_end[end] = producer
                self._poll.register(end, select.POLLIN)

    def __bool__(self):
        return bool(self._by_end)

    def remove(self, producer):
        for end in (producer.sock.fileno(), producer.process.sentinel):
            del self._by_end[end]
            self._poll.unregister(end)

    def ready(self):
        """Producers that sent something; at least one. Raises when one is dead, or all are silent."""
        events = self._poll.poll(
            None if self.limit >= FOR_EVER else min(self.limit * 1e3, 2**31 - 1)
        )
        if not events:
            pids = ", ".join(str(p) for p in sorted({p.process.pid for p in self._by_end.values()}))
            raise _silence(
                "multiprocess_reader", f"each of the processes {pids} of readers", self.limit
            )
        ends = [end for end, _ in events]
        found = [self._by_end[end] for end in ends if self._by_end[end].sock.fileno() == end]
        for producer in {self._by_end[end] for end in ends}.difference(found):
            # What a process that has ended sent before may have come after the look at its socket.
            if producer.sock.fileno() not in dict(self._poll.poll(0)):
                raise producer.death()
            found.append(producer)
        return found


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """The samples of all readers, each read by a process of its own, in the order of arrival.

    Args:
        readers (list): at least one reader; samples must pickle and must not be None.
        use_pipe (bool): Has no effect, each process has a connection of its own; False gives a warning.
        queue_size (int): Has no effect, as many samples wait as connections hold; another one than the
            default gives a warning.

    Returns:
        callable: A reader. It raises what a reader raises, RuntimeError when a process dies, and
        TimeoutError when there is no sample for the seconds of ARGOSY_DATA_TIMEOUT.

    Raises:
        ValueError: There is no reader.

    Example:
        >>> readers = [lambda: iter([1, 2]), lambda: iter([3])]
        >>> sorted(argosy.reader.multiprocess_reader(readers)())
        [1, 2, 3]
    """
    no_effect(
        "multiprocess_reader", "each process has a connection of its own", use_pipe=(use_pipe, True),
        queue_size=(queue_size, 1000),
    )  # fmt: skip
    if not readers:
        raise ValueError(
            "[reader.multiprocess_reader] expected at least one reader, got none."
            " Do this: pass a list of readers."
        )

    def merged():
        import multiprocessing.util

        limit, producers = data_timeout(), []
        # Also if the program ends first: its own end would wait for processes without limit.
        end = multiprocessing.util.Finalize(
            None, stop, (os.getpid(), producers, 0.0), exitpriority=10
        )
        try:
            for reader in readers:
                producers.append(_Producer(reader, producers))
            running = _Running(producers, limit)
            while running:
                for producer in running.ready():
                    item = producer.receive(limit)
                    if not isinstance(item, _End):
                        yield item
                    elif item.error is not None:
                        raise item.error
                    else:
                        running.remove(producer)
        finally:
            end()

    return merged
