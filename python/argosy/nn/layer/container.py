"""Layers that hold other layers or parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from argosy._capturing import world
from argosy._support import WrongTypeError, alias
from argosy.base.parameter import EagerParamBase

from .layers import Layer

__all__ = ["LayerDict", "LayerList", "ParameterDict", "ParameterList", "Sequential"]


class _IndexedLayers(Layer):
    """What Sequential and LayerList share: sublayers named by their position."""

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(list(self._sub_layers.values()))

    def _replace_all(self, layers):
        self._sub_layers.clear()
        world.epoch = object()
        for number, layer in enumerate(layers):
            self.add_sublayer(str(number), layer)


class Sequential(_IndexedLayers):
    """Layers that are called one after the other.

    Indexing takes positions (also negative), slices and names.

    Args:
        layers: layers, or (name, layer) pairs, or one OrderedDict of named layers.

    Shape: that of the first layer's input to that of the last layer's result.

    Examples:
        >>> net = argosy.nn.Sequential(argosy.nn.Linear(2, 3), argosy.nn.ReLU())
        >>> net(argosy.ones([4, 2])).shape
        paddle.Size([4, 3])
        >>> net = net.append(argosy.nn.Linear(3, 1)).insert(1, argosy.nn.Dropout())
        >>> net = net.extend([argosy.nn.Sigmoid()])
        >>> len(net), net[1], net[-1]
        (5, Dropout(p=0.5, axis=None, mode=upscale_in_train, inplace=False), Sigmoid())
        >>> argosy.nn.Sequential(("first", argosy.nn.ReLU()))["first"]
        ReLU()
    """

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], OrderedDict):
            named = layers[0].items()
        elif layers and isinstance(layers[0], (list, tuple)):
            named = []
            for pair in layers:
                name, layer = pair
                named.append((name, layer))
        else:
            named = ((str(number), layer) for number, layer in enumerate(layers))
        for name, layer in named:
            self.add_sublayer(name, layer)

    def _key_at(self, index):
        keys = list(self._sub_layers)
        if not -len(keys) <= index < len(keys):
            raise IndexError(
                f"[Sequential] index {index} is out of range: expected -{len(keys)} <= index < "
                f"{len(keys)}. Do this: correct it."
            )
        return keys[index]

    def __getitem__(self, key):
        if isinstance(key, slice):
            return type(self)(*list(self._sub_layers.values())[key])
        if isinstance(key, str):
            return self._sub_layers[key]
        return self._sub_layers[self._key_at(key)]

    def __setitem__(self, key, layer):
        self.add_sublayer(key if isinstance(key, str) else self._key_at(key), layer)

    def __delitem__(self, key):
        if isinstance(key, slice):
            for name in list(self._sub_layers)[key]:
                del self._sub_layers[name]
        else:
            del self._sub_layers[key if isinstance(key, str) else self._key_at(key)]
        world.epoch = object()

    def append(self, module):
        """Add a layer at the end.

        Args:
            module: the layer.

        Returns:
            This container.
        """
        self.add_sublayer(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Put a layer before a position.

        Args:
            index (int): in [-len, len].
            module: the layer.

        Returns:
            This container.

        Raises:
            AssertionError: ``module`` is no layer.
            IndexError: ``index`` lies outside of [-len, len].
        """
        if not isinstance(module, Layer):
            raise AssertionError(
                f"[Sequential.insert] expected a Layer, got {type(module).__name__}. Do this: "
                "wrap a function in a Layer."
            )
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(
                f"[Sequential.insert] index {index} is out of range: expected -{count} <= index "
                f"<= {count}. Do this: correct it."
            )
        values = list(self._sub_layers.values())
        values.insert(index, module)
        for name, layer in zip([*self._sub_layers, str(count)], values):
            self.add_sublayer(name, layer)
        return self

    def extend(self, sequential):
        """Append every layer of an iterable.

        Args:
            sequential: the layers.

        Returns:
            This container.
        """
        for layer in sequential:
            self.append(layer)
        return self

    def forward(self, input):
        for layer in self._sub_layers.values():
            input = layer(input)
        return input


