"""Layers whose operands are rounded as if to integers, in training."""

from __future__ import annotations

from argosy import tensor
from argosy._support import no_effect, unsupported
from argosy.base.param_attr import ParamAttr
from argosy.utils import unique_name

from .. import functional as F
from ..initializer import Constant
from ..layer.layers import Layer
from ._convolution import ConvolutionOf
from ._fake import MovingScale, fake_quantize, largest_size, largest_sizes, scalar_state
from .lsq import FakeQuantActLSQPlus, FakeQuantWeightLSQPlus

__all__ = [
    "FakeQuantAbsMax",
    "FakeQuantChannelWiseAbsMax",
    "FakeQuantMAOutputScaleLayer",
    "FakeQuantMovingAverageAbsMax",
    "MAOutputScaleLayer",
    "MovingAverageAbsMaxScale",
    "QuantStub",
    "QuantizedConv2D",
    "QuantizedConv2DTranspose",
    "QuantizedLinear",
    "QuantizedMatmul",
]


def _alone(layer, reduce_type):
    unsupported(layer, "leave it out; scales are not exchanged", reduce_type=(reduce_type, None))


def _prefix(name, default="quant_dequant"):
    return name or default


class FakeQuantAbsMax(Layer):
    """Rounds to integers of ``quant_bits`` bits, scaled by the largest absolute value of the input.

    Args:
        name (str, optional): begins the name of the scale.
        quant_bits (int): bits of the integers.
        dtype (str): of the scale.
        quant_on_weight (bool): keep the scale as ``_scale`` [1].
        reduce_type (str, optional): only None.

    Shape: any; the result has the same. Gradients pass as they are.

    Raises:
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.FakeQuantAbsMax(quant_bits=3)
        >>> layer(argosy.to_tensor([-3.0, 1.2, 0.4])).tolist()
        [-3.0, 1.0, 0.0]
    """

    def __init__(
        self, name=None, quant_bits=8, dtype="float32", quant_on_weight=False, reduce_type=None
    ):
        super().__init__()
        _alone("FakeQuantAbsMax", reduce_type)
        self._quant_bits, self._name = quant_bits, name
        self._scale = None
        if quant_on_weight:
            self._scale = scalar_state(self, f"{_prefix(name)}.scale", 0.001, dtype)

    def forward(self, input):
        """input, rounded."""
        scale = largest_size(input)
        if self._scale is not None:
            tensor.assign(scale.astype(self._scale.dtype), self._scale)
        return fake_quantize(input, scale, self._quant_bits)


class FakeQuantMovingAverageAbsMax(MovingScale, Layer):
    """Rounds to integers of ``quant_bits`` bits, scaled by a moving average of the largest absolute value.

    Training moves the average: ``state = rate state + 1``, ``accum = rate accum + max |x|``,
    ``scale = accum / state``.

    Args:
        name (str, optional): begins the names of the state.
        moving_rate (float): the rate above.
        quant_bits (int): bits of the integers.
        dtype (str): of the state.
        reduce_type (str, optional): only None.

    Shape: any; the result has the same. Gradients pass as they are.

    Raises:
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.FakeQuantMovingAverageAbsMax(quant_bits=3)
        >>> layer(argosy.to_tensor([4.7, 1.2])).tolist()
        [2.947, 0.982]
    """

    def __init__(self, name=None, moving_rate=0.9, quant_bits=8, dtype="float32", reduce_type=None):
        super().__init__()
        _alone("FakeQuantMovingAverageAbsMax", reduce_type)
        self._quant_bits = quant_bits
        self._make_scale(_prefix(name), moving_rate, dtype)

    def forward(self, input):
        """input, rounded."""
        if self.training:
            self._observe(input)
        return fake_quantize(input, self._scale, self._quant_bits)


