"""Fused functions and layers against their parts."""

import numpy as np
import pytest
from tests.python.device.where import drawn
from tests.python.numeric import check_parameters

import argosy as paddle
from argosy import incubate
from argosy.incubate.nn import functional as F
from argosy.nn import functional as P


def r(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"))


def close(a, b, **k):
    np.testing.assert_allclose(a.numpy(), b.numpy() if hasattr(b, "numpy") else b, **k)


X, W, B = r(2, 3, 8), r(8, 5, seed=1), r(5, seed=2)


def test_linear():
    want = X.numpy() @ W.numpy() + B.numpy()
    close(F.fused_linear(X, W, B), want, rtol=1e-5, atol=1e-6)
    close(F.fused_linear(X, W.t(), B, True), want, rtol=1e-5, atol=1e-6)
    close(F.fused_matmul_bias(X, W), want - B.numpy(), rtol=1e-5, atol=1e-5)
    close(F.fused_linear_activation(X, W, B, activation="relu"), want.clip(0), atol=1e-5)
    layer = incubate.nn.FusedLinear(8, 5, transpose_weight=True)
    assert layer.weight.shape == [5, 8]
    close(layer(X), P.linear(X, layer.weight.t(), layer.bias), rtol=1e-5)
    with pytest.raises(ValueError, match=r"\[fused_linear_activation\]"):
        F.fused_linear_activation(X, W, B, activation="tanh")


def test_norms():
    gain, shift = r(8, seed=3), r(8, seed=4)
    out, kept = F.fused_rms_norm(X, gain, shift, 1e-6, 2, residual=X)
    twice = 2 * X.numpy()
    rms = np.sqrt((twice**2).mean(-1, keepdims=True) + 1e-6)
    close(kept, twice)
    close(out, twice / rms * gain.numpy() + shift.numpy(), rtol=1e-4, atol=1e-5)
    out, kept, mean, variance = F.fused_layer_norm(X, gain, shift, 1e-5, begin_norm_axis=2)
    assert kept is None
    close(out, P.layer_norm(X, 8, gain, shift, 1e-5), rtol=1e-5)
    close(mean, X.numpy().mean(-1).reshape(-1), rtol=1e-4, atol=1e-6)
    close(variance, X.numpy().var(-1).reshape(-1), rtol=1e-4)
    got = F.fused_bias_dropout_residual_layer_norm(X, X, gain, shift, gain, training=False)
    close(got, P.layer_norm(2 * X + gain, 8, shift, gain, 1e-5), rtol=1e-5)
    with pytest.raises(NotImplementedError, match=r"\[fused_rms_norm\] quantized"):
        F.fused_rms_norm(X, gain, None, 1e-6, quant_scale=1.0)


def test_activations_and_dropout():
    bias = r(8, seed=3)
    close(F.fused_bias_act(X, bias), P.gelu(X + bias))
    close(F.fused_bias_act(X, act_method="swiglu"), P.silu(X[..., :4]) * X[..., 4:], rtol=1e-5)
    close(F.fused_bias_act(X, act_method="geglu"), P.gelu(X[..., :4]) * X[..., 4:], rtol=1e-5)
    close(F.fused_dropout_add(X, X, p=0.5, training=False), 2 * X.numpy())
    close(incubate.nn.FusedDropoutAdd(0.0)(X, X), 2 * X.numpy())


def rotated(x, positions, base=10000.0):
    """Each pair of neighbours as a complex number, times exp(i angle)."""
    d = x.shape[-1]
    angle = positions[..., None] / base ** (np.arange(0, d, 2) / d)
    z = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)[:, :, None]
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


def test_rotary_embedding():
    q, k = r(2, 5, 3, 8), r(2, 5, 3, 8, seed=1)
    positions = np.tile(np.arange(5), (2, 1))
    got_q, got_k, none = F.fused_rotary_position_embedding(q, k)
    assert none is None
    close(got_q, rotated(q.numpy(), positions), rtol=1e-4, atol=1e-5)
    close(got_k, rotated(k.numpy(), positions), rtol=1e-4, atol=1e-5)
    ids = np.array([[4, 3, 2, 1, 0], [0, 2, 4, 6, 8]])
    got, *_ = F.fused_rotary_position_embedding(q, position_ids=paddle.to_tensor(ids))
    close(got, rotated(q.numpy(), ids), rtol=1e-4, atol=1e-5)
    # By halves: the same after sorting the pairs' entries into halves.
    angle = np.arange(5)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    table = np.concatenate([angle, angle], -1).astype("float32")
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    halves = paddle.to_tensor(q.numpy()[..., order])
    got, *_ = F.fused_rotary_position_embedding(
        halves, sin=paddle.to_tensor(np.sin(table)), cos=paddle.to_tensor(np.cos(table)),
        use_neox_rotary_style=False,
    )  # fmt: skip
    close(got, rotated(q.numpy(), positions)[..., order], rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError, match="needs sin and cos"):
        F.fused_rotary_position_embedding(q, use_neox_rotary_style=False)


