"""Cost volumes of optical flow and RNN-T losses on a device: as on the CPU, gradients too, and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core
from argosy.nn import functional as F

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def assert_on_both(call, bound=1e-4):
    got = call()
    with paddle.device_guard("cpu"):
        want = call()
    for a, b in zip(got, want):
        assert a.dtype == b.dtype and a.shape == b.shape
        most = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * most)


def given(x, dtype):
    return paddle.to_tensor(x.astype(dtype), stop_gradient=False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        (4, 1, 4, 1, 1),
        (0, 1, 0, 1, 1),
        (3, 3, 2, 2, 1),
        (5, 5, 4, 1, 2),
        (1, 1, 3, 1, 3),
        (20, 3, 20, 2, 5),
    ],
    ids=str,
)
def test_volumes(options, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2, 5, 12, 17))

    def volume():
        a, b = given(x, dtype), given(y, dtype)
        out = paddle.incubate.layers.correlation(a, b, *options)
        (out * paddle.arange(out.numel(), dtype=dtype).reshape(out.shape)).sum().backward()
        return out.numpy(), a.grad.numpy(), b.grad.numpy()

    assert_on_both(volume)


def rnnt_case(dtype, blank=0, part=0.5):
    rng = np.random.default_rng(1)
    batch, times, longest, classes = 5, 40, 9, 7
    x = rng.normal(size=(batch, times, longest + 1, classes))
    labels = rng.integers(0, classes - 1, (batch, longest))
    labels += labels >= blank
    steps, lengths = np.array([40, 3, 0, 17, 1]), np.array([9, 0, 2, 9, 4])

    def loss():
        t = given(x, dtype)
        p = F.log_softmax(t)
        out = _core.ops.rnnt_rows(
            p, *(paddle.to_tensor(v) for v in (labels, steps, lengths)), blank, part
        )
        out = out[0] if isinstance(out, (tuple, list)) else out
        finite = paddle.where(paddle.isfinite(out), out, paddle.zeros_like(out))
        (finite * paddle.arange(1, 6).astype(dtype)).sum().backward()
        return out.astype("float64").numpy(), t.grad.astype("float64").numpy()

    return loss


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("blank", [0, 6])
def test_rnnt(blank, dtype):
    assert_on_both(rnnt_case(dtype, blank))


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_rnnt_with_a_length_out_of_range_is_no_number():
    p = F.log_softmax(paddle.zeros([2, 4, 3, 5]))
    labels = paddle.to_tensor(np.array([[1, 2], [1, 9]]))
    lengths = [paddle.to_tensor(np.array(v)) for v in ([4, 4], [2, 2])]
    loss = _core.ops.rnnt_rows(p, labels, *lengths, 0, 0.0)
    loss = (loss[0] if isinstance(loss, (tuple, list)) else loss).numpy()
    assert np.isfinite(loss[0]) and np.isnan(loss[1])


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    x = paddle.ones([1, 2, 4, 4])
    _, text = _core.explain(lambda: paddle.incubate.layers.correlation(x, x, 1, 1, 1, 1, 1))
    assert "correlation: ran cuda" in text, text
    _, text = _core.explain(rnnt_case("float32"))
    assert "rnnt_rows: ran cuda" in text, text
