"""Products and convolutions of bfloat16 beside float64 of the same numbers."""

import os

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F

ON_GPU = os.environ.get("ARGOSY_TEST_DEVICE") == "gpu"


def operand(shape, seed):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape), dtype="bfloat16")


def check(low, exact, before=None):
    """Sums in float32, rounded once: within a unit in the last place of the largest result. `before`: what
    was rounded once more, before the last addition."""
    a, b = low.astype("float64").numpy(), exact.numpy()
    assert low.dtype == paddle.bfloat16 and a.shape == b.shape
    bound = np.abs(b) / 256 + np.abs(b).max() * 1e-5 + 1e-30
    if before is not None:
        bound += np.abs(before.numpy()) / 256
    assert (np.abs(a - b) <= bound).all(), float((np.abs(a - b) / bound).max())


@pytest.mark.parametrize(
    "m, n, k",
    [
        (128, 128, 128),
        (300, 200, 100),
        (41, 40, 40),  # about the smallest that a library gets
        (33, 35, 37),
        (1, 500, 300),
        (500, 1, 300),
        (64, 64, 8191),  # cut along the depth
        (700, 513, 255),
        (31, 3, 1000),
    ],
)
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_products(m, n, k, ta, tb):
    x, y = operand((k, m) if ta else (m, k), 0), operand((n, k) if tb else (k, n), 1)
    want = paddle.matmul(x.astype("float64"), y.astype("float64"), ta, tb)
    check(paddle.matmul(x, y, ta, tb), want)


def test_stacked_and_strided_products():
    x, y = operand((6, 64, 48), 0), operand((6, 48, 80), 1)
    check(paddle.bmm(x, y), paddle.bmm(x.astype("float64"), y.astype("float64")))
    x = operand((200, 300), 2)
    part = x[10:170:2, 3:200]
    check(part @ part.t(), part.astype("float64") @ part.astype("float64").t())


@pytest.mark.parametrize("bias", [False, True])
def test_linear(bias):
    x, w, b = operand((96, 200), 0), operand((200, 130), 1), operand((130,), 2)
    wide = [t.astype("float64") for t in (x, w, b)]
    check(F.linear(x, w, b if bias else None), F.linear(*wide[:2], wide[2] if bias else None))


def test_infinities_and_nan_stay():
    x = operand((64, 64), 0)
    x[3, 5], x[7, 1] = float("inf"), float("nan")
    y = (x @ paddle.ones([64, 64], "bfloat16")).astype("float32").numpy()
    assert np.isinf(y[3]).all() and np.isnan(y[7]).all()
    assert np.isfinite(np.delete(y, [3, 7], 0)).all()


CONVOLUTIONS = {
    "3x3": dict(x=(4, 16, 14, 14), w=(32, 16, 3, 3), padding=1),
    "few channels": dict(x=(5, 3, 17, 19), w=(8, 3, 3, 3), padding=1),
    "one channel": dict(x=(8, 1, 28, 28), w=(16, 1, 3, 3), padding=1),
    "strided": dict(x=(2, 16, 15, 15), w=(32, 16, 3, 3), stride=2, padding=1),
    "dilated": dict(x=(2, 16, 15, 15), w=(16, 16, 3, 3), dilation=2),
    "1x1": dict(x=(3, 32, 9, 9), w=(48, 32, 1, 1)),
    "1x1 strided": dict(x=(3, 32, 9, 9), w=(48, 32, 1, 1), stride=2),
    "groups": dict(x=(2, 32, 10, 10), w=(64, 16, 3, 3), groups=2, padding=1),
    "depthwise": dict(x=(2, 32, 10, 10), w=(32, 1, 3, 3), groups=32, padding=1),
    "odd channels": dict(x=(3, 5, 9, 11), w=(7, 5, 2, 3)),
    "many images": dict(x=(64, 16, 8, 8), w=(16, 16, 3, 3), padding=1),
    "channels last": dict(x=(4, 14, 14, 16), w=(32, 16, 3, 3), padding=1, data_format="NHWC"),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions(name, bias):
    case = dict(CONVOLUTIONS[name])
    operands = [operand(case.pop("x"), 0), operand(case.pop("w"), 1)]
    if bias:
        operands.append(operand(operands[1].shape[:1], 2))

    def run(dtype, dy=None):
        given = [t.astype(dtype) for t in operands]
        for t in given:
            t.stop_gradient = False
        y = F.conv2d(*given, **case)
        dy = operand(y.shape, 3).astype(dtype)
        return [y, *paddle.grad(y, given, dy)]

    low, exact = run("bfloat16"), run("float64")
    before = None
    if bias and ON_GPU:  # cuDNN rounds its result, to which the bias is added [= Paddle]
        before = F.conv2d(*(t.astype("float64") for t in operands[:2]), **case)
    check(low[0], exact[0], before)
    for a, b in zip(low[1:], exact[1:]):
        check(a, b)


def test_one_and_three_dimensions():
    x, w = operand((4, 16, 50), 0), operand((16, 16, 5), 1)
    check(F.conv1d(x, w), F.conv1d(x.astype("float64"), w.astype("float64")))
    x, w = operand((2, 4, 7, 8, 9), 0), operand((8, 4, 3, 3, 3), 1)
    check(F.conv3d(x, w), F.conv3d(x.astype("float64"), w.astype("float64")))
    x, w = operand((2, 16, 7, 8), 0), operand((16, 8, 3, 3), 1)
    check(
        F.conv2d_transpose(x, w, stride=2),
        F.conv2d_transpose(x.astype("float64"), w.astype("float64"), stride=2),
    )
