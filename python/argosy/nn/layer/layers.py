"""Layer: the base class of everything that has parameters."""

from __future__ import annotations

import re
import weakref
from collections import OrderedDict

from argosy import tensor as _tensor
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy.base import unique_name
from argosy.base.parameter import EagerParamBase

from ._helper import LayerObjectHelper, make_parameter
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
        for reference in (self._hooks_ref, *self._extra_hooks_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self._hook_id, None)


class Layer(LayerState):
    """Base class of neural network layers and models.

    A subclass makes its sublayers and parameters in ``__init__`` (after
    ``super().__init__()``) and computes in ``forward``. Attributes that are parameters, layers or
    tensors are registered: they appear in ``parameters()``, ``sublayers()``, ``buffers()`` and in
    ``state_dict()`` under their attribute names.

    Args:
        name_scope: prefix of the layer's and its parameters' names; None derives it from the
            class, ``MyLayer`` gives ``my_layer_0``.
        dtype: dtype that the layer reports; parameters take the default dtype unless they are
            created with another.
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
        """The computation; every subclass defines it."""
        raise NotImplementedError(
            f"[Layer] {type(self).__name__} has no forward: expected a method forward(self, ...) "
            "in the class. Do this: define it, or call the sublayers one by one."
        )

    def backward(self, *inputs):
        raise ValueError(
            f"[{type(self).__name__}] a Layer has no backward: gradients are recorded. Do "
            "this: call backward() of the loss, or use PyLayer."
        )

    # -- hooks -----------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(layer, inputs)`` before forward; what it returns replaces the inputs.

        Args:
            hook: gets the layer and the tuple of positional inputs. None leaves them as they are.
            prepend: run before the hooks that are there already.
            with_kwargs: the hook is ``hook(layer, inputs, kwargs)`` and returns None or
                ``(inputs, kwargs)``.

        Returns:
            A handle with ``remove()``.
        """
        flags = self._forward_pre_hooks_with_kwargs_flag
        handle = HookRemoveHelper(self._forward_pre_hooks, extra_hook_dict=[flags])
        self._forward_pre_hooks[handle._hook_id] = hook
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
            prepend: run before the hooks that are there already.
            with_kwargs: the hook is ``hook(layer, inputs, kwargs, outputs)``.
            always_call: run the hook even if forward raises.

        Returns:
            A handle with ``remove()``.
        """
        flags = self._forward_post_hooks_with_kwargs_flag
        always = self._forward_post_hooks_always_called
        handle = HookRemoveHelper(self._forward_post_hooks, extra_hook_dict=[flags, always])
        self._forward_post_hooks[handle._hook_id] = hook
        if with_kwargs:
            flags[handle._hook_id] = True
        if always_call:
            always[handle._hook_id] = True
        if prepend:
            self._forward_post_hooks.move_to_end(handle._hook_id, last=False)
        return handle

    register_forward_hook = register_forward_post_hook

    def register_state_dict_hook(self, hook):
        """Call ``hook(state_dict)`` at the end of ``state_dict()``; its result replaces the dict."""
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
            is_bias: a bias is zero unless said otherwise, a weight Xavier uniform.
            default_initializer: used unless ``attr`` or ``set_global_initializer`` names one.
            device: where the parameter lives; None takes the current device.

        Returns:
            The parameter, or None when ``attr`` is False.
        """
        if isinstance(attr, str) and attr == "":
            attr = None
        prefix = self._full_name
        param = make_parameter(prefix, shape, attr, dtype, is_bias, default_initializer)
        if device is not None and param is not None:
            self._transform(param, device, None, True)
        return param

    def create_variable(self, name=None, persistable=None, dtype=None):
        """An empty tensor with a name of this layer."""
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
        """Register ``parameter`` (or None) as ``self.<name>``; return it.

        Raises:
            TypeError: the name is no str or the value no parameter.
            KeyError: the name is empty, contains a dot or is taken.
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
        return parameter

    def register_parameter(self, name, param):
        """Same as :meth:`add_parameter`."""
        return self.add_parameter(name, param)

    def add_sublayer(self, name, sublayer):
        """Register ``sublayer`` (or None) as ``self.<name>``; return it."""
        if not isinstance(sublayer, Layer) and sublayer is not None:
            raise AssertionError(
                f"[Layer.add_sublayer] '{name}' is no layer: expected a Layer or None, got "
                f"{type(sublayer).__name__}. Do this: pass an instance of nn.Layer."
            )
        self._sub_layers[name] = sublayer
        return sublayer

    def add_module(self, name, module):
        """Same as :meth:`add_sublayer`."""
        return self.add_sublayer(name, module)

    def register_module(self, name, module):
        """Same as :meth:`add_sublayer`."""
        return self.add_sublayer(name, module)

    def register_buffer(self, name, tensor, persistable=True):
        """Register a tensor that is state but is not trained, such as a running mean.

        Args:
            name: attribute under which the buffer is found.
            tensor: the tensor, or None.
            persistable: whether ``state_dict()`` contains it.
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
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"[register_buffer] expected a Tensor or None, got {type(tensor).__name__}. Do "
                "this: use argosy.to_tensor."
            )
        self._buffers[name] = tensor
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
        if isinstance(value, Tensor):
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
                return
        object.__delattr__(self, name)

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

    # -- walking ---------------------------------------------------------------------------------

    def named_children(self):
        """Pairs (name, layer) of the direct sublayers, each layer once."""
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self):
        """The direct sublayers."""
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(
        self, prefix="", include_self=False, layers_set=None, remove_duplicate=True
    ):
        """Pairs (dotted name, layer) of all sublayers, parents before children.

        Args:
            prefix: put before every name.
            include_self: begin with this layer itself (its name is ``prefix``).
            layers_set: layers in it are left out; those visited are added.
            remove_duplicate: yield a layer that is reachable by several names once.
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
        """List of all sublayers, parents before children."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Same as :meth:`named_sublayers` with this layer included."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self):
        """This layer and all sublayers."""
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

    def named_parameters(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """Pairs (dotted name, parameter), each parameter once."""
        return self._named_members("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers=True):
        """List of all parameters, each once."""
        return [param for _, param in self.named_parameters("", include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """Pairs (dotted name, buffer), each buffer once."""
        return self._named_members("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers=True):
        """List of all buffers, each once."""
        return [buffer for _, buffer in self.named_buffers("", include_sublayers)]

    def _obtain_parameters_buffers(self):
        """Own parameters and buffers by name, without those of sublayers."""
        return {**self._parameters, **self._buffers}

    def get_sublayer(self, target):
        """The sublayer with the dotted name ``target`` ('' is this layer).

        Raises:
            AttributeError: there is none, or what has that name is no layer.
        """
        layer = self
        for name in target.split(".") if target else ():
            if not hasattr(layer, name):
                raise AttributeError(f"{layer._get_name()} has no attribute `{name}`")
            layer = getattr(layer, name)
            if not isinstance(layer, Layer):
                raise AttributeError(f"`{name}` is not an nn.Layer")
        return layer

    get_submodule = get_sublayer

    def set_sublayer(self, target, layer, strict=False):
        """Replace the sublayer with the dotted name ``target`` (``strict``: it must exist)."""
        if target == "":
            raise ValueError("[set_sublayer] target is empty. Do this: name the layer to replace.")
        parent_name, _, name = target.rpartition(".")
        parent = self.get_sublayer(parent_name)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if not isinstance(layer, Layer):
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
        """The parameter with the dotted name ``target``."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer with the dotted name ``target``."""
        return self._get_member(target, "_buffers", "a buffer")

    def apply(self, fn):
        """Call ``fn(layer)`` on every sublayer, children first, then on this layer; return it."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # -- modes and gradients ---------------------------------------------------------------------

    def train(self, mode=True):
        """Set training mode here and in all sublayers; return this layer."""
        for layer in self.sublayers(include_self=True):
            layer.training = mode
        return self

    def eval(self):
        """Set evaluation mode here and in all sublayers; return this layer."""
        # Not by train(False): subclasses replace train, with other arguments.
        return Layer.train(self, False)

    def requires_grad_(self, requires_grad=True):
        """Let all parameters be trained, or freeze them; return this layer."""
        for param in self.parameters():
            param.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero=True):
        """Zero the gradients of all trainable parameters (``set_to_zero`` False: drop them)."""
        for param in self.parameters():
            if not param.stop_gradient:
                param.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all trainable parameters (``set_to_none`` False: zero them)."""
        self.clear_gradients(set_to_zero=not set_to_none)

    # -- texts -----------------------------------------------------------------------------------

    def full_name(self):
        """The unique name of this layer, such as ``linear_0``."""
        return self._full_name

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses in the printed layer; subclasses replace it."""
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
