"""Layers and functions of argosy.compat.nn."""

import numpy as np
import pytest
from tests.python.numeric import check_parameters

import argosy as paddle

nn, F = paddle.compat.nn, paddle.compat.nn.functional
RNG = np.random.RandomState(0)
X = RNG.randn(2, 3).astype("float32")


def test_linear_has_its_weight_as_rows():
    layer = nn.Linear(3, 4)
    assert layer.weight.shape == [4, 3] and layer.bias.shape == [4]
    want = X @ layer.weight.numpy().T + layer.bias.numpy()
    np.testing.assert_allclose(layer(paddle.to_tensor(X)).numpy(), want, rtol=1e-5, atol=1e-6)
    assert np.abs(layer.weight.numpy()).max() <= 3**-0.5
    assert nn.Linear(3, 4, bias=False).bias is None
    assert nn.Linear(3, 4, dtype="float64").weight.dtype == paddle.float64
    assert repr(layer) == "Linear(in_features=3, out_features=4, bias=True)"
    with pytest.raises(TypeError, match="weight_attr"):
        nn.Linear(3, 4, weight_attr=None)


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_softmax_chooses_a_dimension(rank):
    x = RNG.randn(*range(2, 2 + rank))
    dim = 0 if rank in (0, 1, 3) else 1
    want = 1.0 if rank == 0 else np.exp(x) / np.exp(x).sum(dim, keepdims=True)
    for found in (F.softmax(paddle.to_tensor(x)), nn.Softmax()(paddle.to_tensor(x))):
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(paddle.softmax(paddle.to_tensor(x)).numpy(), want, rtol=1e-6)
    assert F.softmax(paddle.to_tensor(x).astype("float32"), -1, "float64").dtype == paddle.float64


def test_pad_counts_from_the_last_dimension():
    x = RNG.randn(2, 3, 4)
    tensor = paddle.to_tensor(x)
    want = np.pad(x, [(0, 0), (0, 1), (1, 2)], constant_values=3)
    np.testing.assert_array_equal(F.pad(tensor, (1, 2, 0, 1), value=3.0).numpy(), want)
    np.testing.assert_array_equal(F.pad(tensor, ()).numpy(), x)
    for mode, other in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        want = np.pad(x, [(0, 0), (0, 0), (1, 2)], mode=other)
        np.testing.assert_array_equal(F.pad(tensor, [1, 2], mode).numpy(), want)
        np.testing.assert_array_equal(F.pad(tensor[0], [1, 2], mode).numpy(), want[0])
    for pairs, mode in (([1], "constant"), ([1] * 8, "constant"), ([1, 1, 1], "reflect")):
        with pytest.raises(ValueError, match="Do this"):
            F.pad(tensor, pairs, mode)


def test_windows_as_columns_and_averages():
    x = paddle.to_tensor(RNG.randn(1, 2, 5, 5))
    want = paddle.nn.functional.unfold(x, 2, 1, 1, 1).numpy()
    np.testing.assert_array_equal(nn.Unfold(2, padding=1)(x).numpy(), want)
    np.testing.assert_array_equal(F.unfold(x, paddle.to_tensor([2, 2]), padding=1).numpy(), want)
    ones = paddle.ones([1, 1, 4, 4])
    counted = nn.AvgPool2D(2, padding=1)(ones).numpy()
    np.testing.assert_array_equal(counted[0, 0, 0], [0.25, 0.5, 0.25])
    fewer = nn.AvgPool2d(2, padding=1, count_include_pad=False)(ones).numpy()
    np.testing.assert_array_equal(fewer[0, 0, 0], [1, 1, 1])
    assert nn.AvgPool2D(2, divisor_override=8)(ones).numpy()[0, 0, 0, 0] == 0.5
    assert nn.AvgPool1D(2)(ones[0]).shape == [1, 4, 2]
    assert nn.AvgPool3D(2)(paddle.ones([1, 1, 2, 4, 4])).shape == [1, 1, 1, 2, 2]


