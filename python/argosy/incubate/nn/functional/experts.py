"""Tokens to experts: which expert gets which token, and the loss that keeps them busy alike. Paddle has
these as kernels of GPUs, here they are composed of ops."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import ArgumentError, unsupported

from ._routing import check_rows, places, rows_at, starts
from .fp8 import fp8_quant_blockwise

__all__ = []


def _choose(name, x, gate_logits, corr_bias, k):
    """The k best experts of each token [s, k], and their logits."""
    check_rows(name, x, [gate_logits], k, gate_logits.shape[-1])
    judged = gate_logits if corr_bias is None else gate_logits + corr_bias
    expert_id = tensor.topk(judged, k, 1)[1]
    return expert_id, tensor.take_along_axis(gate_logits, expert_id, 1, broadcast=False)


def moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, use_pad, name=None):
    """Gives each token to the k experts with the largest logits, of which each takes ``capacity`` at most.

    Args:
        x (Tensor): [s, d], tokens.
        gate_logits (Tensor): [s, e], how much each token wants each expert, in float32.
        corr_bias (Tensor | None): [e], added to the logits to choose by, but not to the weights.
        k (int): how many experts a token gets.
        capacity (int): how many tokens an expert takes; first choices go before second ones with use_pad,
            else earlier tokens before later ones.
        use_pad (bool): whether each expert has exactly ``capacity`` rows in y.

    Returns:
        tuple: y [e * capacity, d] (without use_pad [s * k, d]), the rows of expert 0, then of 1, ..;
        combine_weights [s, k] float32, the logits of the chosen, 0 where the expert was full;
        scatter_index [k, s] int32, the row in y of each choice, 0 where the expert was full;
        expert_offset [e] int64, the running sum of how often each was chosen;
        expert_id [s, k] int32, the chosen.

    Raises:
        ValueError: x is not [s, d], or ``k`` is larger than e.

    Examples:
        >>> x, logits = argosy.to_tensor([[1.0], [2.0]]), argosy.to_tensor([[0.9, 0.1], [0.8, 0.2]])
        >>> F = argosy.incubate.nn.functional
        >>> y, weights, index, offset, chosen = F.moe_gate_dispatch(x, logits, None, 1, 1, True)
        >>> y.tolist(), index.tolist(), offset.tolist(), chosen.tolist()
        ([[1.0], [0.0]], [[0, 0]], [2, 2], [[0], [0]])
    """
    expert_id, weights = _choose("moe_gate_dispatch", x, gate_logits, corr_bias, k)
    experts = gate_logits.shape[1]
    place, counts = places(expert_id, experts, use_pad)
    row = place - tensor.gather(starts(counts), expert_id.reshape([-1])).reshape(place.shape)
    kept = row < capacity
    if use_pad:
        place = expert_id * capacity + row
    size = experts * capacity if use_pad else x.shape[0] * k
    y, _ = rows_at(x, place, kept, size)
    index = tensor.where(kept, place, tensor.zeros_like(place)).transpose([1, 0])
    return (
        y, (weights * kept.astype(weights.dtype)).astype("float32"), index.astype("int32"),
        tensor.cumsum(counts), expert_id.astype("int32"),
    )  # fmt: skip


def moe_gate_dispatch_permute(x, gate_logits, corr_bias, k, capacity, world_size, name=None):
    """:func:`moe_gate_dispatch` with padding, whose rows are ready to be exchanged between processes.

    Args:
        x, gate_logits, corr_bias, k, capacity: as there.
        world_size (int): of how many processes each has e / world_size experts in order.

    Returns:
        tuple: as there, but y is [e / world_size, world_size, capacity, d].

    Raises:
        ValueError: as there, or ``world_size`` does not divide e.

    Examples:
        >>> x, logits = argosy.ones([3, 2]), argosy.rand([3, 4])
        >>> F = argosy.incubate.nn.functional
        >>> F.moe_gate_dispatch_permute(x, logits, None, 1, 5, 2)[0].shape
        paddle.Size([2, 2, 5, 2])
    """
    experts = gate_logits.shape[-1]
    if world_size < 1 or experts % world_size:
        raise ArgumentError(
            f"[moe_gate_dispatch_permute] world_size: expected a divisor of {experts}, the number of"
            f" experts, got {world_size}. Do this: use as many experts in each process."
        )
    y, *rest = moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, True)
    y = y.reshape([world_size, experts // world_size, capacity, x.shape[1]])
    return y.transpose([1, 0, 2, 3]), *rest


def moe_gate_dispatch_and_quant(
    x, gate_logits, corr_bias, k, capacity, use_pad, use_pow2_scale
):  # fmt: skip
    """:func:`moe_gate_dispatch`, whose y is then quantized by :func:`fp8_quant_blockwise`.

    Args:
        x, gate_logits, corr_bias, k, capacity, use_pad: as there.
        use_pow2_scale (bool): whether scales are powers of two.

    Returns:
        tuple: y in float8_e4m3fn; its scales [rows, d / 128 rounded up] float32; and the others as there.

    Examples:
        >>> x, logits = argosy.ones([3, 128]), argosy.rand([3, 4])
        >>> F = argosy.incubate.nn.functional
        >>> y, scale, *_ = F.moe_gate_dispatch_and_quant(x, logits, None, 1, 2, True, True)
        >>> y.shape, y.dtype, scale.shape
        (paddle.Size([8, 128]), paddle.float8_e4m3fn, paddle.Size([8, 1]))
    """
    y, *rest = moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, use_pad)
    y, scale = fp8_quant_blockwise(y, output_scale_transpose=False, using_pow2_scale=use_pow2_scale)
    return y, scale, *rest


@beside
def moe_gate_dispatch_partial_nosoftmaxtopk(
    x,
    combine_weights,
    expert_id,
    k,
    capacity,
    num_experts,
    use_pad,
    expert_start_index,
    expert_end_index,
    reverse_token_drop,
    name=None,
):
    """Gives tokens to the experts of this process, where the choice was made before.

    Args:
        x (Tensor): [s, d], tokens.
        combine_weights (Tensor): [s, k] float32, weights of the chosen.
        expert_id (Tensor): [s, k] int32, the chosen.
        k (int): how many each token chose.
        capacity (int): how many tokens an expert takes; first choices go before second ones.
        num_experts (int): how many there are in all processes.
        use_pad (bool): whether each expert has exactly ``capacity`` rows in y.
        expert_start_index, expert_end_index (int): this process has those from the first to the one before
            the second.
        reverse_token_drop (bool): whether the last of an expert's choices are taken, not the first. Not
            together with use_pad.

    Returns:
        tuple: y [.., d], the rows of each expert in the order of tokens, with use_pad followed by zeros;
        combine_weights, 0 where the token was not taken; scatter_index [k, s] int32, the row in y of each
        choice, 0 where it was not taken; scatter_index_rev [rows of y] int32, the token of each row, s
        for none; [num_experts] int64, how often each was chosen; [num_experts] int64, how often each of
        this process was (without use_pad: how many rows it took).

    Raises:
        ValueError: x is not [s, d], or reverse_token_drop together with use_pad.

    Examples:
        >>> x, weights = argosy.to_tensor([[1.0], [2.0]]), argosy.ones([2, 1])
        >>> chosen = argosy.to_tensor([[1], [0]], dtype="int32")
        >>> F = argosy.incubate.nn.functional
        >>> y, weights, *_ = F.moe_gate_dispatch_partial_nosoftmaxtopk(
        ...     x, weights, chosen, 1, 2, 2, False, 1, 2, False)
        >>> y.tolist(), weights.tolist()
        ([[1.0]], [[1.0], [0.0]])
    """
    op = "moe_gate_dispatch_partial_nosoftmaxtopk"
    check_rows(op, x, [combine_weights, expert_id], k, num_experts)
    if use_pad:
        unsupported(
            op, "leave use_pad out, or take the first", reverse_token_drop=(reverse_token_drop, False)
        )  # fmt: skip
    chosen = expert_id.astype("int64")
    everywhere = places(chosen, num_experts, True)[1]
    here = tensor.logical_and(chosen >= expert_start_index, chosen < expert_end_index)
    chosen = tensor.where(here, chosen, tensor.full([1], num_experts, "int64"))
    place, counts = places(chosen, num_experts, True)
    first = tensor.concat([starts(counts), counts.sum().reshape([1])])
    row = place - tensor.gather(first, chosen.reshape([-1])).reshape(place.shape)
    if reverse_token_drop:
        many = tensor.concat([counts, tensor.zeros([1], "int64")])
        row = tensor.gather(many, chosen.reshape([-1])).reshape(place.shape) - 1 - row
    kept = tensor.logical_and(here, row < capacity)
    chosen = tensor.where(kept, chosen, tensor.full([1], num_experts, "int64"))
    place, taken = places(chosen, num_experts, False)
    if use_pad:
        row = place - tensor.gather(
            tensor.concat([starts(taken), taken.sum().reshape([1])]), chosen.reshape([-1])
        ).reshape(place.shape)
        place = (chosen - expert_start_index) * capacity + row
        size = (expert_end_index - expert_start_index) * capacity
    else:
        size, counts = int(taken.sum()), taken
    y, source = rows_at(x, place, kept, size)
    index = tensor.where(kept, place, tensor.zeros_like(place)).transpose([1, 0])
    return (
        y, combine_weights * kept.astype(combine_weights.dtype), index.astype("int32"),
        source.astype("int32"), everywhere, counts,
    )  # fmt: skip


@beside
def cal_aux_loss(
    gate_prob,
    dispatch_mask,
    tokens_mask,
    dispatch_tokens_mask,
    num_experts,
    use_group,
    moe_k,
    clip_min,
    name=None,
):
    """The loss that is smallest when all experts get as many tokens: num_experts times the sum over experts
    of (mean probability) * (share of the tokens).

    Args:
        gate_prob (Tensor): [s, e], probabilities, floating.
        dispatch_mask (Tensor): [e], how many tokens each expert got, or [s, e], which it got.
        tokens_mask (Tensor | None): [s], which rows are tokens; the mean is over these.
        dispatch_tokens_mask (Tensor | None): the same for the tokens that dispatch_mask counts, if these
            are others; the loss is then scaled by the ratio of their numbers, its gradient is not.
        num_experts (int): e.
        use_group (bool): whether the loss is divided by moe_k.
        moe_k (int): how many experts a token gets.
        clip_min (float): least number of tokens to divide by.

    Returns:
        tuple: the loss []; the number of tokens []; the share of each expert [e]. All of gate_prob's dtype.

    Examples:
        >>> probabilities, counts = argosy.full([4, 2], 0.5), argosy.to_tensor([2, 2])
        >>> F = argosy.incubate.nn.functional
        >>> loss, tokens, share = F.cal_aux_loss(probabilities, counts, None, None, 2, False, 1, 1e-6)
        >>> float(loss), float(tokens), share.tolist()
        (1.0, 4.0, [0.5, 0.5])
    """
    dtype = gate_prob.dtype
    rows = None if tokens_mask is None else tokens_mask.astype(dtype).sum()
    ratio = None
    if dispatch_tokens_mask is not None:
        tokens = dispatch_tokens_mask.astype(dtype).sum()
        if rows is not None and gate_prob.shape[0] != dispatch_tokens_mask.shape[0]:
            ratio = tokens / tensor.clip(rows, min=clip_min)
    elif rows is not None:
        tokens = rows
    else:
        tokens = tensor.full([], gate_prob.size / num_experts, dtype)
    tokens = tensor.clip(tokens, min=clip_min)
    counts = dispatch_mask.sum(0) if len(dispatch_mask.shape) == 2 else dispatch_mask
    share = counts.astype(dtype).detach() / tokens
    loss = (gate_prob.sum(0) / tokens * share).sum() * num_experts
    if use_group:
        loss = loss / moe_k
    if ratio is not None:
        loss = loss + (ratio - 1) * loss.detach()
    return loss, tokens, share


@beside
def expand_modality_expert_id(
    expert_id, num_expert_per_modality, group_size, modality_offset, is_group_expert, name=None
):
    """Numbers of experts among those of two modalities, where each process has as many of both.

    Args:
        expert_id (Tensor): [s, k], int32 or int64, numbers among the experts of one modality.
        num_expert_per_modality (int): how many of a modality a process has; 0 leaves numbers as they are.
        group_size (int): how many experts a group has.
        modality_offset (int): 0 or 1, the modality.
        is_group_expert (bool): whether column i counts from the first expert of group i.

    Returns:
        Tensor: like expert_id.

    Examples:
        >>> chosen = argosy.to_tensor([[0, 3]])
        >>> argosy.incubate.nn.functional.expand_modality_expert_id(chosen, 2, 4, 1, False).tolist()
        [[2, 7]]
    """
    chosen = expert_id
    if is_group_expert:
        groups = tensor.arange(expert_id.shape[1], dtype=expert_id.dtype)
        chosen = chosen + groups * group_size
    each = num_expert_per_modality
    if each <= 0:
        return tensor.assign(chosen)
    return chosen // each * (2 * each) + chosen % each + modality_offset * each


@beside
def build_src_rank_and_local_expert_id(
    expert_num_global_tensor, expert_num_global, num_local_experts, name=None
):
    """For each of the rows that experts of all processes give: from which process, of which of its experts.

    Args:
        expert_num_global_tensor (Tensor): [e] int64, how many rows each expert gives.
        expert_num_global (list[int]): the same.
        num_local_experts (int): how many experts a process has.

    Returns:
        (Tensor, Tensor): [n] int32 each.

    Raises:
        ValueError: the tensor and the list have different lengths.

    Examples:
        >>> counts = [1, 0, 2, 1]
        >>> F = argosy.incubate.nn.functional
        >>> ranks, experts = F.build_src_rank_and_local_expert_id(argosy.to_tensor(counts), counts, 2)
        >>> ranks.tolist(), experts.tolist()
        ([0, 1, 1, 1], [0, 0, 0, 1])
    """
    if expert_num_global_tensor.shape[0] != len(expert_num_global):
        raise ArgumentError(
            "[build_src_rank_and_local_expert_id] expert_num_global: expected as many numbers as the tensor"
            f" has, {expert_num_global_tensor.shape[0]}, got {len(expert_num_global)}. Do this: pass the"
            " tensor's numbers."
        )
    expert = tensor.repeat_interleave(
        tensor.arange(len(expert_num_global), dtype="int64"), expert_num_global_tensor
    )
    return tuple(
        part.astype("int32") for part in (expert // num_local_experts, expert % num_local_experts)
    )


@beside
def cross_entropy_with_softmax_bwd_w_downcast(label, softmax, loss_grad, name=None):
    """The gradient of cross entropy with respect to logits, rounded to bfloat16: (softmax - one hot) *
    loss_grad, 0 in rows whose label is -100.

    Args:
        label (Tensor): [.., 1], int32 or int64.
        softmax (Tensor): [.., classes], floating.
        loss_grad (Tensor): [.., 1].

    Returns:
        Tensor: like softmax, in bfloat16.

    Examples:
        >>> label, softmax = argosy.to_tensor([[1]]), argosy.to_tensor([[0.25, 0.75]])
        >>> F = argosy.incubate.nn.functional
        >>> F.cross_entropy_with_softmax_bwd_w_downcast(label, softmax, argosy.ones([1, 1])).tolist()
        [[0.25, -0.25]]
    """
    classes = tensor.arange(softmax.shape[-1], dtype=label.dtype)
    hit = (label == classes).astype("float32")
    grad = (softmax.astype("float32") - hit) * loss_grad.astype("float32")
    return (grad * (label != -100).astype("float32")).astype("bfloat16")
