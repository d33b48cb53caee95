"""Programs whose values are on several devices: `to` is an operation of them, and what is computed of a
value is where that is."""

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, two_devices

import argosy as paddle
from argosy import _core, nn

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

X = np.arange(6, dtype="float32").reshape(2, 3)


def place_of(t):
    return str(t.place)


class Halves(nn.Layer):
    """The first half on one device, the second on another."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)
        self.second.to(SECOND)

    def forward(self, x):
        h = paddle.tanh(self.first(x)).to(SECOND)
        return self.second(h) * 2


@pytest.mark.parametrize("captured", [False, True])
def test_a_model_on_two_devices(captured):
    net = Halves()
    net.eval()
    want = net(paddle.to_tensor(X)).numpy()
    if captured:
        net = paddle.jit.to_static(net)
    with paddle.no_grad():
        for _ in range(3):
            got = net(paddle.to_tensor(X))
            assert place_of(got) == f"Place({SECOND})"
            np.testing.assert_array_equal(got.numpy(), want)
            np.testing.assert_array_equal((got + 1).numpy(), want + 1)


def test_there_and_back_in_a_captured_function():
    @paddle.jit.to_static
    def f(x):
        there = (x * 2).to(SECOND)
        here = there.exp().cpu().to(FIRST)
        return here + x, there, there.sum().to("cpu")

    x = paddle.to_tensor(X)
    total, there, on_cpu = f(x)
    assert [place_of(t) for t in (total, there, on_cpu)] == [
        f"Place({FIRST})", f"Place({SECOND})", "Place(cpu)",
    ]  # fmt: skip
    np.testing.assert_allclose(total.numpy(), np.exp(X * 2) + X, rtol=1e-6)
    np.testing.assert_array_equal(there.numpy(), X * 2)
    assert on_cpu.item() == (X * 2).sum()


@two_devices
def test_no_gradient_flows_from_another_device():
    @paddle.jit.to_static
    def f(x):
        return (x * 3).sum() + (x * x).sum().to(SECOND).to(FIRST)

    for function in (f, f.__wrapped__ if hasattr(f, "__wrapped__") else f):
        x = paddle.to_tensor(X, stop_gradient=False)
        function(x).backward()
        assert x.grad.tolist() == [[3.0] * 3] * 2


def test_a_static_program():
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [2, 3])
            y = (x + 1).to(SECOND)
            z = y.reshape([3, 2]).T.to("cpu") * 2
        for place in ("cpu", FIRST, SECOND):
            executor = paddle.static.Executor(place)
            got = executor.run(main, {"x": X}, [y, z])
            np.testing.assert_array_equal(got[0], X + 1)
            np.testing.assert_array_equal(got[1], (X + 1).reshape(3, 2).T * 2)
    finally:
        paddle.disable_static()


@two_devices
def test_what_does_not_fit_is_told():
    @paddle.jit.to_static
    def mixed(x):
        return x.to(SECOND) + x

    with pytest.raises(ValueError, match="inputs are on different devices"):
        mixed(paddle.to_tensor(X)).numpy()

    @paddle.jit.to_static(full_graph=True)
    def through_a_loop(x):
        y = x.to(SECOND)
        i = paddle.zeros([], "int64")
        while i < 3:
            y = y + 1
            i = i + 1
        return y

    with pytest.raises(
        NotImplementedError, match=r"\[while\] a value on streamed:1 goes into.*\.to\("
    ):
        through_a_loop(paddle.to_tensor(X)).numpy()


def test_state_elsewhere_without_a_move_is_refused():
    net = paddle.jit.to_static(nn.Linear(3, 2))
    net(paddle.to_tensor(X))
    with pytest.raises(ValueError, match=f"is on {FIRST}, but this run is on cpu"):
        net(paddle.to_tensor(X, place="cpu"))
    assert _core.devices()


def test_a_number_may_come_from_the_host():
    @paddle.jit.to_static(full_graph=True)
    def scaled(x, s):
        return x * s

    x = paddle.to_tensor(X)
    got = scaled(x, paddle.to_tensor(2.0, place="cpu"))
    assert str(got.place) == f"Place({FIRST})"
    np.testing.assert_array_equal(got.numpy(), X * 2)
    with pytest.raises(ValueError, match=f"is on cpu, but this run is on {FIRST}"):
        scaled(x, paddle.to_tensor(X, place="cpu"))
