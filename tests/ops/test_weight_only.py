"""Products with weights of 8 or 4 bits."""

import numpy as np
import pytest

import argosy
from argosy import _core

ops = _core.ops

COVERS = {
    "weight_only_numbers": "test_numbers",
    "weight_only_linear": "test_products",
}


def quantized(k, n, bits, group, seed=0):
    """(bytes, scales, the numbers [n, k]) of random codes; extremes are among them."""
    rng = np.random.default_rng(seed)
    low = -128 if bits == 8 else -8
    codes = rng.integers(low, -low, (n, k)).astype("int32")
    if codes.size:
        codes.flat[0], codes.flat[-1] = low, -low - 1
    groups = 1 if group == -1 else -(-k // group)
    scale = rng.uniform(0.01, 0.1, (groups, n)).astype("float32")
    wide = np.repeat(scale, k if group == -1 else group, 0)[:k].T
    packed = codes if bits == 8 else (codes[0::2] & 15) | (codes[1::2] << 4)
    stored = packed.astype("uint8").view("int8").reshape(len(packed), k)
    return stored, scale[0] if group == -1 else scale, codes * wide.astype("float64")


def linear(x, weight, scale, bias, bits, group):
    bias = None if bias is None else argosy.to_tensor(bias)
    parts = [argosy.to_tensor(a) for a in (x, weight, scale)]
    return ops.weight_only_linear(*parts, bias, bits, group)


SIZES = [
    (64, 8, -1),
    (200, 30, -1),
    (7, 2, -1),
    (130, 18, 64),
    (128, 34, 128),
    (33, 10, 7),
    (1, 2, 1),
]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("k", "n", "group"), SIZES)
def test_numbers(k, n, group, bits):
    weight, scale, numbers = quantized(k, n, bits, group)
    made = ops.weight_only_numbers(argosy.to_tensor(weight), argosy.to_tensor(scale), bits, group)
    np.testing.assert_allclose(made.numpy(), numbers, 1e-6)


# Few rows run on the codes, many on numbers.
@pytest.mark.parametrize("rows", [1, 3, 16, 17, 50])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("k", "n", "group"), SIZES)
def test_products(k, n, group, bits, rows):
    weight, scale, numbers = quantized(k, n, bits, group)
    rng = np.random.default_rng(1)
    x, bias = rng.standard_normal((rows, k)), rng.standard_normal(n)
    x, bias = x.astype("float32"), bias.astype("float32")
    for b in (None, bias):
        wanted = x @ numbers.T + (0 if b is None else b)
        np.testing.assert_allclose(
            linear(x, weight, scale, b, bits, group).numpy(), wanted, 1e-4, 1e-4
        )


@pytest.mark.parametrize("shape", [(0, 64), (2, 0, 64), (64,), (2, 3, 64)])
def test_shapes_of_x(shape):
    weight, scale, numbers = quantized(64, 6, 4, -1)
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    made = linear(x, weight, scale, None, 4, -1).numpy()
    assert made.shape == (*shape[:-1], 6)
    np.testing.assert_allclose(made, x @ numbers.T, 1e-4, 1e-4)


def test_empty_weights():
    weight, scale = np.zeros((4, 0), "int8"), np.ones(4, "float32")
    bias = np.arange(4, dtype="float32")
    made = linear(np.zeros((2, 0), "float32"), weight, scale, bias, 8, -1).numpy()
    np.testing.assert_array_equal(made, [bias, bias])
    assert linear(np.ones((2, 3), "float32"), np.zeros((0, 3), "int8"), np.zeros(0, "float32"), None, 8, -1).shape == [2, 0]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes_of_x(dtype):
    weight, scale, numbers = quantized(64, 6, 8, 64)
    x = argosy.to_tensor(np.random.default_rng(0).standard_normal((3, 64))).astype(dtype)
    parts = [argosy.to_tensor(a) for a in (weight, scale)]
    made = ops.weight_only_linear(x, *parts, None, 8, 64)
    assert made.dtype == x.dtype
    wanted = x.astype("float64").numpy() @ numbers.T
    np.testing.assert_allclose(made.astype("float64").numpy(), wanted, 3e-2, 0.5)


@pytest.mark.parametrize("rows", [2, 40])
def test_the_gradient_of_x(rows):
    weight, scale, numbers = quantized(64, 6, 4, 64)
    x = argosy.to_tensor(np.ones((rows, 64), "float32"), stop_gradient=False)
    parts = [argosy.to_tensor(a) for a in (weight, scale)]
    dy = np.random.default_rng(0).standard_normal((rows, 6)).astype("float32")
    ops.weight_only_linear(x, *parts, None, 4, 64).backward(argosy.to_tensor(dy))
    np.testing.assert_allclose(x.grad.numpy(), dy @ numbers, 1e-4, 1e-4)


def test_what_is_not_contiguous():
    weight, scale, numbers = quantized(64, 6, 8, -1)
    x = np.random.default_rng(0).standard_normal((64, 5)).astype("float32")
    parts = [argosy.to_tensor(x).t(), argosy.to_tensor(np.ascontiguousarray(weight.T)).t()]
    made = ops.weight_only_linear(*parts, argosy.to_tensor(scale), None, 8, -1)
    np.testing.assert_allclose(made.numpy(), x.T @ numbers.T, 1e-4, 1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same(threads):
    weight, scale, _ = quantized(600, 4000, 4, -1)
    x = np.random.default_rng(0).standard_normal((1, 600)).astype("float32")
    before = _core.num_threads()
    wanted = linear(x, weight, scale, None, 4, -1).numpy()
    try:
        _core.set_num_threads(threads)
        np.testing.assert_array_equal(linear(x, weight, scale, None, 4, -1).numpy(), wanted)
    finally:
        _core.set_num_threads(before)


def test_errors():
    weight, scale, _ = quantized(64, 6, 8, -1)
    x = np.ones((1, 64), "float32")
    with pytest.raises(ValueError, match="bits: expected 8 or 4, got 5"):
        linear(x, weight, scale, None, 5, -1)
    with pytest.raises(ValueError, match="group_size: expected -1 or more than 0, got 0"):
        linear(x, weight, scale, None, 8, 0)
    with pytest.raises(ValueError, match=r"x: expected \[.., 64\], got \[1, 63\]"):
        linear(x[:, 1:], weight, scale, None, 8, -1)
    with pytest.raises(ValueError, match="scale"):
        linear(x, weight, scale, None, 8, 64)
    with pytest.raises(ValueError, match="scale"):
        linear(x, weight, scale, None, 4, -1)  # 12 rows
    with pytest.raises(ValueError, match="bias"):
        linear(x, weight, scale, np.ones(5, "float32"), 8, -1)