class LayerList(_IndexedLayers):
    """A list of layers that are registered but not called by the list itself.

    Args:
        sublayers: iterable of layers, or None for an empty list.

    Examples:
        >>> layers = argosy.nn.LayerList([argosy.nn.Linear(4, 4) for _ in range(3)])
        >>> layers.insert(0, argosy.nn.ReLU())
        >>> layers.append(argosy.nn.Tanh()).extend([argosy.nn.ReLU()]).pop(-1)
        ReLU()
        >>> len(layers), layers[0], len(layers.parameters())
        (5, ReLU(), 6)
    """

    @alias(modules="sublayers")
    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def _get_abs_idx(self, index):
        if isinstance(index, int):
            count = len(self)
            if not -count <= index < count:
                raise IndexError(
                    f"[LayerList] index {index} is out of range: expected -{count} <= index < "
                    f"{count}. Do this: correct it."
                )
            if index < 0:
                index += count
        return index

    def _get_abs_string_index(self, index):
        return str(self._get_abs_idx(index))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._sub_layers.values())[index])
        return self._sub_layers[self._get_abs_string_index(index)]

    def __setitem__(self, index, layer):
        self.add_sublayer(self._get_abs_string_index(index), layer)

    def __delitem__(self, index):
        layers = list(self._sub_layers.values())
        del layers[index if isinstance(index, slice) else self._get_abs_idx(index)]
        self._replace_all(layers)

    def __add__(self, other):
        return type(self)([*self, *other])

    def __iadd__(self, other):
        return self.extend(other)

    @alias(module="sublayer")
    def append(self, sublayer):
        """Add a layer at the end.

        Args:
            sublayer: the layer.

        Returns:
            This list.
        """
        self.add_sublayer(str(len(self)), sublayer)
        return self

    @alias(module="sublayer")
    def insert(self, index, sublayer):
        """Put a layer before a position.

        Args:
            index (int): in [-len, len].
            sublayer: the layer.

        Raises:
            AssertionError: ``index`` is no int in that range.
        """
        count = len(self)
        if not (isinstance(index, int) and -count <= index <= count):
            raise AssertionError(
                f"[LayerList.insert] index: expected an int in [{-count}, {count}], got "
                f"{index!r}. Do this: correct it."
            )
        layers = list(self._sub_layers.values())
        layers.insert(index, sublayer)
        self._replace_all(layers)

    @alias(modules="sublayers")
    def extend(self, sublayers):
        """Append every layer of an iterable.

        Args:
            sublayers: the layers.

        Returns:
            This list.
        """
        for layer in sublayers:
            self.append(layer)
        return self

    def pop(self, key):
        """Remove the layer at a position.

        Args:
            key (int): the position, also negative.

        Returns:
            The layer.
        """
        layer = self[key]
        del self[key]
        return layer


