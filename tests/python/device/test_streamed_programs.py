"""Larger programs on the streamed test device: mixed precision, recomputing, threads, and a device that
fails in the middle of Model.fit."""

import threading

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, STREAMED, assert_as_on_the_cpu, drawn, strict

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, nn
from argosy.distributed.fleet.utils import recompute

pytestmark = pytest.mark.adds_device(unless="gpu")

RNG = np.random.RandomState(1)
X = RNG.rand(12, 6).astype("float32")
Y = RNG.randint(0, 3, [12])


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))


def on(device, program):
    paddle.device.set_device(device)
    paddle.seed(3)
    result = program()
    paddle.device.set_device("cpu")
    return result


def same_on_both(program):
    want, got = on("cpu", program), on(FIRST, program)
    assert len(want) == len(got)
    for a, b in zip(want, got):
        assert_as_on_the_cpu(b, a)


@pytest.mark.parametrize("level, dtype", [("O1", "bfloat16"), ("O1", "float16"), ("O2", "float16")])
def test_mixed_precision_with_a_scaler(streamed, level, dtype):
    if dtype == "float16" and not STREAMED:
        pytest.skip("has no effect on the CPU to compare with")

    def program():
        net = drawn(network)
        optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=net.parameters())
        if level == "O2":
            net, optimizer = paddle.amp.decorate(net, optimizer, level="O2", dtype=dtype)
        scaler = paddle.amp.GradScaler(init_loss_scaling=2.0**16, incr_every_n_steps=2)
        scales = []
        for step in range(4):
            with paddle.amp.auto_cast(level=level, dtype=dtype):
                loss = F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
            if step == 1:
                loss = loss * float("inf")  # this step is left out, and the scale lowered
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
            scales.append(np.asarray(scaler.state_dict().get("scale", 0.0)))
        return [*scales, *(p.astype("float32").numpy() for p in net.parameters())]

    same_on_both(program)


def test_recomputing(streamed):
    def program():
        net = drawn(network)
        x = paddle.to_tensor(X, stop_gradient=False)
        out = recompute(
            net[2:],
            recompute(nn.Sequential(net[0], net[1], nn.Dropout(0.3 if STREAMED else 0.0)), x),
        )
        out.square().mean().backward()
        return [out.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in net.parameters())]

    same_on_both(program)


def test_hooks_of_layers_and_tensors(streamed):
    def program():
        net, seen = drawn(network), []
        net[0].register_forward_post_hook(lambda layer, x, out: out * 2)
        net[2].weight.register_hook(lambda g: seen.append(g.sum()) or g.clip(-0.01, 0.01))
        loss = net(paddle.to_tensor(X)).sum()
        loss.backward()
        return [loss.numpy(), *(s.numpy() for s in seen), net[2].weight.grad.numpy()]

    same_on_both(program)


def trained(steps=5):
    net = drawn(network)
    for i, p in enumerate(net.parameters()):
        p.set_value(np.random.RandomState(i).uniform(-1, 1, p.shape).astype("float32"))
    optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    for _ in range(steps):
        F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y)).backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in net.parameters()]


def test_threads_with_devices_and_streams_of_their_own(streamed):
    want = on("cpu", trained)
    results, errors = {}, []

    def work(number):
        try:
            paddle.device.set_device((FIRST, SECOND)[number % 2])
            with paddle.device.stream_guard(paddle.device.Stream() if number > 1 else None):
                results[number] = trained()
        except Exception as error:  # told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not errors and len(results) == 4
    for got in results.values():
        for a, b in zip(want, got):
            assert_as_on_the_cpu(b, a)


@strict
def test_threads_share_a_tensor_without_an_event(streamed):
    """The mistake that a program with threads makes first: nobody waited for the other's stream."""
    x = paddle.ones([64, 64])
    for _ in range(6):
        x = x @ x / 64
    told = []

    def work():
        paddle.device.set_device(FIRST)
        with paddle.device.stream_guard(paddle.device.Stream()):
            try:
                x + 1
            except _core.DeviceError as error:
                told.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert len(told) == 1 and "[add] on stream" in told[0] and "stream.wait_event" in told[0]


class Rows(paddle.io.Dataset):
    def __init__(self, broken):
        self._broken = broken

    def __len__(self):
        return 12

    def __getitem__(self, i):
        label = 99 if i == self._broken else Y[i]
        return X[i], np.array([label])


