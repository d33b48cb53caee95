"""Captured training steps on a GPU: a learning rate that changes is read there. Run with `--device gpu`."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core, nn

pytestmark = pytest.mark.skipif(STREAMED, reason="is about graphs that a GPU records")

OPTIMIZERS = {
    "SGD": {},
    "Momentum": {"momentum": 0.9, "use_nesterov": True},
    "Adagrad": {},
    "Adadelta": {},
    "RMSProp": {"centered": True},
    "Adam": {"amsgrad": True},
    "AdamW": {"weight_decay": 0.1, "lr_ratio": lambda p: 0.5},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {"batch_num": 3},
    "Lamb": {},
}


def trainer(name):
    """(model, optimizer, its scheduler), the same each time."""
    paddle.seed(5)
    model = nn.Sequential(nn.Linear(300, 200), nn.Tanh(), nn.Linear(200, 10))
    rate = paddle.optimizer.lr.ExponentialDecay(0.05, 0.8)
    optimizer = getattr(paddle.optimizer, name)(rate, parameters=model.parameters(), **OPTIMIZERS[name])  # fmt: skip
    return model, optimizer, rate


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rates_change_without_waits(name):
    x = paddle.to_tensor(np.random.default_rng(0).standard_normal([16, 300]).astype("float32"))
    model, optimizer, rate = trainer(name)
    want = []
    for _ in range(10):
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        want.append(float(loss))

    model, optimizer, rate = trainer(name)
    step = paddle.jit.compile_step(lambda x: (model(x) ** 2).mean(), None, optimizer)
    got = []
    for i in range(10):
        waits, launches = _core.host_waits(), _core.graph_launches()
        loss = step(x)
        rate.step()
        if i > 5:
            assert _core.host_waits() == waits
            assert _core.graph_launches() > launches
        got.append(float(loss))
    np.testing.assert_allclose(got, want, rtol=2e-5)
    assert got[-1] < got[0]


def test_a_static_program_does_not_wait_for_its_rate():
    fed = paddle.ones([16, 30])
    paddle.enable_static()
    try:
        main, start = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, start):
            x = paddle.static.data("x", [16, 30])
            loss = (paddle.static.nn.fc(x, 20) ** 2).mean()
            rate = paddle.optimizer.lr.ExponentialDecay(0.01, 0.5)
            paddle.optimizer.SGD(rate).minimize(loss)
        exe = paddle.static.Executor(paddle.CUDAPlace(0))
        exe.run(start)
        found = []
        for i in range(8):
            waits = _core.host_waits()
            (value,) = exe.run(main, {"x": fed}, [loss], return_numpy=False)
            if i > 3:
                assert _core.host_waits() == waits
            rate.step()
            found.append(float(np.array(value)))
        assert found == sorted(found, reverse=True)
    finally:
        paddle.disable_static()
