"""How calibration finds thresholds."""

from __future__ import annotations

import copy

from .ptq_quantizer import (
    SUPPORT_ACT_QUANTIZERS,
    SUPPORT_WT_QUANTIZERS,
    KLQuantizer,
    PerChannelAbsmaxQuantizer,
)


def _check(what, quantizer, kinds):
    if not isinstance(quantizer, tuple(kinds)):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise AssertionError(
            f"[PTQConfig] {what}: expected one of {names}, got {type(quantizer).__name__}. Do this: pass"
            " one of them."
        )


class PTQConfig:
    """Which quantizers see the operands, results and weights of layers. Layers get copies of them.

    Args:
        activation_quantizer (BaseQuantizer): an AbsmaxQuantizer, HistQuantizer or KLQuantizer.
        weight_quantizer (BaseQuantizer): an AbsmaxQuantizer or PerChannelAbsmaxQuantizer.

    Raises:
        AssertionError: a quantizer is none of these.

    Example:
        >>> from argosy.quantization.imperative import AbsmaxQuantizer, PTQConfig
        >>> config = PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer(quant_bits=4))
        >>> config.wt_quantizer.quant_bits
        4
    """

    def __init__(self, activation_quantizer, weight_quantizer):
        _check("activation_quantizer", activation_quantizer, SUPPORT_ACT_QUANTIZERS)
        _check("weight_quantizer", weight_quantizer, SUPPORT_WT_QUANTIZERS)
        self.in_act_quantizer = copy.deepcopy(activation_quantizer)
        self.out_act_quantizer = copy.deepcopy(activation_quantizer)
        self.wt_quantizer = copy.deepcopy(weight_quantizer)
        self.quant_hook_handle = None
        # Whether operands are seen, too: those of layers that become quantized ones.
        self.enable_in_act_quantizer = False


default_ptq_config = PTQConfig(KLQuantizer(), PerChannelAbsmaxQuantizer())
