"""Fused softmaxes, and a marker of losses."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import check_choice, sizes_of
from argosy.nn import functional as F


def softmax_mask_fuse(x, mask, name=None):
    """Softmax of ``x + mask`` over the last dimension.

    Args:
        x (Tensor): [B, heads, S, T].
        mask (Tensor): [B, 1, S, T].

    Returns:
        Tensor like x.

    Raises:
        ValueError: x has not 4 dimensions.

    Examples:
        >>> x, mask = argosy.zeros([1, 1, 1, 2]), argosy.to_tensor([[[[0.0, -1e9]]]])
        >>> argosy.incubate.softmax_mask_fuse(x, mask).tolist()
        [[[[1.0, 0.0]]]]
    """
    if x.ndim != 4:
        raise ValueError(
            f"(InvalidArgument) [softmax_mask_fuse] x must be [B, heads, S, T], got {list(x.shape)}. Do"
            " this: use softmax(x + mask)."
        )
    return F.softmax(x + mask, -1)


@beside
def softmax_mask_fuse_upper_triangle(x):
    """Softmax over the last dimension with everything above the diagonal masked: i sees 0 to i.

    Args:
        x (Tensor): [B, heads, S, S].

    Returns:
        Tensor like x.

    Examples:
        >>> argosy.incubate.softmax_mask_fuse_upper_triangle(argosy.zeros([1, 1, 2, 2])).tolist()
        [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    size = sizes_of(x)[-1]
    hidden = tensor.triu(tensor.ones([size, size], dtype="bool"), 1)
    lowest = tensor.full([], float("-inf"), x.dtype)
    return F.softmax(tensor.where(hidden, lowest, x), -1)


def identity_loss(x, reduction="none"):
    """A tensor as a loss.

    Args:
        x (Tensor): the tensor.
        reduction (str | int): 'sum' (0), 'mean' (1) or 'none' (2).

    Returns:
        Tensor: 0-d, or x itself.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> argosy.incubate.identity_loss(argosy.to_tensor([1.0, 2.0]), "sum").item()
        3.0
    """
    reduction = {0: "sum", 1: "mean", 2: "none"}.get(reduction, reduction)
    check_choice("identity_loss", "reduction", reduction, ("sum", "mean", "none"))
    return x if reduction == "none" else getattr(tensor, reduction)(x)
