"""Which layers of a model are quantized, and how."""

from __future__ import annotations

from argosy import nn
from argosy.nn.quant.qat import QuantedConv2D, QuantedLinear
from argosy.nn.quant.stub import QuanterStub, Stub

from .wrapper import ObserveWrapper

# What layers become.
DEFAULT_QAT_LAYER_MAPPINGS = {Stub: QuanterStub, nn.Linear: QuantedLinear, nn.Conv2D: QuantedConv2D}
# Layers that are observed as a whole.
DEFAULT_LEAVES = [nn.ReLU, nn.AvgPool2D]


class SingleLayerConfig:
    """How one layer is quantized.

    Args:
        activation, weight (QuanterFactory, optional): make the quanters of its input and its weight.
    """

    def __init__(self, activation, weight):
        self._activation, self._weight = activation, weight

    @property
    def activation(self):
        """Makes the quanters of inputs; None: they are not quantized."""
        return self._activation

    @property
    def weight(self):
        """Makes the quanters of weights; None: they are not quantized."""
        return self._weight

    def __str__(self):
        return f"activation: {self._activation}\nweight: {self._weight}"


def _listed(what, value, kind, remedy):
    """value as a list, whose elements are checked by ``kind(element)``."""
    values = value if isinstance(value, list) else [value]
    for each in values:
        if not kind(each):
            raise TypeError(
                f"[QuantConfig] {what}: expected {remedy}, or a list of these, got {each!r}. Do this:"
                " correct it."
            )
    return values


def _is_layer_type(value):
    return isinstance(value, type) and issubclass(value, nn.Layer)


