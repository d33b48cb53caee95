"""The parts of Layer that save, load and convert its state."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple

from argosy._core import Tensor
from argosy._dtypes import CONVERTIBLE, REAL
from argosy._support import unsupported
from argosy.autograd import no_grad
from argosy.base.parameter import set_data
from argosy.device import CUDAPlace

from ._helper import dtype_name

_CONVERTIBLE = tuple(map(dtype_name, CONVERTIBLE))


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

        Args (also by position, in this order): destination=None (a dict to fill),
            include_sublayers=True, structured_name_prefix='' (also ``prefix``), use_hook=True,
            keep_vars=True (False: detached tensors).

        Returns:
            OrderedDict from structured names such as ``encoder.0.weight`` to tensors.
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
        """Like :meth:`state_dict`, with the buffers that are not persistable as well."""
        return self._state_dict_impl(
            destination, include_sublayers, structured_name_prefix, True, use_hook, keep_vars
        )

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Copy values from ``state_dict`` into parameters and persistable buffers.

        Args:
            state_dict: dict from names to tensors or NumPy arrays.
            use_structured_name: match by structured name (``fc.weight``); False: by the
                tensor's own name (``linear_0.w_0``).

        Returns:
            (missing keys, unexpected keys). A key whose shape does not fit is in both, with a
            warning, and is not loaded.
        """
        missing, used, pairs = [], set(), []
        targets = self.state_dict(use_hook=False)
        for key, target in targets.items():
            name = key if use_structured_name else target.name
            value = state_dict.get(name)
            if value is None:
                missing.append(name)
                problem = f"{name} is not found in the provided dict."
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
                target.set_value(value)
        return missing, unexpected

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Load ``state_dict``; with ``strict`` keys that are missing or unknown are an error.

        Raises:
            RuntimeError: ``strict`` and the keys differ.
            NotImplementedError: ``assign``, which would put the tensors in the parameters' place.
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
        """Move parameters and buffers to ``device`` and cast them to ``dtype``, in place.

        ``device`` may also be a dtype, or a tensor whose place and dtype are taken.
        """
        if isinstance(device, Tensor):
            device, dtype = device.place, device.dtype
        if non_blocking is not None and blocking is None:
            blocking = not non_blocking
        return self._to_impl(device, dtype, blocking)

    def astype(self, dtype=None):
        """Cast all parameters and buffers to ``dtype``, in place."""
        return self._to_impl(dtype=dtype)

    def type(self, dst_type):
        """Same as :meth:`astype`."""
        return self._to_impl(dtype=dst_type)

    def double(self):
        """Cast floating parameters and buffers to float64."""
        return self._to_impl(dtype="float64", floating_only=True)

    def half(self):
        """Cast floating parameters and buffers to float16."""
        return self._to_impl(dtype="float16", floating_only=True)

    def float(self, excluded_layers=None):
        """Cast floating parameters and buffers to float32, except in ``excluded_layers``."""
        return self._cast_except("float32", excluded_layers)

    def float16(self, excluded_layers=None):
        """Cast floating parameters and buffers to float16, except in ``excluded_layers``."""
        return self._cast_except("float16", excluded_layers)

    def bfloat16(self, excluded_layers=None):
        """Cast floating parameters and buffers to bfloat16, except in ``excluded_layers``."""
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
        """Move parameters and buffers to the CPU."""
        return self._to_impl(device="cpu")

    def cuda(self, device=None):
        """Move parameters and buffers to a GPU (``device``: its number or place)."""
        if device is None or isinstance(device, int):
            device = CUDAPlace(device or 0)
        return self._to_impl(device=device)

    def xpu(self, device=None):
        """Move parameters and buffers to an XPU."""
        if device is None or isinstance(device, int):
            device = f"xpu:{device or 0}"
        return self._to_impl(device=device)
