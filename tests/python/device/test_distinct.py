"""Distinct slices of tensors on a device: as on the CPU, and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def on_both(call):
    got = call()
    with paddle.device_guard("cpu"):
        want = call()
    for a, b in zip(got, want):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "uint8", "float64"])
@pytest.mark.parametrize(
    "shape, axis",
    [((500, 2), 0), ((3, 400), 1), ((1, 1), 0), ((40, 2, 3), 0), ((2, 40, 3), 1), ((9, 64), 0)],
)
@pytest.mark.parametrize("consecutive", [False, True])
def test_as_on_the_cpu(shape, axis, consecutive, dtype):
    x = np.random.default_rng(0).integers(-1, 2, shape).astype(dtype)
    if dtype.startswith("float"):
        x[0] = -0.0  # is 0
    wanted = {"return_inverse": True, "return_counts": True}

    def call():
        t = paddle.to_tensor(x)
        if consecutive:
            return paddle.unique_consecutive(t, axis=axis, **wanted)
        return paddle.unique(t, axis=axis, return_index=True, **wanted)

    on_both(call)
    on_both(lambda: [paddle.unique(paddle.to_tensor(x), axis=axis)])


def test_slices_with_no_numbers_are_all_distinct():
    x = np.array([[1.0, np.nan], [0, 1], [1, np.nan], [0, 1]])
    got = paddle.unique(paddle.to_tensor(x), axis=0)
    assert got.shape == [3, 2]


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    x = paddle.to_tensor(np.array([[2, 1], [0, 3], [2, 1]]))
    _, text = _core.explain(lambda: paddle.unique(x, axis=0))
    assert "unique_all: ran cuda" in text, text
