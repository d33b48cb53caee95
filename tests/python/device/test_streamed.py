"""Eager programs on the streamed test device: what is asynchronous must look as if it were not, and what
a GPU would answer with wrong numbers must be an error."""

import multiprocessing
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.python.device.where import (
    FIRST,
    SECOND,
    STREAMED,
    assert_as_on_the_cpu,
    strict,
    two_devices,
)

import argosy as paddle
from argosy import _core, nn

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def slow(n=64):
    """A value that is long in the making."""
    x = paddle.ones([n, n])
    for _ in range(8):
        x = x @ x / n
    return x


# --- places ---


def test_new_tensors_go_to_the_current_device():
    made = [
        paddle.to_tensor([1.0, 2.0]),
        paddle.to_tensor(np.arange(3)),
        paddle.ones([2]),
        paddle.rand([2]),
        paddle.arange(4),
        nn.Linear(2, 3).weight,
        paddle.Tensor([1.0]),
    ]
    assert [str(t.place) for t in made] == [f"Place({FIRST})"] * len(made)
    assert str(paddle.to_tensor([1], place="cpu").place) == "Place(cpu)"
    assert str(paddle.to_tensor([1], place=SECOND).place) == f"Place({SECOND})"


@two_devices
def test_names_of_the_device():
    assert paddle.device.get_all_custom_device_type() == ["streamed"]
    assert paddle.device.get_available_custom_device() == [FIRST, SECOND]
    assert paddle.device.is_compiled_with_custom_device("streamed")
    assert not paddle.device.is_compiled_with_custom_device("npu")
    assert paddle.device.get_device() == FIRST
    place = paddle.device.CustomPlace("streamed", 1)
    assert place == paddle.ones([1]).to(SECOND).place and place.is_custom_place()
    assert (place.custom_device_type(), place.custom_device_id()) == ("streamed", 1)
    with pytest.raises(ValueError, match="there is no Place\\(streamed:2\\)"):
        paddle.device.set_device("streamed:2")
    with pytest.raises(ValueError, match="unknown device 'npu:0'.*'streamed:N'"):
        paddle.device.set_device("npu:0")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int64", "complex64"])
@pytest.mark.parametrize("shape", [[3, 4], [], [0, 2]])
def test_there_and_back(dtype, shape):
    x = np.random.RandomState(0).uniform(-3, 3, shape).astype(dtype)
    t = paddle.to_tensor(x)
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal(t.cpu().numpy(), x)
    np.testing.assert_array_equal(t.to(SECOND).cpu().numpy(), x)
    np.testing.assert_array_equal(np.asarray(t), x)
    np.testing.assert_array_equal(t.T.numpy(), x.T)
    assert t.tolist() == x.tolist()


def test_to_takes_dtype_and_device():
    x = paddle.to_tensor([1.5, 2.5], place="cpu")
    y = x.to(FIRST, "int32")
    assert str(y.place) == f"Place({FIRST})" and y.tolist() == [1, 2]
    assert x.to(y).dtype == paddle.int32 and y.to(y.place) is y
    with pytest.raises(ValueError, match="inputs are on different devices"):
        x + y.astype("float32")


def test_a_layer_moves():
    paddle.device.set_device("cpu")
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4))
    x = paddle.rand([5, 3])
    want = net(x).numpy()
    net.to(FIRST)
    paddle.device.set_device(FIRST)
    assert {str(p.place) for p in net.state_dict().values()} == {f"Place({FIRST})"}
    assert_as_on_the_cpu(net(x.to(FIRST)).numpy(), want)


# --- what the host may do ---


@strict
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")
def test_system_calls_cannot_read_it():
    x = paddle.ones([16])
    paddle.device.synchronize()
    code = f"import ctypes; ctypes.string_at({x.data_ptr()}, 4)"
    assert x.data_ptr() % 64 == 0, code
    with pytest.raises(OSError, match="Bad address"):
        libc_write(x.data_ptr())


def libc_write(address):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    reader, writer = os.pipe()
    try:
        if libc.write(writer, ctypes.c_void_p(address), 4) != 4:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
    finally:
        os.close(reader)
        os.close(writer)


def test_ops_do_not_wait():
    net = nn.Linear(8, 8)
    before = _core.host_waits()
    x = slow(8)
    for _ in range(5):
        x = paddle.tanh(net(x)) * 0.5 + x
    loss = (x * x).mean()
    loss.backward()
    assert _core.host_waits() == before
    float(loss)
    assert _core.host_waits() == before + 1


