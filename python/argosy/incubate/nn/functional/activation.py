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

    act_method: 'gelu', 'relu', 'silu', 'swiglu' or 'geglu'; the last two halve the last dimension.
    shift and smooth, given together: ``(result + shift) * smooth``.
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
