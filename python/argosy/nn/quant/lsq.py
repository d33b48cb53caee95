"""Rounding whose scales are learned (LSQ and LSQ+: arXiv 1902.08153, 2004.09576)."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._support import unsupported
from argosy.base.param_attr import ParamAttr
from argosy.utils import unique_name

from ..initializer import Constant
from ..layer.layers import Layer

_KEPT = 0.9  # of a scale, while it still follows what is seen


def _scaled_gradient(x, factor):
    """x, whose gradient is multiplied by a number."""
    return x * factor + (x * (1 - factor)).detach()


def _rounded(x):
    """x, halves away from zero, with the gradient of x."""
    nearest = tensor.sign(x) * tensor.floor(tensor.abs(x) + 0.5)
    return x + (nearest - x).detach()


def _learned_rounding(x, step, low, high, factor, shift=None):
    """x as a multiple of ``step`` between those of low and high, from ``shift`` on.

    step and shift learn: their gradients are multiplied by factor.
    """
    step = _scaled_gradient(step, factor)
    if shift is None:
        return _rounded(tensor.clip(x / step, low, high)) * step
    shift = _scaled_gradient(shift, factor)
    return _rounded(tensor.clip((x - shift) / step, low, high)) * step + shift


class _LearnedScale(Layer):
    """Codes of a width, and the parameters that a subclass learns."""

    def __init__(self, quant_bits, all_positive, batch_init, name, reduce_type):
        super().__init__()
        unsupported(
            type(self).__name__,
            "leave it out; scales are not exchanged",
            reduce_type=(reduce_type, None),
        )
        self.bits, self.all_positive, self.batch_init = quant_bits, all_positive, batch_init
        self.name = name
        self.Qn = 0 if all_positive else -(2 ** (quant_bits - 1))
        self.Qp = 2**quant_bits - 1 if all_positive else 2 ** (quant_bits - 1) - 1
        self.init_state = 0

    def _learned(self, kind, shape, value, dtype):
        attr = ParamAttr(
            name=unique_name.generate(f"{self.name or 'quant_dequant'}.{kind}"), initializer=Constant(value)
        )  # fmt: skip
        return self.create_parameter(shape, attr, dtype)

    def _follow(self, parameter, seen):
        """Moves a parameter towards what was seen, as long as the first batches last."""
        if self.init_state > 0:
            seen = parameter * _KEPT + seen * (1 - _KEPT)
        parameter.set_value(seen.detach())

    def _factor(self, x):
        return 1.0 / math.sqrt(x.numel() * self.Qp)


class FakeQuantActLSQPlus(_LearnedScale):
    """Rounds an activation to codes whose step, and unless symmetric whose shift, are learned.

    For ``batch_init`` calls both follow the smallest and largest number seen.

    Args:
        quant_bits (int): bits of the codes.
        all_positive (bool): codes from 0 on, for activations that are never negative.
        symmetric (bool): no shift.
        batch_init (int): see above.
        dtype (str): of the parameters.
        name (str, optional): begins their names.
        reduce_type (str, optional): only None.

    Shape: any; the result has the same.

    Raises:
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> layer = argosy.nn.quant.lsq.FakeQuantActLSQPlus(2, all_positive=True, symmetric=True)
        >>> layer(argosy.to_tensor([0.0, 0.4, 3.0])).tolist()
        [0.0, 0.0, 3.0]
    """

    def __init__(
        self,
        quant_bits,
        all_positive=False,
        symmetric=False,
        batch_init=20,
        dtype="float32",
        name=None,
        reduce_type=None,
    ):
        super().__init__(quant_bits, all_positive, batch_init, name, reduce_type)
        self.symmetric = symmetric
        self.s = self._learned("scale", [], 1.0, dtype)
        if not symmetric:
            self.beta = self._learned("beta", [], 0.0, dtype)

    def forward(self, activation):
        """activation, rounded."""
        if self.init_state == 0:
            self.g = self._factor(activation)
        if self.init_state < self.batch_init:
            low, high = tensor.min(activation.detach()), tensor.max(activation.detach())
            self._follow(self.s, (high - low) / (self.Qp - self.Qn))
            if not self.symmetric:
                self._follow(self.beta, low - self.s * self.Qn)
            self.init_state += 1
        shift = None if self.symmetric else self.beta
        return _learned_rounding(activation, self.s, self.Qn, self.Qp, self.g, shift)


class FakeQuantWeightLSQPlus(_LearnedScale):
    """Rounds a weight to codes whose step, or steps of each channel, are learned.

    For ``batch_init`` calls they follow the mean and three standard deviations of the weight.

    Args:
        quant_bits (int): bits of the codes.
        all_positive (bool): codes from 0 on.
        per_channel (bool): a step for each channel, otherwise one.
        batch_init (int): see above.
        channel_num (int): how many steps there are.
        quant_linear (bool): channels are the last axis of a matrix, otherwise the first axis.
        dtype (str): of the steps.
        name (str, optional): begins their name.
        reduce_type (str, optional): only None.

    Shape: any; the result has the same.

    Raises:
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> layer = argosy.nn.quant.lsq.FakeQuantWeightLSQPlus(8, channel_num=1)
        >>> layer(argosy.to_tensor([[0.1, 0.2]])).shape
        paddle.Size([1, 2])
    """

    def __init__(
        self,
        quant_bits,
        all_positive=False,
        per_channel=False,
        batch_init=20,
        channel_num=None,
        quant_linear=False,
        dtype="float32",
        name=None,
        reduce_type=None,
    ):
        super().__init__(quant_bits, all_positive, batch_init, name, reduce_type)
        self.per_channel, self.quant_linear = per_channel, quant_linear
        self.quant_axis = 1 if quant_linear else 0
        self.s = self._learned("scale", [channel_num], 1.0, dtype)

    def _spread(self, weight):
        """Three standard deviations around the mean, [channels] or [1], as steps."""
        weight = weight.detach()
        axes = None
        if self.per_channel:
            axes = [i for i in range(len(weight.shape)) if i != self.quant_axis]
        mean, width = tensor.mean(weight, axes), 3 * tensor.std(weight, axes)
        largest = tensor.maximum(tensor.abs(mean - width), tensor.abs(mean + width))
        return tensor.reshape(largest / (2**self.bits - 1), [-1])

    def forward(self, weight):
        """weight, rounded."""
        if self.init_state == 0:
            self.g = self._factor(weight)
        if self.init_state < self.batch_init:
            self._follow(self.s, self._spread(weight))
            self.init_state += 1
        step = self.s
        if self.per_channel:
            shape = [1] * len(weight.shape)
            shape[self.quant_axis] = -1
            step = tensor.reshape(step, shape)
        return _learned_rounding(weight, step, self.Qn, self.Qp, self.g)
