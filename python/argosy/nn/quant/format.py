"""Quantized layers as a deployed model has them: a step to integers and a step back."""

from __future__ import annotations

import abc

from argosy import tensor
from argosy._beside import beside
from argosy.base import unique_name
from argosy.base.param_attr import ParamAttr

from ..initializer import Constant
from ..layer.layers import Layer

# Largest number of each 8-bit float, by its bits for exponent and mantissa.
_FLOAT8 = {(4, 3): (448, "float8_e4m3fn"), (5, 2): (57344, "float8_e5m2")}

# Scales that are next to nothing, and what is added to them.
_TINY, _INSTEAD = 1e-30, 1e-6


def _code_limits(bit_length):
    """(smallest, largest) code of integers of a width, or of 8-bit floats."""
    if isinstance(bit_length, tuple):
        if bit_length not in _FLOAT8:
            raise NotImplementedError(
                f"[quantization] bit_length: expected a number of bits, (4, 3) or (5, 2), got {bit_length}."
                " Do this: pass one of them."
            )
        largest = _FLOAT8[bit_length][0]
        return -largest, largest
    largest = 2 ** (bit_length - 1) - 1
    return -largest - 1, largest


class _LinearStep(Layer):
    """What both steps know: scales, zero points and the limits of codes."""

    @beside
    def __init__(self, scales, zero_point=None, quant_axis=None, bit_length=8, group_size=128):
        super().__init__()
        scales = tensor.to_tensor(scales, dtype="float32")
        zeros = tensor.zeros_like(scales)
        if zero_point is not None:
            zeros = zeros + tensor.to_tensor(zero_point, dtype="float32")
        self._scales = self._constant("scale", scales)
        self._zero_point = self._constant("zero_point", zeros)
        # Scales of groups that have zero points are those of one code, and one for each element.
        self._scales_are_steps = len(scales.shape) > 1 and bool((zeros != 0).any())
        self._quant_axis = -1 if quant_axis is None else quant_axis
        self._group_size = group_size
        self._qmin, self._qmax = _code_limits(bit_length)
        self._float8 = _FLOAT8[bit_length][1] if isinstance(bit_length, tuple) else None
        self._bit_length = 8 if self._float8 else bit_length

    def _constant(self, name, value):
        attr = ParamAttr(
            name=unique_name.generate(f"quant_dequant.{name}"), initializer=Constant(0.0), trainable=False
        )  # fmt: skip
        made = self.create_parameter(list(value.shape), attr, "float32")
        made.copy_(value)
        return made

    def _spread(self, values, x):
        """Values for each place of the axis, or each group of rows, as what broadcasts to x."""
        if len(values.shape) > 1:
            if self._scales_are_steps:
                return values
            return tensor.repeat_interleave(values, self._group_size, 0)
        if self._quant_axis < 0 or len(x.shape) == 0:
            return tensor.reshape(values, [])
        shape = [1] * len(x.shape)
        shape[self._quant_axis] = -1
        return tensor.reshape(values, shape)

    @classmethod
    def from_quanter(cls, quanter):
        """The step for what a quanter or observer has found out.

        Args:
            quanter (BaseQuanter): has scales.
        """
        return cls(
            quanter.scales(), quanter.zero_points(), quanter.quant_axis(), quanter.bit_length(),
            getattr(quanter, "group_size", 128),
        )  # fmt: skip


class LinearQuanter(_LinearStep):
    """``round(x / scale * qmax) + zero_point``, within the codes' limits, in x's dtype.

    Args:
        scales: the size that the largest code stands for: one, one for each place of ``quant_axis``, or
            [groups, n] for groups of ``group_size`` rows of a matrix.
        zero_point: the codes of 0, of the shape of ``scales``; None: 0.
        quant_axis (int, optional): None and -1: one scale for all.
        bit_length (int | tuple): bits of the codes; (4, 3) and (5, 2) are 8-bit floats.
        group_size (int): see ``scales``.

    Shape: any; the result has the same.

    Raises:
        NotImplementedError: ``bit_length`` is a tuple of others.

    Examples:
        >>> quanter = argosy.nn.quant.format.LinearQuanter([2.0])
        >>> quanter(argosy.to_tensor([-3.0, 0.5, 2.0])).tolist()
        [-128.0, 32.0, 127.0]
    """

    def forward(self, input):
        """The codes of input."""
        wide = input.astype("float32")
        scales, zeros = self._spread(self._scales, input), self._spread(self._zero_point, input)
        if self._float8:
            codes = tensor.clip(wide * self._qmax / scales, self._qmin, self._qmax)
            return codes.astype(self._float8).astype(input.dtype)
        safe = tensor.where(scales <= _TINY, scales + _INSTEAD, scales)
        codes_of_one = tensor.reciprocal(safe)
        if not self._scales_are_steps:
            codes_of_one = codes_of_one * self._qmax
        codes = tensor.round(wide * codes_of_one) + zeros
        return tensor.clip(codes, self._qmin, self._qmax).astype(input.dtype)


