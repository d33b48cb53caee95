"""Attention on a GPU beside sums in float64: masks, dropout, heads that share keys. Run with `--device gpu`."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
import argosy.nn.functional as F
from argosy._core import ops

pytestmark = pytest.mark.skipif(STREAMED, reason="is about a GPU's kernels")

MIB = 1 << 20
# By dtype: how far results and gradients may be from those of float64, by the largest of them.
NEAR = {"float32": (4e-6, 2e-5), "float16": (4e-3, 8e-3), "bfloat16": (2e-2, 4e-2)}


def attention(q, k, v, dy, mask=None, causal=False, kept=None, factor=1.0):
    """Results and gradients of query, key and value, in float64, from all scores."""
    q, k, v, dy = (x.astype("float64").swapaxes(1, 2) for x in (q, k, v, dy))
    times, shape = q.shape[1] // k.shape[1], k.shape
    k, v = np.repeat(k, times, 1), np.repeat(v, times, 1)
    scale = q.shape[-1] ** -0.5
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    grown = np.ones_like(weights) if kept is None else kept * factor
    out = (weights * grown) @ v
    d = dy @ v.swapaxes(-1, -2) * grown
    d = weights * (d - (d * weights).sum(-1, keepdims=True)) * scale

    def of_key(x):
        return x.reshape(shape[0], shape[1], times, *x.shape[2:]).sum(2)

    all_four = (
        out,
        d @ k,
        of_key(d.swapaxes(-1, -2) @ q),
        of_key((weights * grown).swapaxes(-1, -2) @ dy),
    )
    return [x.swapaxes(1, 2) for x in all_four]


def operands(dtype, b, h, kh, m, n, d, e, seed=0):
    """query, key, value and a gradient as tensors, and the same rounded numbers in float64."""
    rng = np.random.default_rng(seed)
    arrays = [
        rng.standard_normal(s) for s in ((b, m, h, d), (b, n, kh, d), (b, n, kh, e), (b, m, h, e))
    ]
    tensors = [paddle.to_tensor(x.astype("float32")).astype(dtype) for x in arrays]
    for t in tensors[:3]:
        t.stop_gradient = False
    return tensors, [t.astype("float64").numpy() for t in tensors]


def mask_of(form, kind, b, h, m, n, dtype, seed=1):
    """The mask as a tensor, and as numbers of what the tensor holds. Every query has its first key."""
    rng = np.random.default_rng(seed)
    shape = {
        "b11k": (b, 1, 1, n),
        "b1qk": (b, 1, m, n),
        "bhqk": (b, h, m, n),
        "11qk": (1, 1, m, n),
        "qk": (m, n),
    }[form]
    taken = rng.random(shape) < 0.6
    taken[..., 0] = True
    if kind == "bool":
        return paddle.to_tensor(taken), taken
    mask = np.where(
        taken,
        rng.standard_normal(shape),
        -np.inf if kind == "infinite" else rng.standard_normal(shape),
    )
    t = paddle.to_tensor(mask.astype("float32")).astype(dtype)
    return t, t.astype("float64").numpy()


def assert_near(got, want, dtype):
    for i, (g, w) in enumerate(zip(got, want)):
        near = NEAR[dtype][1 if i else 0]
        g = g.astype("float64").numpy()
        assert g.shape == w.shape
        assert np.isfinite(g).all(), f"result {i}"
        assert np.abs(g - w).max() <= near * np.abs(w).max(), (
            f"result {i}: {np.abs(g - w).max()}, {np.abs(w).max()}"
        )


def with_gradients(call, tensors):
    out = call(*tensors[:3])
    return [out, *paddle.grad(out, tensors[:3], tensors[3])]


SIZES = {
    "even": (2, 4, 4, 128, 128, 64, 64),
    "odd lengths": (2, 3, 3, 77, 101, 64, 64),
    "wide": (1, 2, 2, 130, 70, 128, 128),
    "narrow": (2, 2, 2, 65, 192, 32, 32),
    "any sizes": (1, 2, 2, 70, 66, 20, 36),
    "odd sizes": (1, 3, 1, 67, 75, 11, 5),
    "few keys": (2, 2, 2, 64, 3, 64, 64),
    "shared keys": (2, 6, 2, 100, 90, 64, 64),
    "one head of keys": (1, 8, 1, 96, 160, 128, 64),
}


@pytest.mark.parametrize("dtype", NEAR)
def test_kernels_of_the_device_run(capsys, dtype):
    tensors, _ = operands(dtype, *SIZES["odd lengths"])
    mask = paddle.to_tensor(np.ones((2, 1, 1, 101), bool))
    for own, p in ((None, 0.0), (mask, 0.0), (mask, 0.5)):
        paddle.explain(
            lambda: with_gradients(
                lambda *t: F.scaled_dot_product_attention(*t, own, dropout_p=p), tensors
            )
        )
        said = capsys.readouterr().out
        assert "tiled_attention: ran cuda" in said, said
        assert "tiled_attention_grad: ran cuda" in said, said


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", NEAR)
def test_without_a_mask(dtype, size, causal):
    tensors, arrays = operands(dtype, *SIZES[size])
    got = with_gradients(lambda *t: F.scaled_dot_product_attention(*t, is_causal=causal), tensors)
    assert_near(got, attention(*arrays, causal=causal), dtype)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("kind", ["bool", "numbers", "infinite"])
@pytest.mark.parametrize("form", ["b11k", "b1qk", "bhqk", "11qk", "qk"])
@pytest.mark.parametrize("dtype", NEAR)
def test_masks(dtype, form, kind, causal):
    size = SIZES["shared keys"]
    tensors, arrays = operands(dtype, *size)
    mask, numbers = mask_of(form, kind, size[0], size[1], size[3], size[4], dtype)
    got = with_gradients(
        lambda *t: F.scaled_dot_product_attention(*t, mask, is_causal=causal), tensors
    )
    assert_near(got, attention(*arrays, numbers, causal), dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", NEAR)
def test_a_padding_mask_of_all_sizes(dtype, size):
    b, h, _, m, n = SIZES[size][:5]
    tensors, arrays = operands(dtype, *SIZES[size], seed=2)
    lengths = np.random.default_rng(3).integers(1, n + 1, b)
    numbers = np.arange(n) < lengths[:, None, None, None]
    mask = paddle.to_tensor(numbers)
    got = with_gradients(lambda *t: F.scaled_dot_product_attention(*t, mask), tensors)
    assert_near(got, attention(*arrays, numbers), dtype)


@pytest.mark.parametrize("dtype", NEAR)
def test_what_a_mask_leaves_out_may_be_infinite(dtype):
    q, k, v = (t.detach() for t in operands(dtype, 1, 2, 2, 80, 72, 32, 32)[0][:3])
    mask = paddle.ones([1, 1, 80, 72], dtype="bool")
    mask[..., 70:] = False
    for anything in (float("inf"), float("nan")):
        k[:, 70:] = anything
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        want = F.scaled_dot_product_attention(q, k[:, :70], v[:, :70])
        found, want = (t.astype("float64").numpy() for t in (found, want))
        np.testing.assert_allclose(found, want, rtol=0, atol=NEAR[dtype][0] * np.abs(want).max())


@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", NEAR)
def test_dropout_drops_the_same_in_both_directions(dtype, size, masked):
    b, h, kh, m, n = SIZES[size][:5]
    tensors, arrays = operands(dtype, *SIZES[size], seed=4)
    mask, numbers = mask_of("b1qk", "bool", b, h, m, n, dtype) if masked else (None, None)
    p = 0.3
    paddle.seed(11)
    bits = ops.attention_bits(tensors[0], tensors[1], p).numpy()
    kept = np.unpackbits(bits, bitorder="little")[: b * h * m * n].reshape(b, h, m, n)
    paddle.seed(11)
    got = with_gradients(lambda *t: F.scaled_dot_product_attention(*t, mask, dropout_p=p), tensors)
    assert_near(got, attention(*arrays, numbers, kept=kept, factor=1 / (1 - p)), dtype)
    if b * h * m * n > 10000:
        assert abs(kept.mean() - (1 - p)) < 0.02


def test_dropout_replays_as_it_runs():
    tensors, _ = operands("bfloat16", 2, 2, 2, 128, 128, 64, 64)

    def run(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.2)

    captured = paddle.jit.to_static(run)
    for seed in (5, 6, 5, 7):  # the graph is recorded when the memory is met again
        paddle.seed(seed)
        want = [x.astype("float32").numpy() for x in with_gradients(run, tensors)]
        paddle.seed(seed)
        got = [x.astype("float32").numpy() for x in with_gradients(captured, tensors)]
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g, w)
    paddle.seed(5)
    first = run(*tensors[:3]).astype("float32").numpy()
    assert (first != run(*tensors[:3]).astype("float32").numpy()).any()


@pytest.mark.parametrize("dtype", NEAR)
def test_a_mask_gets_its_gradient(dtype):
    b, h, kh, m, n, d, e = size = SIZES["even"]
    tensors, arrays = operands(dtype, *size)
    mask, numbers = mask_of("b1qk", "numbers", b, h, m, n, dtype)
    mask.stop_gradient = False
    out = F.scaled_dot_product_attention(*tensors[:3], mask)
    got = paddle.grad(out, [*tensors[:3], mask], tensors[3])
    assert_near([out, *got[:3]], attention(*arrays, numbers), dtype)
    # The gradient of a score does not feel what all scores of a query have in common.
    sums = got[3].astype("float64").numpy().sum(-1)
    assert np.abs(sums).max() <= 2e-2 * np.abs(got[3].astype("float64").numpy()).max() * n**0.5


@pytest.mark.parametrize("dtype", NEAR)
def test_strided_operands_are_read_as_they_lie(dtype):
    b, h, m, d = 2, 3, 80, 64
    rng = np.random.default_rng(8)
    packed = paddle.to_tensor(rng.standard_normal((b, m, 3, h, d)).astype("float32")).astype(dtype)
    packed.stop_gradient = False
    dy = paddle.to_tensor(rng.standard_normal((b, m, h, d)).astype("float32")).astype(dtype)
    mask = paddle.to_tensor(rng.random((b, 1, 1, m)) < 0.8)
    out = F.scaled_dot_product_attention(*(packed[:, :, i] for i in range(3)), mask)
    (got,) = paddle.grad(out, [packed], dy)
    arrays = [packed[:, :, i].astype("float64").numpy() for i in range(3)]
    want = attention(*arrays, dy.astype("float64").numpy(), mask.numpy())
    assert_near([out, *(got[:, :, i] for i in range(3))], want, dtype)


@pytest.mark.parametrize("dtype", NEAR)
def test_a_query_without_keys_is_no_number(dtype):
    tensors, arrays = operands(dtype, 1, 2, 2, 70, 72, 64, 64)
    numbers = np.ones((70, 72), bool)
    numbers[5] = False
    out = (
        F.scaled_dot_product_attention(*tensors[:3], paddle.to_tensor(numbers))
        .astype("float64")
        .numpy()
    )
    assert np.isnan(out[:, 5]).all()
    numbers[5] = True
    want = attention(*arrays, numbers)[0]
    others = np.arange(70) != 5
    assert np.abs(out - want)[:, others].max() <= NEAR[dtype][0] * np.abs(want).max()


@pytest.mark.parametrize("kind", ["plain", "mask", "dropout"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_does_not_grow_with_pairs(dtype, kind):
    b, h, m, d = 1, 4, 8192, 64
    tensors, _ = operands(dtype, b, h, h, m, m, d, d)
    mask = paddle.to_tensor(np.arange(m) < m - 5) if kind == "mask" else None
    attrs = {"dropout_p": 0.1} if kind == "dropout" else {}

    def run():
        return with_gradients(lambda *t: F.scaled_dot_product_attention(*t, mask, **attrs), tensors)

    run()
    paddle.device.cuda.reset_peak_memory_stats()
    before = paddle.device.cuda.memory_allocated()
    run()
    more = paddle.device.cuda.max_memory_allocated() - before
    pairs = b * h * m * m  # 268 million: 1 GiB of float32
    operand = b * h * m * d * 4
    assert more < 16 * operand + (pairs // 8 if kind == "dropout" else 0), more / MIB


@pytest.mark.parametrize("dtype", NEAR)
def test_the_same_bits_each_time(dtype):
    tensors, _ = operands(dtype, 2, 4, 2, 200, 300, 64, 64)
    mask = paddle.to_tensor(np.random.default_rng(9).random((2, 1, 1, 300)) < 0.9)
    call = lambda *t: F.scaled_dot_product_attention(*t, mask)  # noqa: E731
    first = [x.astype("float32").numpy() for x in with_gradients(call, tensors)]
    for _ in range(3):
        again = [x.astype("float32").numpy() for x in with_gradients(call, tensors)]
        for a, b in zip(first, again):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", NEAR)
def test_packed_sequences_with_dropout(dtype):
    """Of each sequence by itself: what the others have never counts."""
    h, d, p = 2, 64, 0.4
    starts = np.array([0, 40, 41, 100, 128], "int32")
    rng = np.random.default_rng(12)
    q, k, v = (
        paddle.to_tensor(rng.standard_normal((128, h, d)).astype("float32")).astype(dtype)
        for _ in range(3)
    )
    v.stop_gradient = False
    where = paddle.to_tensor(starts)
    paddle.seed(1)
    out = ops.varlen_attention(q, k, v, where, where, p)
    (dv,) = paddle.grad(out[41:100].sum(), [v])
    dv = dv.astype("float32").numpy()
    assert not dv[:41].any() and not dv[100:].any() and dv[41:100].any()
    # The result is linear in the values: forward and backward dropped the same.
    total = float(out[41:100].astype("float64").sum())
    again = float((dv.astype("float64") * v.astype("float64").numpy()).sum())
    assert abs(total - again) <= 0.05 * (abs(total) + 1)


PACKED = {
    "sequences": ([0, 40, 41, 100, 128], [0, 70, 90, 91, 150]),
    "empty ones": ([0, 0, 60, 60, 100, 128], [0, 30, 30, 90, 90, 150]),
    "rows of none": ([3, 50, 120], [10, 60, 140]),
    "one": ([0, 128], [0, 150]),
}


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("size", [(4, 4, 64, 64), (4, 2, 20, 36), (2, 1, 128, 96)], ids=str)
@pytest.mark.parametrize("dtype", NEAR)
def test_packed_sequences(dtype, size, name, causal):
    h, kh, d, e = size
    rng = np.random.default_rng(13)
    shapes = (128, h, d), (150, kh, d), (150, kh, e), (128, h, e)
    tensors = [
        paddle.to_tensor(rng.standard_normal(s).astype("float32")).astype(dtype) for s in shapes
    ]
    for t in tensors[:3]:
        t.stop_gradient = False
    starts = [paddle.to_tensor(np.array(s, "int32")) for s in PACKED[name]]
    out = ops.varlen_attention(*tensors[:3], *starts, 0.0, causal)
    got = [out, *paddle.grad(out, tensors[:3], tensors[3])]
    q, k, v, dy = (t.astype("float64").numpy() for t in tensors)
    want = [np.zeros_like(dy), np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)]
    at, key_at = PACKED[name]
    for q0, q1, k0, k1 in zip(at, at[1:], key_at, key_at[1:]):
        if q1 == q0 or k1 == k0:
            continue
        part = attention(
            q[None, q0:q1], k[None, k0:k1], v[None, k0:k1], dy[None, q0:q1], causal=causal
        )
        for w, p, rows in zip(want, part, ((q0, q1), (q0, q1), (k0, k1), (k0, k1))):
            w[slice(*rows)] = p[0]
    assert_near(got, want, dtype)
