"""Activations after a bias."""

from __future__ import annotations

from argosy._support import check_choice, no_effect, sizes_of
from argosy.nn import functional as F

from ._check import NOT_QUANTIZED, no_quantization

_ACTIVATIONS = {
    "gelu": F.gelu,
    "relu": F.relu,
    "silu": F.silu,
    "swiglu": F.swiglu,
    "geglu": lambda x: _gated(F.gelu, x),
}


def _gated(function, x):
    half = sizes_of(x)[-1] // 2
    return function(x[..., :half]) * x[..., half:]


def fused_bias_act(
    x,
    bias=None,
    dequant_scales=None,
    shift=None,
    smooth=None,
    act_method="gelu",
    compute_dtype="default",
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """Activation of ``x + bias``.

    Args:
        x (Tensor): floating.
        bias (Tensor, optional): broadcast to x.
        dequant_scales: is not supported.
        shift, smooth (Tensor, optional): the result is ``(activation + shift) * smooth``.
        act_method (str): 'gelu', 'relu', 'silu', 'swiglu' or 'geglu'; the last two halve the last
            dimension.
        compute_dtype, quant_round_type, quant_max_bound, quant_min_bound: have no effect.
        quant_scale (float): only -1, no quantization.

    Returns:
        Tensor like x, with half of the last dimension for 'swiglu' and 'geglu'.

    Raises:
        ValueError: ``act_method`` is unknown.
        NotImplementedError: ``dequant_scales`` or ``quant_scale`` is given.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> F.fused_bias_act(argosy.to_tensor([-1.0, 1.0]), argosy.ones([2]), act_method="relu").tolist()
        [0.0, 2.0]
    """
    no_quantization(
        "fused_bias_act", dequant_scales=(dequant_scales, None), quant_scale=(quant_scale, -1)
    )
    no_effect(
        "fused_bias_act", NOT_QUANTIZED, compute_dtype=(compute_dtype, "default"),
        quant_round_type=(quant_round_type, 0), quant_max_bound=(quant_max_bound, 0),
        quant_min_bound=(quant_min_bound, 0),
    )  # fmt: skip
    check_choice("fused_bias_act", "act_method", act_method, _ACTIVATIONS)
    result = _ACTIVATIONS[act_method](x if bias is None else x + bias)
    if shift is not None:
        result = result + shift
    return result if smooth is None else result * smooth
