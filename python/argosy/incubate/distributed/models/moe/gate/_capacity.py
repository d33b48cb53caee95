"""Tokens beyond what experts can take."""

from __future__ import annotations

import math

from argosy import tensor
from argosy.nn import functional as F


def within_capacity(experts, count, capacity):
    """experts [N, k], with -1 for each token beyond the first ``capacity`` of an expert.

    Args:
        count (int): how many experts there are.
    """
    flat = tensor.reshape(experts, [-1])
    chosen = F.one_hot(flat, count)
    number = tensor.sum(tensor.cumsum(chosen, 0) * chosen, axis=1)  # from 1, of its expert's tokens
    kept = tensor.where(number <= capacity, flat, tensor.full_like(flat, -1))
    return tensor.reshape(kept, experts.shape)


def capacity_of(tokens, rates, training):
    """How many tokens an expert takes: the first rate is for training."""
    return math.ceil(rates[0 if training else 1] * tokens)
