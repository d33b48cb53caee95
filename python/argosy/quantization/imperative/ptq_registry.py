"""Which layers calibration knows."""

from __future__ import annotations

from argosy import nn
from argosy.nn import quant
from argosy.nn.quant import quant_layers


class LayerInfo:
    """A type of layers, and how Paddle's operations name their operands, weights and results.

    Args:
        layer (type): the type.
        input_names, weight_names, output_names (list of str): the names.
    """

    def __init__(self, layer, input_names, weight_names, output_names):
        self.layer = layer
        self.input_names, self.weight_names = input_names, weight_names
        self.output_names = output_names


_PLAIN = (
    nn.AdaptiveMaxPool2D,
    nn.AdaptiveAvgPool2D,
    nn.AvgPool2D,
    nn.MaxPool2D,
    nn.ReLU,
    nn.ReLU6,
    nn.Hardswish,
    nn.Swish,
    nn.Sigmoid,
    nn.Softmax,
    nn.Tanh,
)
_CONVOLUTION = ["Input"], ["Filter"], ["Output"]
_LINEAR = ["X"], ["Y"], ["Out"]
PTQ_LAYERS_INFO = [
    LayerInfo(nn.Conv2D, *_CONVOLUTION),
    LayerInfo(nn.Linear, *_LINEAR),
    LayerInfo(nn.BatchNorm2D, ["X"], [], ["Y"]),
    *(LayerInfo(layer, ["X"], [], ["Out"]) for layer in _PLAIN),
    LayerInfo(quant.add, ["X", "Y"], [], ["Out"]),
]
QUANT_LAYERS_INFO = [
    LayerInfo(quant_layers.QuantizedConv2D, *_CONVOLUTION),
    LayerInfo(quant_layers.QuantizedLinear, *_LINEAR),
]
SIMULATED_LAYERS = [nn.Conv2D, nn.Linear]


def _is_one(layer, kinds):
    return any(layer is kind or isinstance(layer, kind) for kind in kinds)


class PTQRegistry:
    """Tells of layers, or types of layers, what calibration does with them.

    Example:
        >>> from argosy.quantization.imperative import PTQRegistry
        >>> PTQRegistry.is_supported_layer(argosy.nn.ReLU), PTQRegistry.is_simulated_quant_layer(argosy.nn.ReLU)
        (True, False)
        >>> PTQRegistry.is_registered_layer(argosy.nn.ReLU), PTQRegistry.layer_info(argosy.nn.Linear).weight_names
        (True, ['Y'])
    """

    @classmethod
    def is_supported_layer(cls, layer):
        """Whether calibration looks at a layer.

        Args:
            layer (Layer | type): it.

        Returns:
            bool.
        """
        return _is_one(layer, [info.layer for info in PTQ_LAYERS_INFO])

    @classmethod
    def is_registered_layer(cls, layer):
        """Whether there is a LayerInfo: for supported and for quantized layers.

        Args:
            layer (Layer | type): it.

        Returns:
            bool.
        """
        return _is_one(layer, [info.layer for info in PTQ_LAYERS_INFO + QUANT_LAYERS_INFO])

    @classmethod
    def is_simulated_quant_layer(cls, layer):
        """Whether a layer becomes a quantized one: its operands are looked at, too.

        Args:
            layer (Layer | type): it.

        Returns:
            bool.
        """
        return _is_one(layer, SIMULATED_LAYERS)

    @classmethod
    def layer_info(cls, layer):
        """The LayerInfo of a layer.

        Args:
            layer (Layer | type): it.

        Returns:
            LayerInfo.

        Raises:
            AssertionError: there is none.
        """
        for info in PTQ_LAYERS_INFO + QUANT_LAYERS_INFO:
            if _is_one(layer, [info.layer]):
                return info
        raise AssertionError(
            f"[PTQRegistry] layer: expected one that is registered, got {layer!r}. Do this: ask"
            " is_registered_layer first."
        )
