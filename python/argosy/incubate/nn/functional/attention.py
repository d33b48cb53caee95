"""Attention with its projections."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import sizes_of, unsupported
from argosy.nn import functional as F

from ._check import ONE_PROCESS


def fused_multi_head_attention(
    x,
    qkv_weight,
    linear_weight,
    pre_layer_norm=False,
    pre_ln_scale=None,
    pre_ln_bias=None,
    ln_scale=None,
    ln_bias=None,
    pre_ln_epsilon=1e-5,
    qkv_bias=None,
    linear_bias=None,
    cache_kv=None,
    attn_mask=None,
    dropout_rate=0.5,
    attn_dropout_rate=0.5,
    ln_epsilon=1e-5,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
    num_heads=-1,
    transpose_qkv_wb=False,
    name=None,
):
    """Self-attention with residual and layer normalization.

    Args:
        x (Tensor): [B, S, D].
        qkv_weight: [3, heads, D / heads, D], or [D, 3 D] with transpose_qkv_wb (then num_heads is
            needed).
        linear_weight: [D, D] of the projection of the result.
        pre_layer_norm (bool): normalize x (pre_ln), otherwise the result (ln).
        pre_ln_scale, pre_ln_bias, ln_scale, ln_bias: [D] or None.
        pre_ln_epsilon, ln_epsilon (float): added to variances.
        qkv_bias: [3, heads, D / heads], or [3 D] with transpose_qkv_wb.
        linear_bias: [D] or None.
        cache_kv: [2, B, heads, past, D / heads]; the keys and values so far, to which those of x
            are appended. The new cache is the second result then.
        attn_mask: is added to the scores [B, heads, S, S].
        dropout_rate, attn_dropout_rate (float): probabilities for the result and for attention weights.
        training (bool): whether to drop.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.
        ring_id (int): only -1: layers are not divided between processes.
        add_residual (bool): add x.
        num_heads (int): see ``qkv_weight``.
        transpose_qkv_wb (bool): see ``qkv_weight``.

    Returns:
        Tensor [B, S, D]; with a cache (it, new cache).

    Raises:
        NotImplementedError: ``ring_id`` is given.
        AssertionError: ``transpose_qkv_wb`` without ``num_heads``.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> x, qkv = argosy.ones([2, 3, 8]), argosy.ones([3, 2, 4, 8])
        >>> F = argosy.incubate.nn.functional
        >>> F.fused_multi_head_attention(x, qkv, argosy.ones([8, 8])).shape
        paddle.Size([2, 3, 8])
    """
    unsupported("fused_multi_head_attention", ONE_PROCESS, ring_id=(ring_id, -1))
    batch, length, width = *sizes_of(x)[:2], x.shape[2]
    if transpose_qkv_wb:
        if num_heads <= 0:
            raise AssertionError(
                "[fused_multi_head_attention] transpose_qkv_wb=True needs num_heads, got"
                f" {num_heads}. Do this: pass the number of heads."
            )
        heads, size = num_heads, width // num_heads
    else:
        heads, size = qkv_weight.shape[1], qkv_weight.shape[2]
        qkv_weight = qkv_weight.reshape([3 * heads * size, width]).t()
        qkv_bias = None if qkv_bias is None else qkv_bias.reshape([-1])
    inner = x
    if pre_layer_norm:
        inner = F.layer_norm(x, width, pre_ln_scale, pre_ln_bias, pre_ln_epsilon)
    qkv = F.linear(inner, qkv_weight, qkv_bias).reshape([batch, length, 3, heads, size])
    query, key, value = tensor.unstack(qkv.transpose([2, 0, 3, 1, 4]), 0)
    if cache_kv is not None:
        key = tensor.concat([cache_kv[0], key], 2)
        value = tensor.concat([cache_kv[1], value], 2)
    scores = tensor.matmul(query * size**-0.5, key, transpose_y=True)
    if attn_mask is not None:
        scores = scores + attn_mask
    weights = F.dropout(F.softmax(scores, -1), attn_dropout_rate, training=training, mode=mode)
    result = tensor.matmul(weights, value).transpose([0, 2, 1, 3]).flatten(2)
    result = F.linear(result, linear_weight, linear_bias)
    result = F.dropout(result, dropout_rate, training=training, mode=mode)
    if add_residual:
        result = x + result
    if not pre_layer_norm:
        result = F.layer_norm(result, width, ln_scale, ln_bias, ln_epsilon)
    return result if cache_kv is None else (result, tensor.stack([key, value]))


@beside
def variable_length_memory_efficient_attention(
    query,
    key,
    value,
    seq_lens,
    kv_seq_lens,
    mask=None,
    scale=None,
    causal=False,
    pre_cache_length=0,
):
    """Attention of a batch of sequences of different lengths.

    Args:
        query: [B, heads, S, size].
        key, value: [B, kv heads, T, size]; heads a multiple of kv heads.
        seq_lens, kv_seq_lens: [B, 1] lengths; positions behind them are not attended to, and their
            results are 0.
        mask: is added to the scores [B, heads, S, T].
        scale (float, optional): of the scores; ``size ** -0.5`` without it.
        causal (bool): position i sees positions 0 to i (+ ``pre_cache_length``) only.
        pre_cache_length (int): how many keys stand before the first query's.

    Returns:
        Tensor [B, heads, S, size].

    Examples:
        >>> x, lengths = argosy.ones([1, 1, 3, 4]), argosy.to_tensor([[2]])
        >>> F = argosy.incubate.nn.functional
        >>> F.variable_length_memory_efficient_attention(x, x, x, lengths, lengths)[0, 0, :, 0].tolist()
        [1.0, 1.0, 0.0]
    """
    heads, (length, size) = query.shape[1], sizes_of(query)[2:]
    total = sizes_of(key)[2]
    if heads >= 0 and key.shape[1] not in (-1, heads):
        key = tensor.repeat_interleave(key, heads // key.shape[1], 1)
        value = tensor.repeat_interleave(value, heads // value.shape[1], 1)
    if scale is None:
        scale = size**-0.5 if query.shape[3] >= 0 else tensor.rsqrt(size.astype(query.dtype))
    scores = tensor.matmul(query * scale, key, transpose_y=True)
    if mask is not None:
        scores = scores + mask
    seen = tensor.arange(total) < kv_seq_lens.reshape([-1, 1, 1, 1]).astype("int64")
    if causal:
        step = tensor.arange(length).reshape([-1, 1]) + pre_cache_length
        seen = seen.logical_and(tensor.arange(total) <= step)
    hidden = tensor.full([], float("-inf"), scores.dtype)
    weights = F.softmax(tensor.where(seen, scores, hidden), -1)
    result = tensor.matmul(weights, value)
    inside = tensor.arange(length).reshape([-1, 1]) < seq_lens.reshape([-1, 1, 1, 1]).astype(
        "int64"
    )
    return tensor.where(inside, result, tensor.zeros([], dtype=result.dtype))
