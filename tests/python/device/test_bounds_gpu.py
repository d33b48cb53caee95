"""Indices that kernels of a GPU find out of range: raised where the host waits next, and the process goes on. Run
with `--device gpu`."""

import threading

import numpy as np
import pytest
from tests.python.device.where import FIRST, STREAMED

import argosy as paddle
import argosy.nn.functional as F
import argosy.vision.ops as vision
from argosy import _core

pytestmark = pytest.mark.skipif(STREAMED, reason="is about a GPU's kernels")


def t(x, dtype="float32"):
    return paddle.to_tensor(np.asarray(x), dtype=dtype)


def index(*x):
    return t(x, "int64")


def unpooled(at):
    return F.max_unpool2d(paddle.ones([1, 1, 2, 2]), t([[[[0, 3], [8, at]]]], "int32"), 2)


X = np.arange(12, dtype="float32").reshape(3, 4)
BOXES = np.array([[0, 0, 2, 2], [1, 1, 3, 3]], "float32")
SCORES = np.zeros((3, 4), "float32")

# What is called, its error and what that says; `good` and `bad` are the index.
CALLS = {
    "gather": (lambda i: paddle.gather(t(X), index(0, i)), 2, 3, IndexError, "index 3 is out of range for dimension 0 of size 3"),
    "gather of another axis": (lambda i: paddle.gather(t(X), index(0, i), axis=1), 3, 4, IndexError, "index 4 .* dimension 1 of size 4"),
    "index_select": (lambda i: paddle.index_select(t(X), index(1, i)), -3, -4, IndexError, "index -4 is out of range"),
    "gather, narrow": (lambda i: paddle.gather(t(X), t([i], "int32")), 1, 99, IndexError, "index 99"),
    "index_add": (lambda i: paddle.index_add(t(X), index(0, i), 0, paddle.ones([2, 4])), 1, 5, IndexError, "index 5"),
    "take_along_axis": (lambda i: paddle.take_along_axis(t(X), t([[0, i]], "int64"), 1, broadcast=False), 3, 4, IndexError,
                        r"\[take_along_axis, index_sample\] index 4 is out of range for dimension 1 of size 4"),
    "put_along_axis": (lambda i: paddle.put_along_axis(t(X), t([[i]], "int64"), 1.0, 0, broadcast=False), 2, 7, IndexError,
                       "index 7 is out of range for dimension 0 of size 3"),
    "put_along_axis, add": (lambda i: paddle.put_along_axis(t(X), t([[i]], "int64"), 1.0, 0, "add", broadcast=False), 2, 8, IndexError,
                            "index 8"),
    "scatter": (lambda i: paddle.scatter(t(X), index(i), paddle.ones([1, 4])), 2, 6, IndexError, "index 6"),
    "scatter_nd_add": (lambda i: paddle.scatter_nd_add(t(X), t([[i]], "int64"), paddle.ones([1, 4])), 2, 4, IndexError, "index 4"),
    "gather_nd": (lambda i: paddle.gather_nd(t(X), t([[0, i]], "int64")), 3, 9, IndexError, "index 9 .* dimension 1 of size 4"),
    "x[i]": (lambda i: t(X)[index(0, i)], 2, 3, IndexError, "index 3 is out of range for dimension 0 of size 3"),
    "x[i] = v": (lambda i: paddle.index_put(t(X), (index(i),), t([2.0, 2, 2, 2])), 2, 11, IndexError, "index 11"),
    "index_sample": (lambda i: paddle.index_sample(t(X), t([[0], [1], [i]], "int64")), 3, 4, IndexError, "index 4"),
    "embedding": (lambda i: F.embedding(index(0, i), t(X)), 2, 3, ValueError,
                  r"\[embedding\] index 3 is out of range: expected 0 <= index < 3 \(the rows of weight\)"),
    "embedding, negative": (lambda i: F.embedding(index(0, i), t(X)), 0, -1, ValueError, "index -1 is out of range"),
    "one_hot": (lambda i: F.one_hot(index(0, i), 4), 3, 4, ValueError, r"element 4 is out of range: expected 0 <= x < 4 \(num_classes\)"),
    "cross_entropy": (lambda i: F.cross_entropy(t(SCORES), index(0, 1, i)), 3, 4, IndexError,
                      r"\[cross_entropy\] label 4 is out of range: expected 0 <= label < 4 .* or ignore_index -100"),
    "cross_entropy, weighted": (lambda i: F.cross_entropy(t(SCORES), index(0, 1, i), weight=paddle.ones([4])), -100, -1, IndexError, "label -1"),
    "nll_loss": (lambda i: F.nll_loss(t(SCORES), index(0, 1, i)), 2, 5, IndexError, "label 5 is out of range"),
    "max_unpool2d": (unpooled, 10, 16, ValueError, "index 16 is outside a plane of 16 elements"),
    "max_unpool2d, negative": (unpooled, 10, -1, ValueError, "index -1 is outside a plane"),
    "gather_tree": (lambda i: F.gather_tree(t([[[1, 2]], [[3, 4]]], "int64"), t([[[0, 0]], [[1, i]]], "int64")), 0, 2, ValueError,
                    "parent 2 is out of range: there are 2 beams"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_raises_where_the_host_waits_and_goes_on(name):
    call, good, bad, kind, text = CALLS[name]
    want = call(good).numpy()
    waits = _core.host_waits()
    out = call(bad)
    assert _core.host_waits() == waits  # nothing waited for it
    with pytest.raises(kind, match=text):
        out.numpy()
    np.testing.assert_array_equal(call(good).numpy(), want)
    paddle.device.synchronize()


@pytest.mark.parametrize("name", CALLS)
def test_says_what_the_cpu_says(name):
    call, _, bad, kind, _ = CALLS[name]
    with pytest.raises(kind) as error:
        call(bad).numpy()
    with paddle.device_guard("cpu"), pytest.raises(kind) as on_cpu:
        call(bad)
    assert str(error.value) == str(on_cpu.value)


@pytest.mark.parametrize(
    "how", ["synchronize", "stream", "event", "float", "count", "other tensor"]
)
def test_every_way_to_wait(how):
    out = paddle.gather(t(X), index(0, 5))
    stream = paddle.device.current_stream()
    ways = {
        "synchronize": paddle.device.synchronize,
        "stream": stream.synchronize,
        "event": lambda: stream.record_event().synchronize(),
        "float": lambda: float(out.sum()),
        "count": lambda: paddle.nonzero(t(X)),
        "other tensor": lambda: paddle.ones([2]).numpy(),
    }
    with pytest.raises(IndexError, match="index 5 is out of range for dimension 0 of size 3"):
        ways[how]()
    paddle.device.synchronize()
    assert float(paddle.ones([4]).sum()) == 4.0


def test_the_gradient_pass_says_no_more():
    table = t(X)
    table.stop_gradient = False
    loss = F.embedding(index(0, 3), table).sum()
    loss.backward()
    with pytest.raises(ValueError, match="index 3"):
        float(loss)
    grad = table.grad.numpy()
    np.testing.assert_array_equal(grad, [[1] * 4, [0] * 4, [0] * 4])


def test_a_captured_function_says_so_in_each_run():
    """Some of these runs are one launch of a recorded graph."""

    @paddle.jit.to_static
    def run(table, rows, labels):
        return F.cross_entropy(F.embedding(rows, table) * 2.0, labels) + 1.0

    table, labels = t(X), index(0, 3)
    want = float(run(table, index(0, 2), labels))
    for _ in range(6):
        assert float(run(table, index(0, 2), labels)) == want
    for _ in range(3):
        out = run(table, index(0, 3), labels)
        with pytest.raises(ValueError, match=r"\[embedding\] index 3 is out of range"):
            out.numpy()
        assert float(run(table, index(0, 2), labels)) == want
        out = run(table, index(0, 2), index(0, 4))
        with pytest.raises(IndexError, match="label 4 is out of range"):
            out.numpy()


def test_of_many_one_is_told():
    rows = paddle.full([1 << 20], 7, "int64")
    out = paddle.gather(t(X), rows)
    with pytest.raises(IndexError, match="index 7"):
        out.numpy()
    paddle.device.synchronize()


def test_of_two_threads_one_hears_it():
    paddle.gather(t(X), index(9))
    heard = []

    def wait():
        try:
            paddle.device.synchronize(FIRST)
        except IndexError as e:
            heard.append(str(e))

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 1 and "index 9" in heard[0]


ROI = {
    "roi_align": lambda x, boxes, n: vision.roi_align(x, boxes, n, 2),
    "roi_pool": lambda x, boxes, n: vision.roi_pool(x, boxes, n, 2),
    "psroi_pool": lambda x, boxes, n: vision.psroi_pool(x, boxes, n, 2),
}


@pytest.mark.parametrize("name", ROI)
def test_regions_do_not_wait(name):
    x = paddle.ones([2, 4, 6, 6])
    x.stop_gradient = False
    boxes, counts = t(BOXES), t([1, 1], "int32")
    ROI[name](x, boxes, counts).sum().backward()
    paddle.device.synchronize()
    waits = _core.host_waits()
    y = ROI[name](x, boxes, counts)
    y.sum().backward()
    assert _core.host_waits() - waits <= 1  # which image a box is of, is a count of boxes
    assert np.isfinite(x.grad.numpy()).all()
