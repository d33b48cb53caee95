"""paddle.reader: readers made of readers."""

import os
import pickle
import random
import signal
import threading

import pytest

from argosy import reader as R


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


def test_multiprocess_reader_tells_of_a_killed_process():
    def killed():
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match="exit code -9.*Do this"):
        list(R.multiprocess_reader([killed, count(3)])())
