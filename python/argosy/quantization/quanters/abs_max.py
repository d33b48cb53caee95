"""Rounding by a moving average of the largest absolute value."""

from __future__ import annotations

from argosy.nn.quant._fake import MovingScale, fake_quantize

from ..base_quanter import BaseQuanter
from ..factory import QuanterFactory


class FakeQuanterWithAbsMaxObserver(QuanterFactory):
    """Makes quanters that round to integers, scaled by a moving average of the largest absolute value.

    Training moves the average: ``state = rate state + 1``, ``accum = rate accum + max |x|``,
    ``scale = accum / state``. The result is ``round(x / scale * n) * scale / n`` with
    ``n = 2^(bit_length - 1) - 1``, of x between -scale and scale. Gradients pass as they are.

    Args:
        moving_rate (float): the rate above.
        bit_length (int): bits of the integers.
        dtype (str): of the state.
        name (str, optional): begins the names of the state.

    Examples:
        >>> argosy.quantization.quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        FakeQuanterWithAbsMaxObserver(name=None,moving_rate=0.9,bit_length=8,dtype=float32)
    """

    def __init__(self, moving_rate=0.9, bit_length=8, dtype="float32", name=None):
        super().__init__(name=name, moving_rate=moving_rate, bit_length=bit_length, dtype=dtype)

    def _get_class(self):
        return FakeQuanterWithAbsMaxObserverLayer


class FakeQuanterWithAbsMaxObserverLayer(MovingScale, BaseQuanter):
    """Rounds its input; see FakeQuanterWithAbsMaxObserver.

    Args:
        layer (Layer): what it is for.
        name (str, optional), moving_rate (float), bit_length (int), dtype (str): see there.
    """

    def __init__(self, layer, name=None, moving_rate=0.9, bit_length=8, dtype="float32"):
        super().__init__(layer)
        self._bit_length = bit_length
        self._make_scale(name or "quant_dequant", moving_rate, dtype)

    def forward(self, input):
        """input, rounded."""
        if self.training:
            self._observe(input)
        return fake_quantize(input, self._scale, self._bit_length)

    def scales(self):
        """The moving average [1]."""
        return self._scale

    def zero_points(self):
        """None: 0."""
        return None

    def quant_axis(self):
        """-1: one scale."""
        return -1

    def bit_length(self):
        """Bits of the integers."""
        return self._bit_length
