"""What looks at a tensor and finds its scales."""

from __future__ import annotations

import abc

from .base_quanter import BaseQuanter


class BaseObserver(BaseQuanter):
    """Base class of quanters that return their input as it is, and find its scales from what they saw.

    Args:
        layer (Layer, optional): whose operand it is for.

    Shape: any; the result is the input.

    Examples:
        >>> class Last(argosy.quantization.BaseObserver):
        ...     def forward(self, input):
        ...         self.largest = argosy.abs(input).max()
        ...         return input
        ...
        ...     def cal_thresholds(self):
        ...         self.scale = self.largest
        ...
        ...     def scales(self):
        ...         return self.scale
        ...
        ...     zero_points = quant_axis = bit_length = lambda self: None
        >>> observer = Last()
        >>> out = observer(argosy.to_tensor([-3.0, 2.0]))
        >>> observer.cal_thresholds()
        >>> float(observer.scales())
        3.0
    """

    @abc.abstractmethod
    def cal_thresholds(self):
        """Finds the scales."""
