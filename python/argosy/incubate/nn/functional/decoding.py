"""Attention of one new token to those before it."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import need_type, unsupported
from argosy.nn import functional as F

from ._check import no_quantization


@beside
def masked_multihead_attention(
    x,
    cache_kv=None,
    bias=None,
    src_mask=None,
    cum_offsets=None,
    sequence_lengths=None,
    rotary_tensor=None,
    beam_cache_offset=None,
    qkv_out_scale=None,
    out_shift=None,
    out_smooth=None,
    seq_len=1,
    rotary_emb_dims=0,
    use_neox_rotary_style=False,
    compute_dtype="default",
    out_scale=-1,
    quant_round_type=1,
    quant_max_bound=127.0,
    quant_min_bound=-127.0,
):
    """One step of decoding: the key and value of a new token go into the cache, and its query attends
    to all tokens that are there.

    Args:
        x (Tensor): [B, 3 * heads * D], query, key and value of the token.
        cache_kv (Tensor): [2, B, heads, most tokens, D], keys and values; it is written.
        bias (Tensor, optional): [3, heads, D], added to x.
        src_mask (Tensor, optional): [B, 1, 1, n], added to the scores of the first n tokens. Without
            sequence_lengths the new token is the last of these n.
        sequence_lengths (Tensor, optional): [B, 1] int, how many tokens there are already.
        cum_offsets, rotary_tensor, beam_cache_offset: only None.
        seq_len (int): only 1.
        rotary_emb_dims, use_neox_rotary_style: only 0 and False.
        qkv_out_scale, out_shift, out_smooth: only None, as nothing is quantized.
        out_scale, quant_round_type, quant_max_bound, quant_min_bound: only the defaults.
        compute_dtype (str): only 'default', x's dtype.

    Returns:
        (Tensor, Tensor): [B, heads * D], and cache_kv.

    Raises:
        ValueError: no cache, neither src_mask nor sequence_lengths, or a full cache.
            NotImplementedError: beams, rotary positions, quantized operands, other compute dtypes.

    Examples:
        >>> import argosy
        >>> cache, zero = argosy.zeros([2, 1, 2, 8, 4]), argosy.zeros([1, 1], "int32")
        >>> attend = argosy.incubate.nn.functional.masked_multihead_attention
        >>> out, cache = attend(argosy.ones([1, 24]), cache, sequence_lengths=zero)
        >>> out.shape, float(cache.sum())
        (paddle.Size([1, 8]), 16.0)
    """
    name = "masked_multihead_attention"
    unsupported(
        name, "leave it out; apply rotary positions to x before, and reorder the cache for beams",
        cum_offsets=(cum_offsets, None), rotary_tensor=(rotary_tensor, None),
        beam_cache_offset=(beam_cache_offset, None), seq_len=(seq_len, 1),
        rotary_emb_dims=(rotary_emb_dims, 0), use_neox_rotary_style=(use_neox_rotary_style, False),
        compute_dtype=(compute_dtype, "default"),
    )  # fmt: skip
    no_quantization(
        name, qkv_out_scale=(qkv_out_scale, None), out_shift=(out_shift, None),
        out_smooth=(out_smooth, None), out_scale=(out_scale, -1),
        quant_round_type=(quant_round_type, 1), quant_max_bound=(quant_max_bound, 127.0),
        quant_min_bound=(quant_min_bound, -127.0),
    )  # fmt: skip
    if cache_kv is None or (src_mask is None and sequence_lengths is None):
        raise ValueError(
            f"[{name}] needs cache_kv, and src_mask or sequence_lengths, which say how many tokens the"
            " cache has. Do this: pass them."
        )
    _, batch, heads, room, width = cache_kv.shape
    qkv = x.reshape([batch, 3, heads, width])
    if bias is not None:
        qkv = qkv + bias
    if sequence_lengths is None:
        at = tensor.full([batch], src_mask.shape[-1] - 1, "int64")
    else:
        at = sequence_lengths.reshape([batch]).astype("int64")
    if not at._symbolic and int(at.max()) >= room:
        raise ValueError(
            f"[{name}] the cache is full: it has room for {room} tokens, the new one is number"
            f" {int(at.max())} from 0. Do this: make cache_kv larger."
        )
    places = at.reshape([batch, 1, 1, 1]).expand([batch, heads, 1, width])
    for i in (0, 1):
        token = qkv[:, i + 1].unsqueeze(2).astype(cache_kv.dtype)
        cache_kv[i] = tensor.put_along_axis(cache_kv[i], places, token, 2, broadcast=False)
    hidden = tensor.arange(room) > at.unsqueeze(1)
    mask = tensor.where(
        hidden, tensor.full([], float("-inf"), x.dtype), tensor.zeros([], x.dtype)
    ).reshape([batch, 1, 1, room])
    if src_mask is not None:
        known = src_mask.shape[-1]
        mask = mask + F.pad(src_mask.astype(x.dtype), [0, 0, 0, 0, 0, 0, 0, room - known])
    query = qkv[:, 0].unsqueeze(1)
    keys, values = (cache_kv[i].transpose([0, 2, 1, 3]).astype(x.dtype) for i in (0, 1))
    out = F.scaled_dot_product_attention(query, keys, values, mask, 0.0, False, False)
    return out.reshape([batch, heads * width]), cache_kv


@beside
def block_multihead_attention(
    qkv, key_cache, value_cache, seq_lens_encoder, seq_lens_decoder, seq_lens_this_time,
    padding_offsets, cum_offsets, cu_seqlens_q, cu_seqlens_k, block_tables, pre_key_cache=None,
    pre_value_cache=None, cache_k_quant_scales=None, cache_v_quant_scales=None,
    cache_k_dequant_scales=None, cache_v_dequant_scales=None, qkv_out_scale=None, qkv_bias=None,
    out_shift=None, out_smooth=None, max_enc_len_this_time=None, max_dec_len_this_time=None,
    rope_emb=None, mask=None, tgt_mask=None, max_seq_len=-1, block_size=64, use_neox_style=False,
    use_dynamic_cachekv_quant=False, quant_round_type=1, quant_max_bound=127.0,
    quant_min_bound=-127.0, out_scale=-1, compute_dtype="default", rope_theta=10000.0,
):  # fmt: skip
    """Attention of the new tokens of several sequences to those before them, whose keys and values lie
    in blocks of memory that the sequences share (arXiv:2309.06180).

    Args:
        qkv (Tensor): [tokens, (heads + 2 * key heads) * D]: the new tokens of the first sequence, then
            of the next.
        key_cache, value_cache (Tensor): [blocks, key heads, block_size, D]; they are written.
        seq_lens_encoder (Tensor): [B, 1] int, the length of a sequence that begins, else 0.
        seq_lens_decoder (Tensor): [B, 1] int, how many tokens of a sequence that goes on there are.
        seq_lens_this_time (Tensor): [B, 1] int, how many of its tokens are new.
        block_tables (Tensor): [B, most blocks] int, the blocks of each sequence in order.
        qkv_bias (Tensor, optional): [(heads + 2 * key heads) * D].
        mask (Tensor, optional): [B, 1, length, length], added to the scores of a sequence that begins;
            tokens never see those after them.
        tgt_mask (Tensor, optional): [B, 1, 1, length], added to those of a sequence that goes on.
        padding_offsets, cum_offsets, cu_seqlens_q, cu_seqlens_k: follow from the lengths, which count.
        max_enc_len_this_time, max_dec_len_this_time, max_seq_len: follow from the lengths, too.
        block_size (int): that of the caches.
        pre_key_cache, pre_value_cache, rope_emb: only None.
        use_neox_style, rope_theta, compute_dtype: only the defaults.
        cache_k_quant_scales, cache_v_quant_scales, qkv_out_scale: only None.
        cache_k_dequant_scales, cache_v_dequant_scales, out_shift, out_smooth: only None.
        use_dynamic_cachekv_quant (bool): only False.
        out_scale, quant_round_type, quant_max_bound, quant_min_bound: only the defaults.

    Returns:
        (Tensor, Tensor, Tensor, Tensor): [tokens, heads * D], qkv, key_cache and value_cache.

    Raises:
        ValueError: block_size is not that of the caches, the lengths are not those of qkv, or a
            sequence needs more blocks than its table has.
        NotImplementedError: rotary positions, caches before the first token, quantized operands.

    Examples:
        >>> import argosy
        >>> keys, values = argosy.zeros([4, 1, 2, 4]), argosy.zeros([4, 1, 2, 4])
        >>> new, none = argosy.to_tensor([[3]]), argosy.to_tensor([[0]])
        >>> out, _, keys, values = argosy.incubate.nn.functional.block_multihead_attention(
        ...     argosy.ones([3, 12]), keys, values, new, none, new, None, None, None, None,
        ...     argosy.to_tensor([[2, 0]]), block_size=2)
        >>> out.shape, keys.sum([1, 2, 3]).tolist()
        (paddle.Size([3, 4]), [4.0, 0.0, 8.0, 0.0])
    """
    name = "block_multihead_attention"
    unsupported(
        name, "leave it out; apply rotary positions to qkv before",
        pre_key_cache=(pre_key_cache, None), pre_value_cache=(pre_value_cache, None),
        rope_emb=(rope_emb, None), use_neox_style=(use_neox_style, False),
        rope_theta=(rope_theta, 10000.0), compute_dtype=(compute_dtype, "default"),
    )  # fmt: skip
    no_quantization(
        name, cache_k_quant_scales=(cache_k_quant_scales, None),
        cache_v_quant_scales=(cache_v_quant_scales, None),
        cache_k_dequant_scales=(cache_k_dequant_scales, None),
        cache_v_dequant_scales=(cache_v_dequant_scales, None), qkv_out_scale=(qkv_out_scale, None),
        out_shift=(out_shift, None), out_smooth=(out_smooth, None), out_scale=(out_scale, -1),
        use_dynamic_cachekv_quant=(use_dynamic_cachekv_quant, False),
        quant_round_type=(quant_round_type, 1), quant_max_bound=(quant_max_bound, 127.0),
        quant_min_bound=(quant_min_bound, -127.0),
    )  # fmt: skip
    for key, value in (
        ("padding_offsets", padding_offsets), ("cum_offsets", cum_offsets),
        ("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k),
        ("max_enc_len_this_time", max_enc_len_this_time),
        ("max_dec_len_this_time", max_dec_len_this_time), ("max_seq_len", max_seq_len),
    ):  # fmt: skip
        if value is not None:
            need_type(name, key, value, (Tensor, int), "pass None, it follows from the lengths")
    _, key_heads, room, width = key_cache.shape
    heads = qkv.shape[1] // width - 2 * key_heads
    first, before, new = (
        t.flatten().tolist() for t in (seq_lens_encoder, seq_lens_decoder, seq_lens_this_time)
    )
    before = [0 if start else done for start, done in zip(first, before)]
    tables = block_tables.tolist()
    if block_size != room or sum(new) != qkv.shape[0]:
        raise ValueError(
            f"[{name}] expected block_size {room}, the third size of key_cache, and lengths that add"
            f" up to the {qkv.shape[0]} tokens of qkv, got {block_size} and {new}. Do this: correct"
            " them."
        )
    for b, (done, n) in enumerate(zip(before, new)):
        if (done + n) > room * len(tables[b]):
            raise ValueError(
                f"[{name}] sequence {b} has {done + n} tokens, its {len(tables[b])} blocks have room"
                f" for {room * len(tables[b])}. Do this: give it more blocks in block_tables."
            )
    tokens = qkv if qkv_bias is None else qkv + qkv_bias
    tokens = tokens.reshape([-1, heads + 2 * key_heads, width])
    query, keys, values = tensor.split(tokens, [heads, key_heads, key_heads], axis=1)
    places = [
        (tables[b][p // room], p % room)
        for b, (done, n) in enumerate(zip(before, new))
        for p in range(done, done + n)
    ]
    block, slot = (tensor.to_tensor(part, dtype="int64") for part in zip(*places))
    for cache, fresh in ((key_cache, keys), (value_cache, values)):
        cache[block, :, slot] = fresh.astype(cache.dtype)
    outs, at = [], 0
    for b, (done, n) in enumerate(zip(before, new)):
        if n:
            extra = mask if first[b] else tgt_mask
            seen = [_of_blocks(c, tables[b], done + n) for c in (key_cache, value_cache)]
            extra = None if extra is None else extra[b, :, :n, : done + n]
            outs.append(_attend(query[at : at + n], *seen, done, extra))
        at += n
    return tensor.concat(outs).reshape([-1, heads * width]), qkv, key_cache, value_cache


@beside
def _of_blocks(cache, table, length):
    """[length, key heads, D], what a sequence has in the blocks of its table."""
    _, heads, room, width = cache.shape
    blocks = tensor.to_tensor(table[: -(-length // room)], dtype="int64")
    found = tensor.gather(cache, blocks).transpose([0, 2, 1, 3])
    return found.reshape([-1, heads, width])[:length]


@beside
def _attend(query, keys, values, done, mask):
    """Causal attention of query [n, heads, D] to keys, values [done + n, key heads, D]."""
    n, heads, _ = query.shape
    after = tensor.arange(done + n) > (tensor.arange(n) + done).unsqueeze(1)
    hidden = tensor.full([], float("-inf"), query.dtype)
    scores = tensor.where(after, hidden, tensor.zeros([], query.dtype))
    scores = scores if mask is None else scores + mask.astype(query.dtype)
    each = heads // keys.shape[1]
    keys, values = (
        tensor.repeat_interleave(t.astype(query.dtype), each, axis=1).unsqueeze(0)
        for t in (keys, values)
    )
    scores = scores.reshape([1, 1, n, done + n])
    return F.scaled_dot_product_attention(
        query.unsqueeze(0), keys, values, scores, 0.0, False, False
    )[0]
