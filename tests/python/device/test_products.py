"""Products and attention on a device, in layouts and dtypes for which it may have kernels of its own: as on
the CPU, but for roundings."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core
from argosy.nn import functional as F

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

BOUNDS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5}


def numbers(seed, *shape, dtype="float32"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype == "complex64":
        x = x + 1j * rng.standard_normal(shape)
    return paddle.to_tensor(x.astype("complex64" if dtype == "complex64" else "float64")).astype(
        dtype
    )


def on_cpu(x):
    return x.detach().to("cpu")


def wide(x):
    x = on_cpu(x)
    return x.numpy() if x.dtype == paddle.complex64 else x.astype("float64").numpy()


def assert_near(got, want, bound):
    got, want = wide(got), wide(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(
        got, want, rtol=bound, atol=bound * max(1.0, np.abs(want).max(initial=0))
    )


def assert_as_cpu(compute, operands, bound):
    """Of all operands: from one call on the device and one on the CPU."""
    assert_near(compute(*operands), compute(*map(on_cpu, operands)), bound)


# --- products ---


def plain(x):
    return x


def turned(x):
    return x.transpose([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def heads_first(x):
    return x.transpose([0, 2, 1, 3])


PRODUCTS = {
    "matrices": ((5, 7), plain, (7, 3), plain),
    "both turned": ((7, 5), turned, (3, 7), turned),
    "stack and matrix": ((2, 3, 5, 7), plain, (7, 4), plain),
    "matrix and stack": ((5, 7), plain, (2, 3, 7, 4), plain),
    "stacks": ((2, 3, 5, 7), plain, (2, 3, 7, 4), plain),
    "crossed stacks": ((2, 1, 5, 7), plain, (3, 7, 4), plain),
    "rows of one matrix": ((2, 6, 1, 7), plain, (2, 1, 7, 4), plain),
    "heads": ((2, 5, 3, 8), heads_first, (2, 4, 3, 8), lambda y: turned(heads_first(y))),
    "many in three dimensions": ((11, 1, 13, 2, 3), plain, (1, 12, 13, 3, 2), plain),
    "vectors": ((9,), plain, (9,), plain),
    "matrix and vector": ((4, 9), plain, (9,), plain),
    "stack and vector": ((2, 3, 4, 9), plain, (9,), plain),
    "vector and stack": ((9,), plain, (2, 9, 5), plain),
    "spread vector": ((4, 9), plain, (9, 2), lambda y: y[:, 0]),
    "column": ((4, 9), plain, (9, 1), plain),
    "turned and column": ((9, 4), turned, (9, 1), plain),
    "not adjacent": ((5, 7, 2), lambda x: x[:, :, 0], (7, 3), plain),
    "rows apart": ((5, 10), lambda x: x[:, 2:9], (7, 6), lambda y: y[:, 1:4]),
    "nothing in between": ((5, 0), plain, (0, 3), plain),
    "no rows": ((0, 7), plain, (7, 3), plain),
    "large": ((130, 257), plain, (257, 192), plain),
}


@pytest.mark.parametrize("dtype", list(BOUNDS))
@pytest.mark.parametrize("name", list(PRODUCTS))
def test_product(name, dtype):
    xs, of_x, ys, of_y = PRODUCTS[name]
    x, y = numbers(1, *xs, dtype=dtype), numbers(2, *ys, dtype=dtype)
    assert_as_cpu(lambda x, y: paddle.matmul(of_x(x), of_y(y)), [x, y], BOUNDS[dtype])


@pytest.mark.parametrize("transpose_x", [False, True])
@pytest.mark.parametrize("transpose_y", [False, True])
def test_product_transposes(transpose_x, transpose_y):
    x = numbers(1, 2, 6, 5) if transpose_x else numbers(1, 2, 5, 6)
    y = numbers(2, 3, 1, 4, 6) if transpose_y else numbers(2, 3, 1, 6, 4)
    assert_as_cpu(lambda x, y: paddle.matmul(x, y, transpose_x, transpose_y), [x, y], 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("sizes", [(6, 8), (5, 3), (0, 4), (64, 128)], ids=str)
def test_linear(sizes, dtype):
    k, n = sizes
    x, w, b = (
        numbers(1, 2, 3, k, dtype=dtype),
        numbers(2, k, n, dtype=dtype),
        numbers(3, n + 1, dtype=dtype),
    )
    for compute in (
        lambda x, w, b: F.linear(x, w),
        lambda x, w, b: F.linear(x, w, b[:n]),
        lambda x, w, b: F.linear(x, w, b[1:]),  # where no kernel can read it by 16 bytes
    ):
        assert_as_cpu(compute, [x, w, b], BOUNDS[dtype])
    turned_w = numbers(4, n, k, dtype=dtype)
    assert_as_cpu(lambda x, w, b: F.linear(x, w.T, b[:n]), [x, turned_w, b], BOUNDS[dtype])


def test_gradients_of_linear_after_relu():
    def gradients(x, w, b, v):
        for t in (x, w, b, v):
            t.stop_gradient = False
        F.linear(F.relu(F.linear(x, w, b)), v).square().sum().backward()
        return paddle.concat([t.grad.flatten() for t in (x, w, b, v)])

    operands = [numbers(1, 4, 5, 6), numbers(2, 6, 8), numbers(3, 8), numbers(4, 8, 3)]
    assert_as_cpu(gradients, operands, 1e-5)


# --- attention ---

# batch, queries, keys, heads, key heads, size, size of values
ATTENTION = {
    "heads": (2, 128, 128, 4, 4, 64, 64),
    "more keys": (2, 100, 203, 2, 2, 64, 64),
    "more queries": (1, 150, 70, 2, 2, 32, 32),
    "groups": (2, 96, 96, 8, 2, 128, 128),
    "sizes": (1, 72, 72, 2, 2, 40, 24),
    "few queries": (2, 1, 77, 4, 4, 64, 64),
}


def attend(q, k, v, mask=None, causal=False):
    """Output and gradients of one pass, end to end."""
    for t in (q, k, v):
        t.stop_gradient = False
    out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    weights = paddle.arange(out.shape[1], dtype="float32").to(out.place) % 7 - 3
    (out * weights.astype(out.dtype).reshape([1, -1, 1, 1])).sum().backward()
    return [out, q.grad, k.grad, v.grad]


def operands_of(name, dtype):
    b, m, n, h, g, d, e = ATTENTION[name]
    return [
        numbers(1, b, m, h, d, dtype=dtype),
        numbers(2, b, n, g, d, dtype=dtype),
        numbers(3, b, n, g, e, dtype=dtype),
    ]


def assert_attends(operands, dtype, mask=None, causal=False):
    """Against float32 on the CPU."""
    got = attend(*operands, mask, causal)
    exact = [on_cpu(x).astype("float32") for x in operands]
    if mask is not None:
        mask = on_cpu(mask)
        mask = mask if mask.dtype == paddle.bool else mask.astype("float32")
    for g, w in zip(got, attend(*exact, mask, causal), strict=True):
        assert g.dtype == operands[0].dtype
        assert_near(g, w, {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4}[dtype])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", list(ATTENTION))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_attention(dtype, name, causal):
    assert_attends(operands_of(name, dtype), dtype, causal=causal)


def test_attention_in_float32():
    assert_attends(operands_of("more keys", "float32"), "float32", causal=True)


@pytest.mark.parametrize("shape", [(1, 1, 1, 203), (2, 1, 100, 203), (2, 2, 100, 203)], ids=str)
@pytest.mark.parametrize("kind", ["bool", "added"])
def test_attention_with_mask(kind, shape):
    mask = np.random.default_rng(5).random(shape) < 0.7
    mask[..., 0] = True
    if kind == "bool":
        mask = paddle.to_tensor(mask)
    else:
        mask = paddle.to_tensor(np.where(mask, 0.0, -30.0)).astype("bfloat16")
    assert_attends(operands_of("more keys", "bfloat16"), "bfloat16", mask)


def test_attention_of_packed_projections():
    """Query, key and value side by side in one tensor, read where they lie."""
    packed = numbers(1, 2, 80, 3, 4, 64, dtype="float16")
    q, k, v = (packed[:, :, i] for i in range(3))
    got = F.scaled_dot_product_attention(q, k, v)
    q, k, v = (on_cpu(x).astype("float32") for x in (q, k, v))
    assert_near(got, F.scaled_dot_product_attention(q, k, v), 1e-2)


def test_gradients_of_attention_where_its_mask_needs_one():
    operands = operands_of("heads", "float16")
    mask = numbers(6, 1, 1, 128, 128, dtype="float16")
    mask.stop_gradient = False
    F.scaled_dot_product_attention(*operands, mask).sum().backward()
    assert np.isfinite(wide(mask.grad)).all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_attention_of_packed_sequences(dtype, causal):
    starts_q, starts_k = [0, 40, 40, 41, 170, 200], [0, 33, 60, 60, 200, 230]
    operands = [
        numbers(1, 200, 4, 64, dtype=dtype),
        numbers(2, 230, 2, 64, dtype=dtype),
        numbers(3, 230, 2, 32, dtype=dtype),
    ]

    def attend_packed(q, k, v):
        for t in (q, k, v):
            t.stop_gradient = False
        starts = [paddle.to_tensor(s, "int32", place=q.place) for s in (starts_q, starts_k)]
        out, _ = F.flash_attention.flash_attn_unpadded(
            q, k, v, *starts, 129, 140, 0.125, causal=causal
        )
        weights = (paddle.arange(out.shape[0], dtype="float32") % 7 - 3).to(out.place)
        (out * weights.astype(out.dtype).reshape([-1, 1, 1])).sum().backward()
        return [out, q.grad, k.grad, v.grad]

    got = attend_packed(*operands)
    exact = attend_packed(*(on_cpu(x).astype("float32") for x in operands))
    for g, w in zip(got, exact, strict=True):
        assert_near(g, w, {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4}[dtype])


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
def test_products_of_integers_wrap_around_as_on_the_cpu(dtype):
    rng = np.random.default_rng(0)
    shapes = [((5, 7), (7, 3)), ((7,), (7, 3)), ((2, 1, 4, 6), (3, 6, 5)), ((4, 6), (6,)), ((2, 3), (2, 3)),
              ((0, 3), (3, 2)), ((3, 0), (0, 2)), ((40, 300), (300, 50))]  # fmt: skip
    for a, b in shapes:
        x, y = (rng.integers(-100, 100, s).astype(dtype) for s in (a, b))
        for tx, ty in ((False, True),) if a == b else ((False, False),):
            got = paddle.matmul(paddle.to_tensor(x), paddle.to_tensor(y), tx, ty)
            want = x @ (y.T if ty else y)
            assert got.numpy().dtype == want.dtype
            np.testing.assert_array_equal(got.numpy(), want)
    t = paddle.to_tensor(rng.integers(-9, 9, (6, 4)).astype(dtype))
    np.testing.assert_array_equal((t.t() @ t).numpy(), t.numpy().T @ t.numpy())


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_products_of_integers_run_on_the_gpu():
    x = paddle.ones([3, 3], "int64")
    _, text = _core.explain(lambda: x @ x)
    assert "matmul: ran cuda" in text, text
