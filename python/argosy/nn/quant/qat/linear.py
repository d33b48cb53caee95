"""A linear layer of quantized operands."""

from __future__ import annotations

from ... import functional as F
from ..format import QuantedWeightLayer


class QuantedLinear(QuantedWeightLayer):
    """``nn.Linear`` whose input and weight pass through quanters first.

    Args:
        layer (nn.Linear): its parameters are taken over.
        q_config: has the factories ``weight`` and ``activation``; None leaves that operand alone.

    Shape: [.., in_features] to [.., out_features].

    Examples:
        >>> config = argosy.quantization.QuantConfig(None, None)
        >>> config.add_type_config(argosy.nn.Linear, weight=argosy.quantization.observers.AbsmaxObserver())
        >>> model = argosy.quantization.QAT(config).quantize(argosy.nn.Sequential(argosy.nn.Linear(2, 3)))
        >>> type(model[0]).__name__
        'QuantedLinear'
    """

    def __init__(self, layer, q_config):
        super().__init__(layer, q_config)
        self.name = layer.name

    def _apply_weight(self, input, weight):
        return F.linear(input, weight, self.bias, self.name)
