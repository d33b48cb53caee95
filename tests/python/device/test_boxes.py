"""Suppression of boxes on a device: the same boxes as on the CPU, also where an overlap is exactly at the
threshold; and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def boxes(n, dtype="float32", seed=0, grid=None):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 50, (n, 2))
    both = np.concatenate([low, low + rng.uniform(1, 20, (n, 2))], 1)
    return (both if grid is None else np.round(both / grid) * grid).astype(dtype)


def on_both(call):
    got = call()
    with paddle.device_guard("cpu"):
        want = call()
    return got, want


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 33, 700, 3000])
@pytest.mark.parametrize("extra", [0.0, 1.0])
def test_the_same_boxes_as_on_the_cpu(n, extra, dtype):
    for threshold in (0.0, 0.25, 0.5, 0.9):
        for grid in (None, 2.0):  # whole numbers: overlaps of exactly 1/4 and 1/2
            x = boxes(n, dtype, n, grid)
            got, want = on_both(
                lambda x=x, t=threshold: _core.ops.suppress_boxes(
                    paddle.to_tensor(x), t, extra, 1.0
                )
            )
            np.testing.assert_array_equal(got.numpy(), want.numpy())
            assert n < 2 or 0 < len(want) <= n


def test_a_threshold_that_falls():
    x = boxes(400, seed=3)
    got, want = on_both(lambda: _core.ops.suppress_boxes(paddle.to_tensor(x), 0.9, 0.0, 0.9))
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    fixed = _core.ops.suppress_boxes(paddle.to_tensor(x), 0.9, 0.0, 1.0)
    assert len(want) < len(fixed)


def test_boxes_that_are_no_numbers_are_kept_as_on_the_cpu():
    x = boxes(50, seed=4)
    x[7] = np.nan
    got, want = on_both(lambda: _core.ops.suppress_boxes(paddle.to_tensor(x), 0.3, 0.0, 1.0))
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert 7 in want.numpy()


def test_nms_with_scores_and_categories():
    x = boxes(200, seed=5)
    rng = np.random.default_rng(6)
    scores, kinds = rng.uniform(size=200).astype("float32"), rng.integers(0, 3, 200)
    got, want = on_both(
        lambda: paddle.vision.ops.nms(paddle.to_tensor(x), 0.4, paddle.to_tensor(scores),
                                      paddle.to_tensor(kinds), [0, 1, 2], 40)
    )  # fmt: skip
    np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    x = paddle.to_tensor(boxes(20))
    _, text = _core.explain(lambda: _core.ops.suppress_boxes(x, 0.3, 0.0, 1.0))
    assert "suppress_boxes: ran cuda" in text, text
