"""Attention of decoding steps and at the places of a sparse mask, against NumPy."""

import numpy as np
import pytest

import argosy as paddle

attend = paddle.incubate.nn.functional.masked_multihead_attention


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def step(x, cache, at, bias, src_mask):
    """(result, cache) of one step: x [B, 3, heads, D], at [B]."""
    x, cache = x + (0 if bias is None else bias), cache.copy()
    out = np.zeros_like(x[:, 0])
    for b, t in enumerate(at):
        cache[:, b, :, t] = x[b, 1:]
        for h in range(x.shape[2]):
            keys, values = cache[:, b, h, : t + 1]
            scores = keys @ x[b, 0, h] / np.sqrt(x.shape[3])
            if src_mask is not None:
                scores = scores + src_mask[b, 0, 0, : t + 1]
            out[b, h] = softmax(scores) @ values
    return out.reshape(len(x), -1), cache


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", ["lengths", "mask", "both", "bias"])
def test_a_step_of_decoding(how, dtype):
    rng = np.random.RandomState(0)
    x, cache = rng.randn(2, 3, 2, 4).astype(dtype), rng.randn(2, 2, 2, 6, 4).astype(dtype)
    bias = rng.randn(3, 2, 4).astype(dtype) if how == "bias" else None
    mask = rng.randn(2, 1, 1, 4).astype(dtype) if how in ("mask", "both") else None
    at = [3, 3] if how == "mask" else [2, 3]
    want, want_cache = step(x, cache, at, bias, mask)
    given = paddle.to_tensor(cache)
    out, same = attend(
        paddle.to_tensor(x.reshape(2, -1)), given,
        bias=None if bias is None else paddle.to_tensor(bias),
        src_mask=None if mask is None else paddle.to_tensor(mask),
        sequence_lengths=None if how == "mask" else paddle.to_tensor([[2], [3]], dtype="int32"),
    )  # fmt: skip
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out.numpy(), want, tolerance, tolerance)
    assert same is given
    np.testing.assert_allclose(given.numpy(), want_cache, tolerance)


def test_steps_are_causal_attention():
    rng = np.random.RandomState(1)
    qkv = paddle.to_tensor(rng.randn(1, 5, 3, 2, 4).astype("float32"))
    q, k, v = (qkv[:, :, i] for i in range(3))
    whole = paddle.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    cache = paddle.zeros([2, 1, 2, 5, 4])
    for t in range(5):
        at = paddle.full([1, 1], t, "int32")
        out, cache = attend(qkv[:, t].reshape([1, -1]), cache, sequence_lengths=at)
        np.testing.assert_allclose(out.numpy(), whole[:, t].reshape([1, -1]).numpy(), 1e-5, 1e-6)


def test_steps_that_cannot_be_done():
    x, cache = paddle.ones([1, 12]), paddle.zeros([2, 1, 1, 2, 4])
    with pytest.raises(ValueError, match="needs cache_kv, and src_mask or sequence_lengths"):
        attend(x, cache)
    with pytest.raises(ValueError, match="room for 2 tokens, the new one is number 2 from 0"):
        attend(x, cache, src_mask=paddle.zeros([1, 1, 1, 3]))
    with pytest.raises(NotImplementedError, match="rotary_emb_dims is not supported"):
        attend(x, cache, src_mask=paddle.zeros([1, 1, 1, 1]), rotary_emb_dims=1)
    with pytest.raises(NotImplementedError, match="quantized results.*out_scale"):
        attend(x, cache, src_mask=paddle.zeros([1, 1, 1, 1]), out_scale=2.0)


blocks = paddle.incubate.nn.functional.block_multihead_attention


def whole_attention(qkv, heads, key_heads, width, added):
    """Causal attention in NumPy of one sequence qkv [n, (heads + 2 key heads) D]."""
    n = len(qkv)
    parts = qkv.reshape(n, -1, width)
    q, k, v = np.split(parts, [heads, heads + key_heads], 1)
    k, v = (np.repeat(t, heads // key_heads, 1) for t in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(width) + added
    scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    return np.einsum("hij,jhd->ihd", softmax(scores), v).reshape(n, -1)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("heads", "key_heads"), [(2, 2), (4, 2), (3, 1)])
def test_sequences_in_blocks(heads, key_heads, masked):
    rng, width, room = np.random.RandomState(0), 4, 2
    lengths, steps = [5, 3, 1], 3  # each is read whole, then goes on for some steps
    size = (heads + 2 * key_heads) * width
    whole = [rng.randn(n + steps, size) for n in lengths]
    added = rng.randn(3, 1, 8, 8) if masked else np.zeros((3, 1, 8, 8))
    bias = rng.randn(size)
    want = [
        whole_attention(qkv + bias, heads, key_heads, width, added[b, :, : len(qkv), : len(qkv)])
        for b, qkv in enumerate(whole)
    ]
    order = rng.permutation(12).reshape(3, 4)  # blocks lie anywhere
    tables = paddle.to_tensor(order)
    keys = paddle.full([12, key_heads, room, width], float("nan"), "float64")
    values = keys.clone()
    at, found = [0, 0, 0], [[], [], []]
    for turn in range(steps + 1):
        new = lengths if turn == 0 else [1, 1, 1]
        if turn == 2:
            new = [1, 0, 1]  # one waits
        tokens = np.concatenate([qkv[p : p + n] for qkv, p, n in zip(whole, at, new)])
        column = lambda numbers: paddle.to_tensor([[n] for n in numbers], dtype="int32")  # noqa: E731
        rows = np.stack([added[b, :, p : p + 1] for b, p in enumerate(at)])
        out, _, keys, values = blocks(
            paddle.to_tensor(tokens), keys, values, column(lengths if turn == 0 else [0, 0, 0]),
            column(at), column(new), None, None, None, None, tables,
            qkv_bias=paddle.to_tensor(bias), block_size=room,
            mask=paddle.to_tensor(added), tgt_mask=paddle.to_tensor(rows),
        )  # fmt: skip
        for b, part in enumerate(np.split(out.numpy(), np.cumsum(new)[:-1])):
            found[b].extend(part)
            at[b] += new[b]
    for b in range(3):
        np.testing.assert_allclose(np.stack(found[b]), want[b][: at[b]], 1e-10, 1e-12)


def test_blocks_that_do_not_fit():
    caches = paddle.zeros([4, 1, 2, 4]), paddle.zeros([4, 1, 2, 4])
    three, none = paddle.to_tensor([[3]]), paddle.to_tensor([[0]])
    rest = (three, none, three, None, None, None, None)
    table = paddle.to_tensor([[1]])
    with pytest.raises(ValueError, match="sequence 0 has 3 tokens, its 1 blocks have room for 2"):
        blocks(paddle.ones([3, 12]), *caches, *rest, table, block_size=2)
    with pytest.raises(ValueError, match="expected block_size 2, the third size of key_cache"):
        blocks(paddle.ones([3, 12]), *caches, *rest, table)
    with pytest.raises(ValueError, match="lengths that add up to the 2 tokens of qkv, got 2"):
        blocks(paddle.ones([2, 12]), *caches, *rest, table, block_size=2)
    with pytest.raises(NotImplementedError, match="rope_emb is not supported"):
        blocks(paddle.ones([3, 12]), *caches, *rest, table, block_size=2, rope_emb=table)
