"""Training of a model whose layers round their operands, by layer types."""

from __future__ import annotations

from argosy import jit, nn
from argosy.nn import quant
from argosy.nn.quant import quant_layers

from . import fuse_utils, utils

_PARALLEL = ("ColumnParallelLinear", "RowParallelLinear")
_WEIGHTS = ("abs_max", "channel_wise_abs_max", "lsq_weight", "channel_wise_lsq_weight")
_ACTIVATIONS = ("moving_average_abs_max", "lsq_act")


def _require(what, ok, expected, got, do):
    if not ok:
        raise AssertionError(
            f"[ImperativeQuantAware] {what}: expected {expected}, got {got!r}. Do this: {do}."
        )


def _types(wanted):
    """The types of layers that are quantized, and the names of those that cannot be here."""
    types, absent = [], []
    for item in wanted:
        if item in _PARALLEL:
            absent.append(item)
            continue
        kind = utils.QUANTIZED.get(item, (item,))[0]
        known = [kind for kind, _ in utils.QUANTIZED.values()]
        _require(
            "quantizable_layer_type",
            kind in known,
            f"some of {', '.join(utils.QUANTIZED)}",
            item,
            "leave it out",
        )
        types.append(kind)
    return tuple(types), tuple(absent)


class ImperativeQuantAware:
    """Puts quantized layers into a model that is trained further, and averages of the sizes of results.

    Layers with ``skip_quant`` True stay as they are.

    Args:
        quantizable_layer_type (list of str or type): of 'Conv2D', 'Linear' and 'Conv2DTranspose'.
            'ColumnParallelLinear' and 'RowParallelLinear' may be named, but a model that has such layers is refused.
        weight_quantize_type (str): 'abs_max', 'channel_wise_abs_max', 'lsq_weight' or 'channel_wise_lsq_weight'.
        activation_quantize_type (str): 'moving_average_abs_max' or 'lsq_act'.
        weight_bits, activation_bits (int): bits of the integers, up to 16.
        moving_rate (float): of moving averages.
        fuse_conv_bn (bool): put normalizations into convolutions first.
        weight_preprocess_layer, act_preprocess_layer (type, optional): make a layer that comes before rounding.
        weight_quantize_layer, act_quantize_layer (type, optional): make the layer that rounds.
        onnx_format (bool): only sizes of results of quantized layers are averaged. Such a model cannot be saved here
            by ``save_quantized_model``.

    Raises:
        AssertionError: an argument is none of these.

    Example:
        >>> from argosy.quantization.imperative import ImperativeQuantAware
        >>> model = argosy.nn.Sequential(argosy.nn.Linear(2, 2))
        >>> aware = ImperativeQuantAware()
        >>> _ = aware.quantize(model)
        >>> print(model)
        Sequential(
          (0): MAOutputScaleLayer(
            (_layer): QuantizedLinear(
              (_fake_quant_weight): FakeQuantAbsMax()
              (_fake_quant_input): FakeQuantMovingAverageAbsMax()
            )
            (_ma_output_scale): MovingAverageAbsMaxScale()
          )
        )
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model")
        >>> aware.save_quantized_model(model, path, [argosy.static.InputSpec([None, 2])])
        >>> argosy.jit.load(path)(argosy.ones([1, 2])).shape
        paddle.Size([1, 2])
    """

    def __init__(
        self,
        quantizable_layer_type=(
            "Conv2D",
            "Linear",
            "Conv2DTranspose",
            "ColumnParallelLinear",
            "RowParallelLinear",
        ),
        weight_quantize_type="abs_max",
        activation_quantize_type="moving_average_abs_max",
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        fuse_conv_bn=False,
        weight_preprocess_layer=None,
        act_preprocess_layer=None,
        weight_quantize_layer=None,
        act_quantize_layer=None,
        onnx_format=False,
    ):
        self._types, self._absent = _types(quantizable_layer_type)
        for what, kind, kinds in (
            ("weight_quantize_type", weight_quantize_type, _WEIGHTS),
            ("activation_quantize_type", activation_quantize_type, _ACTIVATIONS),
        ):
            _require(what, kind in kinds, f"one of {', '.join(kinds)}", kind, f"pass {kinds[0]!r}")
        for what, bits in (("weight_bits", weight_bits), ("activation_bits", activation_bits)):
            ok = isinstance(bits, int) and 0 <= bits <= 16
            _require(what, ok, "an int of at most 16", bits, "pass 8")
        for what, maker in (
            ("weight_preprocess_layer", weight_preprocess_layer),
            ("act_preprocess_layer", act_preprocess_layer),
            ("weight_quantize_layer", weight_quantize_layer),
            ("act_quantize_layer", act_quantize_layer),
        ):
            ok = maker is None or (isinstance(maker, type) and issubclass(maker, nn.Layer))
            _require(what, ok, "a type of layers or None", maker, "pass the class")
        self.fuse_conv_bn = fuse_conv_bn
        self._moving_rate, self._onnx_format = moving_rate, onnx_format
        self._options = {
            "weight_bits": weight_bits,
            "activation_bits": activation_bits,
            "moving_rate": moving_rate,
            "weight_quantize_type": weight_quantize_type,
            "activation_quantize_type": activation_quantize_type,
            "weight_pre_layer": weight_preprocess_layer,
            "act_pre_layer": act_preprocess_layer,
            "weight_quant_layer": weight_quantize_layer,
            "act_quant_layer": act_quantize_layer,
        }

    def quantize(self, model):
        """Puts quantized layers, and averages of the sizes of results, into a model.

        Args:
            model (Layer): the model, which is changed.

        Returns:
            Layer: the model.

        Raises:
            AssertionError: ``model`` is no Layer.
            NotImplementedError: it has a layer whose weight is spread over processes.
        """
        utils.check_model("ImperativeQuantAware.quantize", model)
        if self.fuse_conv_bn:
            fuse_utils.fuse_conv_bn(model)
        for name, layer in list(model.named_sublayers()):
            if type(layer).__name__ in self._absent:
                raise NotImplementedError(
                    f"[ImperativeQuantAware] layer {name!r} is a {type(layer).__name__}, of which there is"
                    " no quantized one. Do this: set its skip_quant to True and leave its type out."
                )
            if isinstance(layer, self._types) and getattr(layer, "skip_quant", False) is not True:
                made = utils.quantized_type(layer)(layer, **self._options)
                if not layer.training:
                    made.eval()
                utils.replace_layer(model, name, made)
        for name, layer in list(model.named_sublayers()):
            if "_act_preprocess" not in name and self._is_averaged(layer):
                rounded = isinstance(layer, tuple(utils.fake_quant_output_layers))
                kind = "FakeQuantMAOutputScaleLayer" if rounded else "MAOutputScaleLayer"
                made = getattr(quant_layers, kind)(layer, moving_rate=self._moving_rate)
                if not layer.training:
                    made.eval()
                utils.replace_layer(model, name, made)
        return model

    def _is_averaged(self, layer):
        """Whether the sizes of a layer's results are averaged."""
        if isinstance(layer, tuple(utils.fake_quant_wrap_layers)):
            return True
        if self._onnx_format:
            return False
        if isinstance(layer, quant.FloatFunctionalLayer):
            return True
        return utils.is_leaf_layer(layer) and not isinstance(
            layer, tuple(utils.fake_quant_leaf_layers)
        )

    def save_quantized_model(self, layer, path, input_spec=None, **config):
        """Saves a model for deployment: its operands are rounded by the scales of training.

        Args:
            layer (Layer): what ``quantize`` returned.
            path (str): see ``jit.save``.
            input_spec (list, optional): see ``jit.save``.
            config: see ``jit.save``.

        Raises:
            AssertionError: ``layer`` is no Layer.
            NotImplementedError: ``onnx_format`` was asked for.
        """
        utils.check_model("ImperativeQuantAware.save_quantized_model", layer)
        if self._onnx_format:
            raise NotImplementedError(
                "[ImperativeQuantAware.save_quantized_model] onnx_format=True: steps to codes and back"
                " are not made of these layers. Do this: use quantization.QAT, whose convert makes them."
            )
        with utils.evaluating(layer):
            jit.save(layer, path, input_spec=input_spec, **config)
