"""Rounding as if to integers, and the scales that it goes by."""

from __future__ import annotations

from argosy import _core, tensor
from argosy.base import unique_name
from argosy.base.param_attr import ParamAttr

from ..initializer import Constant

_ops = _core.ops


def fake_quantize(x, scale, bit_length, quant_axis=-1):
    """x rounded to the numbers that integers of ``bit_length`` bits stand for. Gradients pass as they are.

    Args:
        x: float tensor.
        scale: the size of the largest code: one number, or one for each place of ``quant_axis``.
    """
    return _ops.fake_quantize_dequantize(x, scale, bit_length, 1, quant_axis)


def largest_size(x):
    """The largest absolute value in x, [1], without history."""
    return tensor.reshape(tensor.max(tensor.abs(x.detach())), [1])


def largest_sizes(x, axis):
    """The largest absolute value at each place of an axis of x, without history."""
    return tensor.max(tensor.abs(x.detach()), [i for i in range(len(x.shape)) if i != axis])


def scalar_state(layer, name, value, dtype):
    """A parameter [1] of a layer that no optimizer touches."""
    attr = ParamAttr(
        name=unique_name.generate(name), initializer=Constant(value), trainable=False
    )  # fmt: skip
    made = layer.create_parameter([1], attr, dtype)
    made.stop_gradient = True
    return made


class MovingScale:
    """The moving average of the largest absolute value that a layer sees.

    Mixed into a layer, whose ``_scale``, ``_state`` and ``_accum`` [1] it makes and moves on:
    ``state = rate state + 1``, ``accum = rate accum + max |x|``, ``scale = accum / state``.
    """

    def _make_scale(self, prefix, moving_rate, dtype, scale=0.001, start=1.0):
        self._moving_rate = moving_rate
        self._scale = scalar_state(self, f"{prefix}.scale", scale, dtype)
        self._state = scalar_state(self, f"{prefix}.state", start, dtype)
        self._accum = scalar_state(self, f"{prefix}.accum", start, dtype)

    def _observe(self, x):
        """Takes the numbers of x into the average."""
        state = self._state * self._moving_rate + 1
        accum = self._accum * self._moving_rate + largest_size(x).astype(self._accum.dtype)
        tensor.assign(state, self._state)
        tensor.assign(accum, self._accum)
        tensor.assign(accum / state, self._scale)
