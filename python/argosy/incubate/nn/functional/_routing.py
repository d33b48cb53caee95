"""Which row of the experts' input each choice of a token takes."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import ArgumentError


@beside
def places(expert_id, num_experts, by_choice):
    """The places of choices when all are sorted by expert.

    Args:
        expert_id (Tensor): [s, k] integers; num_experts for a choice that goes nowhere.
        num_experts (int): how many there are.
        by_choice (bool): Whether those of an expert are first choices before second ones, .., and not
            in the order of tokens.

    Returns:
        (Tensor, Tensor): [s, k], the places; [num_experts], how often each expert was chosen.
    """
    s, k = expert_id.shape
    experts = expert_id.astype("int64")
    order = tensor.arange(s * k, dtype="int64")
    order = order.reshape([k, s]).transpose([1, 0]) if by_choice else order.reshape([s, k])
    key = (experts * (s * k) + order).reshape([-1])
    place = tensor.argsort(tensor.argsort(key)).reshape([s, k])
    chosen = experts.reshape([-1, 1]) == tensor.arange(num_experts, dtype="int64")
    return place, chosen.astype("int64").sum(0)


def starts(counts):
    """Where each expert's choices begin in the sorted list: [e]."""
    return tensor.cumsum(counts) - counts


@beside
def rows_at(x, place, kept, size):
    """A tensor of ``size`` rows: at place[i, j] row i of x where kept[i, j], others are zero.

    Args:
        x (Tensor): [s, d].
        place, kept (Tensor): [s, k].

    Returns:
        (Tensor, Tensor): [size, d], and [size] int64, whose row each is (s for none).
    """
    s, k = place.shape
    source = tensor.arange(s, dtype="int64").unsqueeze(1).expand([s, k])
    nowhere = tensor.full([1], size, "int64")
    index = tensor.where(kept, place, nowhere).reshape([-1])
    found = tensor.put_along_axis(
        tensor.full([size + 1], s, "int64"), index, source.reshape([-1]), 0, broadcast=False
    )[:size]
    padded = tensor.concat([x, tensor.zeros([1, x.shape[1]], x.dtype)])
    return tensor.gather(padded, found), found


def check_rows(name, x, others, k, num_experts):
    """Raises unless x is [s, d], others have s rows, and k experts can be chosen."""
    if len(x.shape) != 2 or any(len(o.shape) != 2 or o.shape[0] != x.shape[0] for o in others):
        shapes = ", ".join(str(list(o.shape)) for o in others)
        raise ArgumentError(
            f"[{name}] x: expected [tokens, d] and as many rows in the choices, got {list(x.shape)} and"
            f" {shapes}. Do this: reshape x to [-1, d]."
        )
    if not 0 < k <= num_experts:
        raise ArgumentError(
            f"[{name}] k: expected 1 to {num_experts}, the number of experts, got {k}. Do this: choose"
            " fewer."
        )
