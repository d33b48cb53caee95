"""A convolution of quantized operands."""

from __future__ import annotations

from ... import functional as F
from ..format import QuantedWeightLayer


class QuantedConv2D(QuantedWeightLayer):
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
        self._stride, self._dilation = layer._stride, layer._dilation
        self._padding, self._padding_mode = layer._padding, layer._padding_mode
        self._groups, self._data_format = layer._groups, layer._data_format
        if self._padding_mode != "zeros":
            self._reversed_padding_repeated_twice = layer._reversed_padding_repeated_twice

    def _apply_weight(self, input, weight):
        padding = self._padding
        if self._padding_mode != "zeros":
            input = F.pad(
                input, self._reversed_padding_repeated_twice, self._padding_mode, data_format=self._data_format
            )  # fmt: skip
            padding = 0
        return F.conv2d(
            input, weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )  # fmt: skip
