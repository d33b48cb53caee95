"""Normalizations with what stands before them."""

from __future__ import annotations

from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.nn import functional as F

from ._check import NOT_QUANTIZED, no_quantization


def _flat_norm(function, x, begin, *parameters):
    axis = begin if begin >= 0 else begin + x.ndim
    return function(x, list(x.shape[axis:]), *parameters)


def _residual(x, bias, residual, alpha=1.0):
    if bias is not None:
        x = x + bias
    if residual is not None:
        x = x + (residual if alpha == 1.0 else alpha * residual)
    return x


def fused_rms_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """Root mean square normalization (arXiv:1910.07467) of ``x + bias + residual`` over the
    dimensions from begin_norm_axis on, times norm_weight, plus norm_bias.

    Returns:
        the result, and ``x + bias + residual`` (None without a residual).
    """
    no_quantization("fused_rms_norm", quant_scale=(quant_scale, -1))
    no_effect(
        "fused_rms_norm", NOT_QUANTIZED, quant_round_type=(quant_round_type, 0),
        quant_max_bound=(quant_max_bound, 0), quant_min_bound=(quant_min_bound, 0),
    )  # fmt: skip
    total = _residual(x, bias, residual)
    axis = begin_norm_axis if begin_norm_axis >= 0 else begin_norm_axis + x.ndim
    sizes = list(x.shape[axis:])
    result = F.rms_norm(total, sizes, norm_weight.reshape(sizes), epsilon)
    if norm_bias is not None:
        result = result + norm_bias.reshape(sizes)
    return result, (None if residual is None else total)


def fused_layer_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    residual_alpha=1.0,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """Layer normalization of ``x + bias + residual_alpha * residual`` over the dimensions from
    begin_norm_axis on. Without norm_weight and norm_bias only the sum is computed.

    Returns:
        the result, the sum (None without a residual), and the mean and the variance of each row.
    """
    no_quantization("fused_layer_norm", quant_scale=(quant_scale, -1))
    no_effect(
        "fused_layer_norm", NOT_QUANTIZED, quant_round_type=(quant_round_type, 0),
        quant_max_bound=(quant_max_bound, 0), quant_min_bound=(quant_min_bound, 0),
    )  # fmt: skip
    total = _residual(x, bias, residual, residual_alpha)
    kept = None if residual is None else total
    if norm_weight is None and norm_bias is None:
        return total, kept
    result = _flat_norm(F.layer_norm, total, begin_norm_axis, norm_weight, norm_bias, epsilon)
    axis = begin_norm_axis if begin_norm_axis >= 0 else begin_norm_axis + x.ndim
    axes = list(range(axis, x.ndim))
    with no_grad():
        mean = total.mean(axes).reshape([-1])
        variance = ((total - total.mean(axes, keepdim=True)) ** 2).mean(axes).reshape([-1])
    return result, kept, mean, variance


def fused_dropout_add(x, y, p=0.5, training=True, mode="upscale_in_train", name=None):
    """``dropout(x) + y``."""
    return F.dropout(x, p, training=training, mode=mode) + y


def fused_bias_dropout_residual_layer_norm(
    x,
    residual,
    bias=None,
    ln_scale=None,
    ln_bias=None,
    dropout_rate=0.5,
    ln_epsilon=1e-5,
    training=True,
    mode="upscale_in_train",
    name=None,
):
    """``layer_norm(residual + dropout(x + bias))`` over the last dimension."""
    x = x if bias is None else x + bias
    total = residual + F.dropout(x, dropout_rate, training=training, mode=mode)
    return F.layer_norm(total, total.shape[-1], ln_scale, ln_bias, ln_epsilon)
