"""Which parameters are pruned, and by what."""

from __future__ import annotations

import warnings

import numpy as np

from argosy.nn import Layer
from argosy.nn.layer.layers import _convert_camel_to_snake

from . import utils

__all__ = []


def _default_pruning(weight, m, n, func_name, param_name):
    """(weight, mask) of a linear layer or a convolution: the sums of its product are made sparse.

    A weight whose sums have fewer than m terms stays as it is, with a warning.
    """
    terms = {2: 0, 4: 1}.get(weight.ndim)
    if terms is not None and weight.shape[terms] < m:
        warnings.warn(
            f"[asp] {param_name} is not pruned: axis {terms} of {list(weight.shape)} is shorter than"
            f" m = {m}.",
            stacklevel=2,
        )
        return weight.copy(), np.ones_like(weight)
    mask = utils.create_mask(weight.T, func_name, n, m).T
    return weight * mask, mask


# Name of a parameter or layer, or of a type of layers -> what prunes.
supported_layers_and_prune_func_map = {}


def add_supported_layer(layer, pruning_func=None):
    """Says that the weights of layers are pruned.

    Args:
        layer (str | Layer | type): name of a parameter, of a layer or of a type of layers; a layer, or a type,
            means all layers of the type.
        pruning_func (function, optional): (weight, m, n, mask algorithm, parameter's name) to (pruned weight,
            mask), all NumPy arrays; None prunes as linear layers are.

    Raises:
        TypeError: ``layer`` is something else.

    Examples:
        >>> argosy.incubate.asp.add_supported_layer(argosy.nn.Conv1D)
    """
    if isinstance(layer, Layer):
        layer = type(layer)
    if isinstance(layer, type) and issubclass(layer, Layer):
        layer = _convert_camel_to_snake(layer.__name__)
    if not isinstance(layer, str):
        raise TypeError(
            f"[add_supported_layer] layer: expected a name or a Layer, got {type(layer).__name__}. Do"
            " this: pass one of them."
        )
    supported_layers_and_prune_func_map[layer] = pruning_func or _default_pruning


def pruning_of(param_name):
    """What prunes the parameter of that name; None if nothing does."""
    known = supported_layers_and_prune_func_map
    if param_name in known:
        return known[param_name]
    layer, _, parameter = param_name.partition(".")
    if "w_" not in parameter.split(".")[0]:
        return None
    return known.get(layer) or known.get(layer.rpartition("_")[0])


for _name in ("fc", "linear", "conv2d"):
    add_supported_layer(_name)
