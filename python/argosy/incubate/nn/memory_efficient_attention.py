"""Attention that keeps no matrix of scores."""

from argosy import _core

__all__ = ["memory_efficient_attention"]


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, training=True):
    """softmax(scale * query key^T + attn_bias) value for each head, computed in blocks
    (Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory", 2021).

    Args:
        query, key, value (Tensor): [batch, length, heads, features of a head].
        attn_bias (Tensor, optional): Added to the scores; broadcast to
            [batch, heads, query length, key length].
        p (float): Probability of dropping a weight while training.
        scale (float, optional): None is 1 / sqrt(features of a head).
        training (bool): Whether to drop.

    Returns:
        Tensor: [batch, query length, heads, features of a head].

    Raises:
        TypeError: attn_bias is neither a Tensor nor None.

    Examples:
        >>> from argosy.incubate.nn.memory_efficient_attention import memory_efficient_attention
        >>> x = argosy.ones([1, 2, 1, 4])
        >>> memory_efficient_attention(x, x, x).flatten().tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if attn_bias is not None and not isinstance(attn_bias, _core.Tensor):
        raise TypeError(
            "[memory_efficient_attention] attn_bias: expected a Tensor or None, got "
            f"{type(attn_bias).__name__}. Do this: pass the mask as a tensor that is added."
        )
    return _core.ops.scaled_dot_product_attention(
        query, key, value, attn_bias, float(p) if training else 0.0, False, scale or 0.0, False
    )