class QuantConfig:
    """How a model is quantized: for all of it, by types, by names and by layers, the last over the first.

    Args:
        activation, weight (QuanterFactory, optional): hold for what nothing else is said of.

    Examples:
        >>> quanter = argosy.quantization.quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        >>> config = argosy.quantization.QuantConfig(activation=quanter, weight=None)
        >>> config.add_type_config(argosy.nn.Linear, activation=quanter, weight=quanter)
        >>> config.global_config.weight is None
        True
        >>> model = argosy.nn.Sequential(argosy.nn.Linear(2, 2), argosy.nn.ReLU())
        >>> config.add_layer_config(model[0], weight=quanter)
        >>> config.add_name_config("linear_9", weight=quanter)
        >>> config.add_customized_leaf(argosy.nn.Sequential)
        >>> config.add_qat_layer_mapping(argosy.nn.Linear, argosy.nn.quant.qat.QuantedLinear)
        >>> config.details().splitlines()[0]
        'Global config:'
    """

    def __init__(self, activation, weight):
        self._global_config = None
        if activation is not None or weight is not None:
            self._global_config = SingleLayerConfig(activation, weight)
        self._layer2config, self._prefix2config, self._type2config = {}, {}, {}
        self._model = None
        self._qat_layer_mapping = dict(DEFAULT_QAT_LAYER_MAPPINGS)
        self._customized_qat_layer_mapping = {}
        self._customized_leaves = []

    def add_layer_config(self, layer, activation=None, weight=None):
        """Says how certain layers are quantized. It holds over what types and the whole model say.

        Args:
            layer (Layer | list[Layer]): the layers.
            activation, weight (QuanterFactory, optional): see QuantConfig.

        Raises:
            TypeError: ``layer`` is something else.
        """
        layers = _listed("layer", layer, lambda v: isinstance(v, nn.Layer), "a Layer")
        for each in layers:
            self.add_name_config(each.full_name(), activation, weight)

    def add_name_config(self, layer_name, activation=None, weight=None):
        """Says how layers of certain names are quantized.

        Args:
            layer_name (str | list[str]): names that ``Layer.full_name`` returns.
            activation, weight (QuanterFactory, optional): see QuantConfig.

        Raises:
            TypeError: ``layer_name`` is something else.
        """
        names = _listed("layer_name", layer_name, lambda v: isinstance(v, str), "a name")
        for name in names:
            self._prefix2config[name] = SingleLayerConfig(activation, weight)

    def add_type_config(self, layer_type, activation=None, weight=None):
        """Says how layers of certain types are quantized.

        Args:
            layer_type (type | list[type]): subclasses of Layer.
            activation, weight (QuanterFactory, optional): see QuantConfig.

        Raises:
            TypeError: ``layer_type`` is something else.
        """
        for kind in _listed("layer_type", layer_type, _is_layer_type, "a subclass of Layer"):
            self._type2config[kind] = SingleLayerConfig(activation, weight)

    def add_qat_layer_mapping(self, source, target):
        """Says what layers of a type become.

        Args:
            source (type): subclass of Layer.
            target (type): makes the quantized layer from (layer, configuration of the layer).

        Raises:
            AssertionError: one of them is no subclass of Layer.
        """
        for name, value in (("source", source), ("target", target)):
            if not _is_layer_type(value):
                raise AssertionError(
                    f"[QuantConfig] {name}: expected a subclass of Layer, got {value!r}. Do this: pass"
                    " the class."
                )
        self._qat_layer_mapping[source] = target
        self._customized_qat_layer_mapping[source] = target

    def add_customized_leaf(self, layer_type):
        """Says that layers of a type are quantized as a whole, not their sublayers.

        Args:
            layer_type (type): subclass of Layer.
        """
        self._customized_leaves.append(layer_type)

    @property
    def customized_leaves(self):
        """Types that ``add_customized_leaf`` was given."""
        return self._customized_leaves

    @property
    def qat_layer_mappings(self):
        """What layers become: {type: type}."""
        return self._qat_layer_mapping

    @property
    def default_qat_layer_mapping(self):
        """What layers become unless ``add_qat_layer_mapping`` says otherwise."""
        return DEFAULT_QAT_LAYER_MAPPINGS

    @property
    def global_config(self):
        """SingleLayerConfig of the whole model, or None."""
        return self._global_config

    def details(self):
        """What holds for each layer of the model that was quantized; before, what was configured.

        Returns:
            str.
        """
        return str(self) if self._model is None else self._details_of(self._model)

    def __str__(self):
        text = f"Global config:\n{self._global_config}\n"
        if self._type2config:
            text += f"Layer type config:\n{self._type2config}\n"
        if self._prefix2config:
            text += f"Layer prefix config: \n{self._prefix2config}\n"
        return text

    def _details_of(self, layer):
        lines = []
        for name, child in layer.named_children():
            if child in self._layer2config:
                inner = self._details_of(child).replace("\n", "\n  ")
                lines.append(f"\n  ({name}): {inner}, {self._layer2config[child]}")
        return f"{type(layer).__name__}({''.join(lines)}{chr(10) if lines else ''})"

    def _specify(self, model):
        """Works out what holds for each layer of a model."""
        self._model = model
        self._specify_below(model)

    def _specify_below(self, layer):
        inherited = self._layer2config.get(layer, self._global_config)
        for child in layer.children():
            config = self._type2config.get(type(child), inherited)
            config = self._prefix2config.get(child.full_name(), config)
            if config is not None:
                self._layer2config[child] = config
            self._specify_below(child)

    def _is_quantifiable(self, layer):
        return layer in self._layer2config

    def _get_qat_layer(self, layer):
        """What a layer becomes."""
        return self._qat_layer_mapping[type(layer)](layer, self._layer2config.get(layer))

    def _is_leaf(self, layer):
        known = (*DEFAULT_LEAVES, *self._customized_leaves)
        return type(layer) in known or not layer._sub_layers

    def _need_observe(self, layer):
        config = self._layer2config.get(layer)
        return self._is_leaf(layer) and config is not None and config.activation is not None

    def _get_observe_wrapper(self, layer):
        return ObserveWrapper(self._layer2config[layer].activation._instance(layer), layer)
