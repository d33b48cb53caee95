"""Word vectors by skip-gram with negative sampling."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._generated.incubate import skip_gram

__all__ = ["skip_gram", "skip_gram_noise"]


def skip_gram_noise(counts, power=0.75):
    """The table that skip_gram draws negatives from.

    Args:
        counts (Tensor): How often each word occurs, [words].
        power (float): Words are drawn with probability proportional to ``counts ** power``.

    Returns:
        threshold float32 [words] and alias int64 [words].

    Raises:
        ValueError: a negative count, or zeros only.

    Examples:
        >>> threshold, alias = argosy.incubate.skip_gram_noise(argosy.to_tensor([1, 1]))
        >>> threshold.tolist()
        [1.0, 1.0]
    """
    weights = tensor.pow(tensor.to_tensor(counts).astype("float64"), float(power))
    return _core.ops.alias_table(weights)
