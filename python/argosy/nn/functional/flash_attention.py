"""Attention."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import is_symbolic, no_effect, plain, sizes_of, unsupported

ops = _core.ops


@contextmanager
def sdp_kernel(enable_math=False, enable_flash=True, enable_mem_efficient=True):
    """A context for programs that choose among GPU kernels; the result is the same for all.

    Args:
        enable_math, enable_flash, enable_mem_efficient (bool): have no effect, and are warned of.

    Returns:
        A context manager.

    Examples:
        >>> x = argosy.ones([1, 2, 1, 4])
        >>> with argosy.nn.functional.sdp_kernel():
        ...     argosy.nn.functional.scaled_dot_product_attention(x, x, x).shape
        paddle.Size([1, 2, 1, 4])
    """
    no_effect(
        "sdp_kernel", "the fastest kernel that fits is used", enable_math=(enable_math, False),
        enable_flash=(enable_flash, True), enable_mem_efficient=(enable_mem_efficient, True),
    )  # fmt: skip
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

    Args:
        query: [batch, length, heads, head_dim], or without batch; floating.
        key, value: [batch, key length, key heads, head_dim]; heads a multiple of key heads.
        attn_mask: bool (True takes part) or float (added), broadcast to [batch, heads, length,
            key length].
        dropout_p (float): probability of dropping a weight while ``training``.
        is_causal (bool): position i attends only to positions up to i.
        training (bool): see ``dropout_p``.
        backend: has no effect, and is warned of.
        scale (float, optional): None is 1 / sqrt(head_dim).
        enable_gqa (bool): False: heads must be as many as key heads.

    Returns:
        Tensor of query's shape.

    Raises:
        ValueError: shapes do not fit, or without ``enable_gqa`` the numbers of heads differ.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> query = argosy.ones([1, 2, 1, 4])
        >>> value = argosy.arange(8, dtype="float32").reshape([1, 2, 1, 4])
        >>> out = argosy.nn.functional.scaled_dot_product_attention(query, query, value, is_causal=True)
        >>> out.squeeze().tolist()
        [[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0]]
    """
    if backend is not None:
        no_effect(
            "scaled_dot_product_attention", "the fastest kernel is used", backend=(backend, None)
        )
    if not enable_gqa and query.shape[-2] != key.shape[-2]:
        raise ValueError(
            "[scaled_dot_product_attention] without enable_gqa query and key must have the same number"
            f" of heads: expected {key.shape[-2]}, got {query.shape[-2]}. Do this: pass"
            " enable_gqa=True."
        )
    batched = len(query.shape) != 3
    if not batched:
        query, key, value = (tensor.unsqueeze(t, 0) for t in (query, key, value))
    out = ops.scaled_dot_product_attention(
        query, key, value, attn_mask, float(dropout_p) if training else 0.0, bool(is_causal),
        0.0 if scale is None else float(scale), False,
    )  # fmt: skip
    return out if batched else tensor.squeeze(out, 0)


def _drawing(function, rate, fixed_seed_offset, rng_name):
    """A context in which dropout draws as those arguments of attention say."""
    if rate == 0 or (fixed_seed_offset is None and not rng_name):
        return nullcontext()
    unsupported(function, "leave it out, and call seed(..) before", rng_name=(rng_name, ""))
    if is_symbolic(fixed_seed_offset) or _core.program_recording() is not None:
        raise NotImplementedError(
            f"[{function}] fixed_seed_offset cannot be part of a Program: expected None, got a value."
            " Do this: leave it out, and set Program.random_seed."
        )
    return _fixed_seed(*plain(fixed_seed_offset))