class Loss(nn.Layer):
    """Picks a row by the label, so that a wrong label fails on the device."""

    def forward(self, out, label):
        return paddle.gather(paddle.log(F.softmax(out).T + 1e-3), label.flatten()).sum() * -1


@strict
def test_a_device_that_fails_in_fit_stays_failed(streamed):
    model = paddle.Model(network())
    model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), Loss())
    model.fit(Rows(None), batch_size=4, epochs=1, verbose=0, shuffle=False)
    with pytest.raises(_core.DeviceError, match=r"\[take_slices\] failed on streamed:0"):
        model.fit(Rows(7), batch_size=4, epochs=2, verbose=0, shuffle=False)
    with pytest.raises(_core.DeviceError, match=r"\[take_slices\] failed on streamed:0"):
        model.evaluate(Rows(None), batch_size=4, verbose=0)
    _core.forget_failures()  # as a new process would be
    again = paddle.Model(network())
    again.prepare(paddle.optimizer.SGD(0.1, parameters=again.parameters()), Loss())
    again.fit(Rows(None), batch_size=4, epochs=1, verbose=0)


def test_steps_that_repeat_are_launched_as_graphs(streamed):
    """Kernels that meet the same memory again run by a graph, whatever values it holds by then.
    Results never lie where others lay here: it is the kernels before them that do so, in the end."""
    w = np.eye(4, dtype="float32")

    def losses():
        weight = paddle.to_tensor(w)

        @paddle.jit.to_static
        def step(x):
            h = paddle.tanh(x @ weight)
            h = paddle.exp(h * 0.5) - h
            h = paddle.sqrt(h * h + 1.0) @ weight
            return (h * h).sum(), h.mean()

        x = paddle.to_tensor(X[:4, :4])
        found = []
        for i in range(80):
            x[:] = paddle.to_tensor(X[i % 9 : i % 9 + 4, :4])  # in the memory where it was
            if i == 75:
                weight.set_value(2 * w)
            found.append([float(v) for v in step(x)])
        return found

    want = on("cpu", losses)
    paddle.device.set_device(FIRST)
    before = _core.graph_launches()
    np.testing.assert_allclose(losses(), want, rtol=0 if STREAMED else 1e-5)
    assert _core.graph_launches() >= before + 4


@strict
@pytest.mark.parametrize("size", [8, 200])
def test_runs_of_one_plan_on_streams_that_do_not_wait_for_each_other(streamed, size):
    """Each stream has memory of its own for them, and constants are there for all."""
    constant = paddle.to_tensor(np.full([size], 0.5, "float32"))
    step = paddle.jit.to_static(lambda x: (paddle.tanh(x @ x + constant) @ x * 0.25).mean())
    x = paddle.full([size, size], 0.1)
    side = paddle.device.Stream()
    side.wait_stream(paddle.device.current_stream())  # for x and the constant, and nothing later
    found = []
    for _ in range(4):
        found.append(step(x))
        with paddle.device.stream_guard(side):
            found.append(step(x))
            found.append(step(x))
    paddle.device.synchronize()
    assert len({v.item() for v in found}) == 1


@strict
def test_a_training_step_moves_from_stream_to_stream(streamed):
    net = network()
    step = paddle.jit.compile_step(
        net, F.cross_entropy, paddle.optimizer.SGD(0.1, parameters=net.parameters())
    )
    x, y = paddle.to_tensor(X), paddle.to_tensor(Y)
    losses = []
    for _ in range(3):
        for stream in (paddle.device.Stream(), paddle.device.Stream()):
            stream.wait_stream(paddle.device.current_stream())
            with paddle.device.stream_guard(stream):
                losses.append(step(x, y))
            paddle.device.current_stream().wait_stream(stream)
    losses = [float(v) for v in losses]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]


def test_a_copy_of_a_constant_is_made_anew_for_another_stream(streamed):
    """What is captured as a view that is not contiguous is copied for the run, on its stream."""
    weight = paddle.to_tensor(RNG.rand(256, 256).astype("float32"))
    turned = weight.t()
    captured = paddle.jit.to_static(lambda x: x + turned)
    x = paddle.zeros([256, 256])
    captured(x)
    weight[:] = weight * 2
    paddle.device.synchronize()
    first = captured(x)
    with paddle.device.stream_guard(paddle.device.Stream()):
        second = captured(x).numpy()
    paddle.device.synchronize()
    np.testing.assert_array_equal(second, weight.numpy().T)
    np.testing.assert_array_equal(first.numpy(), second)