class FakeQuantChannelWiseAbsMax(Layer):
    """Rounds a weight to integers of ``quant_bits`` bits, each channel scaled by its largest absolute value.

    Args:
        name (str, optional): begins the name of the scales.
        channel_num (int): places of ``quant_axis``.
        quant_bits (int): bits of the integers.
        quant_axis (int): the axis of channels.
        dtype (str): of the scales.
        quant_on_weight (bool): only True.
        reduce_type (str, optional): only None.

    Shape: any with ``quant_axis``; the result has the same. Gradients pass as they are.

    Raises:
        AssertionError: ``quant_on_weight`` is False.
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> FakeQuant = argosy.nn.quant.quant_layers.FakeQuantChannelWiseAbsMax
        >>> layer = FakeQuant(channel_num=2, quant_bits=3, quant_on_weight=True)
        >>> layer(argosy.to_tensor([[-3.0, 1.2], [0.6, 0.3]])).tolist()
        [[-3.0, 1.0], [0.6, 0.4]]
    """

    def __init__(
        self,
        name=None,
        channel_num=None,
        quant_bits=8,
        quant_axis=0,
        dtype="float32",
        quant_on_weight=False,
        reduce_type=None,
    ):
        if not quant_on_weight:
            raise AssertionError(
                "[FakeQuantChannelWiseAbsMax] quant_on_weight: expected True, got"
                f" {quant_on_weight}. Do this: quantize activations by one scale."
            )
        super().__init__()
        _alone("FakeQuantChannelWiseAbsMax", reduce_type)
        self._quant_bits, self._quant_axis, self._name = quant_bits, quant_axis, name
        self._channel_num = channel_num
        attr = ParamAttr(
            name=unique_name.generate(f"{_prefix(name)}.scale"), initializer=Constant(0.0), trainable=False
        )  # fmt: skip
        self._scale = self.create_parameter([channel_num], attr, dtype)
        self._scale.stop_gradient = True

    def forward(self, input):
        """input, rounded."""
        scale = largest_sizes(input, self._quant_axis)
        tensor.assign(scale.astype(self._scale.dtype), self._scale)
        return fake_quantize(input, scale, self._quant_bits, self._quant_axis)


class MovingAverageAbsMaxScale(MovingScale, Layer):
    """The identity, which keeps a moving average of the largest absolute value as ``_scale`` [1].

    Args:
        name (str, optional): begins the names of the state.
        moving_rate (float): see FakeQuantMovingAverageAbsMax.
        dtype (str): of the state.
        reduce_type (str, optional): only None.

    Shape: any; the result is like the input.

    Raises:
        NotImplementedError: ``reduce_type`` is given.

    Examples:
        >>> stub = argosy.nn.quant.QuantStub()
        >>> stub(argosy.to_tensor([-2.0, 1.0])).tolist(), stub._scale.tolist()
        ([-2.0, 1.0], [2.0])
    """

    def __init__(self, name=None, moving_rate=0.9, dtype="float32", reduce_type=None):
        super().__init__()
        _alone("MovingAverageAbsMaxScale", reduce_type)
        self._make_scale(_prefix(name, "outscale"), moving_rate, dtype, scale=0.0, start=0.0)

    def forward(self, input):
        """input, unchanged."""
        if self.training:
            self._observe(input)
        return tensor.assign(input)


QuantStub = MovingAverageAbsMaxScale