def test_reads_of_values_wait():
    x = paddle.to_tensor([3.0, 0.0, 2.0])
    assert x[0].item() == 3.0 and float(x.sum()) == 5.0 and int(x[2]) == 2
    assert bool((x == x).all()) and x.tolist() == [3.0, 0.0, 2.0]
    assert "3., 0., 2." in repr(x)
    assert paddle.nonzero(x).tolist() == [[0], [2]]
    assert x[x > 1].tolist() == [3.0, 2.0]
    assert paddle.unique(x).tolist() == [0.0, 2.0, 3.0]
    assert paddle.reshape(x, paddle.to_tensor([3, 1])).shape == [3, 1]


def test_indexing():
    x = paddle.arange(12, dtype="float32").reshape([3, 4])
    want = np.arange(12, dtype="float32").reshape(3, 4)
    for key in ([0, 2], (slice(None), [1, 3]), (1, slice(None, None, 2)), np.array([2, 0]), True):
        np.testing.assert_array_equal(x[key].numpy(), want[key])
    x[1] = 7
    x[:, 0] = np.array([1, 2, 3], "float32")
    x[[0, 2], 1] = paddle.to_tensor([5.0, 6.0])
    want[1] = 7
    want[:, 0] = [1, 2, 3]
    want[[0, 2], 1] = [5, 6]
    np.testing.assert_array_equal(x.numpy(), want)


def test_views_show_writes_and_pieces_do_not():
    x = paddle.arange(6, dtype="float32")
    x.reshape([2, 3]).add_(paddle.ones([2, 3]))
    assert x.tolist() == [1, 2, 3, 4, 5, 6]
    piece = paddle.split(x, 2)[0]
    piece.add_(paddle.ones([3]))
    assert x.tolist() == [1, 2, 3, 4, 5, 6] and piece.tolist() == [2, 3, 4]
    wide = paddle.ones([1, 3]).expand([2, 3])
    wide[0] = 5
    assert wide.tolist() == [[5, 5, 5], [1, 1, 1]]


@strict
def test_memory_is_counted_and_limited():
    before = paddle.device.memory_allocated()
    x = paddle.ones([1024, 1024])
    assert paddle.device.memory_allocated() - before == 4 << 20
    del x
    assert paddle.device.memory_allocated() == before
    assert paddle.device.max_memory_allocated() >= before + (4 << 20)
    paddle.device.set_memory_limit(before + (1 << 20))
    try:
        kept = paddle.tanh(paddle.ones([256, 256]))
        with pytest.raises(
            MemoryError,
            match=r"out of memory on streamed:0: 4.* requested.*limit.*Held by .*\[tanh\] 256.* in 1 block",
        ):
            paddle.ones([1024, 1024])
        assert "held by [tanh]" in paddle.device.memory_summary()
        del kept
    finally:
        paddle.device.set_memory_limit(0)
    assert "in use" in paddle.device.memory_summary()


# --- streams ---


@strict
def test_a_missing_event_is_found_though_the_numbers_would_be_right():
    x = slow()
    y = paddle.exp(x)
    paddle.device.current_stream()
    time.sleep(0.05)  # it is done by now, but nothing says so
    with paddle.device.stream_guard(paddle.device.Stream()):
        with pytest.raises(
            _core.DeviceError, match=r"\[tanh\] on stream \d+ reads .*\[exp\] on stream 0"
        ):
            paddle.tanh(y)


def test_events_order_streams():
    side = paddle.device.Stream()
    x = slow()
    event = paddle.device.current_stream().record_event()
    with paddle.device.stream_guard(side):
        assert paddle.device.current_stream() == side
        side.wait_event(event)
        y = x * 2
        x.record_stream(side)
    assert paddle.device.current_stream() != side
    paddle.device.current_stream().wait_stream(side)
    np.testing.assert_array_equal((y + 1).numpy(), x.numpy() * 2 + 1)