@contextmanager
def _fixed_seed(seed, offset):
    state = _core.random_state()
    _core.seed((int(seed) * 0x9E3779B97F4A7C15 + int(offset)) % (1 << 63))
    try:
        yield
    finally:
        _core.set_random_state(state)


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

    Args:
        query: [batch, length, heads, head_dim].
        key, value: [batch, key length, key heads, head_dim]; heads a multiple of key heads.
        dropout (float): probability of dropping a weight while ``training``.
        causal (bool): position i attends only to positions up to i.
        return_softmax (bool): also return the weights.
        fixed_seed_offset: [2] ints, the seed and the offset that dropout draws with; the default stream
            is
            left where it is.
        rng_name (str): only the default stream, "".
        training (bool): see ``dropout``.
        softmax_scale (float, optional): factor on the scores; None is 1 / sqrt(head_dim).

    Returns:
        (result, softmax weights [batch, heads, length, key length] or None).

    Raises:
        NotImplementedError: for another ``rng_name``, and ``fixed_seed_offset`` in a Program, where
            dropout is drawn.

    Examples:
        >>> from argosy.nn.functional.flash_attention import flash_attention
        >>> x = argosy.ones([1, 2, 1, 4])
        >>> out, weights = flash_attention(x, x, x, return_softmax=True)
        >>> out.shape, weights.flatten().tolist()
        (paddle.Size([1, 2, 1, 4]), [0.5, 0.5, 0.5, 0.5])
    """
    rate = float(dropout) if training else 0.0
    with _drawing("flash_attention", rate, fixed_seed_offset, rng_name):
        result = ops.scaled_dot_product_attention(
            query, key, value, None, rate, bool(causal),
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
    """``flash_attention`` of query, key and value in one tensor.

    Args:
        qkv: [batch, length, heads / key heads + 2, key heads, head_dim]; the last two of axis 2 are key
            and
            value, those before them the query.
        dropout, causal, return_softmax, fixed_seed_offset, rng_name, training: as of ``flash_attention``.

    Returns:
        (result [batch, length, heads, head_dim], softmax weights or None).

    Examples:
        >>> out, _ = argosy.nn.functional.flash_attn_qkvpacked(argosy.ones([1, 2, 4, 3, 8]))
        >>> out.shape
        paddle.Size([1, 2, 6, 8])
    """
    query = tensor.flatten(qkv[:, :, :-2], 2, 3)
    return flash_attention(
        query, qkv[:, :, -2], qkv[:, :, -1], dropout, causal, return_softmax,
        fixed_seed_offset=fixed_seed_offset, rng_name=rng_name, training=training,
    )  # fmt: skip


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
        max_seqlen_q, max_seqlen_k: longest lengths, or None.
        scale (float): factor on the scores.
        dropout, causal, return_softmax, fixed_seed_offset, rng_name, training: as of ``flash_attention``.

    Returns:
        (result of query's shape, list of softmax weights per sequence or None).

    Raises:
        ValueError: a sequence is longer than ``max_seqlen_q`` or ``max_seqlen_k``.

    Examples:
        >>> from argosy.nn.functional.flash_attention import flash_attn_unpadded
        >>> x, starts = argosy.ones([5, 1, 4]), argosy.to_tensor([0, 2, 5])
        >>> flash_attn_unpadded(x, x, x, starts, starts, 3, 3, 0.5)[0].shape
        paddle.Size([5, 1, 4])
    """
    _check_longest(
        max_seqlen_q=(max_seqlen_q, cu_seqlens_q), max_seqlen_k=(max_seqlen_k, cu_seqlens_k)
    )
    rate = float(dropout) if training else 0.0
    with _drawing("flash_attn_unpadded", rate, fixed_seed_offset, rng_name):
        return _varlen(
            query, key, value, cu_seqlens_q, cu_seqlens_k, scale, rate, causal, return_softmax
        )


def _check_longest(**said):
    """Raises ValueError where a longest length is less than that of a sequence. said: (the length or
    None, where sequences start) by name."""
    for name, (longest, starts) in said.items():
        if longest is None or is_symbolic(starts) or is_symbolic(longest):
            continue
        ends = starts.tolist()
        found = max((b - a for a, b in zip(ends, ends[1:])), default=0)
        if found > int(plain(longest)):
            raise ValueError(
                f"[flash_attn_unpadded] {name}: expected at least {found}, the length of the longest"
                f" sequence, got {int(plain(longest))}. Do this: correct it, or pass None."
            )


