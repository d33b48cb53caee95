"""Attention and Transformer layers."""

import nn_reference as ref
import numpy as np
import pytest
from tests.python.numeric import check_parameters

import argosy as paddle
from argosy import nn


def normal(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-5)


def project(layer, x):
    return x @ layer.weight.numpy() + layer.bias.numpy()


def attend(layer, query, key, value, mask=None):
    shape = (len(query), -1, layer.num_heads, layer.head_dim)
    parts = (layer.q_proj, query), (layer.k_proj, key), (layer.v_proj, value)
    q, k, v = (project(linear, x).reshape(shape) for linear, x in parts)
    out, weights = ref.attention(q, k, v, mask)
    return project(layer.out_proj, out.reshape(*query.shape[:2], -1)), weights


def test_multi_head_attention(rng):
    layer = nn.MultiHeadAttention(8, 2, kdim=5, vdim=6, need_weights=True)
    q, k, v = normal(rng, 2, 3, 8), normal(rng, 2, 4, 5), normal(rng, 2, 4, 6)
    tensors = [paddle.to_tensor(a) for a in (q, k, v)]
    out, weights = layer(*tensors)
    expected = attend(layer, q, k, v)
    close(out, expected[0])
    close(weights, expected[1])
    keep = np.tril(np.ones((3, 4), bool))
    expected = attend(layer, q, k, v, np.where(keep, 0, -1e9))[0]
    for mask in (keep, keep.astype("int64"), np.where(keep, 0, -1e9).astype("float32")):
        close(layer(*tensors, attn_mask=paddle.to_tensor(mask))[0], expected)
    with pytest.raises(AssertionError, match="divisible by num_heads"):
        nn.MultiHeadAttention(4, 3)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("before", [False, True])
def test_encoder_layer(rng, before):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, normalize_before=before)
    x = normal(rng, 2, 3, 8)
    inner = layer_norm(x) if before else x
    y = x + attend(layer.self_attn, inner, inner, inner)[0]
    y = y if before else layer_norm(y)
    inner = layer_norm(y) if before else y
    z = y + project(layer.linear2, np.maximum(project(layer.linear1, inner), 0))
    close(layer(paddle.to_tensor(x)), z if before else layer_norm(z))


def test_decoding_with_a_cache_equals_decoding_at_once(rng):
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2)
    memory = paddle.to_tensor(normal(rng, 2, 5, 8))
    target = paddle.to_tensor(normal(rng, 2, 4, 8))
    mask = nn.Transformer(8, 2, 1, 1, 8).generate_square_subsequent_mask(4)
    at_once = decoder(target, memory, tgt_mask=mask).numpy()
    cache = decoder.gen_cache(memory)
    for step in range(4):
        out, cache = decoder(target[:, step : step + 1], memory, cache=cache)
        close(out[:, 0], at_once[:, step])
    assert list(cache[0][0].k.shape) == [2, 2, 4, 4] and list(cache[0][1].k.shape) == [2, 2, 5, 4]
    zipped = decoder.gen_cache(memory, do_zip=True)
    assert isinstance(zipped[1][0], nn.MultiHeadAttention.StaticCache)


def test_encoder_cache_and_norm(rng):
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation="gelu"), 2, nn.LayerNorm(8)
    )
    assert encoder.layers[1].linear1.weight is not encoder.layers[0].linear1.weight
    x = paddle.to_tensor(normal(rng, 2, 3, 8))
    out, cache = encoder(x, cache=encoder.gen_cache(x))
    close(out, encoder(x).numpy())
    assert list(cache[1].v.shape) == [2, 2, 3, 4]


def test_transformer_runs_and_learns(rng):
    model = nn.Transformer(8, 2, 1, 1, 16)
    src, tgt = (paddle.to_tensor(normal(rng, 2, n, 8)) for n in (3, 4))
    out = model(src, tgt, tgt_mask=model.generate_square_subsequent_mask(4))
    assert list(out.shape) == [2, 4, 8]
    model.to(dtype="float64")
    model.eval()  # no dropout
    src, tgt, weights = (t.astype("float64") for t in (src, tgt, out.detach() + 1))
    mask = model.generate_square_subsequent_mask(4).astype("float64")
    check_parameters(lambda: (model(src, tgt, tgt_mask=mask) * weights).sum(), model.parameters())
    with pytest.raises(AssertionError, match="list of 1, 2 or 3"):
        nn.Transformer(8, 2, 1, 1, 8, weight_attr=[None] * 4)


def test_attributes_for_the_parts():
    c = [nn.initializer.Constant(value) for value in (1.0, 2.0)]
    layer = nn.TransformerEncoderLayer(4, 2, 4, weight_attr=c, bias_attr=[False, None])
    assert layer.self_attn.q_proj.weight.numpy()[0, 0] == 1 and layer.self_attn.q_proj.bias is None
    assert layer.linear1.weight.numpy()[0, 0] == 2 and layer.linear1.bias is not None


class _Turned(nn.MultiHeadAttention):
    """Attention whose queries and keys a program changes between projection and product."""

    def _prepare_qkv(self, query, key, value, cache=None):
        q, k, v, *rest = super()._prepare_qkv(query, key, value, cache)
        assert q.shape == [query.shape[0], self.num_heads, query.shape[1], self.head_dim]
        return (q.flip(-1) * 2, k.flip(-1), v, *rest)


class _Shifted(nn.MultiHeadAttention):
    def compute_kv(self, key, value):
        k, v = super().compute_kv(key, value)
        return k, v + 1


def test_subclasses_of_attention_may_prepare_their_own(rng):
    x = paddle.to_tensor(normal(rng, 2, 5, 8))
    plain, turned, shifted = (cls(8, 2) for cls in (nn.MultiHeadAttention, _Turned, _Shifted))
    for layer in (turned, shifted):
        layer.set_state_dict(plain.state_dict())
    # Both flips cancel in the product; the factor is that of a larger query projection.
    scaled = nn.MultiHeadAttention(8, 2)
    scaled.set_state_dict(plain.state_dict())
    scaled.q_proj.weight.set_value(plain.q_proj.weight * 2)
    scaled.q_proj.bias.set_value(plain.q_proj.bias * 2)
    close(turned(x), scaled(x).numpy())
    close(
        shifted(x),
        plain.out_proj(paddle.ones([8])).numpy() - plain.out_proj.bias.numpy() + plain(x).numpy(),
    )
    # Step by step with a cache: the same as at once under a causal mask.
    mask = paddle.to_tensor(np.tril(np.ones((5, 5), bool)))
    for layer in (turned, shifted):
        cache, steps = layer.gen_cache(x), []
        for i in range(5):
            step, cache = layer(x[:, i : i + 1], cache=cache)
            steps.append(step)
        close(paddle.concat(steps, 1), layer(x, attn_mask=mask).numpy())
