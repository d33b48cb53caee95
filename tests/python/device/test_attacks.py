"""What programs do to devices by the way: objects that are copied, threads and streams that end, a signal in
the middle of a pass, a run for which there is no memory."""

import copy
import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from tests.processes import until
from tests.python.device.where import FIRST, SECOND, strict

import argosy as paddle
from argosy import _core, nn

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def test_copies_of_objects():
    """A deep copy is where the object is; what was pickled comes to the current device."""
    x = paddle.rand([3, 4])
    with paddle.device_guard(SECOND):
        other = paddle.rand([2])
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1D(3))
    for t in (x, other, net[0].weight):
        for got, place in (
            (copy.deepcopy(t), t.place),
            (pickle.loads(pickle.dumps(t)), x.place),
            (copy.copy(t), x.place),
        ):
            assert got.place == place and type(got) is type(t)
            np.testing.assert_array_equal(got.numpy(), t.numpy())
    made = copy.deepcopy(net)
    assert {str(v.place) for v in made.state_dict().values()} == {f"Place({FIRST})"}
    with paddle.no_grad():
        made[0].weight.fill_(0)
    assert (net[0].weight != 0).any().item()


def test_state_of_an_optimizer_comes_back_to_the_device(tmp_path):
    net, x = nn.Linear(4, 2), paddle.rand([3, 4])

    def step(optimizer):
        net(x).square().sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    first = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    step(first)
    paddle.save(first.state_dict(), str(tmp_path / "state"))
    start = {k: v.numpy() for k, v in net.state_dict().items()}
    step(first)
    want = net.weight.numpy()
    net.set_state_dict(start)
    second = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    second.set_state_dict(paddle.load(str(tmp_path / "state")))
    step(second)
    np.testing.assert_array_equal(net.weight.numpy(), want)


def test_an_event_outlives_its_stream():
    side = paddle.device.Stream()
    with paddle.device.stream_guard(side):
        y = paddle.ones([4]) * 2
    event = side.record_event()
    del side
    gc.collect()
    other = paddle.device.Stream()
    other.wait_event(event)
    with paddle.device.stream_guard(other):
        assert (y + 1).tolist() == [3] * 4
    y.record_stream(other)


@strict
def test_what_a_thread_made_on_a_stream_needs_an_event_after_its_end():
    kept = []

    def work():
        paddle.device.set_device(FIRST)
        paddle.device.set_stream(paddle.device.Stream())
        x = paddle.ones([64, 64])
        for _ in range(6):
            x = x @ x / 64
        kept.extend([x, paddle.device.current_stream().record_event()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    x, event = kept
    with pytest.raises(_core.DeviceError, match=r"no event puts one before the other"):
        x + 1
    paddle.device.current_stream().wait_event(event)
    assert (x + 1).sum().item() == 2 * 64 * 64
    x.record_stream(paddle.device.current_stream())


class Slow(paddle.io.Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        time.sleep(0.01)
        return np.full([8], i, "float32")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_signal_in_the_middle_of_a_pass(workers):
    before = threading.active_count()
    seen = []
    with pytest.raises(KeyboardInterrupt):
        for batch in paddle.io.DataLoader(Slow(), batch_size=2, num_workers=workers):
            seen.append(batch.sum())
            if len(seen) == 3:
                os.kill(os.getpid(), signal.SIGINT)
    assert [s.item() for s in seen[:3]] == [8.0, 40.0, 72.0]
    gc.collect()
    until(lambda: threading.active_count() == before)


@strict
def test_a_plan_without_memory_runs_again_when_there_is_some():
    step = paddle.jit.to_static(lambda a: (paddle.tanh(a @ a) @ a).sum())
    a = paddle.full([600, 600], 0.01)
    want = step(a).item()
    gc.collect()
    paddle.device.set_memory_limit(paddle.device.memory_allocated() + (1 << 20))
    try:
        with pytest.raises(MemoryError, match=r"out of memory on streamed:0.*limit.*Held by"):
            step(a)
    finally:
        paddle.device.set_memory_limit(0)
    assert step(a).item() == want
