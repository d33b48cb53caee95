"""Products with biases."""

from __future__ import annotations

from argosy import tensor
from argosy.nn import functional as F


def fused_matmul_bias(x, y, bias=None, transpose_x=False, transpose_y=False, name=None):
    """``x @ y + bias``.

    Args:
        x, y (Tensor): as of :func:`argosy.matmul`.
        bias (Tensor, optional): broadcast to the product.
        transpose_x, transpose_y (bool): transpose the last two axes first.

    Returns:
        Tensor: the sum.

    Examples:
        >>> eye = argosy.eye(2)
        >>> argosy.incubate.nn.functional.fused_matmul_bias(eye, eye, argosy.ones([2])).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
    """
    product = tensor.matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else product + bias


def fused_linear(x, weight, bias=None, transpose_weight=False, name=None):
    """``x @ weight + bias``.

    Args:
        x (Tensor): [.., in].
        weight (Tensor): [in, out], or [out, in] with transpose_weight.
        bias (Tensor, optional): [out].
        transpose_weight (bool): see ``weight``.

    Returns:
        Tensor [.., out].

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> F.fused_linear(argosy.ones([1, 2]), argosy.ones([3, 2]), transpose_weight=True).tolist()
        [[2.0, 2.0, 2.0]]
    """
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(x, y, bias, trans_x=False, trans_y=False, activation=None):
    """``activation(x @ y + bias)``.

    Args:
        x, y (Tensor): as of :func:`argosy.matmul`.
        bias (Tensor): broadcast to the product.
        trans_x, trans_y (bool): transpose the last two axes first.
        activation (str, optional): 'gelu', 'relu', or 'none' or None.

    Returns:
        Tensor: the result.

    Raises:
        ValueError: the activation is another one.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> bias = argosy.to_tensor([-2.0, 1.0])
        >>> F.fused_linear_activation(argosy.eye(2), argosy.eye(2), bias, activation="relu").tolist()
        [[0.0, 1.0], [0.0, 2.0]]
    """
    if activation not in (None, "none", "gelu", "relu"):
        raise ValueError(
            f"[fused_linear_activation] activation must be gelu, relu or none, got {activation!r}."
            " Do this: apply the function to fused_linear(..)."
        )
    result = fused_matmul_bias(x, y, bias, trans_x, trans_y)
    return result if activation in (None, "none") else getattr(F, activation)(result)