def _fake_quant(kind, layer, argument, *, weight=None, axis=0, linear=False, **options):
    """The layer that quantizes an operand in the way that ``kind`` names.

    Args:
        layer, argument (str): whose argument kind is, for errors.
        weight: the weight, None for an activation.
        axis (int): the weight's axis of channels.
        linear (bool): whether the weight is that of a linear layer.
        options: name, quant_bits, moving_rate.
    """
    name, bits, rate = options["name"], options["quant_bits"], options["moving_rate"]
    on_weight = weight is not None
    made = {
        "abs_max": lambda: FakeQuantAbsMax(name, bits, quant_on_weight=on_weight),
        "moving_average_abs_max": lambda: FakeQuantMovingAverageAbsMax(name, rate, bits),
        "channel_wise_abs_max": lambda: FakeQuantChannelWiseAbsMax(
            name, weight.shape[axis], bits, axis, quant_on_weight=True
        ),
        "lsq_weight": lambda: FakeQuantWeightLSQPlus(
            bits, channel_num=1, quant_linear=linear, name=name
        ),
        "channel_wise_lsq_weight": lambda: FakeQuantWeightLSQPlus(
            bits, per_channel=True, channel_num=weight.shape[axis], quant_linear=linear, name=name
        ),
        "lsq_act": lambda: FakeQuantActLSQPlus(bits, symmetric=True, name=name),
    }
    of_weights = ("channel_wise_abs_max", "lsq_weight", "channel_wise_lsq_weight")
    known = [k for k in made if on_weight or k not in of_weights]
    if kind not in known:
        raise ValueError(
            f"[{layer}] {argument}: expected one of {', '.join(known)}, got {kind!r}. Do this: use one of them."
        )
    return made[kind]()


class _Quantized(Layer):
    """A layer whose input and weight are preprocessed and rounded.

    The arguments are those of all quantized layers:

        layer: the layer in whose place it comes; ``weight`` and ``bias`` are taken over.
        weight_bits, activation_bits (int): bits of the integers.
        moving_rate (float): of moving averages.
        weight_quantize_type (str): 'abs_max', 'channel_wise_abs_max', 'moving_average_abs_max', 'lsq_weight' or
            'channel_wise_lsq_weight'.
        activation_quantize_type (str): 'abs_max', 'moving_average_abs_max' or 'lsq_act'.
        weight_pre_layer, act_pre_layer (type, optional): make a layer that comes before rounding.
        weight_quant_layer, act_quant_layer (type, optional): make the layer that rounds.
    """

    _axis = 0  # the weight's axis of channels

    def __init__(
        self,
        layer,
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        weight_quantize_type="abs_max",
        activation_quantize_type="abs_max",
        weight_pre_layer=None,
        act_pre_layer=None,
        weight_quant_layer=None,
        act_quant_layer=None,
    ):
        super().__init__()
        what = type(self).__name__
        self.weight, self.bias = layer.weight, layer.bias
        if weight_quant_layer is not None:
            self._fake_quant_weight = weight_quant_layer()
        else:
            self._fake_quant_weight = _fake_quant(
                weight_quantize_type, what, "weight_quantize_type", weight=self.weight,
                axis=self._axis, linear=self._axis == 1 and len(self.weight.shape) == 2,
                name=self.weight.name, moving_rate=moving_rate, quant_bits=weight_bits,
            )  # fmt: skip
        if act_quant_layer is not None:
            self._fake_quant_input = act_quant_layer()
        else:
            self._fake_quant_input = _fake_quant(
                activation_quantize_type, what, "activation_quantize_type",
                name=layer.full_name(), moving_rate=moving_rate, quant_bits=activation_bits,
            )  # fmt: skip
        self._act_preprocess = None if act_pre_layer is None else act_pre_layer()
        self._weight_preprocess = None if weight_pre_layer is None else weight_pre_layer()

    def _operands(self, input):
        """input and weight, rounded."""
        weight = self.weight
        if self._act_preprocess is not None:
            input = self._act_preprocess(input)
        if self._weight_preprocess is not None:
            weight = self._weight_preprocess(weight)
        return self._fake_quant_input(input), self._fake_quant_weight(weight)


class QuantizedLinear(_Quantized):
    """``nn.Linear`` of a rounded input and weight.

    Args:
        layer (nn.Linear): its parameters are taken over. The others are those of QuantizedConv2D.

    Shape: [.., in_features] to [.., out_features].

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.QuantizedLinear(argosy.nn.Linear(2, 3))
        >>> layer(argosy.ones([4, 2])).shape
        paddle.Size([4, 3])
    """

    _axis = 1

    def __init__(self, layer, *args, **kwargs):
        super().__init__(layer, *args, **kwargs)
        self.name = layer.name

    def forward(self, input):
        """The product of the rounded input and weight, and the bias."""
        input, weight = self._operands(input)
        return F.linear(input, weight, self.bias, self.name)


