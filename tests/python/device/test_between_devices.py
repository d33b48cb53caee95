"""Copies from one device to another: the host goes on, streams wait for each other."""

import threading

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, two_devices

import argosy as paddle
from argosy import _core

pytestmark = [
    pytest.mark.adds_device(unless="gpu"),
    pytest.mark.usefixtures("streamed"),
    two_devices,  # GPUs copy through the host
]

X = np.random.RandomState(2).uniform(-3, 3, [4, 6])


def slow(n=64):
    """A value that is long in the making."""
    x = paddle.ones([n, n])
    for _ in range(8):
        x = x @ x / n
    return x


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize(
    "form",
    [
        lambda t: t,
        lambda t: t.T,
        lambda t: t[1:, ::2],
        lambda t: t[0, 0],
        lambda t: t[:0],
        lambda t: t.unsqueeze(1).expand([4, 3, 6]),
    ],
)
def test_all_forms_without_a_wait(dtype, form):
    x = paddle.to_tensor(X.astype(dtype))
    want = form(x).numpy()
    before = _core.host_waits()
    there = form(x).to(SECOND)
    back = there.to(FIRST)
    assert _core.host_waits() == before
    assert str(there.place) == f"Place({SECOND})" and str(back.place) == f"Place({FIRST})"
    np.testing.assert_array_equal(there.numpy(), want)
    np.testing.assert_array_equal(back.numpy(), want)


def test_values_are_written_into_a_tensor_of_another_device():
    with paddle.device_guard(SECOND):
        there = paddle.zeros([4, 6])
    address = there.data_ptr()
    x = paddle.to_tensor(X, "float32")
    before = _core.host_waits()
    there.set_value(x)
    assert _core.host_waits() == before
    assert there.data_ptr() == address and str(there.place) == f"Place({SECOND})"
    np.testing.assert_array_equal(there.numpy(), x.numpy())


def test_what_was_copied_may_be_written_and_dropped_at_once():
    kept = []
    for i in range(20):
        x = slow(32) * i
        kept.append(x.to(SECOND))
        x.fill_(-1)
        del x
    for i, there in enumerate(kept):
        assert (there.numpy() == i).all()


def test_the_target_may_be_in_use_until_then():
    with paddle.device_guard(SECOND):
        there = slow()
        for _ in range(5):
            busy = there @ there / 64
    x = paddle.full([64, 64], 7.0)
    there.copy_(x.to(SECOND), False)
    assert (there.numpy() == 7).all() and (busy.numpy() == 1).all()


def test_current_streams_of_both_places_are_used():
    first, second = paddle.device.Stream(FIRST), paddle.device.Stream(SECOND)
    with paddle.device.stream_guard(first), paddle.device.stream_guard(second):
        there = (slow() * 3).to(SECOND) + 1
        assert (there.numpy() == 4).all()


def test_a_missing_event_before_the_copy_is_found():
    side = paddle.device.Stream(FIRST)
    with paddle.device.stream_guard(side):
        x = slow()
    with pytest.raises(_core.DeviceError, match=r"\[copy between devices\] on stream 0 reads"):
        x.to(SECOND)


def test_what_failed_on_one_device_is_not_gone_on_with_on_the_other():
    x = paddle.ones([3])
    bad = paddle.gather(x, paddle.to_tensor([9]))
    try:
        there = bad.to(SECOND)
        with pytest.raises(_core.DeviceError, match=r"\[take_slices\] failed on streamed:0"):
            (there + 1).numpy()
        with pytest.raises(_core.DeviceError, match=r"\[take_slices\] failed on streamed:0"):
            with paddle.device_guard(SECOND):
                paddle.ones([1]).numpy()
    except _core.DeviceError as error:  # it had failed by the time of the call
        assert "[take_slices] failed on streamed:0" in str(error)


def test_a_wait_for_an_event_of_another_device():
    slow()
    event = paddle.device.current_stream(FIRST).record_event()
    before = _core.host_waits()
    paddle.device.current_stream(SECOND).wait_event(event)
    assert _core.host_waits() == before
    paddle.device.synchronize(SECOND)
    assert event.query()  # the other device came to its end only after it


def test_threads_exchange_without_a_deadlock():
    errors, sums = [], [0.0] * 4

    def work(number):
        here, there = (FIRST, SECOND) if number % 2 else (SECOND, FIRST)
        try:
            paddle.device.set_device(here)
            with paddle.device.stream_guard(paddle.device.Stream(here)):
                with paddle.device.stream_guard(paddle.device.Stream(there)):
                    x = paddle.ones([16, 16])
                    for _ in range(15):
                        x = (x.to(there) * 2).to(here) * 0.5
                    sums[number] = x.sum().item()
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive()
    assert not errors and sums == [256.0] * 4


def test_the_profiler_shows_them():
    profiler = paddle.profiler.Profiler(on_trace_ready=lambda p: None)
    with profiler:
        paddle.ones([4]).to(SECOND).numpy()
    copies = [e for e in profiler.profiler_result.events if e.name == "copy between devices"]
    assert copies and {e.kind for e in copies} == {"copy"}
    assert len({e.thread for e in copies}) == 2  # the call, and the work of the stream
