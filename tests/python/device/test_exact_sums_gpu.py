"""Gradients that many threads add at one place: with FLAGS_cudnn_deterministic the same bits in each run. Run with
`--device gpu`."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
import argosy.nn.functional as F
import argosy.vision.ops as vision

pytestmark = pytest.mark.skipif(STREAMED, reason="is about a GPU's kernels")

RUNS = 6


@pytest.fixture
def deterministic():
    paddle.set_flags({"FLAGS_cudnn_deterministic": True})
    yield
    paddle.set_flags({"FLAGS_cudnn_deterministic": False})


def draw(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def boxes_of(rng, n, size):
    corner = rng.uniform(0, size / 2, (n, 2))
    return np.concatenate([corner, corner + rng.uniform(1, size / 2, (n, 2))], 1).astype("float32")


def grid_sample(x, rng, dtype):
    grid = (
        rng.uniform(-1, 1, (2, 40, 50, 2)).astype("float32") * 0.3
    )  # most points meet in few pixels
    return F.grid_sample(x, paddle.to_tensor(grid).astype(dtype))


def volume_sample(x, rng, dtype):
    grid = rng.uniform(-1, 1, (2, 20, 20, 10, 3)).astype("float32") * 0.2
    return F.grid_sample(
        paddle.reshape(x, [2, 4, 4, 8, 32]),
        paddle.to_tensor(grid).astype(dtype),
        padding_mode="border",
    )


def roi_align(x, rng, dtype):
    boxes = paddle.to_tensor(boxes_of(rng, 300, 30)).astype(dtype)
    return vision.roi_align(x, boxes, paddle.to_tensor([150, 150], "int32"), 5)


def roi_pool(x, rng, dtype):
    boxes = paddle.to_tensor(boxes_of(rng, 300, 30)).astype(dtype)
    return vision.roi_pool(x, boxes, paddle.to_tensor([100, 200], "int32"), 5)


def psroi_pool(x, rng, dtype):
    boxes = paddle.to_tensor(boxes_of(rng, 300, 30)).astype(dtype)
    return vision.psroi_pool(x, boxes, paddle.to_tensor([100, 200], "int32"), 2)


def deform(x, rng, dtype):
    offset = paddle.to_tensor(draw(rng, 2, 18, 32, 32) * 4).astype(dtype)
    mask = paddle.to_tensor(rng.uniform(0, 3, (2, 9, 32, 32)).astype("float32")).astype(dtype)
    weight = paddle.to_tensor(draw(rng, 6, 4, 3, 3)).astype(dtype)
    return vision.deform_conv2d(x, offset, weight, padding=1, mask=mask)


def adaptive_max(x, rng, dtype):
    return F.adaptive_max_pool2d(x, [23, 27])  # windows share elements


def fractional_max(x, rng, dtype):
    return F.fractional_max_pool2d(x, [20, 20], kernel_size=3, random_u=0.4)


CASES = {f.__name__: f for f in (grid_sample, volume_sample, roi_align, roi_pool, psroi_pool, deform, adaptive_max,
                                 fractional_max)}  # fmt: skip
WIDE = {"roi_align", "roi_pool", "psroi_pool", "deform"}  # their kernels are for these alone


def gradient(name, dtype):
    rng = np.random.default_rng(3)
    x = paddle.to_tensor(draw(rng, 2, 4, 32, 32)).astype(dtype)
    x.stop_gradient = False
    y = CASES[name](x, rng, dtype)
    dy = paddle.to_tensor(
        np.random.default_rng(4).standard_normal(y.shape).astype("float32")
    ).astype(dtype)
    (dx,) = paddle.grad(y, [x], dy)
    return dx.astype("float64").numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_each_time(deterministic, name, dtype):
    if name in WIDE and dtype not in ("float32", "float64"):
        pytest.skip("has no kernel for 16-bit numbers")
    first = gradient(name, dtype)
    for _ in range(RUNS):
        np.testing.assert_array_equal(gradient(name, dtype), first)
    paddle.set_flags({"FLAGS_cudnn_deterministic": False})
    free = gradient(name, dtype)
    with paddle.device_guard("cpu"):
        want = gradient(name, dtype)
    near = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1e-2}[dtype] * np.abs(
        want
    ).max()
    assert np.abs(first - want).max() <= near
    assert np.abs(free - want).max() <= near


def test_what_is_not_finite_stays_so(deterministic):
    rng = np.random.default_rng(5)
    x = paddle.to_tensor(draw(rng, 1, 1, 8, 8))
    x.stop_gradient = False
    grid = paddle.to_tensor(rng.uniform(-0.9, 0.9, (1, 6, 6, 2)).astype("float32"))
    y = F.grid_sample(x, grid)
    dy = draw(rng, 1, 1, 6, 6)
    (whole,) = paddle.grad(y, [x], paddle.to_tensor(dy), retain_graph=True)
    dy[0, 0, 2, 3], dy[0, 0, 4, 4] = np.inf, np.nan
    (dx,) = paddle.grad(y, [x], paddle.to_tensor(dy))
    dx, whole = dx.numpy(), whole.numpy()
    bad = ~np.isfinite(dx)
    assert 4 <= bad.sum() <= 8
    with paddle.device_guard("cpu"):
        x = x.cpu()
        x.stop_gradient = False
        (want,) = paddle.grad(F.grid_sample(x, grid.cpu()), [x], paddle.to_tensor(dy))
    np.testing.assert_array_equal(np.isnan(dx), np.isnan(want.numpy()))
    np.testing.assert_allclose(dx, want.numpy(), rtol=1e-5, atol=1e-6)


def test_small_gradients_beside_large_ones_keep_their_bits(deterministic):
    """Of an image whose gradient is 2^-40 of another's."""
    rng = np.random.default_rng(6)
    x = paddle.to_tensor(draw(rng, 2, 1, 8, 8))
    x.stop_gradient = False
    grid = paddle.to_tensor(np.repeat(rng.uniform(-0.9, 0.9, (1, 3, 3, 2)), 2, 0).astype("float32"))
    dy = np.repeat(draw(rng, 1, 1, 3, 3), 2, 0)
    dy[1] *= 2.0**-40
    (dx,) = paddle.grad(F.grid_sample(x, grid), [x], paddle.to_tensor(dy))
    dx = dx.numpy()
    np.testing.assert_allclose(dx[1] * 2.0**40, dx[0], rtol=1e-6)
