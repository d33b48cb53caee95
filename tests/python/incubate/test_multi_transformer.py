"""FusedMultiTransformer: all layers of a transformer, beside NumPy, and token by token."""

import numpy as np
import pytest
from scipy.special import erf

import argosy as paddle
from argosy.incubate.nn import FusedMultiTransformer

F = paddle.incubate.nn.functional
RNG = np.random.default_rng(2)
HEADS, SIZE, WIDTH, HIDDEN = 4, 3, 12, 10


def numbers(*shape):
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def weights_of(layers, *, key_heads=None, transposed=True, gated=False, biases=True):
    """Arguments of fused_multi_transformer, as lists of arrays."""
    heads = [3, HEADS] if key_heads is None else [HEADS + 2 * key_heads]
    qkv = [*heads, SIZE, WIDTH] if transposed else [WIDTH, *heads, SIZE]
    hidden = HIDDEN * (2 if gated else 1)
    shapes = {
        "ln_scales": [WIDTH], "ln_biases": [WIDTH], "qkv_weights": qkv, "qkv_biases": [*heads, SIZE],
        "linear_weights": [WIDTH, WIDTH], "linear_biases": [WIDTH], "ffn_ln_scales": [WIDTH],
        "ffn_ln_biases": [WIDTH], "ffn1_weights": [WIDTH, hidden], "ffn1_biases": [hidden],
        "ffn2_weights": [HIDDEN, WIDTH], "ffn2_biases": [WIDTH],
    }  # fmt: skip
    made = {name: [numbers(*shape) for _ in range(layers)] for name, shape in shapes.items()}
    return {n: None if n.endswith("biases") and not biases else v for n, v in made.items()}


def tensors(weights):
    return {n: None if v is None else [paddle.to_tensor(a) for a in v] for n, v in weights.items()}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, scale, bias, kind):
    if kind == "layernorm":
        x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale
    return x if bias is None else x + bias


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / 2**0.5)),
    "swiglu": lambda x: x[..., :HIDDEN] / (1 + np.exp(-x[..., :HIDDEN])) * x[..., HIDDEN:],
    "geglu": lambda x: ACTIVATIONS["gelu"](x[..., :HIDDEN]) * x[..., HIDDEN:],
}


