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
    """Root mean square normalization of ``x + bias + residual``, times norm_weight, plus norm_bias.

    Args:
        x (Tensor): floating.
        norm_weight (Tensor): of the sizes that are normalized over.
        norm_bias (Tensor, optional): likewise.
        epsilon (float): added to the mean of squares.
        begin_norm_axis (int): the dimensions from here on are normalized together.
        bias, residual (Tensor, optional): broadcast to x.
        quant_scale (float): only -1, no quantization.
        quant_round_type, quant_max_bound, quant_min_bound: have no effect.

    Returns:
        (the result, ``x + bias + residual`` or None without a residual).

    Raises:
        NotImplementedError: ``quant_scale`` is given.

    Paper: Zhang and Sennrich, arXiv:1910.07467.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> out, total = F.fused_rms_norm(argosy.to_tensor([[3.0, 4.0]]), argosy.ones([2]), None, 1e-6)
        >>> out.tolist(), total
        ([[0.8485, 1.1314]], None)
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
    """Layer normalization of ``x + bias + residual_alpha * residual``.

    Without norm_weight and norm_bias only the sum is computed.

    Args:
        x (Tensor): floating.
        norm_weight, norm_bias (Tensor, optional): of the sizes that are normalized over.
        epsilon (float): added to the variance.
        residual_alpha (float): see above.
        begin_norm_axis (int): the dimensions from here on are normalized together.
        bias, residual (Tensor, optional): broadcast to x.
        quant_scale (float): only -1, no quantization.
        quant_round_type, quant_max_bound, quant_min_bound: have no effect.

    Returns:
        (the result, the sum or None without a residual, mean and variance of each row); without weight
        and
        bias (the sum, the sum or None).

    Raises:
        NotImplementedError: ``quant_scale`` is given.

    Paper: Ba, Kiros and Hinton, arXiv:1607.06450.

    Examples:
        >>> x, one = argosy.to_tensor([[1.0, 3.0]]), argosy.ones([2])
        >>> out, total, mean, variance = argosy.incubate.nn.functional.fused_layer_norm(x, one, None, 1e-6)
        >>> out.tolist(), mean.tolist(), variance.tolist()
        ([[-1.0, 1.0]], [2.0], [1.0])
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
    """``dropout(x) + y``.

    Args:
        x, y (Tensor): alike, floating.
        p (float): probability that an element of x becomes zero.
        training (bool): whether to drop.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.

    Returns:
        Tensor like x.

    Examples:
        >>> one = argosy.ones([2])
        >>> argosy.incubate.nn.functional.fused_dropout_add(one, one, training=False).tolist()
        [2.0, 2.0]
    """
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
    """``layer_norm(residual + dropout(x + bias))`` over the last dimension.

    Args:
        x, residual (Tensor): [.., D], alike.
        bias, ln_scale, ln_bias (Tensor, optional): [D].
        dropout_rate (float): probability.
        ln_epsilon (float): added to the variance.
        training (bool): whether to drop.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.

    Returns:
        Tensor like x.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> x, zero = argosy.to_tensor([[1.0, 3.0]]), argosy.zeros([1, 2])
        >>> F.fused_bias_dropout_residual_layer_norm(x, zero, training=False).tolist()
        [[-1.0, 1.0]]
    """
    x = x if bias is None else x + bias
    total = residual + F.dropout(x, dropout_rate, training=training, mode=mode)
    return F.layer_norm(total, total.shape[-1], ln_scale, ln_bias, ln_epsilon)
