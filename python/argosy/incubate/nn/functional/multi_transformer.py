"""All layers of a transformer."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import check_choice, sizes_of, unsupported
from argosy.nn import functional as F

from ._check import ONE_PROCESS
from .rotary import _rotated

_NORMS = ("layernorm", "rmsnorm")
_GATED = {"swiglu": F.silu, "geglu": F.gelu}


class _Options:
    """What holds for all layers; names are those of fused_multi_transformer's arguments."""

    def __init__(self, **options):
        self.__dict__.update(options)

    def norm(self, x, scale, bias):
        """x, normalized over its last axis."""
        if self.norm_type == "rmsnorm":
            out = F.rms_norm(x, [x.shape[-1]], scale, self.epsilon)
            return out if bias is None else out + bias
        return F.layer_norm(x, x.shape[-1], scale, bias, self.epsilon)

    def dropped(self, x):
        """x, with dropout while training."""
        return F.dropout(x, self.dropout_rate, training=self.training, mode=self.mode)

    def activated(self, x):
        """x after the activation; gated ones multiply its halves."""
        gate = _GATED.get(self.activation)
        if gate is None:
            return getattr(F, self.activation)(x)
        first, second = tensor.chunk(x, 2, axis=-1)
        return gate(first) * second


def _split_heads(x, weight, bias, transposed, groups):
    """Query [B, heads, S, D], key and value [B, key heads, S, D] of x [B, S, width].

    Args:
        weight: [.. heads, D, width] if transposed, else [width, .. heads, D]; with groups the heads are those
            of queries, keys and values one after the other.
    """
    if not transposed:
        rank = len(weight.shape)
        weight = weight.transpose([*range(1, rank), 0])
    size, width = weight.shape[-2:]
    matrix = weight.reshape([-1, width])
    qkv = tensor.matmul(x, matrix, transpose_y=True)
    if bias is not None:
        qkv = qkv + bias.reshape([-1])
    batch, length = sizes_of(x)[:2]
    count = matrix.shape[0] // size
    keys = groups if groups > 0 else count // 3
    qkv = qkv.reshape([batch, length, count, size]).transpose([0, 2, 1, 3])
    return tensor.split(qkv, [count - 2 * keys, keys, keys], axis=1)


def _turned(x, embeddings, at, neighbours):
    """x [B, heads, S, D] by rotary embeddings [2, B, 1, .., D]: cosines, then sines, of the tokens from at on."""
    length = x.shape[2]
    if embeddings.shape[3] != length:
        embeddings = embeddings[:, :, :, at : at + length]
    cosine, sine = (e.astype(x.dtype) for e in (embeddings[0], embeddings[1]))
    return _rotated(x, sine, cosine, neighbours)


@beside
def _attend(query, keys, values, mask, hidden, dropped):
    """Attention of query [B, heads, S, D] to keys and values [B, key heads, T, D], where not hidden."""
    each = query.shape[1] // keys.shape[1]
    if each > 1:
        keys, values = (tensor.repeat_interleave(t, each, axis=1) for t in (keys, values))
    scores = tensor.matmul(query * query.shape[-1] ** -0.5, keys, transpose_y=True)
    if mask is not None:
        scores = scores + mask.astype(scores.dtype)
    if hidden is not None:
        scores = tensor.where(hidden, tensor.full([], float("-inf"), scores.dtype), scores)
    out = tensor.matmul(dropped(F.softmax(scores, -1)), values)
    return out.transpose([0, 2, 1, 3]).flatten(2)


@beside
def _first_tokens(query, key, value, cache, before, o):
    """Attention of the first tokens to each other and those before them, all of which go into the cache."""
    if before is not None:
        key, value = (
            tensor.concat([b, t], 2) for b, t in zip(tensor.unstack(before, 0), (key, value))
        )
    total = key.shape[2]
    if cache is not None:
        _need_room(total, cache)
        for i, tokens in enumerate((key, value)):
            cache[i, :, :, :total] = tokens.astype(cache.dtype)
    hidden = None
    if o.seq_lens is not None:
        past = 0 if before is None else before.shape[3]
        lengths = o.seq_lens.reshape([-1, 1, 1, 1]).astype("int64") + past
        hidden = tensor.arange(total) >= lengths
    return _attend(query, key, value, o.attn_mask, hidden, o.dropped)


