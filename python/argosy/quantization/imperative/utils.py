"""What imperative quantization knows of layers."""

from __future__ import annotations

import contextlib

from argosy import nn
from argosy.nn import quant
from argosy.nn.quant import quant_layers

# Layers that have a quantized one, by the name that users say.
QUANTIZED = {
    "Conv2D": (nn.Conv2D, quant_layers.QuantizedConv2D),
    "Linear": (nn.Linear, quant_layers.QuantizedLinear),
    "Conv2DTranspose": (nn.Conv2DTranspose, quant_layers.QuantizedConv2DTranspose),
}
# Their weights have the channels of the result second.
SECOND_AXIS = (nn.Conv2DTranspose, nn.Linear)

fake_quant_leaf_layers = [
    quant_layers.FakeQuantAbsMax,
    quant_layers.FakeQuantChannelWiseAbsMax,
    quant_layers.FakeQuantMovingAverageAbsMax,
    quant_layers.MovingAverageAbsMaxScale,
]
fake_quant_wrap_layers = [made for _, made in QUANTIZED.values()]
fake_quant_output_layers = [quant.add, quant.subtract, quant.multiply, quant.divide, quant.matmul]


def quantized_type(layer):
    """The quantized layer that stands for a layer, or None."""
    return next((made for kind, made in QUANTIZED.values() if isinstance(layer, kind)), None)


def is_leaf_layer(layer):
    """Whether something is a layer without sublayers."""
    return isinstance(layer, nn.Layer) and not layer.sublayers()


def check_model(who, model):
    """Raises AssertionError unless model is a layer."""
    if not isinstance(model, nn.Layer):
        raise AssertionError(
            f"[{who}] model: expected a Layer, got {type(model).__name__}. Do this: pass the model."
        )


@contextlib.contextmanager
def evaluating(model):
    """Within the context all layers of a model are in evaluation; then each is in the mode that it was in, as
    is a layer that took the place of another one."""
    modes = {
        name: (layer, layer.training) for name, layer in model.named_sublayers(include_self=True)
    }
    model.eval()
    try:
        yield
    finally:
        for layer, training in modes.values():
            layer.training = training
        for name, layer in model.named_sublayers(include_self=True):
            if name in modes:
                layer.training = modes[name][1]


def find_parent_layer_and_sub_name(model, name):
    """The layer that holds a sublayer, and the sublayer's name there.

    Args:
        model (Layer): where names begin.
        name (str): as ``named_sublayers`` gives it.

    Returns:
        (Layer, str).

    Example:
        >>> from argosy.quantization.imperative.utils import find_parent_layer_and_sub_name
        >>> model = argosy.nn.Sequential(argosy.nn.Sequential(argosy.nn.ReLU()))
        >>> parent, name = find_parent_layer_and_sub_name(model, "0.0")
        >>> parent is model[0], name
        (True, '0')
    """
    *path, last = name.split(".")
    for step in path:
        model = getattr(model, step)
    return model, last


def replace_layer(model, name, layer):
    """Puts a layer in the place of the one of that name."""
    parent, last = find_parent_layer_and_sub_name(model, name)
    setattr(parent, last, layer)
