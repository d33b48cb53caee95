"""paddle.reader: readers made of readers."""

import itertools
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from tests.processes import alive, until, until_it_waits

from argosy import reader as R
from argosy.reader import decorator


def count(n):
    return lambda: iter(range(n))


def test_plain_decorators():
    calls = []

    def once():
        calls.append(1)
        return iter("abc")

    kept = R.cache(once)
    assert list(kept()) == list(kept()) == ["a", "b", "c"] and calls == [1]
    assert list(R.map_readers(lambda a, b: a * b, count(4), count(4))()) == [0, 1, 4, 9]
    assert list(R.chain(count(2), count(3))()) == [0, 1, 0, 1, 2]
    assert list(R.firstn(count(10), 3)()) == [0, 1, 2]
    random.seed(0)
    mixed = list(R.shuffle(count(10), 5)())
    assert sorted(mixed[:5]) == list(range(5)) and sorted(mixed[5:]) == list(range(5, 10))


def test_compose():
    pairs = R.map_readers(lambda i: (i, -i), count(3))
    assert list(R.compose(count(3), pairs)()) == [(0, 0, 0), (1, 1, -1), (2, 2, -2)]
    with pytest.raises(R.ComposeNotAligned, match="check_alignment"):
        list(R.compose(count(3), count(2))())
    assert list(R.compose(count(3), count(2), check_alignment=False)()) == [(0, 0), (1, 1)]


def failing():
    yield 1
    raise KeyError("of the user")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_buffered(size):
    twice = R.buffered(count(20), size)
    assert list(twice()) == list(twice()) == list(range(20))
    with pytest.raises(KeyError, match="of the user"):
        list(R.buffered(failing, size)())
    left = R.buffered(count(1000), size)()
    assert next(left) == 0
    left.close()


@pytest.mark.parametrize("order", [False, True])
def test_xmap_readers(order):
    got = list(R.xmap_readers(lambda i: i * i, count(50), 3, 4, order)())
    assert (got if order else sorted(got)) == [i * i for i in range(50)]
    for mapper, source in ((lambda i: 1 // i, count(3)), (lambda i: i, failing)):
        with pytest.raises((ZeroDivisionError, KeyError)):
            list(R.xmap_readers(mapper, source, 2, 4, order)())


def test_multiprocess_reader():
    got = list(R.multiprocess_reader([count(5), count(3)])())
    assert sorted(got) == [0, 0, 1, 1, 2, 2, 3, 4]
    with pytest.raises(KeyError, match="of the user"):
        list(R.multiprocess_reader([failing])())
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        list(R.multiprocess_reader([lambda: iter([threading.Lock()])])())
    with pytest.raises(ValueError, match="is None"):
        list(R.multiprocess_reader([lambda: iter([None])])())
    with pytest.raises(ValueError, match="at least one"):
        R.multiprocess_reader([])


def test_threads_that_hang(monkeypatch):
    monkeypatch.setattr(decorator, "data_timeout", lambda: 0.5)
    goes_on = threading.Event()

    def hangs(sample=None):
        goes_on.wait(100)
        yield 1

    with pytest.raises(
        TimeoutError, match="buffered. the reader gave no sample for 0.5 s.*Do this"
    ):
        list(R.buffered(hangs, 2)())
    for mapper, source in ((lambda i: i, hangs), (lambda i: goes_on.wait(100), count(3))):
        with pytest.raises(TimeoutError, match="xmap_readers. the reader, or the mapper"):
            list(R.xmap_readers(mapper, source, 2, 4)())
    goes_on.set()
    nones = R.buffered(lambda: iter([None, 1, None]), 2)
    assert list(nones()) == [None, 1, None]


def test_multiprocess_readers_that_hang(monkeypatch):
    monkeypatch.setattr(decorator, "data_timeout", lambda: 5.0)

    def hangs():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        yield 1
        time.sleep(1000)

    samples = R.multiprocess_reader([hangs, count(2)])()
    assert sorted(itertools.islice(samples, 3)) == [0, 1, 1]
    with pytest.raises(TimeoutError, match=r"each of the processes \d+ of readers gave no sample"):
        next(samples)
    assert not multiprocessing.active_children()

    def stops():
        yield os.getpid()
        yield bytes(50_000_000)

    samples = R.multiprocess_reader([stops])()
    pid = next(samples)
    until_it_waits(pid)  # a part of the sample is sent
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError, match=f"the process {pid} of a reader gave no sample for 5 s"):
        next(samples)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("killed", [True, False])
def test_multiprocess_readers_end_with_the_program(killed):
    main = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                """
                import os, signal, sys, time
                from argosy import reader
                def stuck():
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    yield os.getpid()
                    time.sleep(1000)
                samples = reader.multiprocess_reader([stuck, stuck])()
                print(next(samples), next(samples), flush=True)
                time.sleep(float(sys.argv[1]))
                """
            ),
            "1000" if killed else "0",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = [int(p) for p in main.stdout.readline().split()]
    if killed:
        main.kill()
    try:
        main.communicate(timeout=100)
    finally:
        main.kill()
    try:
        assert len(pids) == 2
        until(lambda: not any(map(alive, pids)))
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)


def test_multiprocess_reader_tells_of_a_killed_process():
    def killed():
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match="exit code -9.*Do this"):
        list(R.multiprocess_reader([killed, count(3)])())
