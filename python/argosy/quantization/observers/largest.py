"""What observers of largest absolute values share."""

from __future__ import annotations

from argosy import tensor

from ..base_observer import BaseObserver


class LargestObserver(BaseObserver):
    """Its scales are the largest values in ``_max`` when they are first asked for, its zero points 0.

    Args:
        layer (Layer): what it is for.
        quant_bits (int): bits of the codes.
    """

    def __init__(self, layer, quant_bits):
        super().__init__(layer)
        self._quant_bits = quant_bits
        self._max = self._scale = self._zero_point = None  # of _max: ``forward`` of subclasses

    def cal_thresholds(self):
        """Takes the largest values as scales. Later calls keep these."""
        if self._scale is None:
            self._scale = self._max
        if self._scale is not None:
            self._zero_point = tensor.zeros_like(self._scale)

    def scales(self):
        """The largest absolute values; None if nothing was seen."""
        if self._scale is None:
            self.cal_thresholds()
        return self._scale

    def zero_points(self):
        """Zeros like ``scales``; None before these."""
        return self._zero_point

    def quant_axis(self):
        """-1."""
        return -1

    def bit_length(self):
        """Bits of the codes."""
        return self._quant_bits
