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


def multiclass(images, classes, n, background, top, keep, eta, normalized, dtype="float32"):
    rng = np.random.default_rng(n)
    x = np.array([boxes(n, dtype, seed) for seed in range(images)], dtype).reshape(images, n, 4)
    scores = rng.uniform(size=(images, classes, n)).astype(dtype)
    scores[:, :, ::7] = 0.5  # some alike
    if n > 5:
        scores[0, 0, 3] = np.nan
    return _core.ops.multiclass_nms(
        paddle.to_tensor(x),
        paddle.to_tensor(scores),
        None,
        background,
        0.3,
        top,
        0.3,
        keep,
        eta,
        normalized,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(2, 3, 300), (1, 80, 50), (3, 2, 1), (2, 2, 0), (0, 2, 4), (4, 1, 2000)], ids=str
)
def test_class_by_class(sizes, dtype):
    for background, top, keep, eta, normalized in (
        (0, -1, -1, 1.0, True),
        (-1, 20, 30, 1.0, False),
        (1, 400, 100, 0.9, True),
    ):
        got, want = on_both(
            lambda: multiclass(*sizes, background, top, keep, eta, normalized, dtype)  # noqa: B023
        )
        for a, b in zip(got, want):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def proposals(images, anchors, height, width, pre, post, threshold, eta, offset, dtype):
    rng = np.random.default_rng(height)
    count = anchors * height * width
    given = [
        rng.uniform(size=(images, anchors, height, width)),
        rng.normal(size=(images, 4 * anchors, height, width)),
        np.array([[60.0, 70.0]] * images).reshape(images, 2),
        boxes(count, "float64", 1),
        rng.uniform(0.1, 1, (count, 4)),
    ]
    tensors = [paddle.to_tensor(x.astype(dtype)) for x in given]
    return _core.ops.generate_proposals(*tensors, pre, post, threshold, 4.0, eta, offset)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(2, 3, 10, 14), (1, 1, 1, 1), (1, 9, 30, 20), (0, 2, 3, 3)], ids=str
)
def test_proposals(sizes, dtype):
    for options in (
        (6000, 1000, 0.5, 1.0, False),
        (100, 20, 0.7, 1.0, True),
        (200, 0, 0.9, 0.8, False),
        (50, 5, 0.0, 1.0, False),
    ):
        got, want = on_both(lambda o=options: proposals(*sizes, *o, dtype))
        np.testing.assert_array_equal(got[2].numpy(), want[2].numpy())
        for a, b in zip(got[:2], want[:2]):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    x = paddle.to_tensor(boxes(20))
    calls = {
        "suppress_boxes": lambda: _core.ops.suppress_boxes(x, 0.3, 0.0, 1.0),
        "multiclass_nms": lambda: multiclass(1, 2, 10, 0, -1, -1, 1.0, True),
        "generate_proposals": lambda: proposals(1, 2, 3, 3, 10, 5, 0.5, 1.0, False, "float32"),
    }
    for op, call in calls.items():
        _, text = _core.explain(call)
        assert f"{op}: ran cuda" in text, text
