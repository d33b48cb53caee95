"""Tensors shared with other libraries through DLPack."""

from __future__ import annotations

from argosy._core import Tensor
from argosy._support import is_operand

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(x):
    """A DLPack capsule on the storage of a tensor.

    Args:
        x (Tensor): on the CPU.

    Returns:
        A capsule, which one library takes over.

    Raises:
        TypeError: ``x`` is no tensor.

    Examples:
        >>> x = argosy.ones([2])
        >>> y = argosy.from_dlpack(argosy.to_dlpack(x))
        >>> y[0] = 5.0
        >>> x.tolist()
        [5.0, 1.0]
    """
    if not is_operand(x):
        raise TypeError(
            f"[to_dlpack] x: expected a Tensor, got {type(x).__name__}. Do this: make it one with"
            " argosy.to_tensor(..)."
        )
    return x.__dlpack__()


def from_dlpack(dlpack, *, device=None, copy=None):
    """A tensor on the storage of a DLPack capsule or of an object that makes one.

    Args:
        dlpack: capsule, or object with ``__dlpack__``.
        device: where the tensor should be; None: where the data is.
        copy: True copies; False raises if a copy would be needed; None copies if needed.

    Returns:
        Tensor.

    Examples:
        >>> argosy.from_dlpack(np.ones([2], "float32")).tolist()
        [1.0, 1.0]
    """
    return Tensor._from_dlpack(dlpack, device=device, copy=copy)
