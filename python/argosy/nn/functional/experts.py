"""Rows of tokens in the order of experts, and back."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import ArgumentError, unsupported

__all__ = ["moe_permute", "moe_unpermute"]


def _bases(tokens_per_expert, alignment):
    """Where the rows of each expert begin, and where the last ones end, padding included."""
    bases = [0]
    for count in tokens_per_expert:
        bases.append(bases[-1] + -(-int(count) // alignment) * alignment)
    return bases


@beside
def moe_permute(
    hidden_states,
    scale,
    expert_routemap_topk,
    expert_prob_topk,
    num_experts,
    tokens_per_expert,
    padding_alignment,
    do_gather=True,
    using_ue8m0_scale=False,
    return_expert_indices=False,
    override_buffer_size=-1,
    name=None,
):
    """Copies each token to the rows of the experts that it goes to: those of expert 0 come first, each
    expert's in the order of tokens, followed by zeros up to a multiple of padding_alignment.

    Args:
        hidden_states (Tensor): [s, d], tokens.
        scale (Tensor | None): [s, n], factors of tokens of 8 bits; they go the same way.
        expert_routemap_topk (Tensor): [s, k] int32, experts of each token, -1 for none.
        expert_prob_topk (Tensor): [s, k] float32, their weights.
        num_experts (int): how many there are.
        tokens_per_expert (list[int]): how many rows each gets.
        padding_alignment (int): number that the rows of an expert are filled up to a multiple of.
        do_gather (bool): only True.
        using_ue8m0_scale (bool): whether ``scale`` has exponents, four in an int32; they are copied as
            they are.
        return_expert_indices (bool): whether the expert of each row is returned, too.
        override_buffer_size (int): how many rows there are, if it is positive.

    Returns:
        tuple: [rows, d]; [s, num_experts] int32, the row of each token at each expert, -1 for none; [rows],
        the weights; [rows, n], the factors (empty without ``scale``); and with return_expert_indices
        [rows] int32, the experts, -1 where zeros are.

    Raises:
        ValueError: tokens_per_expert is not what expert_routemap_topk has, override_buffer_size is too
            small, or padding_alignment is not positive.
        NotImplementedError: ``do_gather`` is False.

    Example:
        >>> x, route = argosy.to_tensor([[1.0], [2.0]]), argosy.to_tensor([[1, 0], [1, -1]], dtype="int32")
        >>> F = argosy.nn.functional
        >>> rows, places, weights, _ = F.moe_permute(x, None, route, argosy.ones([2, 2]), 2, [1, 2], 2)
        >>> rows.tolist(), places.tolist()
        ([[1.0], [0.0], [1.0], [2.0]], [[0, 2], [-1, 3]])
    """
    op = "moe_permute"
    unsupported(
        op, "leave it out; the rows are copied here", do_gather=(do_gather, True)
    )  # fmt: skip
    if padding_alignment < 1:
        raise ArgumentError(
            f"[{op}] padding_alignment: expected 1 or more, got {padding_alignment}. Do this: pass 1 for no padding."
        )
    bases = _bases(tokens_per_expert, padding_alignment)
    size = override_buffer_size if override_buffer_size > 0 else bases[-1]
    experts = tensor.arange(num_experts, dtype="int64")
    hits = expert_routemap_topk.astype("int64").unsqueeze(-1) == experts  # [s, k, experts]
    goes = hits.any(1)
    counts = goes.astype("int64").sum(0)
    if not counts._symbolic and counts.tolist() != [int(count) for count in tokens_per_expert]:
        raise ArgumentError(
            f"[{op}] tokens_per_expert: expected {counts.tolist()}, which is what expert_routemap_topk has,"
            f" got {list(tokens_per_expert)}. Do this: count the rows of each expert."
        )
    if size < bases[-1]:
        raise ArgumentError(
            f"[{op}] override_buffer_size: expected at least {bases[-1]}, got {override_buffer_size}. Do"
            " this: leave it out."
        )
    place = tensor.cumsum(goes.astype("int64"), 0) - 1 + tensor.to_tensor(bases[:-1])
    tokens = hidden_states.shape[0]
    nowhere = tensor.full([1], size, "int64")
    index = tensor.where(goes, place, nowhere).reshape([-1])

    def put(filler, values):
        """values [s, experts] where their rows are, filler elsewhere."""
        base = tensor.full([size + 1], filler, values.dtype)
        values = values.reshape([-1])
        return tensor.put_along_axis(base, index, values, 0, broadcast=False)[:size]

    everyone = tensor.arange(tokens, dtype="int64").unsqueeze(1).expand([tokens, num_experts])
    source = put(tokens, everyone)

    def copied(x):
        zeros = tensor.zeros([1, x.shape[1]], "float32").astype(x.dtype)
        return tensor.gather(tensor.concat([x, zeros]), source)

    weights = (expert_prob_topk.unsqueeze(-1) * hits.astype(expert_prob_topk.dtype)).sum(1)
    if scale is None:
        factors = tensor.zeros([0], "int32" if using_ue8m0_scale else "float32")
    else:
        factors = copied(scale)
    result = (
        copied(hidden_states),
        tensor.where(goes, place, tensor.full([1], -1, "int64")).astype("int32"),
        put(0.0, weights),
        factors,
    )
    if not return_expert_indices:
        return result
    return *result, put(-1, experts.unsqueeze(0).expand([tokens, num_experts])).astype("int32")


@beside
def moe_unpermute(
    hidden_states_unzipped,
    zipped_expertwise_rowmap,
    expert_routemap_topk,
    token_prob_unzipped,
    total_zipped_tokens,
    num_experts,
    using_mix_precision=True,
    using_weighted_combine=False,
    name=None,
):
    """Adds up the rows that experts made of each token, which :func:`moe_permute` has sent to them.

    Args:
        hidden_states_unzipped (Tensor): [rows, d].
        zipped_expertwise_rowmap (Tensor): [s, num_experts] int32, the row of each token at each expert, -1
            for none.
        expert_routemap_topk (Tensor): [s, k] int32, experts of each token, -1 for none.
        token_prob_unzipped (Tensor): [rows] or [rows, 1] float32, weights.
        total_zipped_tokens (int): s.
        num_experts (int): how many there are.
        using_mix_precision (bool): whether sums are in float32, else in the dtype of the rows.
        using_weighted_combine (bool): whether rows are multiplied by their weights.

    Returns:
        (Tensor, Tensor): [s, d], the sums; [s, k], the weights, 0 where there is no expert.

    Raises:
        ValueError: zipped_expertwise_rowmap is not [total_zipped_tokens, num_experts].

    Example:
        >>> rows, places = argosy.to_tensor([[1.0], [2.0], [4.0]]), argosy.to_tensor([[0, 2], [-1, 1]])
        >>> route, weights = argosy.to_tensor([[1, 0], [1, -1]]), argosy.to_tensor([0.5, 1.0, 0.25])
        >>> sums, back = argosy.nn.functional.moe_unpermute(rows, places, route, weights, 2, 2)
        >>> sums.tolist(), back.tolist()
        ([[5.0], [2.0]], [[0.25, 0.5], [1.0, 0.0]])
    """
    places = zipped_expertwise_rowmap.astype("int64")
    if list(places.shape) != [total_zipped_tokens, num_experts]:
        raise ArgumentError(
            "[moe_unpermute] zipped_expertwise_rowmap: expected [total_zipped_tokens, num_experts], which is"
            f" {[total_zipped_tokens, num_experts]}, got {list(places.shape)}. Do this: pass what"
            " moe_permute gave."
        )
    there = places >= 0
    index = tensor.where(there, places, tensor.zeros([1], "int64"))
    rows = hidden_states_unzipped
    if using_mix_precision and rows.dtype.name.lower() in ("float16", "bfloat16"):
        rows = rows.astype("float32")
    probabilities = token_prob_unzipped.reshape([-1])
    if using_weighted_combine:
        rows = rows * probabilities.unsqueeze(1).astype(rows.dtype)
    total = None
    for expert in range(num_experts):
        part = tensor.gather(rows, index[:, expert])
        part = tensor.where(there[:, expert].unsqueeze(1), part, tensor.zeros([1], part.dtype))
        total = part if total is None else total + part
    chosen = expert_routemap_topk.astype("int64")
    some = chosen >= 0
    at = tensor.take_along_axis(
        index, tensor.where(some, chosen, tensor.zeros([1], "int64")), 1, broadcast=False
    )
    back = tensor.gather(probabilities, at.reshape([-1])).reshape(at.shape)
    back = tensor.where(some, back, tensor.zeros([1], back.dtype))
    return total.astype(hidden_states_unzipped.dtype), back
