"""Batches that travel to a device while the ones before are worked on."""

import collections

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, strict

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

Pair = collections.namedtuple("Pair", "x y")


class Rows(paddle.io.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return np.full([64], i, "float32"), i


class Stream(paddle.io.IterableDataset):
    def __iter__(self):
        yield from ({"x": np.full([3], i, "float32"), "name": f"row {i}"} for i in range(5))


def is_before(a, b):
    """Whether the log's entry b is ordered after a."""
    _, stream, position, _ = a
    return stream < len(b[3]) and b[3][stream] >= position


@strict
def test_copies_overlap_kernels():
    """By the order of the queues, not by time: nothing puts a batch's copy after the work on the batch
    before it, and every kernel comes after its own batch's copy."""
    weight = paddle.rand([64, 64])
    loader = paddle.io.DataLoader(Rows(), batch_size=3)
    _core.streamed_begin_log()
    sums = [(x @ weight).sum() for x, _ in loader]
    log = _core.streamed_end_log()
    for s in sums:
        s.item()
    copies = [e for e in log if e[0] == "copy from pinned memory"][::2]  # of x; y follows it
    kernels = [e for e in log if e[0] == "matmul"]
    assert len(copies) == len(kernels) == 4
    assert {e[1] for e in copies}.isdisjoint(e[1] for e in kernels)
    for i in range(4):
        assert is_before(copies[i], kernels[i])
        if i + 1 < 4:
            assert not is_before(kernels[i], copies[i + 1]) and not is_before(
                copies[i + 1], kernels[i]
            )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("buffered", [True, False])
def test_batches_are_those_of_the_cpu(workers, buffered):
    loader = paddle.io.DataLoader(
        Rows(), batch_size=5, num_workers=workers, use_buffer_reader=buffered, reader_buffer_size=3,
        places=SECOND,
    )  # fmt: skip
    for _ in range(2):
        seen = list(loader)
        assert [y.tolist() for _, y in seen] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]]
        for x, y in seen:
            assert str(x.place) == str(y.place) == f"Place({SECOND})"
            assert x.tolist() == [[float(i)] * 64 for i in y.tolist()]


def test_workers_that_persist():
    loader = paddle.io.DataLoader(Rows(), batch_size=4, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert sum(float(x.sum()) for x, _ in loader) == 64 * sum(range(12))
    with paddle.device_guard("cpu"):
        assert {str(x.place) for x, _ in loader} == {"Place(cpu)"}


def test_batches_of_any_form():
    loader = paddle.io.DataLoader(Stream(), batch_size=2)
    batches = list(loader)
    assert [b["name"] for b in batches] == [["row 0", "row 1"], ["row 2", "row 3"], ["row 4"]]
    assert batches[1]["x"].tolist() == [[2.0] * 3, [3.0] * 3]
    tuples = paddle.io.DataLoader(
        Rows(), batch_size=6, collate_fn=lambda rows: Pair(*map(np.stack, zip(*rows)))
    )
    for batch in tuples:
        assert isinstance(batch, Pair) and str(batch.x.place) == f"Place({FIRST})"


def test_tensors_of_a_data_set_stay_what_they_are():
    class Tensors(Rows):
        def __getitem__(self, i):
            return paddle.full([2], float(i)), paddle.full([2], float(i)).cpu()

    for x, y in paddle.io.DataLoader(Tensors(), batch_size=4):
        assert str(x.place) == str(y.place) == f"Place({FIRST})"
        np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_an_error_of_the_data_set_comes_in_its_turn():
    class Broken(Rows):
        def __getitem__(self, i):
            if i == 9:
                raise KeyError("row nine")
            return super().__getitem__(i)

    loader = iter(paddle.io.DataLoader(Broken(), batch_size=4, reader_buffer_size=3))
    next(loader), next(loader)
    with pytest.raises(KeyError, match="row nine"):
        next(loader)


def test_a_pass_that_is_left_early():
    for _ in range(3):
        for x, _ in paddle.io.DataLoader(Rows(), batch_size=2, num_workers=1):
            assert x[0, 0].item() == 0
            break
    paddle.device.synchronize()


def test_on_a_stream_that_is_not_the_first():
    side = paddle.device.Stream()
    weight = paddle.rand([64, 64])
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        got = [(x @ weight).sum().item() for x, _ in paddle.io.DataLoader(Rows(), batch_size=4)]
    batches = [np.arange(4 * k, 4 * k + 4, dtype="float32")[:, None] for k in range(3)]
    want = [(paddle.to_tensor(np.repeat(b, 64, 1)) @ weight).sum().item() for b in batches]
    assert got == want


@strict
def test_places_that_are_not_there():
    with pytest.raises(ValueError, match="there is no Place\\(streamed:7\\)"):
        paddle.io.DataLoader(Rows(), places="streamed:7")
    with pytest.raises(ValueError, match="places: expected one device, got 2"):
        paddle.io.DataLoader(Rows(), places=["cpu", FIRST])
    with pytest.raises(AssertionError, match="reader_buffer_size: expected a positive int, got 0"):
        paddle.io.DataLoader(Rows(), reader_buffer_size=0)
    (x, _) = next(iter(paddle.io.DataLoader(Rows(), places=[paddle.CPUPlace()])))
    assert str(x.place) == "Place(cpu)"