def turned(x, cosine, sine, neighbours):
    """x [B, heads, S, D] by angles [B, 1, S, D]."""
    other = np.empty_like(x)
    if neighbours:
        other[..., 0::2], other[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    else:
        half = x.shape[-1] // 2
        other[..., :half], other[..., half:] = -x[..., half:], x[..., :half]
    return x * cosine + other * sine


def reference(x, w, mask=None, pre=True, kind="layernorm", act="gelu", key_heads=None, transposed=True,
              alpha=1.0, rotary=None, neighbours=False):  # fmt: skip
    batch, length = x.shape[:2]
    keys = HEADS if key_heads is None else key_heads
    of = lambda name, i: None if w[name] is None else w[name][i]  # noqa: E731
    for i in range(len(w["qkv_weights"])):
        inner = norm(x, w["ln_scales"][i], of("ln_biases", i), kind) if pre else x
        weight = w["qkv_weights"][i]
        weight = weight.reshape(-1, WIDTH).T if transposed else weight.reshape(WIDTH, -1)
        qkv = inner @ weight
        if w["qkv_biases"] is not None:
            qkv = qkv + w["qkv_biases"][i].reshape(-1)
        qkv = qkv.reshape(batch, length, -1, SIZE).transpose(0, 2, 1, 3)
        q, k, v = qkv[:, :HEADS], qkv[:, HEADS : HEADS + keys], qkv[:, HEADS + keys :]
        if rotary is not None:
            q, k = (turned(t, *rotary, neighbours) for t in (q, k))
        k, v = (np.repeat(t, HEADS // keys, 1) for t in (k, v))
        scores = q @ k.swapaxes(2, 3) / SIZE**0.5
        out = softmax(scores if mask is None else scores + mask) @ v
        out = out.transpose(0, 2, 1, 3).reshape(batch, length, -1) @ w["linear_weights"][i]
        if w["linear_biases"] is not None:
            out = out + w["linear_biases"][i]
        x = x * alpha + out
        if not pre:
            x = norm(x, w["ln_scales"][i], of("ln_biases", i), kind)
        inner = norm(x, w["ffn_ln_scales"][i], of("ffn_ln_biases", i), kind) if pre else x
        inner = inner @ w["ffn1_weights"][i] + (
            0 if w["ffn1_biases"] is None else w["ffn1_biases"][i]
        )
        out = ACTIVATIONS[act](inner) @ w["ffn2_weights"][i]
        x = x * alpha + out + (0 if w["ffn2_biases"] is None else w["ffn2_biases"][i])
        if not pre:
            x = norm(x, w["ffn_ln_scales"][i], of("ffn_ln_biases", i), kind)
    return x


def causal(length):
    return np.triu(np.full((length, length), -1e9, "float32"), 1)[None, None]


@pytest.mark.parametrize(
    "made, options, wanted",
    [
        ({}, {}, {}),
        ({}, {"pre_layer_norm": False}, {"pre": False}),
        ({"biases": False}, {"norm_type": "rmsnorm", "activation": "relu"},
         {"kind": "rmsnorm", "act": "relu"}),
        ({"gated": True}, {"activation": "swiglu", "residual_alpha": 0.5}, {"act": "swiglu", "alpha": 0.5}),
        ({"gated": True}, {"activation": "geglu"}, {"act": "geglu"}),
        ({"transposed": False}, {"trans_qkvw": False}, {"transposed": False}),
        ({"key_heads": 2}, {"gqa_group_size": 2}, {"key_heads": 2}),
        ({"key_heads": 1, "transposed": False}, {"gqa_group_size": 1, "trans_qkvw": False},
         {"key_heads": 1, "transposed": False}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("masked", [False, True])
def test_beside_numpy(made, options, wanted, masked):
    w, x = weights_of(2, **made), numbers(2, 5, WIDTH)
    mask = causal(5) if masked else None
    out = F.fused_multi_transformer(
        paddle.to_tensor(x), **tensors(w), **options,
        attn_mask=None if mask is None else paddle.to_tensor(mask),
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), reference(x, w, mask, **wanted), rtol=2e-4, atol=2e-4)


def angles(batch, length, size, neighbours):
    angle = np.outer(np.arange(length), 1.0 / 100 ** (np.arange(size // 2) / size))
    angle = np.repeat(angle, 2, 1) if neighbours else np.concatenate([angle, angle], 1)
    both = np.stack([np.cos(angle), np.sin(angle)]).astype("float32")
    return np.broadcast_to(both[:, None, None], (2, batch, 1, length, size)).copy()


@pytest.mark.parametrize("neighbours", [False, True])
def test_rotary_embeddings(neighbours, monkeypatch):
    monkeypatch.setitem(globals(), "SIZE", 4)
    monkeypatch.setitem(globals(), "HEADS", 3)
    w, x = weights_of(1), numbers(2, 5, WIDTH)
    rotary = angles(2, 5, 4, neighbours)
    out = F.fused_multi_transformer(
        paddle.to_tensor(x), **tensors(w), rotary_embs=paddle.to_tensor(rotary), rotary_emb_dims=1,
        use_neox_rotary_style=neighbours,
    )  # fmt: skip
    wanted = reference(x, w, rotary=rotary, neighbours=neighbours)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("by_lengths", [False, True])
@pytest.mark.parametrize("key_heads", [None, 2])
def test_token_by_token_as_all_at_once(by_lengths, key_heads):
    w, x = tensors(weights_of(2, key_heads=key_heads)), paddle.to_tensor(numbers(2, 6, WIDTH))
    options = {"gqa_group_size": key_heads or -1}
    whole = F.fused_multi_transformer(x, **w, attn_mask=paddle.to_tensor(causal(6)), **options)
    caches = [paddle.zeros([2, 2, key_heads or HEADS, 8, SIZE]) for _ in range(2)]
    out, same = F.fused_multi_transformer(
        x[:, :3], **w, cache_kvs=caches, attn_mask=paddle.to_tensor(causal(3)), **options
    )
    assert same is caches
    np.testing.assert_allclose(out.numpy(), whole.numpy()[:, :3], rtol=1e-4, atol=1e-4)
    for step in range(3, 6):
        lengths = paddle.to_tensor([step, step]) if by_lengths else None
        out, _ = F.fused_multi_transformer(
            x[:, step : step + 1], **w, cache_kvs=caches, time_step=paddle.to_tensor([step]),
            seq_lens=lengths, **options,
        )  # fmt: skip
        np.testing.assert_allclose(out.numpy()[:, 0], whole.numpy()[:, step], rtol=1e-4, atol=1e-4)
    assert not caches[0][:, :, :, 6:].numpy().any()


def test_sequences_of_different_lengths():
    w, x = tensors(weights_of(1)), numbers(2, 4, WIDTH)
    out = F.fused_multi_transformer(paddle.to_tensor(x), **w, seq_lens=paddle.to_tensor([4, 2]))
    short = F.fused_multi_transformer(paddle.to_tensor(x[1:, :2]), **w)
    np.testing.assert_allclose(out.numpy()[1:, :2], short.numpy(), rtol=1e-4, atol=1e-4)


def test_tokens_before_the_first():
    w, x = tensors(weights_of(1)), paddle.to_tensor(numbers(2, 6, WIDTH))
    whole = F.fused_multi_transformer(x, **w, attn_mask=paddle.to_tensor(causal(6)))
    cache = paddle.zeros([2, 2, HEADS, 2, SIZE])
    F.fused_multi_transformer(x[:, :2], **w, cache_kvs=[cache])
    out = F.fused_multi_transformer(
        x[:, 2:], **w, pre_caches=[cache], attn_mask=paddle.to_tensor(causal(6)[:, :, 2:])
    )
    np.testing.assert_allclose(out.numpy(), whole.numpy()[:, 2:], rtol=1e-4, atol=1e-4)


def test_dropout_is_for_training_only():
    w, x = tensors(weights_of(1)), paddle.to_tensor(numbers(1, 4, WIDTH))
    plain = F.fused_multi_transformer(x, **w).numpy()
    assert (F.fused_multi_transformer(x, **w, dropout_rate=0.5).numpy() == plain).all()
    assert (
        F.fused_multi_transformer(x, **w, dropout_rate=0.5, training=True).numpy() != plain
    ).any()


def test_the_layer_has_its_parameters():
    layer = FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=3)
    assert len(layer.parameters()) == 18 and layer.qkv_biases is None
    with_biases = {
        f"{kind}_bias_attrs": True for kind in ("ln", "qkv", "linear", "ffn_ln", "ffn1", "ffn2")
    }
    layer = FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=3, **with_biases)
    assert len(layer.parameters()) == 36 and len(layer.state_dict()) == 36
    names = [paddle.ParamAttr(name=f"fmt_qkv_{i}") for i in range(2)]
    layer = FusedMultiTransformer(WIDTH, HEADS, HIDDEN, qkv_weight_attrs=names, norm_type="rmsnorm")
    assert [p.name for p in layer.qkv_weights] == ["fmt_qkv_0", "fmt_qkv_1"]


def test_the_layer_trains():
    layer = FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=2, activation="swiglu")
    x = paddle.to_tensor(numbers(2, 5, WIDTH))
    optimizer = paddle.optimizer.Adam(0.01, parameters=layer.parameters())
    losses = []
    for _ in range(30):
        loss = (layer(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0] * 0.5


def test_the_layer_keeps_caches():
    layer = FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=2).eval()
    caches = [paddle.zeros([2, 2, HEADS, 5, SIZE]) for _ in range(2)]
    x = paddle.to_tensor(numbers(2, 3, WIDTH))
    out, same = layer(x, paddle.to_tensor(causal(3)), caches=caches)
    assert same is caches and list(out.shape) == [2, 3, WIDTH]
    with pytest.raises(AssertionError, match="expected one for each of 2 layers, got 1"):
        layer(x, caches=caches[:1])


def call(**options):
    x = paddle.to_tensor(numbers(2, options.pop("length", 3), WIDTH))
    return F.fused_multi_transformer(x, **tensors(weights_of(1)), **options)


@pytest.mark.parametrize(
    "run, error, text",
    [
        (lambda: call(mode="upscale"), ValueError, "mode: expected one of"),
        (lambda: call(norm_type="batchnorm"), ValueError, "norm_type: expected one of"),
        (lambda: call(ring_id=0), NotImplementedError, "ring_id"),
        (lambda: call(beam_offset=paddle.zeros([1])), NotImplementedError, "beam_offset"),
        (lambda: call(rotary_emb_dims=2), NotImplementedError, "rotary_emb_dims"),
        (lambda: call(time_step=paddle.to_tensor([1])), ValueError, "time_step needs cache_kvs"),
        (lambda: call(cache_kvs=[paddle.zeros([2, 2, HEADS, 2, SIZE])]), ValueError, "room for 2 tokens, got 3"),
        (lambda: call(length=1, time_step=paddle.to_tensor([2]),
                      cache_kvs=[paddle.zeros([2, 2, HEADS, 2, SIZE])]), ValueError, "room for 2 tokens, got 3"),
        (lambda: FusedMultiTransformer(WIDTH, 5, HIDDEN, num_layers=1), AssertionError, "divisible"),
        (lambda: FusedMultiTransformer(WIDTH, HEADS, HIDDEN), AssertionError, "num_layers must be"),
        (lambda: FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=2, ln_scale_attrs=[None]),
         AssertionError, "expected one for each of 2 layers, got 1"),
        (lambda: FusedMultiTransformer(WIDTH, HEADS, HIDDEN, num_layers=1, nranks=2),
         NotImplementedError, "nranks"),
    ],
)  # fmt: skip
def test_bad_arguments(run, error, text):
    with pytest.raises(error) as caught:
        run()
    assert text in str(caught.value)
