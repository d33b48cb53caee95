"""16-bit convolutions of eager calls on a GPU lay channels last in memory; shapes and numbers are those
of any other layout. Run with --device gpu."""

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F
from argosy import nn

pytestmark = pytest.mark.skipif(
    not paddle.is_compiled_with_cuda() or not paddle.device.cuda.device_count(),
    reason="needs a GPU",
)


@pytest.fixture(autouse=True)
def on_gpu():
    paddle.device.set_device("gpu:0")
    yield
    paddle.device.set_device("cpu")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def tensor(array, dtype):
    t = paddle.to_tensor(array).astype(dtype)
    t.stop_gradient = False
    return t


def apart(a, b):
    a, b = (v.astype("float32").numpy() for v in (a, b))
    assert a.shape == b.shape
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "kernel, options",
    [
        (1, {}),
        (3, {"padding": 1}),
        (1, {"stride": 2}),
        (3, {"padding": 1, "stride": 2}),
        (3, {"padding": 2, "dilation": 2}),
        (5, {"padding": [1, 2, 2, 1]}),
    ],
)
def test_convolutions(dtype, kernel, options):
    arrays = numbers(4, 16, 15, 17), numbers(24, 16, kernel, kernel, seed=1), numbers(24, seed=2)
    found = []
    for to in ("float32", dtype):
        x, w, b = (tensor(a, dtype).detach().astype(to) for a in arrays)
        for t in (x, w, b):
            t.stop_gradient = False
        y = F.conv2d(x, w, b, **options)
        g = tensor(numbers(*y.shape, seed=3), dtype).astype(to)
        found.append([y, *paddle.grad(y, [x, w, b], g)])
    for wide, narrow in zip(*found):
        assert apart(narrow, wide) < 2e-2


def net():
    paddle.seed(5)
    return nn.Sequential(
        nn.Conv2D(3, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU(), nn.MaxPool2D(2),
        nn.Conv2D(16, 32, 3, padding=1, bias_attr=False), nn.BatchNorm2D(32), nn.ReLU(),
        nn.Conv2D(32, 32, 1), nn.BatchNorm2D(32), nn.GELU(), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
        nn.Linear(32, 10),
    )  # fmt: skip


def test_a_net_learns_as_in_float32():
    x, label = paddle.to_tensor(numbers(16, 3, 32, 32)), paddle.arange(16) % 10
    losses = []
    for narrow in (False, True):
        model = net()
        optimizer = paddle.optimizer.Momentum(0.05, parameters=model.parameters())
        losses.append([])
        for _ in range(8):
            with paddle.amp.auto_cast(enable=narrow, dtype="bfloat16"):
                loss = F.cross_entropy(model(x), label)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses[-1].append(float(loss))
    wide, narrow = np.array(losses)
    assert narrow[-1] < narrow[0]
    np.testing.assert_allclose(narrow, wide, rtol=0.1, atol=0.05)


def test_what_lies_so_meets_everything_else():
    w = paddle.to_tensor(numbers(8, 8, 3, 3)).astype("bfloat16")
    x = paddle.to_tensor(numbers(2, 8, 6, 5, seed=1)).astype("bfloat16")
    y = F.conv2d(x, w, padding=1)
    array = y.astype("float32").numpy()
    np.testing.assert_array_equal((y + x).astype("float32").numpy(),
                                  (y.contiguous() + x).astype("float32").numpy())  # fmt: skip
    np.testing.assert_array_equal(
        y.reshape([2, -1]).astype("float32").numpy(), array.reshape(2, -1)
    )
    np.testing.assert_array_equal(y[:, 3].astype("float32").numpy(), array[:, 3])
    np.testing.assert_array_equal(paddle.concat([y, x], 1)[:, :8].astype("float32").numpy(), array)
    np.testing.assert_allclose(y.astype("float32").sum([2, 3]).numpy(), array.sum((2, 3)), rtol=1e-4,
                               atol=1e-4)  # fmt: skip
    z = F.relu(y)
    z.add_(x)
    want = np.maximum(array, 0) + x.astype("float32").numpy()
    np.testing.assert_allclose(z.astype("float32").numpy(), want, rtol=1e-2, atol=1e-2)
