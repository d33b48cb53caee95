"""Random numbers on the streamed test device: drawn when the work is done, in the order of the calls."""

import os
import subprocess
import sys
import threading

import pytest
from tests.python.device.where import FIRST, SECOND, strict

import argosy as paddle
from argosy import _core, nn

pytestmark = [
    pytest.mark.adds_device(unless="gpu"),
    pytest.mark.usefixtures("streamed"),
    strict,  # GPUs draw numbers of their own
]


def busy():
    """Keeps the current stream at work for a while."""
    x = paddle.ones([128, 128])
    for _ in range(6):
        x = x @ x / 128
    return x


def test_drawing_does_not_wait():
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    before = _core.host_waits()
    x = paddle.rand([4, 8]) + paddle.randn([4, 8]) + paddle.uniform([4, 8])
    loss = net(x).square().mean()
    loss.backward()
    assert _core.host_waits() == before
    loss.item()


def draws(first, second, side):
    """Numbers drawn by two devices, two streams and the host, one after the other."""
    paddle.seed(11)
    made = [paddle.rand([5], device=first)]
    busy()
    made.append(paddle.randn([3], device=first))
    with paddle.device.stream_guard(side):
        made.append(nn.functional.dropout(paddle.ones([20]), 0.5))
    made.append(paddle.rand([4], device=second))
    state = paddle.get_rng_state()
    with paddle.device_guard("cpu"):
        made.append(paddle.randperm(7))
    made.append(paddle.rand([2], device=first))
    paddle.set_rng_state(state)
    made.append(paddle.rand([7], device=second))
    paddle.seed(12)
    made.append(paddle.rand([3], device=first))
    side and paddle.device.current_stream().wait_stream(side)
    return [t.tolist() for t in made]


def test_the_order_is_that_of_the_calls():
    side = paddle.device.Stream()
    got = [draws(FIRST, SECOND, side) for _ in range(3)]
    paddle.device.set_device("cpu")
    want = draws("cpu", "cpu", None)
    assert got == [want] * 3


def test_the_first_draw_of_a_process_has_the_seed_that_it_was_called_under():
    code = (
        "import argosy as p; p.set_device('streamed:0'); p.seed(1); x = p.rand([3]); p.seed(2);"
        "y = p.rand([3]); p.set_device('cpu'); p.seed(1); a = p.rand([3]); p.seed(2);"
        "print(x.tolist() == a.tolist(), y.tolist() == p.rand([3]).tolist())"
    )
    env = {**os.environ, "ARGOSY_STREAMED_DEVICES": "1", "ARGOSY_STREAMED_DELAY_US": "20000"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300
    )
    assert out.stdout == "True True\n", out.stderr


def test_reading_the_generator_waits_for_what_was_called():
    paddle.seed(1)
    before = _core.host_waits()
    paddle.rand([100])
    busy()
    paddle.rand([100])
    there = paddle.get_rng_state()
    assert _core.host_waits() >= before
    with paddle.device_guard("cpu"):
        paddle.seed(1)
        paddle.rand([100])
        paddle.rand([100])
    assert paddle.get_rng_state() == there


def test_a_missing_event_shows_behind_a_draw():
    """A draw that waited would put the streams in order."""
    y = paddle.exp(busy())
    paddle.rand([3])
    with paddle.device.stream_guard(paddle.device.Stream()):
        with pytest.raises(_core.DeviceError, match=r"\[tanh\] on stream \d+ reads .*\[exp\]"):
            paddle.tanh(y)


def test_threads_draw_beside_each_other():
    errors = []

    def work(device):
        try:
            paddle.device.set_device(device)
            for i in range(30):
                x = paddle.rand([16])
                if i % 7 == 0:
                    paddle.seed(i)
                if i % 5 == 0:
                    assert 0 <= x.min().item() and x.max().item() < 1
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(d,)) for d in (FIRST, SECOND, "cpu", FIRST)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive()
    assert not errors
