"""A convolution of quantized operands."""

from __future__ import annotations

from .._convolution import ConvolutionOf
from ..format import QuantedWeightLayer


class QuantedConv2D(ConvolutionOf, QuantedWeightLayer):
    """``nn.Conv2D`` whose input and weight pass through quanters first.

    Args:
        layer (nn.Conv2D): its parameters and options are taken over.
        q_config: has the factories ``weight`` and ``activation``; None leaves that operand alone.

    Shape: as of the convolution.

    Examples:
        >>> quanter = argosy.quantization.quanters.FakeQuanterWithAbsMaxObserver()
        >>> config = argosy.quantization.QuantConfig(activation=quanter, weight=quanter)
        >>> model = argosy.quantization.QAT(config).quantize(argosy.nn.Sequential(argosy.nn.Conv2D(1, 2, 3)))
        >>> model(argosy.ones([1, 1, 4, 4])).shape
        paddle.Size([1, 2, 2, 2])
    """

    def __init__(self, layer, q_config):
        super().__init__(layer, q_config)
        self._take_options(layer)

    def _apply_weight(self, input, weight):
        return self._convolve(input, weight)
