"""Thresholds of a trained model from a few batches, and a quantized model made with them."""

from __future__ import annotations

import copy

import numpy as np

from argosy import jit

from . import fuse_utils
from .ptq_config import PTQConfig, default_ptq_config
from .ptq_quantizer import AbsmaxQuantizer
from .ptq_registry import PTQRegistry
from .utils import check_model, is_leaf_layer, quantized_type, replace_layer


def _observe(layer, inputs, outputs):
    """The hook that lets quantizers see what a layer computes."""
    config = layer._quant_config
    if config.enable_in_act_quantizer:
        config.in_act_quantizer.sample_data(layer, inputs)
    config.out_act_quantizer.sample_data(layer, (outputs,))


class ImperativePTQ:
    """Calibrates a trained model.

    ``quantize`` makes a model that is to compute a few batches, ``save_quantized_model`` puts quantized layers
    into it and saves it.

    Args:
        quant_config (PTQConfig): how thresholds are found; by default by divergence, for weights by
            largest values of channels.

    Raises:
        AssertionError: ``quant_config`` is no PTQConfig.

    Example:
        >>> from argosy.quantization.imperative import AbsmaxQuantizer, ImperativePTQ, PTQConfig
        >>> ptq = ImperativePTQ(PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer()))
        >>> model = ptq.quantize(argosy.nn.Sequential(argosy.nn.Linear(2, 2)).eval())
        >>> _ = model(argosy.ones([1, 2]) * 3)
        >>> model[0]._quant_config.in_act_quantizer.abs_max_vals
        [3.0]
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model")
        >>> ptq.save_quantized_model(model, path, [argosy.static.InputSpec([None, 2])])
        >>> argosy.jit.load(path)(argosy.ones([1, 2])).shape
        paddle.Size([1, 2])
    """

    def __init__(self, quant_config=default_ptq_config):
        if not isinstance(quant_config, PTQConfig):
            raise AssertionError(
                f"[ImperativePTQ] quant_config: expected a PTQConfig, got {type(quant_config).__name__}."
                " Do this: pass PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer())."
            )
        self._quant_config = quant_config

    def quantize(self, model, inplace=False, fuse=False, fuse_list=None):
        """A model whose layers show quantizers what they compute. Layers with ``skip_quant`` True do not.

        Args:
            model (Layer): the model.
            inplace (bool): change the model itself, otherwise a copy.
            fuse (bool): put normalizations into the layers before them; the model is in evaluation then.
            fuse_list (list, optional): which, see ``fuse_utils.fuse_layers``.

        Returns:
            Layer.

        Raises:
            AssertionError: ``model`` is no Layer.
            TypeError: ``fuse`` without ``fuse_list``.
        """
        check_model("ImperativePTQ.quantize", model)
        if not inplace:
            model = copy.deepcopy(model)
        if fuse:
            if fuse_list is None:
                raise TypeError(
                    "[ImperativePTQ.quantize] fuse_list is missing: fuse=True asks for it. Do this: pass"
                    ' pairs of names, e.g. [["conv1", "bn1"]].'
                )
            model.eval()
            model = fuse_utils.fuse_layers(model, fuse_list, inplace=True)
        for layer in model.sublayers():
            skipped = getattr(layer, "skip_quant", False) is True
            if not PTQRegistry.is_supported_layer(layer) or not is_leaf_layer(layer) or skipped:
                continue
            config = copy.deepcopy(self._quant_config)
            config.enable_in_act_quantizer = PTQRegistry.is_simulated_quant_layer(layer)
            layer._quant_config = config
            config.quant_hook_handle = layer.register_forward_post_hook(_observe)
        return model

    def save_quantized_model(self, model, path, input_spec=None, **config):
        """Puts quantized layers into a model, with the thresholds that were found, and saves it.

        Args:
            model (Layer): what ``quantize`` returned, after some batches. It is changed.
            path (str): see ``jit.save``.
            input_spec (list, optional): see ``jit.save``.
            config: see ``jit.save``.

        Raises:
            AssertionError: ``model`` is no Layer.
            RuntimeError: a layer has computed nothing yet.
        """
        check_model("ImperativePTQ.save_quantized_model", model)
        self._convert(model)
        jit.save(model, path, input_spec=input_spec, **config)

    def _convert(self, model):
        """Puts quantized layers in the places of those that are observed, which they are no longer."""
        observed = [
            (name, layer)
            for name, layer in model.named_sublayers()
            if getattr(layer, "_quant_config", None) and layer._quant_config.quant_hook_handle
        ]
        for name, layer in observed:
            self._find_thresholds(name, layer)
        for name, layer in observed:
            layer._quant_config.quant_hook_handle.remove()
            layer._quant_config.quant_hook_handle = None
            if PTQRegistry.is_simulated_quant_layer(layer):
                replace_layer(model, name, _quantized(layer))

    def _find_thresholds(self, name, layer):
        config = layer._quant_config
        if not config.out_act_quantizer.abs_max_vals:
            raise RuntimeError(
                f"[ImperativePTQ] layer {name!r} has computed nothing, so it has no thresholds. Do this:"
                " let the model compute some batches before it is saved."
            )
        config.out_act_quantizer.cal_thresholds()
        if config.enable_in_act_quantizer:
            config.in_act_quantizer.cal_thresholds()
            config.wt_quantizer.sample_data(layer, (layer.weight,))
            config.wt_quantizer.cal_thresholds()


def _quantized(layer):
    """The quantized layer that stands for one whose thresholds are known."""
    config = layer._quant_config
    by_channel = not isinstance(config.wt_quantizer, AbsmaxQuantizer)
    made = quantized_type(layer)(
        layer,
        weight_bits=config.wt_quantizer.quant_bits,
        activation_bits=config.in_act_quantizer.quant_bits,
        weight_quantize_type="channel_wise_abs_max" if by_channel else "abs_max",
        activation_quantize_type="moving_average_abs_max",
    )
    (threshold,) = config.in_act_quantizer.thresholds
    made._fake_quant_input._scale.set_value(np.array([threshold], "float32"))
    (threshold,) = config.wt_quantizer.thresholds
    made._fake_quant_weight._scale.set_value(np.array(threshold, "float32").reshape([-1]))
    made._quant_config = config
    if not layer.training:
        made.eval()
    return made
