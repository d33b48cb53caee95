"""Clipping every element of the gradients of parameters, in place."""

from __future__ import annotations

from argosy._core import Tensor
from argosy.autograd import no_grad

__all__ = []


def clip_grad_value_(parameters, clip_value):
    """Keep every element of the gradients within [-clip_value, clip_value], in place.

    Args:
        parameters: a tensor or an iterable of tensors; those without gradient are left out.
        clip_value (float): largest absolute value.

    Raises:
        ValueError: ``clip_value`` is negative.

    Examples:
        >>> x = argosy.create_parameter([2], "float32")
        >>> (x * argosy.to_tensor([3.0, -0.2])).sum().backward()
        >>> argosy.nn.utils.clip_grad_value_([x], 1.0)
        >>> x.grad.tolist()
        [1.0, -0.2]
    """
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    clip_value = float(clip_value)
    if clip_value < 0:
        raise ValueError(
            f"[clip_grad_value_] clip_value: expected a number >= 0, got {clip_value}. Do "
            "this: pass the largest absolute value to allow."
        )
    with no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.clip_(min=-clip_value, max=clip_value)
