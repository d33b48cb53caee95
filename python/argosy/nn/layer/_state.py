"""The parts of Layer that save, load and convert its state."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from argosy._core import Tensor
from argosy._dtypes import CONVERTIBLE, REAL
from argosy._support import need_type, no_effect, only_known, unsupported
from argosy.autograd import no_grad
from argosy.base.parameter import set_data
from argosy.device import CUDAPlace
from argosy.nn.sharded_weight import whole_weight

from ._helper import dtype_name

_CONVERTIBLE = tuple(map(dtype_name, CONVERTIBLE))


def _has_numbers(value):
    if isinstance(value, Tensor):
        return True
    return (
        hasattr(value, "shape")
        and getattr(getattr(value, "dtype", None), "kind", "O") not in "OSUMm"
    )


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """Result of ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _check_dtype(dtype):
    if dtype is None:
        return None
    name = dtype_name(dtype) if not isinstance(dtype, type) else dtype.__name__
    name = {"float": "float32", "half": "float16", "double": "float64"}.get(name, name)
    if name not in _CONVERTIBLE:
        raise ValueError(
            f"[Layer.to] dtype value error: expected one of {', '.join(_CONVERTIBLE)}, or "
            f"a paddle.dtype or numpy.dtype, got {dtype}. Do this: pass such a dtype."
        )
    return name


def _check_device(device):
    if device is None or isinstance(device, str) or type(device).__name__.endswith("Place"):
        return
    raise ValueError(
        "[Layer.to] device should be a str, CPUPlace, CUDAPlace, CUDAPinnedPlace, XPUPlace or "
        f"Place, got {type(device).__name__}. Do this: pass e.g. 'cpu' or 'gpu:0'."
    )


