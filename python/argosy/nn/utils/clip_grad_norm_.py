"""Clipping the gradients of parameters by their common norm, in place."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._support import check_choice
from argosy.autograd import no_grad

__all__ = []


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scale all gradients together, in place, when their common norm exceeds ``max_norm``.

    Args:
        parameters: a tensor or an iterable of tensors; those without gradient are left out.
        max_norm (float): largest common norm.
        norm_type (float): inf, 0, 1 or 2.
        error_if_nonfinite (bool): raise when the norm is infinite or no number.

    Returns:
        The common norm before clipping, 0-d.

    Raises:
        ValueError: another ``norm_type``.
        RuntimeError: see ``error_if_nonfinite``.

    Examples:
        >>> x = argosy.create_parameter([2], "float32")
        >>> (x * argosy.to_tensor([3.0, 4.0])).sum().backward()
        >>> argosy.nn.utils.clip_grad_norm_([x], max_norm=1.0).item(), x.grad.tolist()
        (5.0, [0.6, 0.8])
    """
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    check_choice("clip_grad_norm_", "norm_type", norm_type, (float("inf"), 0, 1, 2))
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return tensor.to_tensor(0.0)
    with no_grad():
        return _core.ops.clip_grad_norm_(
            grads, float(max_norm), float(norm_type), bool(error_if_nonfinite)
        )