@beside
def _next_token(query, key, value, cache, o):
    """Attention of one more token to those of the cache, where it goes too."""
    batch, heads, room, size = cache.shape[1:]
    at = o.time_step if o.seq_lens is None else o.seq_lens
    at = at.reshape([-1]).astype("int64")
    if not at._symbolic:
        _need_room(int(at.max()) + 1, cache)
    at = at.expand([batch])
    places = at.reshape([batch, 1, 1, 1]).expand([batch, heads, 1, size])
    for i, token in enumerate((key, value)):
        token = token.astype(cache.dtype)
        cache[i] = tensor.put_along_axis(cache[i], places, token, 2, broadcast=False)
    hidden = tensor.arange(room) > at.reshape([batch, 1, 1, 1])
    mask = o.attn_mask
    if mask is not None and mask.shape[-1] < room:
        mask = F.pad(mask, [0, 0, 0, 0, 0, 0, 0, room - mask.shape[-1]])
    keys, values = (cache[i].astype(query.dtype) for i in (0, 1))
    return _attend(query, keys, values, mask, hidden, o.dropped)


def _need_room(tokens, cache):
    if tokens > cache.shape[3]:
        raise ValueError(
            f"[fused_multi_transformer] a cache is full: it has room for {cache.shape[3]} tokens, got"
            f" {tokens}. Do this: make cache_kvs larger."
        )


