"""Functions over rows that Paddle has as kernels of GPUs, composed of ops: normalization that also
gives its statistics, counts, and sums of rows by number."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import ArgumentError

__all__ = []


def _wide(x):
    return x.astype("float64" if x.dtype == "float64" else "float32")


def fast_ln(x, scale, bias, epsilon=1e-5):
    """Layer normalization over the last dimension, and its statistics.

    Args:
        x (Tensor): [.., n], floating.
        scale, bias (Tensor): [n].
        epsilon (float): Added to the variance.

    Returns:
        tuple: y like x; mean and 1 / sqrt(variance + epsilon) of each row [..], in float32 or wider.

    Examples:
        >>> x, one, zero = argosy.to_tensor([[1.0, 3.0]]), argosy.ones([2]), argosy.zeros([2])
        >>> y, mean, inverse = argosy.incubate.nn.functional.fast_ln(x, one, zero)
        >>> y.tolist(), mean.tolist(), inverse.tolist()
        ([[-1.0, 1.0]], [2.0], [1.0])
    """
    wide = _wide(x)
    mean = wide.mean(-1, keepdim=True)
    centred = wide - mean
    inverse = tensor.rsqrt((centred * centred).mean(-1, keepdim=True) + epsilon)
    y = centred * inverse * scale.astype(wide.dtype) + bias.astype(wide.dtype)
    return y.astype(x.dtype), mean.squeeze(-1), inverse.squeeze(-1)


def fast_rms_norm(x, scale, epsilon=1e-5):
    """RMS normalization over the last dimension, and its statistic.

    Args:
        x (Tensor): [.., n], floating.
        scale (Tensor): [n].
        epsilon (float): Added to the mean of squares.

    Returns:
        tuple: y like x, and 1 / sqrt(mean of squares + epsilon) of each row [..].

    Examples:
        >>> y, inverse = argosy.incubate.nn.functional.fast_rms_norm(argosy.ones([1, 2]), argosy.ones([2]))
        >>> y.tolist(), inverse.tolist()
        ([[1.0, 1.0]], [1.0])
    """
    wide = _wide(x)
    inverse = tensor.rsqrt((wide * wide).mean(-1, keepdim=True) + epsilon)
    return (wide * inverse * scale.astype(wide.dtype)).astype(x.dtype), inverse.squeeze(-1)


def fused_rms_norm_ext(x, scale, epsilon=1e-5, name=None):
    """:func:`fast_rms_norm` under its second name.

    Args:
        x, scale, epsilon: as there.

    Returns:
        tuple: as there.

    Examples:
        >>> x, one = argosy.ones([1, 2]), argosy.ones([2])
        >>> argosy.incubate.nn.functional.fused_rms_norm_ext(x, one)[0].tolist()
        [[1.0, 1.0]]
    """
    return fast_rms_norm(x, scale, epsilon)


@beside
def int_bincount(x, low, high, dtype=None, name=None):
    """How often each integer from low to high - 1 is in x; others do not count.

    Args:
        x (Tensor): integers of any shape.
        low, high (int): low < high.
        dtype (optional): Of the counts; that of x if None.

    Returns:
        Tensor: [high - low].

    Raises:
        ValueError: ``low`` is not below ``high``.

    Examples:
        >>> x = argosy.to_tensor([0, 2, 2, 9])
        >>> argosy.incubate.nn.functional.int_bincount(x, 0, 4).tolist()
        [1, 0, 2, 0]
    """
    if not low < high:
        raise ArgumentError(
            f"[int_bincount] low and high: expected low < high, got {low} and {high}."
            " Do this: swap them."
        )
    values = tensor.arange(low, high, 1, x.dtype)
    equal = tensor.unsqueeze(tensor.reshape(x, [-1]), 1) == values
    return equal.astype("int64").sum(0).astype(x.dtype if dtype is None else dtype)


def blha_get_max_len(seq_lens_encoder, seq_lens_decoder, batch_size):
    """The longest sequence of the encoder and of the decoder.

    Args:
        seq_lens_encoder, seq_lens_decoder (Tensor): lengths, at least as many as the batch has.
        batch_size (Tensor): [b] of any dtype: its first dimension is the size of the batch.

    Returns:
        tuple: two tensors [1] of int32.

    Examples:
        >>> lengths, batch = argosy.to_tensor([3, 5, 9]), argosy.zeros([2])
        >>> longest = argosy.incubate.nn.functional.blha_get_max_len(lengths, lengths, batch)
        >>> [one.tolist() for one in longest]
        [[5], [5]]
    """
    count = batch_size.shape[0]
    return tuple(
        tensor.reshape(tensor.max(tensor.reshape(lengths, [-1])[:count]), [1]).astype("int32")
        for lengths in (seq_lens_encoder, seq_lens_decoder)
    )


def moe_combine(x, combine_weights, scatter_index, name=None):
    """Weighted sums of the rows that experts made for each token.

    Args:
        x (Tensor): [n, d]: rows of all experts.
        combine_weights (Tensor): [s, k]: weight of each of a token's k rows.
        scatter_index (Tensor): [k, s] integers: where in x these rows are.

    Returns:
        Tensor: [s, d].

    Examples:
        >>> x, weights = argosy.to_tensor([[1.0], [3.0]]), argosy.to_tensor([[0.5, 0.5]])
        >>> argosy.incubate.nn.functional.moe_combine(x, weights, argosy.to_tensor([[0], [1]])).tolist()
        [[2.0]]
    """
    rows = tensor.gather(x, tensor.reshape(tensor.transpose(scatter_index, [1, 0]), [-1]))
    tokens, k = combine_weights.shape
    rows = tensor.reshape(rows, [tokens, k, x.shape[1]])
    return (rows * tensor.unsqueeze(combine_weights.astype(x.dtype), -1)).sum(1)


def embedding_grad_add_to_(token_indices, main_grad_, out_grad, name=None):
    """Adds each row of out_grad to the row of main_grad_ that its token names, in place.

    Args:
        token_indices (Tensor): integers, one for each row of out_grad.
        main_grad_ (Tensor): [vocabulary, d], written.
        out_grad (Tensor): [.., d].

    Returns:
        Tensor: main_grad_.

    Examples:
        >>> table, rows = argosy.zeros([3, 1]), argosy.to_tensor([[1.0], [2.0]])
        >>> F = argosy.incubate.nn.functional
        >>> F.embedding_grad_add_to_(argosy.to_tensor([2, 2]), table, rows).tolist()
        [[0.0], [0.0], [3.0]]
    """
    rows = tensor.reshape(out_grad, [-1, main_grad_.shape[1]]).astype(main_grad_.dtype)
    added = tensor.index_add(main_grad_, tensor.reshape(token_indices, [-1]), 0, rows)
    return tensor.assign(added, main_grad_)