class LayerState:
    """Mixin of Layer: state_dict and its loading, dtype and device conversion."""

    def _gather_state(self, destination, include_sublayers, prefix, non_persistable, use_hook,
                      keep_vars):  # fmt: skip
        if destination is None:
            destination = OrderedDict()
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is None:
                continue
            if non_persistable or name not in self._non_persistable_buffer_names_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    # A sublayer may replace state_dict, and what it adds must be found here.
                    destination = layer._state_dict_impl(
                        destination, True, prefix + name + ".", non_persistable, use_hook, keep_vars
                    )
        if use_hook:
            for hook in self._state_dict_hooks.values():
                result = hook(destination)
                if result is not None:
                    destination = result
        return destination

    def _state_dict_impl(
        self,
        destination=None,
        include_sublayers=True,
        structured_name_prefix="",
        include_non_persistable_buffer=False,
        use_hook=True,
        keep_vars=True,
    ):
        return self._gather_state(
            destination, include_sublayers, structured_name_prefix,
            include_non_persistable_buffer, use_hook, keep_vars,
        )  # fmt: skip

    def state_dict(self, *args, **kwargs):
        """All parameters and persistable buffers of this layer and its sublayers.

        Args:
            args, kwargs: in this order or by name: destination=None (a dict to fill), include_sublayers=True,
                structured_name_prefix='' (also ``prefix``), use_hook=True, keep_vars=True (False: detached
                tensors).

        Returns:
            OrderedDict from structured names such as ``encoder.0.weight`` to tensors.

        Raises:
            TypeError: too many arguments, or an unknown one.
        """
        names = (
            "destination", "include_sublayers", "structured_name_prefix", "use_hook", "keep_vars",
        )  # fmt: skip
        if len(args) > len(names):
            raise TypeError(
                f"[state_dict] takes at most {len(names)} arguments, got {len(args)}. Do this: "
                "pass them by name."
            )
        values = dict(zip(names, args))
        if "prefix" in kwargs:
            kwargs["structured_name_prefix"] = kwargs.pop("prefix")
        values.update(kwargs)
        return self._state_dict_impl(
            values.pop("destination", None),
            values.pop("include_sublayers", True),
            values.pop("structured_name_prefix", ""),
            False,
            **values,
        )

    def to_static_state_dict(
        self,
        destination=None,
        include_sublayers=True,
        structured_name_prefix="",
        use_hook=True,
        keep_vars=True,
    ):
        """Like :meth:`state_dict`, with the buffers that are not persistable as well.

        Args:
            destination (dict, optional): is filled; None makes a new one.
            include_sublayers (bool): False gives this layer's own only.
            structured_name_prefix (str): put before every name.
            use_hook (bool): run the hooks of ``register_state_dict_hook``.
            keep_vars (bool): False gives detached tensors.

        Returns:
            OrderedDict from structured names to tensors.

        Examples:
            >>> layer = argosy.nn.Layer()
            >>> layer.register_buffer("cache", argosy.zeros([1]), persistable=False)
            >>> list(layer.state_dict()), list(layer.to_static_state_dict())
            ([], ['cache'])
        """
        return self._state_dict_impl(
            destination, include_sublayers, structured_name_prefix, True, use_hook, keep_vars
        )

    def sharded_state_dict(self, structured_name_prefix=""):
        """:meth:`state_dict`, each tensor with where in the whole it lies. Layers are not divided between
        processes: each tensor is whole.

        Args:
            structured_name_prefix (str): put before every name.

        Returns:
            dict[str, ShardedWeight]: by structured name.

        Examples:
            >>> state = argosy.nn.Linear(2, 3).sharded_state_dict("fc.")
            >>> list(state), state["fc.weight"].global_shape
            (['fc.weight', 'fc.bias'], (2, 3))
        """
        state = self._state_dict_impl(None, True, structured_name_prefix)
        return {name: whole_weight(name, tensor) for name, tensor in state.items()}

    def full(self, aoa_config=None, **kwargs):
        """The tensors of :meth:`state_dict` one after the other, in the order of their names.

        Args:
            aoa_config (optional): only None.
            kwargs: ``h_group``, ``v_group``, ``process_group`` and ``memory_growth_threshold`` have no
                effect, as no tensor is divided between processes; ``num_splits=1`` and ``shard_idx=0``
                say that each process gets 1 of num_splits parts of the tensors, the one with this number.

        Returns:
            Iterator: of (name, Tensor).

        Raises:
            NotImplementedError: ``aoa_config`` is given.
            TypeError: an unknown name in kwargs.

        Examples:
            >>> [(name, value.shape) for name, value in argosy.nn.Linear(2, 3).full()]
            [('bias', paddle.Size([3])), ('weight', paddle.Size([2, 3]))]
        """
        unsupported("Layer.full", "rename the tensors yourself", aoa_config=(aoa_config, None))
        idle = ("h_group", "v_group", "process_group", "memory_growth_threshold")
        only_known("Layer.full", kwargs, (*idle, "num_splits", "shard_idx"))
        no_effect(
            "Layer.full", "no tensor is divided between processes",
            **{name: (kwargs.get(name), None) for name in idle},
        )  # fmt: skip
        parts, mine = kwargs.get("num_splits", 1), kwargs.get("shard_idx", 0)
        state = sorted(self.state_dict().items())
        return iter(state[len(state) * mine // parts : len(state) * (mine + 1) // parts])

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Copy values from a dict into parameters and persistable buffers.

        Args:
            state_dict (dict): from names to tensors or NumPy arrays.
            use_structured_name (bool): match by structured name (``fc.weight``); False: by the tensor's own
                name (``linear_0.w_0``).

        Returns:
            (missing keys, unexpected keys). A key whose shape does not fit is in both, with a warning, and is
            not loaded.

        Raises:
            TypeError: a value is neither a tensor nor an array of numbers. Nothing was loaded then.

        Examples:
            >>> a, b = argosy.nn.Linear(2, 3), argosy.nn.Linear(2, 3)
            >>> b.set_state_dict(a.state_dict())
            ([], [])
            >>> bool((a.weight == b.weight).all())
            True
        """
        need_type(
            "set_state_dict", "state_dict", state_dict, Mapping, "pass what state_dict() gave"
        )
        missing, used, pairs = [], set(), []
        targets = self.state_dict(use_hook=False)
        for key, target in targets.items():
            name = key if use_structured_name else target.name
            value = state_dict.get(name)
            if value is None:
                missing.append(name)
                problem = f"{name} is not found in the provided dict."
            elif not _has_numbers(value):
                raise TypeError(
                    f"[set_state_dict] {name}: expected a Tensor or an array of numbers, got"
                    f" {type(value).__name__}. Do this: pass what state_dict() gave."
                )
            elif list(value.shape) != list(target.shape):
                missing.append(name)
                problem = (
                    f"{name} receives a shape {list(value.shape)}, but the expected shape is "
                    f"{list(target.shape)}."
                )
            else:
                used.add(name)
                pairs.append((target, value))
                continue
            warnings.warn(f"Skip loading for {key}. {problem}", stacklevel=2)
        unexpected = [key for key in state_dict if key not in used]
        with no_grad():
            for target, value in pairs:
                target.copy_(value)
        return missing, unexpected

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy values from a dict, as :meth:`set_state_dict` does, without warnings.

        Args:
            state_dict (dict): from structured names to tensors or NumPy arrays.
            strict (bool): keys that are missing, unknown or of another shape are an error.
            assign (bool): True is not supported.

        Returns:
            Named tuple (missing_keys, unexpected_keys).

        Raises:
            RuntimeError: ``strict`` and the keys differ.
            NotImplementedError: ``assign``, which would put the tensors in the parameters' place.

        Examples:
            >>> layer = argosy.nn.Linear(2, 3)
            >>> layer.load_state_dict(argosy.nn.Linear(2, 3).state_dict())
            <All keys matched successfully>
        """
        unsupported("load_state_dict", "leave it out; values are copied", assign=(assign, False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            missing, unexpected = self.set_state_dict(state_dict)
        if strict and (missing or unexpected):
            lines = []
            for title, keys in (("Missing", missing), ("Unexpected", unexpected)):
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    lines.append(f"{title} key(s) in state_dict: {quoted}. ")
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(lines)
            )
        return _IncompatibleKeys(missing, unexpected)

    def get_extra_state(self):
        """State beside tensors, of layers that define this method.

        Raises:
            RuntimeError: the layer does not define it.

        Examples:
            >>> argosy.nn.ReLU().get_extra_state()
            Traceback (most recent call last):
            RuntimeError: [Layer.get_extra_state] this layer has no extra state
        """
        raise RuntimeError(
            "[Layer.get_extra_state] this layer has no extra state: expected a layer that defines "
            f"the method, got {type(self).__name__}. Do this: define get_extra_state in it."
        )

    def _apply(self, func, device, dtype, blocking, include_sublayers=True):
        if include_sublayers:
            for layer in self.children():
                layer._apply(func, device, dtype, blocking, include_sublayers)
        for tensor in [*self._parameters.values(), *self._buffers.values()]:
            if tensor is not None:
                func(tensor, device, dtype, blocking)
        if dtype is not None:
            self._dtype = dtype

    def _transform(self, tensor, device, dtype, blocking):
        """Convert one tensor, and its gradient, in place."""
        grad = tensor.grad
        for target in (tensor, grad):
            if target is None:
                continue
            value = target.detach()
            if device is not None:
                value = value.to(device)
            if dtype is not None and dtype_name(value.dtype) != dtype:
                value = value.astype(dtype)
            set_data(target, value)
        return tensor

    def _to_impl(self, device=None, dtype=None, blocking=None, include_sublayers=True,
                 floating_only=False):  # fmt: skip
        if device is None and dtype is None and blocking is None:
            return self
        _check_device(device)
        dtype = _check_dtype(dtype)
        if blocking is None:
            blocking = True
        elif not isinstance(blocking, bool):
            raise AssertionError(
                f"[Layer.to] blocking: expected True, False or None, got {blocking!r}. Do this: "
                "use one of them."
            )

        def convert(tensor, device, dtype, blocking):
            if floating_only and tensor.dtype not in REAL:
                dtype = None
            self._transform(tensor, device, dtype, blocking)

        with no_grad():
            self._apply(convert, device, dtype, blocking, include_sublayers)
        return self

    def to(self, device=None, dtype=None, blocking=None, non_blocking=None):
        """Move parameters and buffers to a device and cast them, in place.

        Args:
            device: such as 'cpu' or 'gpu:0', a place, a dtype, or a tensor whose place and dtype are
                taken.
            dtype: None leaves dtypes as they are; all parameters and buffers are cast.
            blocking (bool, optional): None is True; copies always wait.
            non_blocking (bool, optional): the opposite of ``blocking``, where that is None.

        Returns:
            This layer.

        Raises:
            ValueError: the device or the dtype is unknown, or this build has no such devices.
            AssertionError: ``blocking`` is no bool.

        Examples:
            >>> argosy.nn.Linear(2, 3).to("cpu", dtype="float64").weight.dtype
            paddle.float64
        """
        if isinstance(device, Tensor):
            device, dtype = device.place, device.dtype
        if non_blocking is not None and blocking is None:
            blocking = not non_blocking
        return self._to_impl(device, dtype, blocking)

    def astype(self, dtype=None):
        """Cast all parameters and buffers, in place.

        Args:
            dtype: the new dtype.

        Returns:
            This layer.

        Raises:
            ValueError: it is no dtype that values are cast to.

        Examples:
            >>> argosy.nn.Linear(2, 3).astype("float64").bias.dtype
            paddle.float64
            >>> argosy.nn.Linear(2, 3).type("float16").bias.dtype
            paddle.float16
        """
        return self._to_impl(dtype=dtype)

    def type(self, dst_type):
        """Same as :meth:`astype`.

        Args:
            dst_type: the new dtype.

        Returns:
            This layer.
        """
        return self._to_impl(dtype=dst_type)

    def double(self):
        """Cast floating parameters and buffers to float64, in place.

        Returns:
            This layer.

        Examples:
            >>> argosy.nn.Linear(2, 3).double().weight.dtype
            paddle.float64
        """
        return self._to_impl(dtype="float64", floating_only=True)

    def half(self):
        """Cast floating parameters and buffers to float16, in place.

        Returns:
            This layer.

        Examples:
            >>> argosy.nn.Linear(2, 3).half().weight.dtype
            paddle.float16
        """
        return self._to_impl(dtype="float16", floating_only=True)

    def float(self, excluded_layers=None):
        """Cast floating parameters and buffers to float32, in place.

        Args:
            excluded_layers: a class of layers, or a list of them, whose own tensors stay as they are.

        Returns:
            This layer.

        Raises:
            TypeError: ``excluded_layers`` is neither.

        Examples:
            >>> argosy.nn.Linear(2, 3).double().float().weight.dtype
            paddle.float32
        """
        return self._cast_except("float32", excluded_layers)

    def float16(self, excluded_layers=None):
        """Cast floating parameters and buffers to float16, in place.

        Args:
            excluded_layers: a class of layers, or a list of them, whose own tensors stay as they are.

        Returns:
            This layer.

        Raises:
            TypeError: ``excluded_layers`` is neither.

        Examples:
            >>> net = argosy.nn.Sequential(argosy.nn.Linear(2, 3), argosy.nn.LayerNorm(3))
            >>> net = net.float16(excluded_layers=argosy.nn.LayerNorm)
            >>> net[0].weight.dtype, net[1].weight.dtype
            (paddle.float16, paddle.float32)
        """
        return self._cast_except("float16", excluded_layers)

    def bfloat16(self, excluded_layers=None):
        """Cast floating parameters and buffers to bfloat16, in place.

        Args:
            excluded_layers: a class of layers, or a list of them, whose own tensors stay as they are.

        Returns:
            This layer.

        Raises:
            TypeError: ``excluded_layers`` is neither.

        Examples:
            >>> argosy.nn.Linear(2, 3).bfloat16().weight.dtype
            paddle.bfloat16
        """
        return self._cast_except("bfloat16", excluded_layers)

    def _cast_except(self, dtype, excluded):
        if excluded is None:
            excluded = ()
        elif isinstance(excluded, type):
            excluded = (excluded,)
        elif isinstance(excluded, (list, tuple)):
            excluded = tuple(excluded)
        else:
            raise TypeError(
                "[Layer] excluded_layers should be a Layer class or a list of them: got "
                f"{type(excluded)}. Do this: pass e.g. [nn.LayerNorm]."
            )
        for layer in self.sublayers(include_self=True):
            if not isinstance(layer, excluded):
                layer._to_impl(dtype=dtype, include_sublayers=False, floating_only=True)
        return self

    def cpu(self):
        """Move parameters and buffers to the CPU, in place.

        Returns:
            This layer.

        Examples:
            >>> argosy.nn.Linear(2, 3).cpu().weight.place
            Place(cpu)
        """
        return self._to_impl(device="cpu")

    def cuda(self, device=None):
        """Move parameters and buffers to a GPU, in place.

        Args:
            device: its number or place; None is the first.

        Returns:
            This layer.

        Raises:
            ValueError: there is no such GPU, or this build has no CUDA support.

        Examples:
            >>> if argosy.device.cuda.device_count() > 0:
            ...     layer = argosy.nn.Linear(2, 3).cuda()
        """
        if device is None or isinstance(device, int):
            device = CUDAPlace(device or 0)
        return self._to_impl(device=device)

    def xpu(self, device=None):
        """Move parameters and buffers to an XPU, in place: fails, as Argosy has no kernels for them.

        Args:
            device: its number or place; None is the first.

        Returns:
            This layer.

        Raises:
            ValueError: always, by the name of the device.

        Examples:
            >>> argosy.nn.Linear(2, 3).xpu()
            Traceback (most recent call last):
            ValueError: [set_device] unknown device 'xpu:0'
        """
        if device is None or isinstance(device, int):
            device = f"xpu:{device or 0}"
        return self._to_impl(device=device)
