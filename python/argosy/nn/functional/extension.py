"""Masks and other helpers of sequence models."""

from __future__ import annotations

from argosy import _core, tensor


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last axis of ``input`` on a diagonal and zeros elsewhere."""
    return tensor.diag_embed(input, offset, dim1, dim2)


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """``mask[..., j] = j < x[...]``.

    Args:
        x: lengths, an integer tensor.
        maxlen: size of the last axis, int or tensor; None: the largest length.
        dtype: dtype of the mask.
    """
    return _core.ops.sequence_mask(x, -1 if maxlen is None else maxlen, dtype)