@pytest.mark.parametrize("before", [False, True])
def test_attention_and_encoder_layer(before):
    paddle.seed(1)
    options = {"dropout_rate": 0.0, "normalize_before": before}
    fused = drawn(lambda: incubate.nn.FusedTransformerEncoderLayer(8, 2, 16, **options))
    plain = paddle.nn.TransformerEncoderLayer(8, 2, 16, 0.0, normalize_before=before)
    attention, ffn = fused.fused_attn, fused.ffn
    weight = attention.qkv_weight.reshape([3, 8, 8])
    for i, name in enumerate(("q_proj", "k_proj", "v_proj")):
        part = getattr(plain.self_attn, name)
        part.weight.set_value(weight[i].t())
        part.bias.set_value(attention.qkv_bias.reshape([3, 8])[i])
    plain.self_attn.out_proj.weight.set_value(attention.linear_weight)
    plain.linear1.weight.set_value(ffn._linear1_weight)
    plain.linear2.weight.set_value(ffn._linear2_weight)
    close(fused(X), plain(X), rtol=1e-4, atol=1e-5)
    mask = paddle.to_tensor(np.triu(np.full((3, 3), -1e9, "float32"), 1))
    close(fused(X, mask), plain(X, mask), rtol=1e-4, atol=1e-5)
    weights = paddle.to_tensor(np.linspace(-1, 1, X.size, dtype="float32").reshape(X.shape))
    check_parameters(lambda: (fused(X) * weights).sum(), [attention.qkv_weight, attention.qkv_bias])


def test_attention_with_a_cache():
    layer = incubate.nn.FusedMultiHeadAttention(8, 2, 0.0, 0.0)
    layer.eval()
    mask = paddle.to_tensor(np.triu(np.full((3, 3), -1e9, "float32"), 1))
    whole = layer(X, attn_mask=mask)
    cache = paddle.zeros([2, 2, 2, 0, 4])
    parts = []
    for i in range(3):
        out, cache = layer(X[:, i : i + 1], cache=cache)
        parts.append(out)
    assert cache.shape == [2, 2, 2, 3, 4]
    close(paddle.concat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_variable_lengths():
    q, k, v = (r(2, 4, 5, 8, seed=s) for s in range(3))
    lengths = paddle.to_tensor([[3], [5]], dtype="int32")
    got = F.variable_length_memory_efficient_attention(q, k, v, lengths, lengths, causal=True)
    for i, n in enumerate([3, 5]):
        a = q.numpy()[i, :, :n] @ k.numpy()[i, :, :n].transpose(0, 2, 1) / np.sqrt(8)
        a = np.where(np.tri(n, dtype=bool), a, -np.inf)
        a = np.exp(a - a.max(-1, keepdims=True))
        want = a / a.sum(-1, keepdims=True) @ v.numpy()[i, :, :n]
        np.testing.assert_allclose(got.numpy()[i, :, :n], want, rtol=1e-4, atol=1e-5)
    assert not got.numpy()[0, :, 3:].any()


def test_masked_softmaxes_and_losses():
    x = r(1, 2, 4, 4)
    mask = np.triu(np.full((4, 4), -np.inf), 1).astype("float32")
    got = incubate.softmax_mask_fuse_upper_triangle(x)
    close(got, P.softmax(x + paddle.to_tensor(mask), -1), rtol=1e-6)
    close(incubate.softmax_mask_fuse(x, paddle.to_tensor(mask)), got, rtol=1e-6)
    assert float(incubate.identity_loss(paddle.ones([4]), 0)) == 4
    with pytest.raises(ValueError, match=r"\[identity_loss\]"):
        incubate.identity_loss(x, "median")


def test_fused_dropout_is_dropout():
    x = paddle.ones([40, 50])
    layer = paddle.incubate.nn.FusedDropout(0.5, axis=0, mode="downscale_in_infer")
    rows = layer(x).numpy()
    assert (rows == rows[:, :1]).all() and set(rows.ravel().tolist()) == {0.0, 1.0}
    layer.eval()
    assert layer(x).numpy().min() == layer(x).numpy().max() == 0.5
    with pytest.raises(ValueError, match="mode"):
        paddle.incubate.nn.FusedDropout(0.5, mode="up")(x)