class LinearDequanter(_LinearStep):
    """``(x - zero_point) * scale / qmax``, in x's dtype.

    Args:
        scales, zero_point, quant_axis, bit_length, group_size: as for LinearQuanter.

    Shape: any; the result has the same.

    Raises:
        NotImplementedError: ``bit_length`` is a tuple of others.

    Examples:
        >>> dequanter = argosy.nn.quant.format.LinearDequanter([2.54])
        >>> dequanter(argosy.to_tensor([-127.0, 50.0])).tolist()
        [-2.54, 1.0]
    """

    def forward(self, input):
        """The numbers that codes stand for."""
        wide = input.astype("float32")
        scales, zeros = self._spread(self._scales, input), self._spread(self._zero_point, input)
        scaled = (wide - zeros) * scales
        return (scaled if self._scales_are_steps else scaled / self._qmax).astype(input.dtype)


class LinearQuanterDequanter(Layer):
    """Both steps; either may be None, and is left out.

    Args:
        quanter (LinearQuanter, optional), dequanter (LinearDequanter, optional): the steps.

    Shape: any; the result has the same.
    """

    def __init__(self, quanter, dequanter):
        super().__init__()
        self._quanter, self._dequanter = quanter, dequanter

    def forward(self, input):
        """input, rounded to what the codes stand for."""
        for step in (self._quanter, self._dequanter):
            if step is not None:
                input = step(input)
        return input

    @staticmethod
    def from_quanter(quanter):
        """Both steps for what a quanter or observer has found out.

        Args:
            quanter (BaseQuanter): has scales.

        Returns:
            LinearQuanterDequanter.
        """
        return LinearQuanterDequanter(
            LinearQuanter.from_quanter(quanter), LinearDequanter.from_quanter(quanter)
        )


class ConvertibleQuantedLayer(Layer, abc.ABC):
    """Base class of quantized layers that can be made ready for deployment.

    A subclass says which of its attributes are weights with quanters, and which are quanters of
    activations. ``convert`` then replaces each quanter by the steps of its scales, and each weight by its
    codes.

    Examples:
        >>> class Scaled(argosy.nn.quant.format.ConvertibleQuantedLayer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = self.create_parameter([1])
        ...         self.factor_quanter = None
        ...
        ...     def forward(self, x):
        ...         return x * self.factor
        ...
        ...     def weights_to_quanters(self):
        ...         return [("factor", "factor_quanter")]
        ...
        ...     def activation_quanters(self):
        ...         return []
        >>> Scaled().converted
        False
    """

    def __init__(self):
        super().__init__()
        self.converted = False

    @abc.abstractmethod
    def weights_to_quanters(self):
        """Pairs of names, of a weight and of its quanter.

        Returns:
            list of (str, str).
        """

    @abc.abstractmethod
    def activation_quanters(self):
        """Names of the quanters of activations.

        Returns:
            list of str.
        """

    def _as_steps(self, name):
        """Replaces the quanter of that name by its steps, and returns them; None without quanter."""
        quanter = getattr(self, name, None)
        if quanter is None:
            return None
        steps = LinearQuanterDequanter.from_quanter(quanter)
        setattr(self, name, steps)
        return steps

    def _convert(self, remain_weight=False):
        """Makes the layer ready for deployment; see ``QAT.convert``."""
        if self.converted:
            raise AssertionError(
                f"[{type(self).__name__}] is converted already. Do this: convert a model once."
            )
        for weight_name, quanter_name in self.weights_to_quanters():
            steps = self._as_steps(quanter_name)
            if steps is not None and not remain_weight:
                weight = getattr(self, weight_name)
                weight.set_value(steps._quanter(weight.detach()))
                steps._quanter = None
        for name in self.activation_quanters():
            self._as_steps(name)
        self.converted = True


class QuantedWeightLayer(ConvertibleQuantedLayer):
    """A layer of one weight whose input and weight pass through quanters first.

    Args:
        layer: the layer in whose place it comes; ``weight`` and ``bias`` are taken over.
        q_config: has the factories ``weight`` and ``activation``; None leaves that operand alone.
    """

    def __init__(self, layer, q_config):
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.weight_quanter = self.activation_quanter = None
        if q_config.weight is not None:
            self.weight_quanter = q_config.weight._instance(layer)
        if q_config.activation is not None:
            self.activation_quanter = q_config.activation._instance(layer)

    def forward(self, input):
        """What the layer makes of the quantized input and weight."""
        weight = self.weight
        if self.activation_quanter is not None:
            input = self.activation_quanter(input)
        if self.weight_quanter is not None:
            weight = self.weight_quanter(weight)
        return self._apply_weight(input, weight)

    def _apply_weight(self, input, weight):
        raise NotImplementedError

    def weights_to_quanters(self):
        """The weight and its quanter."""
        return [("weight", "weight_quanter")]

    def activation_quanters(self):
        """The quanter of the input."""
        return ["activation_quanter"]