def fused_multi_transformer(
    x,
    ln_scales,
    ln_biases,
    qkv_weights,
    qkv_biases,
    linear_weights,
    linear_biases,
    ffn_ln_scales,
    ffn_ln_biases,
    ffn1_weights,
    ffn1_biases,
    ffn2_weights,
    ffn2_biases,
    pre_layer_norm=True,
    epsilon=1e-5,
    residual_alpha=1.0,
    cache_kvs=None,
    beam_offset=None,
    pre_caches=None,
    seq_lens=None,
    rotary_embs=None,
    time_step=None,
    attn_mask=None,
    dropout_rate=0.0,
    rotary_emb_dims=0,
    activation="gelu",
    training=False,
    mode="upscale_in_train",
    trans_qkvw=True,
    ring_id=-1,
    norm_type="layernorm",
    use_neox_rotary_style=False,
    gqa_group_size=-1,
    name=None,
):
    """Self-attention and feed-forward network, each with a residual, as often as there are weights.

    Each list has one tensor for each layer; lists of biases may be None.

    Args:
        x (Tensor): [B, S, width].
        ln_scales, ln_biases (list): [width], of the normalization of the attention.
        qkv_weights (list): [3, heads, D, width], or [width, 3, heads, D] without trans_qkvw; with
            gqa_group_size [heads + 2 * key heads, D, width], or [width, heads + 2 * key heads, D].
        qkv_biases (list): [3, heads, D] or [heads + 2 * key heads, D].
        linear_weights, linear_biases (list): [heads * D, width] and [width], after the attention.
        ffn_ln_scales, ffn_ln_biases (list): [width], of the normalization of the network.
        ffn1_weights, ffn1_biases (list): [width, hidden] and [hidden]; gated activations halve that.
        ffn2_weights, ffn2_biases (list): [hidden, width] and [width].
        pre_layer_norm (bool): normalize what attention and network are given, otherwise the results.
        epsilon (float): added to variances.
        residual_alpha (float): factor of the residuals.
        cache_kvs (list, optional): [2, B, key heads, most tokens, D], keys and values; written.
        pre_caches (list, optional): [2, B, key heads, n, D], keys and values of tokens before the first.
        seq_lens (Tensor, optional): [B] int. Without time_step how many tokens of x there are, with it the
            place of the new token of each sequence.
        rotary_embs (Tensor, optional): [2, B, 1, S, D], cosines and sines.
        time_step (Tensor, optional): [1] int, the place of the one new token; needs cache_kvs.
        attn_mask (Tensor, optional): [B, 1, S, T], added to the scores.
        dropout_rate (float): probability while training.
        rotary_emb_dims (int): 1 to use rotary_embs, otherwise 0.
        activation (str): name of a function in ``nn.functional``, 'swiglu' or 'geglu'.
        training (bool): whether to drop.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.
        trans_qkvw (bool): see ``qkv_weights``.
        ring_id (int): only -1: layers are not divided between processes.
        norm_type (str): 'layernorm' or 'rmsnorm'.
        use_neox_rotary_style (bool): rotary embeddings turn neighbours, otherwise the two halves of D.
        gqa_group_size (int): how many key heads there are; -1: as many as heads.
        beam_offset: only None.

    Returns:
        Tensor [B, S, width]; with cache_kvs (it, cache_kvs).

    Raises:
        ValueError: ``mode`` or ``norm_type`` is unknown, a cache is too small, or ``time_step`` comes without
            caches.
        NotImplementedError: ``beam_offset`` or ``ring_id`` is given, or ``rotary_emb_dims`` is 2.

    Examples:
        >>> ones = argosy.ones
        >>> argosy.incubate.nn.functional.fused_multi_transformer(
        ...     ones([1, 3, 4]), [ones([4])], None, [ones([3, 2, 2, 4])], None, [ones([4, 4])], None,
        ...     [ones([4])], None, [ones([4, 8])], None, [ones([8, 4])], None).shape
        paddle.Size([1, 3, 4])
    """
    what = "fused_multi_transformer"
    check_choice(what, "mode", mode, ("upscale_in_train", "downscale_in_infer"))
    check_choice(what, "norm_type", norm_type, _NORMS)
    unsupported(what, ONE_PROCESS, ring_id=(ring_id, -1))
    unsupported(what, "reorder the caches for beams", beam_offset=(beam_offset, None))
    if rotary_emb_dims not in (0, 1):
        unsupported(what, "use one dimension of positions", rotary_emb_dims=(rotary_emb_dims, 0))
    if time_step is not None and cache_kvs is None:
        raise ValueError(
            f"[{what}] time_step needs cache_kvs, which have the tokens before. Do this: pass them."
        )
    o = _Options(
        epsilon=epsilon, norm_type=norm_type, dropout_rate=dropout_rate, training=training, mode=mode,
        activation=activation, seq_lens=seq_lens, time_step=time_step, attn_mask=attn_mask,
    )  # fmt: skip
    at = 0 if time_step is None or rotary_emb_dims == 0 else int(time_step)

    def of(tensors, i):
        return None if tensors is None else tensors[i]

    for i, qkv_weight in enumerate(qkv_weights):
        inner = o.norm(x, ln_scales[i], of(ln_biases, i)) if pre_layer_norm else x
        query, key, value = _split_heads(
            inner, qkv_weight, of(qkv_biases, i), trans_qkvw, gqa_group_size
        )
        if rotary_emb_dims:
            query, key = (_turned(t, rotary_embs, at, use_neox_rotary_style) for t in (query, key))
        if time_step is not None:
            out = _next_token(query, key, value, cache_kvs[i], o)
        else:
            out = _first_tokens(query, key, value, of(cache_kvs, i), of(pre_caches, i), o)
        out = o.dropped(F.linear(out, linear_weights[i], of(linear_biases, i)))
        x = x * residual_alpha + out
        if not pre_layer_norm:
            x = o.norm(x, ln_scales[i], of(ln_biases, i))
        ffn_norm = ffn_ln_scales[i], of(ffn_ln_biases, i)
        inner = o.norm(x, *ffn_norm) if pre_layer_norm else x
        inner = o.dropped(o.activated(F.linear(inner, ffn1_weights[i], of(ffn1_biases, i))))
        out = o.dropped(F.linear(inner, ffn2_weights[i], of(ffn2_biases, i)))
        x = x * residual_alpha + out
        if not pre_layer_norm:
            x = o.norm(x, *ffn_norm)
    return x if cache_kvs is None else (x, cache_kvs)
