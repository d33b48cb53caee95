"""Attention."""

from __future__ import annotations

from contextlib import contextmanager

from argosy import _core, tensor

ops = _core.ops


@contextmanager
def sdp_kernel(enable_math=False, enable_flash=True, enable_mem_efficient=True):
    """Accepted for programs that choose among GPU kernels; the result is the same for all."""
    yield


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    training=True,
    backend=None,
    scale=None,
    enable_gqa=True,
    name=None,
):
    """``softmax(query key^T * scale + mask) value`` for every head.

    Vaswani et al., arXiv:1706.03762.

    Args:
        query: [batch, length, heads, head_dim], or without batch.
        key, value: [batch, key length, key heads, head_dim]; heads a multiple of key heads.
        attn_mask: bool (True takes part) or float (added), broadcast to [batch, heads, length,
            key length].
        dropout_p: probability of dropping a weight while ``training``.
        is_causal: position i attends only to positions up to i.
        scale: None is 1 / sqrt(head_dim).

    Returns:
        Tensor of query's shape.
    """
    batched = len(query.shape) != 3
    if not batched:
        query, key, value = (tensor.unsqueeze(t, 0) for t in (query, key, value))
    out = ops.scaled_dot_product_attention(
        query, key, value, attn_mask, float(dropout_p) if training else 0.0, bool(is_causal),
        0.0 if scale is None else float(scale), False,
    )  # fmt: skip
    return out if batched else tensor.squeeze(out, 0)


def flash_attention(
    query,
    key,
    value,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    *,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
    softmax_scale=None,
):
    """:func:`scaled_dot_product_attention` without a mask.

    Returns:
        (result, softmax weights [batch, heads, length, key length] or None).
    """
    result = ops.scaled_dot_product_attention(
        query, key, value, None, float(dropout) if training else 0.0, bool(causal),
        0.0 if softmax_scale is None else float(softmax_scale), bool(return_softmax),
    )  # fmt: skip
    return result if return_softmax else (result, None)


def flash_attn_qkvpacked(
    qkv,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    *,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
):
    """:func:`flash_attention` of ``qkv`` [batch, length, heads / key heads + 2, key heads, dim].

    The last two of axis 2 are key and value, those before them the query.
    """
    query = tensor.flatten(qkv[:, :, :-2], 2, 3)
    return flash_attention(
        query, qkv[:, :, -2], qkv[:, :, -1], dropout, causal, return_softmax, training=training
    )


def _varlen(query, key, value, starts_q, starts_k, scale, dropout, causal, return_softmax):
    """Attention within each sequence of a packed batch; its weights, if they are asked for, one
    sequence after the other."""
    if not return_softmax:
        return ops.varlen_attention(
            query, key, value, starts_q, starts_k, float(dropout), bool(causal), float(scale)
        ), None
    ends_q, ends_k = starts_q.tolist(), starts_k.tolist()
    outputs, weights = [], []
    for (q0, q1), (k0, k1) in zip(zip(ends_q, ends_q[1:]), zip(ends_k, ends_k[1:])):
        q, k, v = (tensor.unsqueeze(part, 0) for part in (query[q0:q1], key[k0:k1], value[k0:k1]))
        result = ops.scaled_dot_product_attention(
            q, k, v, None, dropout, bool(causal), float(scale), True
        )
        out, weight = result
        outputs.append(tensor.squeeze(out, 0))
        weights.append(weight)
    return tensor.concat(outputs, axis=0), weights


def flash_attn_unpadded(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
):
    """Attention in a batch of sequences of different lengths, packed without padding.

    Args:
        query, key, value: [sum of lengths, heads, head_dim].
        cu_seqlens_q, cu_seqlens_k: [batch + 1] int: where each sequence starts, then the end.
        max_seqlen_q, max_seqlen_k: longest lengths (not needed here).
        scale: factor on the scores.

    Returns:
        (result of query's shape, list of softmax weights per sequence or None).
    """
    return _varlen(
        query, key, value, cu_seqlens_q, cu_seqlens_k, scale,
        float(dropout) if training else 0.0, causal, return_softmax,
    )  # fmt: skip


def flash_attn_varlen_qkvpacked(
    qkv,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    varlen_padded=True,
    training=True,
    name=None,
):
    """:func:`flash_attn_unpadded` of ``qkv`` [sum, heads / key heads + 2, key heads, head_dim]."""
    query = tensor.flatten(qkv[:, :-2], 1, 2)
    return _varlen(
        query, qkv[:, -2], qkv[:, -1], cu_seqlens_q, cu_seqlens_k, scale,
        float(dropout) if training else 0.0, causal, return_softmax,
    )  # fmt: skip
