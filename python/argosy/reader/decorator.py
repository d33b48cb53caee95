"""Functions from readers to a reader."""

import itertools
import pickle
import queue
import random
import threading

__all__ = []


def cache(reader):
    """The samples of `reader`, which is read once, now, and kept in memory."""
    samples = tuple(reader())
    return lambda: iter(samples)


def map_readers(func, *readers):
    """``func(a, b, ..)`` of the samples of the readers, side by side."""
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader, buf_size):
    """Samples in random order (Python's ``random``) within each `buf_size` of them."""

    def shuffled():
        samples = iter(reader())
        while part := list(itertools.islice(samples, buf_size)):
            random.shuffle(part)
            yield from part

    return shuffled


def chain(*readers):
    """The samples of the first reader, then of the second, and so on."""
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


class ComposeNotAligned(ValueError):
    """Readers to be composed do not have the same number of samples."""


def compose(*readers, check_alignment=True):
    """One tuple of the samples of all readers, side by side; tuples among them are opened.

    Args:
        check_alignment (bool): raise ComposeNotAligned when one reader ends before the others;
            otherwise samples that are left over are dropped.
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
    """The first `n` samples."""
    return lambda: itertools.islice(reader(), n)


class _End:
    """What a producer puts last: the error that ended it, or None."""

    def __init__(self, error=None):
        self.error = error


def _drain(results, producers):
    """What `producers` put until each has put its _End. Raises their errors."""
    while producers:
        item = results.get()
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

    def get(self):
        while not self.closed.is_set():
            try:
                return self._queue.get(timeout=0.1)
            except queue.Empty:
                pass
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
    """The samples of `reader`, read ahead by a thread, at most `size` of them."""

    def reading_ahead():
        results = _Pipe(size)

        def work():
            for sample in reader():
                results.put(sample)

        _start(work, results)
        try:
            yield from _drain(results, 1)
        finally:
            results.closed.set()

    return reading_ahead


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """``mapper(sample)`` of all samples, computed by `process_num` threads.

    Args:
        buffer_size (int): how many samples, and results, may wait.
        order (bool): results in the order of the samples.
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
            for number, value in _drain(results, process_num + 1):
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


def _produce(reader, samples):
    try:
        for sample in reader():
            if sample is None:
                raise ValueError(
                    "[reader.multiprocess_reader] a sample is None."
                    " Do this: leave such samples out."
                )
            samples.send(sample)
    except BaseException as error:
        try:
            samples.send(_End(pickle.loads(pickle.dumps(error))))
        except Exception:  # it does not pickle
            samples.send(_End(RuntimeError(f"[reader.multiprocess_reader] {error!r}.")))
    else:
        samples.send(_End())


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """The samples of all readers, each read by a process of its own, in the order of arrival.

    Args:
        readers (list): at least one reader; samples must pickle and must not be None.
        use_pipe (bool): kept for compatibility; each process has a pipe.
        queue_size (int): kept for compatibility; as many samples wait as pipes hold.

    Raises what a reader raises, and RuntimeError when a process dies.
    """
    if not readers:
        raise ValueError(
            "[reader.multiprocess_reader] expected at least one reader, got none."
            " Do this: pass a list of readers."
        )

    def merged():
        import multiprocessing
        from multiprocessing.connection import wait

        context = multiprocessing.get_context("fork")
        workers = {}  # by the end of the pipe that this process reads
        try:
            for reader in readers:
                samples, end = context.Pipe(duplex=False)
                worker = context.Process(target=_produce, args=(reader, end), daemon=True)
                worker.start()
                end.close()  # the worker alone has it, so that its death ends the pipe
                workers[samples] = worker
            running = dict(workers)
            while running:
                for samples in wait(list(running)):
                    try:
                        item = samples.recv()
                    except (EOFError, ConnectionError):
                        worker = running[samples]
                        worker.join()
                        raise RuntimeError(
                            f"[reader.multiprocess_reader] the process {worker.pid} of a reader"
                            f" died with exit code {worker.exitcode} (-9: killed, by the kernel"
                            " when memory is short). Do this: look at its output, or use fewer"
                            " readers."
                        ) from None
                    if not isinstance(item, _End):
                        yield item
                    elif item.error is not None:
                        raise item.error
                    else:
                        del running[samples]
        finally:
            for samples, worker in workers.items():
                worker.terminate()
                worker.join()
                samples.close()

    return merged
