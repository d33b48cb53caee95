"""The part of Layer that walks over its sublayers, parameters and buffers."""

from __future__ import annotations

from argosy._support import alias


class LayerMembers:
    """Mixin of Layer: what is registered in it and below it, by name and in order."""

    def named_children(self):
        """The direct sublayers with their names, each layer once.

        Returns:
            Generator of (name, layer).
        """
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self):
        """The direct sublayers, each once.

        Returns:
            Generator of layers.
        """
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(
        self, prefix="", include_self=False, layers_set=None, remove_duplicate=True
    ):
        """All sublayers with their dotted names, parents before children.

        Args:
            prefix (str): put before every name.
            include_self (bool): begin with this layer itself (its name is ``prefix``).
            layers_set (set, optional): layers in it are left out; those visited are added.
            remove_duplicate (bool): yield a layer that is reachable by several names once.

        Returns:
            Generator of (name, layer).
        """
        if layers_set is None:
            layers_set = set()
        if remove_duplicate and self in layers_set:
            return
        layers_set.add(self)
        if include_self:
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                yield from layer.named_sublayers(
                    f"{prefix}.{name}" if prefix else name, True, layers_set, remove_duplicate
                )

    def sublayers(self, include_self=False):
        """All sublayers, parents before children, each once.

        Args:
            include_self (bool): begin with this layer.

        Returns:
            list of layers.
        """
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Same as :meth:`named_sublayers` with this layer included.

        Args:
            memo (set, optional): layers in it are left out; those visited are added.
            prefix (str): put before every name.
            remove_duplicate (bool): yield a layer that is reachable by several names once.

        Returns:
            Generator of (name, layer).

        Examples:
            >>> [name for name, layer in argosy.nn.Sequential(argosy.nn.ReLU()).named_modules()]
            ['', '0']
        """
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self):
        """This layer and all sublayers, each once.

        Returns:
            Generator of layers.
        """
        for _, layer in self.named_modules():
            yield layer

    def _named_members(self, group, prefix, include_sublayers, remove_duplicate):
        seen = set()
        if include_sublayers:
            layers = self.named_sublayers(prefix, True, None, remove_duplicate)
        else:
            layers = [(prefix, self)]
        for layer_prefix, layer in layers:
            for name, value in getattr(layer, group).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{layer_prefix}.{name}" if layer_prefix else name, value

    @alias(recurse="include_sublayers")
    def named_parameters(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """All parameters with their dotted names.

        Args:
            prefix (str): put before every name.
            include_sublayers (bool): False gives this layer's own only.
            remove_duplicate (bool): yield a parameter that is reachable by several names once.

        Returns:
            Generator of (name, parameter).
        """
        return self._named_members("_parameters", prefix, include_sublayers, remove_duplicate)

    @alias(recurse="include_sublayers")
    def parameters(self, include_sublayers=True):
        """All parameters, each once.

        Args:
            include_sublayers (bool): False gives this layer's own only.

        Returns:
            list of parameters.
        """
        return [param for _, param in self.named_parameters("", include_sublayers)]

    @alias(recurse="include_sublayers")
    def named_buffers(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """All buffers with their dotted names.

        Args:
            prefix (str): put before every name.
            include_sublayers (bool): False gives this layer's own only.
            remove_duplicate (bool): yield a buffer that is reachable by several names once.

        Returns:
            Generator of (name, tensor).
        """
        return self._named_members("_buffers", prefix, include_sublayers, remove_duplicate)

    @alias(recurse="include_sublayers")
    def buffers(self, include_sublayers=True):
        """All buffers, each once.

        Args:
            include_sublayers (bool): False gives this layer's own only.

        Returns:
            list of tensors.
        """
        return [buffer for _, buffer in self.named_buffers("", include_sublayers)]

    def _obtain_parameters_buffers(self):
        """Own parameters and buffers by name, without those of sublayers."""
        return {**self._parameters, **self._buffers}

    def get_sublayer(self, target):
        """The sublayer with a dotted name.

        Args:
            target (str): such as ``encoder.0``; '' is this layer.

        Returns:
            The layer.

        Raises:
            AttributeError: there is none, or what has that name is no layer.
        """
        layer = self
        for name in target.split(".") if target else ():
            if not hasattr(layer, name):
                raise AttributeError(f"{layer._get_name()} has no attribute `{name}`")
            layer = getattr(layer, name)
            if not isinstance(layer, LayerMembers):
                raise AttributeError(f"`{name}` is not an nn.Layer")
        return layer

    get_submodule = get_sublayer

    @alias(module="layer")
    def set_sublayer(self, target, layer, strict=False):
        """Put a layer in the place of the sublayer with a dotted name.

        Args:
            target (str): such as ``encoder.0``.
            layer: the new one.
            strict (bool): something must have that name already.

        Raises:
            ValueError: ``target`` is empty.
            AttributeError: a parent is missing, ``layer`` is no layer, or ``strict`` and the name is new.

        Examples:
            >>> net = argosy.nn.Sequential(argosy.nn.Linear(2, 3), argosy.nn.ReLU())
            >>> net.set_sublayer("1", argosy.nn.Tanh())
            >>> net[1]
            Tanh()
        """
        if target == "":
            raise ValueError("[set_sublayer] target is empty. Do this: name the layer to replace.")
        parent_name, _, name = target.rpartition(".")
        parent = self.get_sublayer(parent_name)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if not isinstance(layer, LayerMembers):
            raise AttributeError(f"`{name}` is not an nn.Layer")
        setattr(parent, name, layer)

    set_submodule = set_sublayer

    def _get_member(self, target, group, noun):
        layer_name, _, name = target.rpartition(".")
        layer = self.get_sublayer(layer_name)
        if not hasattr(layer, name):
            raise AttributeError(f"{layer._get_name()} has no attribute `{name}`")
        if name not in getattr(layer, group):
            raise AttributeError(f"`{name}` is not {noun}")
        return getattr(layer, group)[name]

    def get_parameter(self, target):
        """The parameter with a dotted name.

        Args:
            target (str): such as ``encoder.0.weight``.

        Returns:
            The parameter.

        Raises:
            AttributeError: there is none, or what has that name is no parameter.
        """
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer with a dotted name.

        Args:
            target (str): such as ``norm._mean``.

        Returns:
            The tensor.

        Raises:
            AttributeError: there is none, or what has that name is no buffer.

        Examples:
            >>> layer = argosy.nn.Layer()
            >>> layer.register_buffer("count", argosy.zeros([1]))
            >>> layer.get_buffer("count") is layer.count
            True
        """
        return self._get_member(target, "_buffers", "a buffer")

    def apply(self, fn):
        """Call ``fn(layer)`` on every sublayer, children first, then on this layer.

        Args:
            fn: gets a layer; its result is not read.

        Returns:
            This layer.

        Examples:
            >>> def freeze(layer):
            ...     if isinstance(layer, argosy.nn.Linear):
            ...         layer.bias.stop_gradient = True
            >>> net = argosy.nn.Sequential(argosy.nn.Linear(2, 1)).apply(freeze)
            >>> net[0].bias.stop_gradient
            True
        """
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self
