"""Masks and other helpers of sequence models."""

from __future__ import annotations

from argosy import _core, tensor


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last axis of ``input`` on a diagonal and zeros elsewhere.

    Args:
        input: [.., n].
        offset (int): which diagonal; positive ones lie above the main one.
        dim1, dim2 (int): axes of the matrices in the result.

    Returns:
        Tensor with one axis more, of sizes n + abs(offset) on dim1 and dim2.

    Examples:
        >>> argosy.nn.functional.diag_embed(argosy.to_tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    return tensor.diag_embed(input, offset, dim1, dim2)


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """``mask[..., j] = j < x[...]``.

    Args:
        x: lengths, an integer tensor.
        maxlen: size of the last axis, int or tensor; None: the largest length.
        dtype: dtype of the mask.

    Returns:
        Tensor [*x.shape, maxlen].

    Examples:
        >>> argosy.nn.functional.sequence_mask(argosy.to_tensor([1, 3])).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    return _core.ops.sequence_mask(x, -1 if maxlen is None else maxlen, dtype)