def test_two_streams_with_a_copy_engine():
    """Batches travel on a stream of their own while the last one is worked on."""
    rng = np.random.RandomState(0)
    batches = [rng.rand(32, 16).astype("float32") for _ in range(6)]
    weight = paddle.rand([16, 16])
    copies, main = paddle.device.Stream(), paddle.device.current_stream()
    copies.wait_stream(main)

    def send(batch):
        with paddle.device.stream_guard(copies):
            t = paddle.to_tensor(batch)
            return t, copies.record_event()

    sums, ahead = [], send(batches[0])
    for i in range(len(batches)):
        t, there = ahead
        if i + 1 < len(batches):
            ahead = send(batches[i + 1])
        main.wait_event(there)
        sums.append((t @ weight).sum())
        t.record_stream(main)
        del t
    want = [(paddle.to_tensor(b) @ weight).sum().item() for b in batches]
    assert [s.item() for s in sums] == want


@strict
def test_freeing_without_record_stream_is_found():
    side = paddle.device.Stream()
    x = slow()
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        y = nn.functional.relu(x)
    del x
    with pytest.raises(_core.DeviceError, match=r"\[relu\].*record_stream"):
        paddle.device.synchronize()
    del y


def test_events_tell_time():
    start, end = paddle.device.Event(enable_timing=True), paddle.device.Event(enable_timing=True)
    start.record()
    slow()
    end.record()
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(paddle.device.Event())
    end.synchronize()
    assert start.query() and end.query()
    assert 0 < start.elapsed_time(end) < 60_000
    with pytest.raises(NotImplementedError, match="interprocess"):
        paddle.device.Event(interprocess=True)


def test_synchronize_and_query():
    slow()
    stream = paddle.device.current_stream()
    stream.synchronize()
    assert stream.query()
    slow()
    paddle.device.synchronize(FIRST)
    assert stream.query()


# --- errors ---


@strict
def test_an_error_of_a_kernel_comes_late_and_stays():
    x = paddle.ones([3])
    paddle.gather(x, paddle.to_tensor([9]))
    for _ in range(2):
        with pytest.raises(_core.DeviceError, match=r"\[take_slices\] failed on streamed:0"):
            paddle.device.synchronize()
    with pytest.raises(_core.DeviceError, match=r"\[take_slices\]"):
        x + x
    with paddle.device_guard(SECOND):
        assert paddle.ones([2]).sum().item() == 2  # another device goes on


@strict
def test_a_forked_child_is_told():
    x = paddle.ones([2])

    def child(pipe):
        try:
            x + x
        except _core.DeviceError as e:
            pipe.send(str(e))

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there,))
    process.start()
    assert here.poll(60) and "forked" in here.recv()
    process.join(60)
    assert process.exitcode == 0 and (x + x).tolist() == [2, 2]


@strict
def test_the_flag_adds_it():
    code = (
        "import argosy as p; print(p.device.get_available_custom_device());"
        "p.set_device('streamed:2'); print((p.ones([2]) * 3).tolist())"
    )
    env = {**os.environ, "ARGOSY_STREAMED_DEVICES": "3", "ARGOSY_STREAMED_DELAY_US": "10"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300
    )
    assert out.stdout.split("\n")[:2] == [
        "['streamed:0', 'streamed:1', 'streamed:2']",
        "[3.0, 3.0]",
    ], out.stderr


def test_the_profiler_shows_copies_and_waits(tmp_path):
    profiler = paddle.profiler.Profiler(on_trace_ready=lambda p: None)
    with profiler:
        x = paddle.to_tensor([1.0, 2.0]) * 3
        x.numpy()
    kinds = {e.kind: e for e in profiler.profiler_result.events}
    assert {"op", "copy", "wait"} <= set(kinds)
    if STREAMED:  # the time of kernels of a GPU is not measured
        assert kinds["kernel"].thread != kinds["op"].thread


@pytest.mark.parametrize(
    "end",
    [
        "",
        "import sys; sys.exit(0)",
        "p.gather(x, p.to_tensor([99]))",
        "import threading; threading.Thread(target=lambda: [x.sum().item() for _ in iter(int, 1)],"
        " daemon=True).start()",
    ],
)
@strict
def test_a_process_ends_in_the_middle_of_work(end):
    code = (
        "import argosy as p; p.set_device('streamed:0'); x = p.ones([64, 64])\n"
        f"for _ in range(200): x = x @ x / 64\n{end}"
    )
    env = {**os.environ, "ARGOSY_STREAMED_DEVICES": "1", "ARGOSY_STREAMED_DELAY_US": "2000"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300
    )
    assert out.returncode == 0, out.stderr  # a thread may still say that the device has ended
