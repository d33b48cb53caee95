"""What training for quantization and calibration have in common."""

from __future__ import annotations

import abc
import copy

from argosy.nn.quant.format import ConvertibleQuantedLayer, LinearQuanterDequanter

from .base_quanter import BaseQuanter


class Quantization(abc.ABC):
    """Prepares models for quantization, and converts them afterwards.

    Args:
        config (QuantConfig): what is quantized, and how.
    """

    def __init__(self, config):
        self._config = copy.deepcopy(config)

    @abc.abstractmethod
    def quantize(self, model, inplace=False):
        """A model whose layers have quanters.

        Args:
            model (Layer): the model.
            inplace (bool): change the model itself, otherwise a copy.

        Returns:
            Layer.
        """

    def convert(self, model, inplace=False, remain_weight=False):
        """A model whose quanters are steps to codes and back, for deployment.

        Args:
            model (Layer): what ``quantize`` returned.
            inplace (bool): change the model itself, otherwise a copy.
            remain_weight (bool): keep weights as floats, otherwise as their codes.

        Returns:
            Layer.

        Examples:
            >>> from argosy.quantization import PTQ, QuantConfig, observers
            >>> ptq = PTQ(QuantConfig(activation=None, weight=observers.AbsmaxObserver()))
            >>> model = ptq.quantize(argosy.nn.Sequential(argosy.nn.Linear(2, 2)).eval())
            >>> before = model(argosy.ones([1, 2]))
            >>> converted = ptq.convert(model)
            >>> bool((converted[0].weight == converted[0].weight.round()).all())
            True
        """
        model = model if inplace else copy.deepcopy(model)
        for name, child in list(model.named_children()):
            if isinstance(child, ConvertibleQuantedLayer):
                if not child.converted and not _weight_was_unseen(child):
                    child._convert(remain_weight=remain_weight)
            elif isinstance(child, BaseQuanter):
                model._sub_layers[name] = LinearQuanterDequanter.from_quanter(child)
            else:
                self.convert(child, inplace=True, remain_weight=remain_weight)
        return model

    def _prepare(self, model):
        """Puts quanters into a model."""
        self._config._specify(model)
        self._convert_to_quant_layers(model)
        self._insert_activation_observers(model)
        return model

    def _convert_to_quant_layers(self, model):
        config = self._config
        for name, child in list(model.named_children()):
            if config._is_quantifiable(child) and type(child) in config.qat_layer_mappings:
                model._sub_layers[name] = config._get_qat_layer(child)
            else:
                self._convert_to_quant_layers(child)

    def _insert_activation_observers(self, model):
        config = self._config
        for name, child in list(model.named_children()):
            if config._need_observe(child):
                model._sub_layers[name] = config._get_observe_wrapper(child)
            elif type(child) not in config.qat_layer_mappings.values():
                self._insert_activation_observers(child)

    def __str__(self):
        return self._config.details()

    __repr__ = __str__


def _weight_was_unseen(layer):
    """Whether a layer's weight has no scales, so that it stays as it is."""
    if not hasattr(layer, "weight_quanter"):
        return False
    return layer.weight_quanter is None or layer.weight_quanter.scales() is None
