"""Batch normalization in evaluation put into the weights of the layer before it."""

from __future__ import annotations

import copy

from argosy import nn, tensor
from argosy.tensor import create_parameter

from .utils import evaluating, find_parent_layer_and_sub_name, replace_layer


class Identity(nn.Layer):
    """Stands where a layer was that is part of another one now. Takes any arguments, which have no effect."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """The input."""
        return input


def _folded(layer, norm, shape):
    """A copy of a layer that does what it and the normalization behind it do."""
    layer = copy.deepcopy(layer)
    factor = tensor.rsqrt(norm._variance + norm._epsilon)
    if norm.weight is not None:
        factor = factor * norm.weight
    shift = -norm._mean if layer.bias is None else layer.bias - norm._mean
    shift = shift * factor
    if norm.bias is not None:
        shift = shift + norm.bias
    layer.weight.set_value(layer.weight * tensor.reshape(factor, shape))
    if layer.bias is None:
        layer.bias = create_parameter(norm._mean.shape, str(layer.weight.dtype), is_bias=True)
    layer.bias.set_value(shift)
    return layer


def _fold_conv(conv, norm):
    return _folded(conv, norm, [-1, 1, 1, 1])


def _fold_linear(linear, norm):
    return _folded(linear, norm, [1, -1])


types_to_fusion_method = {
    (nn.Conv2D, nn.BatchNorm2D): _fold_conv,
    (nn.Linear, nn.BatchNorm1D): _fold_linear,
}


def _fuse(model, names):
    layers = []
    for name in names:
        parent, last = find_parent_layer_and_sub_name(model, name)
        layers.append(getattr(parent, last))
    method = types_to_fusion_method.get(tuple(type(layer) for layer in layers))
    if method is None:
        found = ", ".join(type(layer).__name__ for layer in layers)
        raise ValueError(
            f"[fuse_layers] layers_to_fuse: expected a Conv2D and its BatchNorm2D, or a Linear and its"
            f" BatchNorm1D, got {found}. Do this: leave out {names}."
        )
    if any(layer.training for layer in layers):
        raise NotImplementedError(
            f"[fuse_layers] {names} are in training, where statistics still move. Do this: call"
            " model.eval() first."
        )
    fused = method(*layers)
    for hook in layers[-1]._forward_post_hooks.values():
        fused.register_forward_post_hook(hook)
    replace_layer(model, names[0], fused)
    for name in names[1:]:
        replace_layer(model, name, Identity().eval())


def fuse_layers(model, layers_to_fuse, inplace=False):
    """A model whose normalizations are part of the layers before them.

    Args:
        model (Layer): the model, in evaluation.
        layers_to_fuse (list of list of str): names of a Conv2D and its BatchNorm2D, or of a Linear and
            its BatchNorm1D, as in ``[["conv1", "bn1"], ["conv2", "bn2"]]``.
        inplace (bool): change the model itself, otherwise a copy.

    Returns:
        Layer: normalizations are ``Identity`` layers.

    Raises:
        ValueError: the layers are not such a pair.
        NotImplementedError: they are in training.

    Example:
        >>> from argosy.quantization.imperative.fuse_utils import fuse_layers
        >>> model = argosy.nn.Sequential(argosy.nn.Linear(2, 2), argosy.nn.BatchNorm1D(2)).eval()
        >>> type(fuse_layers(model, [["0", "1"]])[1]).__name__
        'Identity'
    """
    if not inplace:
        model = copy.deepcopy(model)
    for names in layers_to_fuse:
        _fuse(model, names)
    return model


def fuse_conv_bn(model):
    """Makes each normalization of a model part of the convolution that comes before it among the sublayers.

    Args:
        model (Layer): the model, which is changed.

    Example:
        >>> from argosy.quantization.imperative.fuse_utils import fuse_conv_bn
        >>> model = argosy.nn.Sequential(argosy.nn.Conv2D(1, 1, 1), argosy.nn.BatchNorm2D(1))
        >>> fuse_conv_bn(model)
        >>> type(model[1]).__name__
        'Identity'
    """
    pairs, conv = [], None
    for name, layer in model.named_sublayers():
        if isinstance(layer, nn.Conv2D):
            conv = name
        elif isinstance(layer, nn.BatchNorm2D) and conv is not None:
            pairs.append([conv, name])
            conv = None
    with evaluating(model):
        fuse_layers(model, pairs, inplace=True)
