"""Largest absolute values."""

from __future__ import annotations

from argosy import tensor

from ..factory import ObserverFactory
from .largest import LargestObserver


class AbsmaxObserver(ObserverFactory):
    """Makes observers of the largest absolute value that a tensor ever had.

    Args:
        quant_bits (int): bits of the codes.

    Examples:
        >>> observer = argosy.quantization.observers.AbsmaxObserver()._instance(argosy.nn.ReLU())
        >>> out = observer(argosy.to_tensor([1.0, -3.0]))
        >>> out = observer(argosy.to_tensor([2.0]))
        >>> float(observer.scales())
        3.0
    """

    def __init__(self, quant_bits=8):
        super().__init__(quant_bits=quant_bits)

    def _get_class(self):
        return AbsmaxObserverLayer


class AbsmaxObserverLayer(LargestObserver):
    """Returns its input, and keeps the largest absolute value that it saw.

    Args:
        layer (Layer): what it is for.
        quant_bits (int): bits of the codes.
    """

    INIT_ABS_MAX = 1e-7

    def __init__(self, layer, quant_bits=8):
        super().__init__(layer, quant_bits)
        self.abs_max_val = tensor.to_tensor(self.INIT_ABS_MAX)

    def forward(self, input):
        """input."""
        self._min, self._max = self.cal_min_max(input)
        return input

    def cal_min_max(self, inputs):
        """The limits of what was seen with inputs.

        Returns:
            (0, Tensor): the smallest and the largest absolute value.
        """
        largest = tensor.max(tensor.abs(inputs.detach()))
        if self._max is not None:
            largest = tensor.maximum(largest, self._max.astype(inputs.dtype))
        return 0, largest
