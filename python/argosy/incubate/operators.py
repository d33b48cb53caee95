"""Fused softmaxes, and a marker of losses."""

from __future__ import annotations

from argosy import tensor
from argosy._support import check_choice, sizes_of
from argosy.nn import functional as F


def softmax_mask_fuse(x, mask, name=None):
    """Softmax of ``x + mask`` over the last dimension; x [B, heads, S, T], mask [B, 1, S, T]."""
    return F.softmax(x + mask, -1)


def softmax_mask_fuse_upper_triangle(x):
    """Softmax of x [B, heads, S, S] over the last dimension with everything above the diagonal
    masked: position i sees positions 0 to i."""
    size = sizes_of(x)[-1]
    hidden = tensor.triu(tensor.ones([size, size], dtype="bool"), 1)
    lowest = tensor.full([], float("-inf"), x.dtype)
    return F.softmax(tensor.where(hidden, lowest, x), -1)


def identity_loss(x, reduction="none"):
    """x as a loss: its sum (0), mean (1) or itself (2); the names may be given instead."""
    reduction = {0: "sum", 1: "mean", 2: "none"}.get(reduction, reduction)
    check_choice("identity_loss", "reduction", reduction, ("sum", "mean", "none"))
    return x if reduction == "none" else getattr(tensor, reduction)(x)