class LayerDict(Layer):
    """A dict of layers that are registered under their keys.

    Args:
        sublayers: a mapping or an iterable of (name, layer) pairs, or None.

    Examples:
        >>> layers = argosy.nn.LayerDict({"fc": argosy.nn.Linear(2, 3)})
        >>> layers.update({"act": argosy.nn.ReLU()})
        >>> list(layers.keys()), len(layers.values()), [name for name, layer in layers.items()]
        (['fc', 'act'], 2, ['fc', 'act'])
        >>> layers.pop("act")
        ReLU()
        >>> layers.clear()
        >>> len(layers)
        0
    """

    @alias(modules="sublayers")
    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key):
        return self._sub_layers[key]

    def __setitem__(self, key, sublayer):
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key):
        del self._sub_layers[key]
        world.epoch = object()

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers)

    def __contains__(self, key):
        return key in self._sub_layers

    def clear(self):
        """Remove all layers."""
        self._sub_layers.clear()
        world.epoch = object()

    def pop(self, key):
        """Remove a layer.

        Args:
            key (str): its name.

        Returns:
            The layer.
        """
        layer = self._sub_layers.pop(key)
        world.epoch = object()
        return layer

    def keys(self):
        """The names of the layers.

        Returns:
            View of str.
        """
        return self._sub_layers.keys()

    def items(self):
        """The layers with their names.

        Returns:
            View of (name, layer).
        """
        return self._sub_layers.items()

    def values(self):
        """The layers.

        Returns:
            View of layers.
        """
        return self._sub_layers.values()

    @alias(modules="sublayers")
    def update(self, sublayers):
        """Add or replace layers.

        Args:
            sublayers: a mapping, a LayerDict or an iterable of (name, layer).

        Raises:
            AssertionError: it is none of them.
            ValueError: an entry is no pair.
        """
        if not isinstance(sublayers, Iterable):
            raise AssertionError(
                "[LayerDict.update] expected a dict, or pairs of names and layers, got "
                f"{type(sublayers).__name__}. Do this: pass one of them."
            )
        if isinstance(sublayers, (Mapping, LayerDict)):
            pairs = list(sublayers.items())
        else:
            pairs = []
            for number, pair in enumerate(sublayers):
                if len(pair) != 2:
                    raise ValueError(
                        f"[LayerDict.update] entry {number}: expected a name and a layer, got "
                        f"{len(pair)} values. Do this: pass pairs."
                    )
                pairs.append(pair)
        for name, layer in pairs:
            self.add_sublayer(name, layer)


class ParameterList(Layer):
    """A list of parameters, registered as ``0``, ``1``, ...

    Args:
        parameters: iterable of parameters, or None.

    Raises:
        TypeError: an element is no parameter.

    Examples:
        >>> scales = argosy.nn.ParameterList([argosy.create_parameter([2], "float32") for _ in range(2)])
        >>> scales = scales.append(argosy.create_parameter([3], "float32"))
        >>> len(scales), scales[2].shape, len(scales.parameters())
        (3, paddle.Size([3]), 3)
    """

    def __init__(self, parameters=None):
        super().__init__()
        for number, parameter in enumerate(parameters if parameters is not None else ()):
            self.add_parameter(str(number), _as_parameter(parameter))

    def __getitem__(self, key):
        return self._parameters[str(key)]

    def __setitem__(self, key, parameter):
        self._parameters[str(key)] = _as_parameter(parameter)
        world.epoch = object()

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(list(self._parameters.values()))

    def append(self, parameter):
        """Add a parameter at the end.

        Args:
            parameter: the parameter.

        Returns:
            This list.
        """
        self.add_parameter(str(len(self)), _as_parameter(parameter))
        return self


class ParameterDict(Layer):
    """A dict of parameters that are registered under their keys.

    Args:
        parameters: a mapping or an iterable of (name, parameter) pairs, or None.

    Raises:
        TypeError: a value is no parameter.

    Examples:
        >>> scales = argosy.nn.ParameterDict({"a": argosy.create_parameter([2], "float32")})
        >>> scales.update({"b": argosy.create_parameter([3], "float32")})
        >>> list(scales), scales["b"].shape
        (['a', 'b'], paddle.Size([3]))
    """

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, parameter):
        self.add_parameter(key, _as_parameter(parameter))

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def update(self, parameters):
        """Add or replace parameters.

        Args:
            parameters: a mapping, a ParameterDict or an iterable of (name, parameter).

        Raises:
            AssertionError: it is none of them.
        """
        if not isinstance(parameters, Iterable):
            raise AssertionError(
                "[ParameterDict.update] expected a dict, or pairs of names and parameters, got "
                f"{type(parameters).__name__}. Do this: pass one of them."
            )
        if isinstance(parameters, Mapping):
            pairs = list(parameters.items())
        elif isinstance(parameters, ParameterDict):
            pairs = list(parameters._parameters.items())
        else:
            pairs = [(name, parameter) for name, parameter in parameters]
        for name, parameter in pairs:
            self.add_parameter(name, _as_parameter(parameter))


def _as_parameter(value):
    if value is not None and not isinstance(value, EagerParamBase):
        raise WrongTypeError(
            f"[Parameter] expected a Parameter, got {type(value).__name__}. Do this: make "
            "it with create_parameter."
        )
    return value