def attention(layer, q, k, v, mask):
    """What layer computes of [batch, length, size], in NumPy."""
    e, h = layer.embed_dim, layer.num_heads
    weight, bias = layer.in_proj_weight.numpy(), layer.in_proj_bias.numpy()
    parts = [
        x @ weight[i * e : (i + 1) * e].T + bias[i * e : (i + 1) * e]
        for i, x in enumerate((q, k, v))
    ]
    q, k, v = (x.reshape(x.shape[0], x.shape[1], h, e // h).swapaxes(1, 2) for x in parts)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(e // h) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    found = (weights @ v).swapaxes(1, 2).reshape(q.shape[0], -1, e)
    return found @ layer.out_proj.weight.numpy().T + layer.out_proj.bias.numpy(), weights


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_attention(batch_first, causal):
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first)
    layer.in_proj_bias.set_value(RNG.randn(24).astype("float32"))
    q, k, v = (RNG.randn(3, 5, 8).astype("float32") for _ in range(3))
    keep_away = np.zeros((3, 5), bool)
    keep_away[1, 3:] = True
    mask = np.where(keep_away, -np.inf, 0)[:, None, None, :]
    mask = mask + (np.triu(np.full((5, 5), -np.inf), 1) if causal else 0)
    want, weights = attention(layer, q, k, v, mask)
    inputs = [x if batch_first else x.swapaxes(0, 1) for x in (q, k, v)]
    inputs = [paddle.to_tensor(x) for x in inputs]
    padding = paddle.to_tensor(keep_away)
    for need in (True, False):
        found, got = layer(*inputs, padding, need_weights=need, is_causal=causal)
        found = found.numpy() if batch_first else found.numpy().swapaxes(0, 1)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
        if need:
            np.testing.assert_allclose(got.numpy(), weights.mean(1), rtol=1e-4, atol=1e-6)
    assert got is None
    every = layer(*inputs, padding, average_attn_weights=False, is_causal=causal)[1]
    np.testing.assert_allclose(every.numpy(), weights, rtol=1e-4, atol=1e-6)


def test_attention_of_other_sizes_and_without_a_batch():
    layer = nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True)
    names = {name: p.shape for name, p in layer.named_parameters()}
    assert names["k_proj_weight"] == [4, 3] and names["bias_v"] == [1, 1, 4]
    found, weights = layer(paddle.ones([2, 4]), paddle.ones([6, 3]), paddle.ones([6, 5]))
    assert found.shape == [2, 4] and weights.shape == [2, 8]
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, rtol=1e-6)
    q = paddle.to_tensor(np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4))
    k = paddle.to_tensor(np.linspace(-2, 1, 18, dtype="float32").reshape(6, 3))
    v = paddle.to_tensor(np.linspace(-1, 2, 30, dtype="float32").reshape(6, 5))
    check_parameters(lambda: (layer(q, k, v)[0] * q).sum(), layer.parameters())
    with pytest.raises(ValueError, match="multiple of num_heads"):
        nn.MultiheadAttention(5, 2)


def test_dot_product_attention_has_heads_before_length():
    q, k, v = (paddle.to_tensor(RNG.randn(1, 4, 3, 8).astype("float32")) for _ in range(3))
    moved = [x.transpose([0, 2, 1, 3]) for x in (q, k, v)]
    want = paddle.nn.functional.scaled_dot_product_attention(*moved, is_causal=True)
    found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(found.numpy(), want.transpose([0, 2, 1, 3]).numpy(), rtol=1e-6)
    alone = F.scaled_dot_product_attention(q[0], k[0], v[0], is_causal=True)
    np.testing.assert_allclose(alone.numpy(), found[0].numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="enable_gqa"):
        F.scaled_dot_product_attention(q, k[:, :2], v[:, :2])
    assert F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True).shape == q.shape
