"""Memory, streams, graphs and switches of a GPU. Run with `--device gpu`."""

import gc
import re

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, nn

pytestmark = pytest.mark.skipif(STREAMED, reason="is about a GPU's own memory, streams and graphs")

MIB = 1 << 20


def used():
    gc.collect()
    return paddle.device.cuda.memory_allocated()


def test_figures_follow_what_is_held():
    before = used()
    x = paddle.zeros([4 * MIB], "float32")
    assert used() - before == 16 * MIB
    paddle.device.cuda.reset_peak_memory_stats()
    y = x + 1
    del y
    assert used() - before == 16 * MIB
    peak = paddle.device.cuda.max_memory_allocated() - before
    assert 32 * MIB <= peak <= 32 * MIB + 4096  # the 1 is a tensor too
    del x
    assert used() == before
    held = paddle.device.cuda.memory_reserved()
    paddle.device.cuda.empty_cache()
    assert paddle.device.cuda.memory_reserved() < held


def test_too_much_memory_says_who_has_it():
    kept = paddle.exp(paddle.zeros([8 * MIB], "float32"))
    with pytest.raises(MemoryError, match=r"out of memory.*requested") as error:
        paddle.zeros([1 << 40], "uint8")
    assert re.search(r"Held by .*\[exp\] 32", str(error.value)), error.value
    assert "held by [exp]" in paddle.device.memory_summary()
    assert float(kept[0]) == 1.0  # and the device works on


def test_memory_goes_round_when_there_is_no_more():
    """What was freed in other sizes is cut anew rather than refused."""
    total = paddle.device.cuda.get_device_properties().total_memory
    total = int(re.sub(r"\D", "", str(total))) * (MIB if "MB" in str(total) else 1)
    half = int(total * 0.3)
    for _ in range(4):
        x = paddle.empty([half], "uint8")
        del x
        y = [paddle.empty([half // 8], "uint8") for _ in range(8)]
        assert paddle.device.cuda.memory_reserved() < total
        del y
    paddle.device.cuda.empty_cache()
    assert paddle.device.cuda.memory_reserved() < half


def test_a_block_that_another_stream_uses_is_not_given_away():
    side = paddle.device.cuda.Stream()
    n = 16 * MIB
    for i in range(10):
        x = paddle.full([n], float(i))
        side.wait_stream(paddle.device.cuda.current_stream())
        with paddle.device.cuda.stream_guard(side):
            total = x
            for _ in range(4):
                total = total + x
        x.record_stream(side)
        del x
        noise = paddle.full([n], -100.0)  # would lie where x was
        side.synchronize()
        assert float(total.max()) == float(total.min()) == 5.0 * i
        del noise, total


def test_events_measure_and_order():
    first, last = (paddle.device.cuda.Event(enable_timing=True) for _ in range(2))
    x = paddle.ones([2048, 2048])
    first.record()
    for _ in range(10):
        x = (x @ x) / 2048
    last.record()
    last.synchronize()
    assert first.query() and last.query()
    assert 0 < first.elapsed_time(last) < 10000


def test_training_steps_run_as_graphs_and_give_the_same():
    def losses(capture):
        paddle.seed(1)
        net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8))
        for i, p in enumerate(net.parameters()):
            p.set_value(np.sin(np.arange(p.size) * (i + 1)).reshape(p.shape).astype("float32") / 4)
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())

        def loss_of(x, y):
            return F.cross_entropy(net(x), y)

        function = paddle.jit.to_static(loss_of) if capture else loss_of
        rng, found = np.random.default_rng(0), []
        x, y = paddle.zeros([16, 32]), paddle.zeros([16], "int64")
        for _ in range(12):
            x[:] = paddle.to_tensor(rng.standard_normal((16, 32)).astype("float32"))
            y[:] = paddle.to_tensor(rng.integers(0, 8, 16))
            loss = function(x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            found.append(float(loss))
        return found

    before = _core.graph_launches()
    captured = losses(True)
    assert _core.graph_launches() > before
    np.testing.assert_allclose(captured, losses(False), rtol=1e-4)


def test_tf32_is_a_switch():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((512, 512)).astype("float32") for _ in range(2))
    want = a.astype("float64") @ b.astype("float64")

    def error():
        got = (paddle.to_tensor(a) @ paddle.to_tensor(b)).numpy()
        return np.abs(got - want).max() / np.abs(want).max()

    assert error() < 1e-5
    paddle.set_flags({"FLAGS_allow_tf32": True})
    try:
        assert 1e-5 < error() < 1e-2
    finally:
        paddle.set_flags({"FLAGS_allow_tf32": False})


def test_sums_at_one_place_in_order_where_a_flag_asks():
    paddle.set_flags({"FLAGS_cudnn_deterministic": True, "FLAGS_embedding_deterministic": 1})
    try:
        ids = paddle.to_tensor(np.random.default_rng(0).integers(0, 7, 20000))
        dy = paddle.to_tensor(
            np.random.default_rng(1).standard_normal((20000, 16)).astype("float32")
        )

        def gradient():
            table = paddle.zeros([7, 16])
            table.stop_gradient = False
            (F.embedding(ids, table) * dy).sum().backward()
            return table.grad.numpy()

        first = gradient()
        for _ in range(5):
            np.testing.assert_array_equal(gradient(), first)
    finally:
        paddle.set_flags({"FLAGS_cudnn_deterministic": False, "FLAGS_embedding_deterministic": 0})


def test_an_op_without_a_kernel_says_once_that_it_travels(capfd):
    x = paddle.to_tensor(np.repeat(np.array([[2], [0], [2]]), 65, axis=1))
    for _ in range(2):
        np.testing.assert_array_equal(paddle.unique(x, axis=0).numpy()[:, 0], [0, 2])
    assert capfd.readouterr().err.count("[unique_all] has no GPU kernel") <= 1
    _, why = _core.explain(lambda: paddle.unique(x, axis=0))
    assert "unique_all: cuda declined: slices of more than 64 elements" in why