class QuantizedConv2D(ConvolutionOf, _Quantized):
    """``nn.Conv2D`` of a rounded input and weight.

    Args:
        layer (nn.Conv2D): its parameters and options are taken over.
        weight_bits, activation_bits (int): bits of the integers.
        moving_rate (float): of moving averages.
        weight_quantize_type (str): 'abs_max', 'channel_wise_abs_max', 'moving_average_abs_max', 'lsq_weight' or
            'channel_wise_lsq_weight'.
        activation_quantize_type (str): 'abs_max', 'moving_average_abs_max' or 'lsq_act'.
        weight_pre_layer, act_pre_layer (type, optional): make a layer that comes before rounding.
        weight_quant_layer, act_quant_layer (type, optional): make the layer that rounds.

    Shape: as of the convolution.

    Raises:
        ValueError: a type of quantization is unknown.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.QuantizedConv2D(argosy.nn.Conv2D(1, 2, 3))
        >>> layer(argosy.ones([1, 1, 4, 4])).shape
        paddle.Size([1, 2, 2, 2])
    """

    def __init__(self, layer, *args, **kwargs):
        super().__init__(layer, *args, **kwargs)
        self._take_options(layer)

    def forward(self, input):
        """The convolution of the rounded input by the rounded weight."""
        return self._convolve(*self._operands(input))


class QuantizedConv2DTranspose(_Quantized):
    """``nn.Conv2DTranspose`` of a rounded input and weight.

    Args:
        layer (nn.Conv2DTranspose): its parameters and options are taken over. The others are those of
            QuantizedConv2D.

    Shape: as of the transposed convolution.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.QuantizedConv2DTranspose(argosy.nn.Conv2DTranspose(1, 2, 3))
        >>> layer(argosy.ones([1, 1, 4, 4])).shape
        paddle.Size([1, 2, 6, 6])
    """

    _axis = 1

    def __init__(self, layer, *args, **kwargs):
        super().__init__(layer, *args, **kwargs)
        self._stride, self._dilation, self._padding = layer._stride, layer._dilation, layer._padding
        self._groups, self._data_format = layer._groups, layer._data_format
        self._output_padding = layer.output_padding

    def forward(self, input, output_size=None):
        """The transposed convolution of the rounded input by the rounded weight."""
        input, weight = self._operands(input)
        return F.conv2d_transpose(
            input,
            weight,
            bias=self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=self._output_padding if output_size is None else 0,
            groups=self._groups,
            dilation=self._dilation,
            data_format=self._data_format,
            output_size=output_size,
        )


class QuantizedMatmul(Layer):
    """``argosy.matmul`` of rounded operands.

    Args:
        layer, weight_bits, weight_quantize_type, weight_pre_layer, weight_quant_layer: have no effect; they make
            the arguments those of the other layers.
        activation_bits (int): bits of the integers.
        moving_rate (float): of moving averages.
        activation_quantize_type (str): 'abs_max', 'moving_average_abs_max' or 'lsq_act'.
        act_pre_layer (type, optional): makes a layer that comes before rounding.
        act_quant_layer (type, optional): makes the layer that rounds.

    Shape: (x, y, transpose_x=False, transpose_y=False), as ``argosy.matmul``.

    Raises:
        ValueError: ``activation_quantize_type`` is unknown.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.QuantizedMatmul()
        >>> layer(argosy.ones([2, 3]), argosy.ones([4, 3]), transpose_y=True).shape
        paddle.Size([2, 4])
    """

    def __init__(
        self,
        layer=None,
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        weight_quantize_type="abs_max",
        activation_quantize_type="abs_max",
        weight_pre_layer=None,
        act_pre_layer=None,
        weight_quant_layer=None,
        act_quant_layer=None,
    ):
        super().__init__()
        no_effect(
            "QuantizedMatmul",
            "it has no weight",
            layer=(layer, None),
            weight_bits=(weight_bits, 8),
            weight_quantize_type=(weight_quantize_type, "abs_max"),
            weight_pre_layer=(weight_pre_layer, None),
            weight_quant_layer=(weight_quant_layer, None),
        )

        def rounding():
            if act_quant_layer is not None:
                return act_quant_layer()
            return _fake_quant(
                activation_quantize_type, "QuantizedMatmul", "activation_quantize_type", name=None,
                moving_rate=moving_rate, quant_bits=activation_bits,
            )  # fmt: skip

        self._fake_quant_x, self._fake_quant_y = rounding(), rounding()
        self._act_preprocess_x = None if act_pre_layer is None else act_pre_layer()
        self._act_preprocess_y = None if act_pre_layer is None else act_pre_layer()

    def forward(self, x, y, transpose_x=False, transpose_y=False, name=None):
        """The product of the rounded x and y."""
        if self._act_preprocess_x is not None:
            x, y = self._act_preprocess_x(x), self._act_preprocess_y(y)
        x, y = self._fake_quant_x(x), self._fake_quant_y(y)
        return tensor.matmul(x, y, transpose_x, transpose_y, name)