def flash_attn_varlen_qkvpacked(qkv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, scale,
                                dropout=0.0, causal=False, return_softmax=False,
                                fixed_seed_offset=None, rng_name="", varlen_padded=True,
                                training=True, name=None):  # fmt: skip
    """Attention in a packed batch of sequences, of query, key and value in one tensor.

    Args:
        qkv: [sum of lengths, heads / key heads + 2, key heads, head_dim]; the last two of axis 1 are
            key and
            value, those before them the query.
        cu_seqlens_q, cu_seqlens_k: [batch + 1] int: where each sequence starts, then the end.
        max_seqlen_q, max_seqlen_k: longest lengths, or None.
        scale (float): factor on the scores.
        dropout, causal, return_softmax, fixed_seed_offset, rng_name, training: as of ``flash_attention``.
        varlen_padded (bool): has no effect: the sequences are packed.

    Returns:
        (result [sum of lengths, heads, head_dim], list of softmax weights per sequence or None).

    Raises:
        ValueError: a sequence is longer than ``max_seqlen_q`` or ``max_seqlen_k``.

    Examples:
        >>> qkv, starts = argosy.ones([5, 3, 2, 4]), argosy.to_tensor([0, 2, 5])
        >>> F = argosy.nn.functional
        >>> F.flash_attn_varlen_qkvpacked(qkv, starts, starts, 3, 3, scale=0.5)[0].shape
        paddle.Size([5, 2, 4])
    """
    no_effect(
        "flash_attn_varlen_qkvpacked",
        "the sequences are packed",
        varlen_padded=(varlen_padded, True),
    )
    query = tensor.flatten(qkv[:, :-2], 1, 2)
    return flash_attn_unpadded(
        query, qkv[:, -2], qkv[:, -1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, scale,
        dropout, causal, return_softmax, fixed_seed_offset, rng_name, training,
    )  # fmt: skip


def flash_attention_v3_varlen(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                              max_seqlen_k, seqused_q=None, seqused_k=None, softmax_scale=None,
                              causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None,
                              window_size=(-1, -1), softcap=0.0, num_splits=1, pack_gqa=None,
                              sm_margin=0):  # fmt: skip
    """Attention in a packed batch of sequences, without dropout.

    Args:
        query, key, value: [sum of lengths, heads, head_dim].
        cu_seqlens_q, cu_seqlens_k: [batch + 1] int: where each sequence starts, then the end.
        max_seqlen_q, max_seqlen_k: longest lengths, or None.
        softmax_scale (float, optional): factor on the scores; None is 1 / sqrt(head_dim).
        causal (bool): position i of a sequence attends only to positions up to i.
        seqused_q, seqused_k, qv, q_descale, k_descale, v_descale, window_size, softcap: are not
            supported.
        num_splits, pack_gqa, sm_margin: choose among GPU kernels; the result is the same.

    Returns:
        (result of query's shape, None).

    Raises:
        NotImplementedError: for seqused_q, seqused_k, qv, the factors of 8-bit operands, a window
            and softcap.
        ValueError: a sequence is longer than ``max_seqlen_q`` or ``max_seqlen_k``.

    Examples:
        >>> x, starts = argosy.ones([5, 1, 4]), argosy.to_tensor([0, 2, 5])
        >>> F = argosy.nn.functional
        >>> F.flash_attention_v3_varlen(x, x, x, starts, starts, 3, 3, causal=True)[0].shape
        paddle.Size([5, 1, 4])
    """
    unsupported(
        "flash_attention_v3_varlen",
        "leave it out, or compute with scaled_dot_product_attention and a mask",
        seqused_q=(seqused_q, None), seqused_k=(seqused_k, None), qv=(qv, None),
        q_descale=(q_descale, None), k_descale=(k_descale, None), v_descale=(v_descale, None),
        window_size=(window_size, (-1, -1)), softcap=(softcap, 0.0),
    )  # fmt: skip
    no_effect(
        "flash_attention_v3_varlen", "it chooses among GPU kernels", num_splits=(num_splits, 1),
        pack_gqa=(pack_gqa, None), sm_margin=(sm_margin, 0),
    )  # fmt: skip
    _check_longest(
        max_seqlen_q=(max_seqlen_q, cu_seqlens_q), max_seqlen_k=(max_seqlen_k, cu_seqlens_k)
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


@beside
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
    """Attention under a mask that says for each key which queries do not see it.

    Args:
        query: [batch, length, heads, head_dim].
        key, value: [batch, key length, key heads, head_dim]; heads a multiple of key heads.
        startend_row_indices: int32 [batch, 1 or key heads, key length, n]. Causal: hidden from
            queries from the first index on (n = 1), up to before the second (n = 2). Else: from the
            first on, and before the second (n = 2); from the first up to before the second, and
            from the third up to before the fourth (n = 4).
        dropout (float): probability of dropping a weight while ``training``.
        causal (bool): query i sees keys up to i.
        window_size: query i sees keys from i - w on and, unless causal, up to i + w; one number or
            two.
        return_softmax_lse, return_seed_offset, block_mask: are not supported.
        fixed_seed_offset, rng_name: as of ``flash_attention``.
        training (bool): see ``dropout``.
        softmax_scale (float, optional): factor on the scores.

    Returns:
        Tensor of query's shape; 0 for a query that sees no key.

    Raises:
        NotImplementedError: for return_softmax_lse, return_seed_offset and block_mask.
        ValueError: n does not fit causal.

    Paper: Wang et al., "FlashMask", arXiv:2410.01359.

    Examples:
        >>> query = argosy.ones([1, 2, 1, 4])
        >>> value = argosy.arange(8, dtype="float32").reshape([1, 2, 1, 4])
        >>> F = argosy.nn.functional
        >>> F.flashmask_attention(query, query, value, causal=True).squeeze().tolist()
        [[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0]]
    """
    unsupported(
        "flashmask_attention", "leave it out", return_softmax_lse=(return_softmax_lse, False),
        return_seed_offset=(return_seed_offset, False), block_mask=(block_mask, None),
    )  # fmt: skip
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
    rate = float(dropout) if training else 0.0
    with _drawing("flashmask_attention", rate, fixed_seed_offset, rng_name):
        result = scaled_dot_product_attention(query, key, value, seen, rate, scale=softmax_scale)
    while blind.ndim < 4:
        blind = tensor.unsqueeze(blind, 0)
    blind = tensor.transpose(blind, [0, 2, 1, 3])
    return tensor.where(blind, tensor.zeros([], dtype=result.dtype), result)
