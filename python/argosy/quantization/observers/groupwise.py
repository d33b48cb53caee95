"""Largest absolute values of groups of rows."""

from __future__ import annotations

from argosy import tensor

from ..factory import ObserverFactory
from .largest import LargestObserver

_LEAST = 1e-8  # in place of the scale of a group of zeros


class GroupWiseWeightObserver(ObserverFactory):
    """Makes observers of a weight [k, n]: the largest absolute value of each group of rows, for each column.

    Args:
        quant_bits (int): bits of the codes.
        group_size (int): rows of a group, 64 or 128.

    Examples:
        >>> observers = argosy.quantization.observers
        >>> observer = observers.GroupWiseWeightObserver(group_size=64)._instance(None)
        >>> out = observer(argosy.ones([128, 3]))
        >>> observer.scales().shape
        paddle.Size([2, 3])
    """

    def __init__(self, quant_bits=8, group_size=128):
        super().__init__(quant_bits=quant_bits, group_size=group_size)

    def _get_class(self):
        return GroupWiseWeightObserverLayer


class GroupWiseWeightObserverLayer(LargestObserver):
    """Returns its input, and keeps the largest absolute value of each group of rows, for each column.

    Args:
        layer (Layer): what it is for.
        quant_bits (int), group_size (int): see GroupWiseWeightObserver.
    """

    def __init__(self, layer, quant_bits=8, group_size=128):
        super().__init__(layer, quant_bits)
        self.group_size = group_size

    def forward(self, inputs):
        """inputs.

        Raises:
            AssertionError: ``group_size`` is another, or inputs is no matrix of whole groups.
        """
        self._max = self._cal_abs_max(inputs)
        return inputs

    def _cal_abs_max(self, inputs):
        shape = list(inputs.shape)
        if self.group_size not in (64, 128):
            raise AssertionError(
                f"[GroupWiseWeightObserver] group_size: expected 64 or 128, got {self.group_size}. Do"
                " this: use one of them."
            )
        if len(shape) != 2 or shape[0] % self.group_size:
            raise AssertionError(
                f"[GroupWiseWeightObserver] weight of {self.layer_name}: expected a matrix of a multiple of"
                f" {self.group_size} rows, got shape {shape}. Do this: quantize this layer otherwise."
            )
        groups = tensor.reshape(inputs.detach(), [-1, self.group_size, shape[1]])
        largest = tensor.max(tensor.abs(groups), axis=1).astype("float32")
        return tensor.where(largest == 0, tensor.full_like(largest, _LEAST), largest)

    def min_value(self):
        """The smallest absolute value: 0."""
        return 0.0

    def max_value(self):
        """The largest absolute values [groups, n]; None if nothing was seen."""
        return self._max

    def zero_points(self):
        """Zeros [groups, n]; None if nothing was seen."""
        if self._zero_point is None:
            self.cal_thresholds()
        return self._zero_point