class MAOutputScaleLayer(Layer):
    """A layer, with the scale of its result kept by MovingAverageAbsMaxScale.

    Args:
        layer (Layer): the layer.
        moving_rate (float): see FakeQuantMovingAverageAbsMax.
        name (str, optional): begins the names of the state; the layer's unless given.
        dtype (str): of the state.
        reduce_type (str, optional): only None.

    Shape: as of the layer. Results that are several tensors pass as they are.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.MAOutputScaleLayer(argosy.nn.ReLU())
        >>> layer(argosy.to_tensor([-1.0, 2.0])).tolist(), layer._ma_output_scale._scale.tolist()
        ([0.0, 2.0], [2.0])
    """

    def __init__(self, layer=None, moving_rate=0.9, name=None, dtype="float32", reduce_type=None):
        super().__init__()
        self._layer = layer
        self._ma_output_scale = MovingAverageAbsMaxScale(
            layer.full_name() if name is None else name, moving_rate, dtype, reduce_type
        )

    def forward(self, *inputs, **kwargs):
        """The layer's result."""
        out = self._layer(*inputs, **kwargs)
        return out if isinstance(out, (list, tuple, dict)) else self._ma_output_scale(out)


class FakeQuantMAOutputScaleLayer(Layer):
    """A layer whose result is rounded by FakeQuantMovingAverageAbsMax.

    Args:
        layer (Layer): the layer.
        weight_bits (int): has no effect.
        activation_bits (int): bits of the integers.
        moving_rate (float): see FakeQuantMovingAverageAbsMax.
        name (str, optional): begins the names of the state; the layer's unless given.
        reduce_type (str, optional): only None.

    Shape: as of the layer. Results that are several tensors pass as they are.

    Examples:
        >>> layer = argosy.nn.quant.quant_layers.FakeQuantMAOutputScaleLayer(argosy.nn.ReLU())
        >>> layer(argosy.ones([2])).shape
        paddle.Size([2])
    """

    def __init__(
        self, layer, weight_bits=8, activation_bits=8, moving_rate=0.9, name=None, reduce_type=None
    ):
        super().__init__()
        no_effect(
            "FakeQuantMAOutputScaleLayer",
            "only the result is rounded",
            weight_bits=(weight_bits, 8),
        )
        self._layer = layer
        self._fake_quant_output = FakeQuantMovingAverageAbsMax(
            layer.full_name() if name is None else name, moving_rate, activation_bits,
            reduce_type=reduce_type,
        )  # fmt: skip

    def forward(self, *inputs, **kwargs):
        """The layer's result, rounded."""
        out = self._layer(*inputs, **kwargs)
        if isinstance(out, (list, tuple)) and len(out) > 1:
            return out
        return self._fake_quant_output(out)
