"""Layer: the base class of everything that has parameters."""

from __future__ import annotations

import re
import weakref
from collections import OrderedDict

from argosy import tensor as _tensor
from argosy._capturing import world
from argosy._framework import in_dynamic_mode
from argosy._support import alias, is_operand, renamed
from argosy.base import unique_name
from argosy.base.parameter import EagerParamBase

from ._helper import LayerObjectHelper, make_parameter
from ._members import LayerMembers
from ._state import LayerState

__all__ = ["Layer"]

_WORD_START = re.compile(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_snake_names = {}


def _convert_camel_to_snake(name):
    snake = _snake_names.get(name)
    if snake is None:
        snake = _snake_names[name] = _WORD_START.sub("_", name).lower()
    return snake


def in_declarative_mode():
    """Whether a Program is being recorded, by static mode or by capture."""
    return not in_dynamic_mode()


def _indent(text):
    return text.replace("\n", "\n  ")


class HookRemoveHelper:
    """Handle of a registered hook; :meth:`remove` takes the hook out again."""

    next_hook_id = 0

    def __init__(self, hooks, *, extra_hook_dict=None):
        self._hooks_ref = weakref.ref(hooks)
        extra = extra_hook_dict or ()
        self._extra_hooks_ref = tuple(weakref.ref(hook_dict) for hook_dict in extra)
        self._hook_id = HookRemoveHelper.next_hook_id
        HookRemoveHelper.next_hook_id += 1

    def remove(self):
        """Take the hook out; nothing happens if it is out already."""
        for reference in (self._hooks_ref, *self._extra_hooks_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self._hook_id, None)
        world.epoch = object()


class Layer(LayerMembers, LayerState):
    """Base class of neural network layers and models.

    A subclass makes its sublayers and parameters in ``__init__`` (after
    ``super().__init__()``) and computes in ``forward``. Attributes that are parameters, layers or
    tensors are registered: they appear in ``parameters()``, ``sublayers()``, ``buffers()`` and in
    ``state_dict()`` under their attribute names.

    Args:
        name_scope (str, optional): prefix of the layer's and its parameters' names; None derives it from
            the class, ``MyLayer`` gives ``my_layer_0``.
        dtype: dtype that the layer reports; parameters take the default dtype unless they are created
            with another.

    Examples:
        >>> class Net(argosy.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = argosy.nn.Linear(4, 8)
        ...         self.act = argosy.nn.ReLU()
        ...         self.out = argosy.nn.Linear(8, 2)
        ...         self.register_buffer("calls", argosy.zeros([], "int64"))
        ...
        ...     def forward(self, x):
        ...         return self.out(self.act(self.hidden(x)))
        >>> net = Net()
        >>> net(argosy.ones([3, 4])).shape
        paddle.Size([3, 2])
        >>> [name for name, parameter in net.named_parameters()]
        ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
        >>> [name for name, layer in net.named_children()], len(net.sublayers())
        (['hidden', 'act', 'out'], 3)
        >>> [name for name, layer in net.named_sublayers(include_self=True)]
        ['', 'hidden', 'act', 'out']
        >>> len(net.parameters()), len(list(net.children())), len(list(net.modules()))
        (4, 3, 4)
        >>> [name for name, buffer in net.named_buffers()], len(net.buffers())
        (['calls'], 1)
        >>> list(net.state_dict())
        ['calls', 'hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
        >>> net.eval().training, net.train().training
        (False, True)
        >>> net.full_name().startswith("net_")
        True
        >>> net.get_sublayer("hidden") is net.hidden, net.get_parameter("out.bias") is net.out.bias
        (True, True)
    """

    _keeps_float32_for = ()  # dtypes for which amp.decorate leaves its parameters float32

    def __init__(self, name_scope=None, dtype="float32"):
        set_ = self.__dict__.__setitem__
        set_("training", True)
        if name_scope is None:
            name_scope = _convert_camel_to_snake(type(self).__name__)
        full_name = unique_name.generate(name_scope)
        set_("_full_name", full_name)
        set_("_helper", LayerObjectHelper(full_name))
        set_("_built", type(self)._build_once is Layer._build_once)
        set_("_dtype", dtype)
        set_("_init_in_dynamic_mode", True)
        set_("_parameters", OrderedDict())
        set_("_buffers", OrderedDict())
        set_("_non_persistable_buffer_names_set", set())
        set_("_sub_layers", OrderedDict())
        set_("_customized_attrs", {})
        set_("_forward_pre_hooks", OrderedDict())
        set_("_forward_post_hooks", OrderedDict())
        set_("_forward_pre_hooks_with_kwargs_flag", OrderedDict())
        set_("_forward_post_hooks_with_kwargs_flag", OrderedDict())
        set_("_forward_post_hooks_always_called", OrderedDict())
        set_("_state_dict_hooks", OrderedDict())
        set_("_cast_to_low_precision", True)

    # -- calling ---------------------------------------------------------------------------------

    def __call__(self, *inputs, **kwargs):
        if kwargs:
            kwargs = renamed(self.forward, kwargs)
        own = self.__dict__
        if own["_built"] and not own["_forward_pre_hooks"] and not own["_forward_post_hooks"]:
            return self.forward(*inputs, **kwargs)
        return self._dygraph_call_func(*inputs, **kwargs)

    def _dygraph_call_func(self, *inputs, **kwargs):
        inputs, kwargs = self._run_pre_hooks(inputs, kwargs)
        if not self._built:
            self._build_once(*inputs, **kwargs)
            self._built = True
        if not self._forward_post_hooks_always_called:
            outputs = self.forward(*inputs, **kwargs)
            return self._run_post_hooks(inputs, kwargs, outputs, self._forward_post_hooks)
        called, outputs = set(), None
        try:
            outputs = self.forward(*inputs, **kwargs)
            for hook_id, hook in list(self._forward_post_hooks.items()):
                called.add(hook_id)
                outputs = self._run_post_hooks(inputs, kwargs, outputs, {hook_id: hook})
            return outputs
        except BaseException:
            for hook_id, hook in list(self._forward_post_hooks.items()):
                if hook_id in self._forward_post_hooks_always_called and hook_id not in called:
                    outputs = self._run_post_hooks(inputs, kwargs, outputs, {hook_id: hook})
            raise

    def _run_pre_hooks(self, inputs, kwargs):
        for hook_id, hook in list(self._forward_pre_hooks.items()):
            if hook_id in self._forward_pre_hooks_with_kwargs_flag:
                result = hook(self, inputs, kwargs)
                if result is None:
                    continue
                if not isinstance(result, tuple) or len(result) != 2:
                    raise RuntimeError(
                        f"[{type(self).__name__}] a forward pre-hook must return None or (args, "
                        f"kwargs), got {type(result).__name__}. Do this: correct the hook."
                    )
                inputs, kwargs = result
            else:
                result = hook(self, inputs)
                if result is not None:
                    inputs = result if isinstance(result, tuple) else (result,)
        return inputs, kwargs

    def _run_post_hooks(self, inputs, kwargs, outputs, hooks):
        for hook_id, hook in list(hooks.items()):
            if hook_id in self._forward_post_hooks_with_kwargs_flag:
                result = hook(self, inputs, kwargs, outputs)
            else:
                result = hook(self, inputs, outputs)
            if result is not None:
                outputs = result
        return outputs

    def _build_once(self, *args, **kwargs):
        """Called with the first call's arguments; subclasses may create parameters here."""

    def forward(self, *inputs, **kwargs):
        """The computation; every subclass defines it, with parameters of its own.

        Args:
            inputs, kwargs: what the layer is called with.

        Returns:
            What the subclass says.

        Raises:
            NotImplementedError: the subclass has none.

        Examples:
            >>> argosy.nn.Layer().forward()
            Traceback (most recent call last):
            NotImplementedError: [Layer] Layer has no forward
        """
        raise NotImplementedError(
            f"[Layer] {type(self).__name__} has no forward: expected a method forward(self, ...) "
            "in the class. Do this: define it, or call the sublayers one by one."
        )

    def backward(self, *inputs):
        """Raises: gradients are recorded while a layer computes, and ``backward()`` is the loss's.

        Args:
            inputs: not read.

        Raises:
            ValueError: always.

        Examples:
            >>> argosy.nn.ReLU().backward()
            Traceback (most recent call last):
            ValueError: [ReLU] a Layer has no backward: gradients are recorded.
        """
        raise ValueError(
            f"[{type(self).__name__}] a Layer has no backward: gradients are recorded. Do "
            "this: call backward() of the loss, or use PyLayer."
        )

    # -- hooks -----------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(layer, inputs)`` before forward; what it returns replaces the inputs.

        Args:
            hook: gets the layer and the tuple of positional inputs. None leaves them as they are.
            prepend (bool): run before the hooks that are there already.
            with_kwargs (bool): the hook is ``hook(layer, inputs, kwargs)`` and returns None or
                ``(inputs, kwargs)``.

        Returns:
            A handle with ``remove()``.

        Examples:
            >>> layer = argosy.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda layer, inputs: (-inputs[0],))
            >>> layer(argosy.to_tensor([-1.0])).item()
            1.0
            >>> handle.remove()
            >>> layer(argosy.to_tensor([-1.0])).item()
            0.0
        """
        flags = self._forward_pre_hooks_with_kwargs_flag
        handle = HookRemoveHelper(self._forward_pre_hooks, extra_hook_dict=[flags])
        self._forward_pre_hooks[handle._hook_id] = hook
        world.epoch = object()
        if with_kwargs:
            flags[handle._hook_id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle._hook_id, last=False)
        return handle

    def register_forward_post_hook(
        self, hook, *, prepend=False, with_kwargs=False, always_call=False
    ):
        """Call ``hook(layer, inputs, outputs)`` after forward; a result replaces the outputs.

        Args:
            hook: gets the layer, the tuple of inputs and the outputs.
            prepend (bool): run before the hooks that are there already.
            with_kwargs (bool): the hook is ``hook(layer, inputs, kwargs, outputs)``.
            always_call (bool): run the hook even if forward raises.

        Returns:
            A handle with ``remove()``.

        Examples:
            >>> layer = argosy.nn.ReLU()
            >>> handle = layer.register_forward_post_hook(lambda layer, inputs, out: out + 1)
            >>> layer(argosy.to_tensor([-1.0])).item()
            1.0
        """
        flags = self._forward_post_hooks_with_kwargs_flag
        always = self._forward_post_hooks_always_called
        handle = HookRemoveHelper(self._forward_post_hooks, extra_hook_dict=[flags, always])
        self._forward_post_hooks[handle._hook_id] = hook
        world.epoch = object()
        if with_kwargs:
            flags[handle._hook_id] = True
        if always_call:
            always[handle._hook_id] = True
        if prepend:
            self._forward_post_hooks.move_to_end(handle._hook_id, last=False)
        return handle

    register_forward_hook = register_forward_post_hook

    def register_state_dict_hook(self, hook):
        """Call ``hook(state_dict)`` at the end of ``state_dict()``; its result replaces the dict.

        Args:
            hook: gets the OrderedDict; None leaves it as it is.

        Returns:
            A handle with ``remove()``.

        Examples:
            >>> layer = argosy.nn.Linear(2, 2)
            >>> handle = layer.register_state_dict_hook(lambda state: {"weight": state["weight"]})
            >>> list(layer.state_dict())
            ['weight']
        """
        handle = HookRemoveHelper(self._state_dict_hooks)
        self._state_dict_hooks[handle._hook_id] = hook
        return handle

    # -- parameters, buffers, sublayers ----------------------------------------------------------

    def create_parameter(
        self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None, device=None
    ):
        """Make a parameter for this layer (assign it to an attribute to register it).

        Args:
            shape: list of int.
            attr: a ParamAttr, a name, an initializer, None for defaults or False for none at all.
            dtype: None takes the default dtype.
            is_bias (bool): a bias is zero unless said otherwise, a weight Xavier uniform.
            default_initializer: used unless ``attr`` or ``set_global_initializer`` names one.
            device: where the parameter lives; None takes the current device.

        Returns:
            The parameter, or None when ``attr`` is False.

        Examples:
            >>> layer = argosy.nn.Layer()
            >>> layer.scale = layer.create_parameter([2], is_bias=True)
            >>> layer.scale.tolist(), layer.scale.stop_gradient
            ([0.0, 0.0], False)
        """
        if isinstance(attr, str) and attr == "":
            attr = None
        prefix = self._full_name
        param = make_parameter(prefix, shape, attr, dtype, is_bias, default_initializer)
        if device is not None and param is not None:
            self._transform(param, device, None, True)
        return param

    def create_variable(self, name=None, persistable=None, dtype=None):
        """An empty tensor with a name of this layer; it is not registered.

        Args:
            name (str, optional): last part of the name; None takes a new one.
            persistable (bool, optional): what the tensor says of itself.
            dtype: None takes the layer's dtype.

        Returns:
            Tensor [0].

        Examples:
            >>> argosy.nn.Layer("net").create_variable("total").name.endswith(".total")
            True
        """
        if name is None:
            name = unique_name.generate(f"{self._full_name}._generated_var")
        else:
            name = ".".join([self._full_name, name])
        tensor = _tensor.empty([0], self._dtype if dtype is None else dtype)
        tensor.name = name
        tensor.persistable = bool(persistable)
        return tensor

    create_tensor = create_variable

    def add_parameter(self, name, parameter):
        """Register a parameter as ``self.<name>``.

        Args:
            name (str): without dots.
            parameter: a parameter, or None.

        Returns:
            The parameter.

        Raises:
            RuntimeError: before ``super().__init__()``.
            TypeError: the name is no str or the value no parameter.
            KeyError: the name is empty, contains a dot or is taken.

        Examples:
            >>> layer = argosy.nn.Layer()
            >>> shift = layer.add_parameter("shift", layer.create_parameter([2]))
            >>> layer.shift is shift
            True
        """
        own = self.__dict__
        if "_parameters" not in own:
            raise RuntimeError(
                f"[{type(self).__name__}] a Parameter was set before Layer.__init__ ran. Do "
                "this: call super().__init__() first."
            )
        _check_name(name, "parameter")
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(
                f"[add_parameter] the layer has '{name}' already. Do this: use another name."
            )
        if parameter is not None and not isinstance(parameter, EagerParamBase):
            raise TypeError(
                f"[add_parameter] expected a Parameter or None, got {type(parameter).__name__}. "
                "Do this: make it with create_parameter."
            )
        self._parameters[name] = parameter
        world.epoch = object()
        return parameter

    def register_parameter(self, name, param):
        """Same as :meth:`add_parameter`.

        Args:
            name (str): without dots.
            param: a parameter, or None.

        Returns:
            The parameter.

        Examples:
            >>> layer = argosy.nn.Layer()
            >>> shift = layer.register_parameter("shift", layer.create_parameter([2]))
            >>> layer.shift is shift
            True
        """
        return self.add_parameter(name, param)

    def add_sublayer(self, name, sublayer):
        """Register a layer as ``self.<name>``.

        Args:
            name (str): key; one that is taken is replaced.
            sublayer: a layer, or None.

        Returns:
            The layer.

        Raises:
            AssertionError: ``sublayer`` is neither a layer nor None.

        Examples:
            >>> net = argosy.nn.Layer()
            >>> fc = net.add_sublayer("fc", argosy.nn.Linear(2, 3))
            >>> net.fc is fc, net.add_module("act", argosy.nn.ReLU()) is net.act
            (True, True)
            >>> net.register_module("last", fc) is net.last
            True
        """
        if not isinstance(sublayer, Layer) and sublayer is not None:
            raise AssertionError(
                f"[Layer.add_sublayer] '{name}' is no layer: expected a Layer or None, got "
                f"{type(sublayer).__name__}. Do this: pass an instance of nn.Layer."
            )
        self._sub_layers[name] = sublayer
        world.epoch = object()
        return sublayer

    def add_module(self, name, module):
        """Same as :meth:`add_sublayer`.

        Args:
            name (str): key; one that is taken is replaced.
            module: a layer, or None.

        Returns:
            The layer.
        """
        return self.add_sublayer(name, module)

    def register_module(self, name, module):
        """Same as :meth:`add_sublayer`.

        Args:
            name (str): key; one that is taken is replaced.
            module: a layer, or None.

        Returns:
            The layer.
        """
        return self.add_sublayer(name, module)

    @alias(persistent="persistable")
    def register_buffer(self, name, tensor, persistable=True):
        """Register a tensor that is state but is not trained, such as a running mean.

        Args:
            name (str): attribute under which the buffer is found.
            tensor: the tensor, or None.
            persistable (bool): whether ``state_dict()`` contains it.

        Raises:
            ValueError: before ``super().__init__()``.
            TypeError: the name is no str or the value no tensor.
            KeyError: the name is empty, contains a dot or is taken.
        """
        if "_buffers" not in self.__dict__:
            raise ValueError(
                f"[{type(self).__name__}] a buffer was set before Layer.__init__ ran. Do this: "
                "call super().__init__() first."
            )
        _check_name(name, "buffer")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(
                f"[register_buffer] the layer has '{name}' already. Do this: use another name."
            )
        if tensor is not None and not is_operand(tensor):
            raise TypeError(
                f"[register_buffer] expected a Tensor or None, got {type(tensor).__name__}. Do "
                "this: use argosy.to_tensor."
            )
        self._buffers[name] = tensor
        world.epoch = object()
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)

    def __getattr__(self, name):
        own = self.__dict__
        if "_parameters" in own:
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_sub_layers"]:
                return own["_sub_layers"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        self._assign_attribute(name, value)
        world.epoch = object()  # captured functions look again at what they read

    def _assign_attribute(self, name, value):
        own = self.__dict__
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        for kind, group in (
            (EagerParamBase, "_parameters"),
            (Layer, "_sub_layers"),
        ):
            members = own.get(group)
            if isinstance(value, kind):
                if members is None:
                    raise ValueError(
                        f"[{type(self).__name__}] a parameter or layer was set "
                        "before Layer.__init__ ran. Do this: call super().__init__() first."
                    )
                for other in ("_parameters", "_sub_layers", "_buffers"):
                    if other != group:
                        own[other].pop(name, None)
                own.pop(name, None)
                members[name] = value
                return
            if members is not None and name in members:
                if value is not None:
                    noun = "parameter" if group == "_parameters" else "sublayer"
                    expected = "Parameter" if group == "_parameters" else "Layer"
                    raise TypeError(
                        f"[{type(self).__name__}] '{name}' is one of the {noun}s: expected a {expected} "
                        f"or None, got {type(value).__name__}. Do this: use another name."
                    )
                members[name] = None
                return
        buffers = own.get("_buffers")
        if is_operand(value):
            if buffers is None:
                raise ValueError(
                    f"[{type(self).__name__}] a buffer was set before Layer.__init__ ran. Do this: "
                    "call super().__init__() first."
                )
            own.pop(name, None)
            old = buffers.get(name)
            if value._symbolic and old is not None and not old._symbolic:
                # In a captured function the buffer is state of the Program, which keeps its form.
                if value.dtype == old.dtype and value.shape == old.shape:
                    _tensor.assign(value, old)
                    return
            if name not in buffers:
                own["_non_persistable_buffer_names_set"].add(name)
            buffers[name] = value
        elif buffers is not None and name in buffers:
            if value is not None:
                raise TypeError(
                    f"[{type(self).__name__}] '{name}' is a buffer: expected a Tensor or None, got "
                    f"{type(value).__name__}. Do this: use another name."
                )
            buffers[name] = None
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for group in ("_parameters", "_sub_layers", "_buffers"):
            members = self.__dict__.get(group)
            if members is not None and name in members:
                del members[name]
                if group == "_buffers":
                    self._non_persistable_buffer_names_set.discard(name)
                world.epoch = object()
                return
        object.__delattr__(self, name)
        world.epoch = object()

    def __dir__(self):
        return [
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._sub_layers,
            *self._buffers,
        ]

    @property
    def _modules(self):
        return self._sub_layers

    @property
    def _non_persistent_buffers_set(self):
        return self._non_persistable_buffer_names_set

    # -- modes and gradients ---------------------------------------------------------------------

    def train(self, mode=True):
        """Set training mode here and in all sublayers.

        Args:
            mode (bool): what ``training`` becomes.

        Returns:
            This layer.
        """
        for layer in self.sublayers(include_self=True):
            layer.training = mode
        return self

    def eval(self):
        """Set evaluation mode here and in all sublayers.

        Returns:
            This layer.
        """
        # Not by train(False): subclasses replace train, with other arguments.
        return Layer.train(self, False)

    def requires_grad_(self, requires_grad=True):
        """Let all parameters be trained, or freeze them.

        Args:
            requires_grad (bool): False sets ``stop_gradient`` of each.

        Returns:
            This layer.

        Examples:
            >>> argosy.nn.Linear(2, 2).requires_grad_(False).weight.stop_gradient
            True
        """
        for param in self.parameters():
            param.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero=True):
        """Clear the gradients of all parameters that are trained.

        Args:
            set_to_zero (bool): True makes them zeros, False None.

        Examples:
            >>> layer = argosy.nn.Linear(1, 1)
            >>> layer(argosy.ones([1, 1])).backward()
            >>> layer.clear_gradients()
            >>> layer.weight.grad.tolist()
            [[0.0]]
            >>> layer.zero_grad()
            >>> layer.weight.grad is None
            True
        """
        for param in self.parameters():
            if not param.stop_gradient:
                param.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none=True):
        """Clear the gradients of all parameters that are trained, as ``clear_gradients(not set_to_none)``.

        Args:
            set_to_none (bool): True makes them None, False zeros.
        """
        self.clear_gradients(set_to_zero=not set_to_none)

    # -- texts -----------------------------------------------------------------------------------

    def full_name(self):
        """The name that no other layer has, such as ``linear_0``.

        Returns:
            str.
        """
        return self._full_name

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses in the printed layer; subclasses replace it.

        Returns:
            str.

        Examples:
            >>> argosy.nn.Linear(2, 3).extra_repr()
            'in_features=2, out_features=3, dtype=float32'
        """
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = [f"({name}): {_indent(repr(layer))}" for name, layer in self._sub_layers.items()]
        text = f"{self._get_name()}({_indent(chr(10) + extra) if chr(10) in extra else extra}"
        if lines:
            text += "\n  " + "\n  ".join(lines) + "\n"
        return text + ")"


def _check_name(name, noun):
    if not isinstance(name, str):
        raise TypeError(
            f"[{noun}] a name must be a string, got {type(name).__name__}. Do this: pass a str."
        )
    if "." in name:
        raise KeyError(
            f"[{noun}] a name must not contain '.', which separates the names of nested "
            f"layers: got {name!r}. Do this: use '_'."
        )
    if name == "":
        raise KeyError(f"[{noun}] a name must not be empty. Do this: pass a name.")
