"""Attention."""

from __future__ import annotations

from contextlib import contextmanager

from argosy import _core, tensor
from argosy._support import sizes_of

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


def flash_attention_v3_varlen(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    seqused_q=None,
    seqused_k=None,
    softmax_scale=None,
    causal=False,
    qv=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    sm_margin=0,
):
    """:func:`flash_attn_unpadded` without dropout.

    Args:
        softmax_scale: factor on the scores; None is 1 / sqrt(head_dim).
        max_seqlen_q, max_seqlen_k, num_splits, pack_gqa, sm_margin: choose among GPU kernels; the
            result is the same.

    Returns:
        (result of query's shape, None).

    Raises:
        NotImplementedError: for seqused_q, seqused_k, qv, the factors of 8-bit operands, a window
            and softcap.
    """
    given = {
        "seqused_q": seqused_q, "seqused_k": seqused_k, "qv": qv, "q_descale": q_descale,
        "k_descale": k_descale, "v_descale": v_descale, "softcap": softcap or None,
        "window_size": None if tuple(window_size) == (-1, -1) else window_size,
    }  # fmt: skip
    for name, value_ in given.items():
        if value_ is not None:
            raise NotImplementedError(
                f"[flash_attention_v3_varlen] {name} is not supported, got {value_}. Do this: leave"
                " it out, or compute with scaled_dot_product_attention and a mask."
            )
    scale = 0.0 if softmax_scale is None else softmax_scale
    return _varlen(query, key, value, cu_seqlens_q, cu_seqlens_k, scale, 0.0, causal, False)


def _hidden_rows(indices, rows, causal):
    """Which queries do not see a key, bool [batch, key heads, length, key length], from the bounds
    indices [batch, key heads, key length, 1, 2 or 4] of what is hidden."""
    bounds = [tensor.unsqueeze(bound, -2) for bound in tensor.unstack(indices, -1)]
    if len(bounds) == 1 + (not causal):
        hidden = rows >= bounds[0]
        return hidden if causal else tensor.logical_or(hidden, rows < bounds[1])
    hidden = tensor.logical_and(rows >= bounds[0], rows < bounds[1])
    if causal:
        return hidden
    above = tensor.logical_and(rows >= bounds[2], rows < bounds[3])
    return tensor.logical_or(hidden, above)


def flashmask_attention(
    query,
    key,
    value,
    startend_row_indices=None,
    *,
    dropout=0.0,
    causal=False,
    window_size=None,
    return_softmax_lse=False,
    return_seed_offset=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
    softmax_scale=None,
    block_mask=None,
):
    """Attention under a mask that says for each key which queries do not see it, arXiv:2410.01359.

    Args:
        query: [batch, length, heads, head_dim].
        key, value: [batch, key length, key heads, head_dim]; heads a multiple of key heads.
        startend_row_indices: int32 [batch, 1 or key heads, key length, n]. Causal: hidden from
            queries from the first index on (n = 1), up to before the second (n = 2). Else: from the
            first on, and before the second (n = 2); from the first up to before the second, and
            from the third up to before the fourth (n = 4).
        causal: query i sees keys up to i.
        window_size: query i sees keys from i - w on and, unless causal, up to i + w; one number or
            two.
        softmax_scale: factor on the scores; None is 1 / sqrt(head_dim).

    Returns:
        Tensor of query's shape; 0 for a query that sees no key.

    Raises:
        NotImplementedError: for return_softmax_lse, return_seed_offset, fixed_seed_offset and
            block_mask.
        ValueError: n does not fit causal.
    """
    for option, value_ in (
        ("return_softmax_lse", return_softmax_lse or None),
        ("return_seed_offset", return_seed_offset or None),
        ("fixed_seed_offset", fixed_seed_offset),
        ("block_mask", block_mask),
    ):
        if value_ is not None:
            raise NotImplementedError(
                f"[flashmask_attention] {option} is not supported, got {value_}. Do this: leave it"
                " out."
            )
    rows = tensor.unsqueeze(tensor.arange(sizes_of(query)[1]), -1)
    columns = tensor.arange(sizes_of(key)[1])
    hidden = columns > rows if causal else columns < 0
    if window_size is not None:
        left, right = [window_size] * 2 if isinstance(window_size, int) else window_size
        hidden = tensor.logical_or(hidden, columns < rows - left)
        hidden = tensor.logical_or(hidden, columns > rows + right)
    if startend_row_indices is not None:
        counts = (1, 2) if causal else (2, 4)
        if startend_row_indices.ndim != 4 or startend_row_indices.shape[-1] not in counts:
            raise ValueError(
                "[flashmask_attention] startend_row_indices must be [batch, 1 or key heads, key"
                f" length, {counts[0]} or {counts[1]}] with causal={causal}, got"
                f" {list(startend_row_indices.shape)}. Do this: check its last size."
            )
        own = _hidden_rows(startend_row_indices.astype("int64"), rows, causal)
        heads, groups = query.shape[2], own.shape[1]
        if groups not in (1, heads):
            own = tensor.repeat_interleave(own, heads // groups, 1)
        hidden = tensor.logical_or(hidden, own)
    # Who sees nothing sees all, which is taken away again: no NaN comes into the gradients.
    blind = tensor.all(hidden, -1, keepdim=True)
    seen = tensor.logical_or(tensor.logical_not(hidden), blind)
    result = scaled_dot_product_attention(
        query, key, value, seen, dropout, training=training, scale=softmax_scale
    )
    while blind.ndim < 4:
        blind = tensor.unsqueeze(blind, 0)
    blind = tensor.transpose(blind, [0, 2, 1, 3])
    return tensor.where(blind, tensor.zeros([], dtype=result.dtype), result)
