"""Products with biases."""

from __future__ import annotations

from argosy import tensor
from argosy.nn import functional as F


def fused_matmul_bias(x, y, bias=None, transpose_x=False, transpose_y=False, name=None):
    """``x @ y + bias``; see argosy.matmul."""
    product = tensor.matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else product + bias


def fused_linear(x, weight, bias=None, transpose_weight=False, name=None):
    """``x @ weight + bias`` with weight [in, out], or [out, in] with transpose_weight."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(x, y, bias, trans_x=False, trans_y=False, activation=None):
    """``activation(x @ y + bias)``; activation: 'gelu', 'relu' or None."""
    if activation not in (None, "none", "gelu", "relu"):
        raise ValueError(
            f"[fused_linear_activation] activation must be gelu, relu or none, got {activation!r}."
            " Do this: apply the function to fused_linear(..)."
        )
    result = fused_matmul_bias(x, y, bias, trans_x, trans_y)
    return result if activation in (None, "none") else getattr(F, activation)(result)
