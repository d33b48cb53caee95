"""Foundations of the front end, and the old names under which programs reach them."""

from __future__ import annotations

import importlib

from argosy._core import Tensor  # noqa: F401
from argosy._framework import disable_static as enable_dygraph
from argosy._framework import enable_static as disable_dygraph
from argosy._framework import get_flags, set_flags  # noqa: F401
from argosy._programs.scope import (  # noqa: F401
    DenseTensor,
    Scope,
    create_lod_tensor,
    global_scope,
    scope_guard,
)
from argosy.device import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    XPUPlace,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)

from . import param_attr, unique_name  # noqa: F401
from .param_attr import ParamAttr, WeightNormParamAttr
from .parameter import Variable  # noqa: F401

__all__ = ["ParamAttr", "WeightNormParamAttr"]

enable_imperative = enable_dygraph
disable_imperative = disable_dygraph
LoDTensor = DenseTensor

# Old names, found at first use: name -> module, or (module, attribute).
_LATER = {
    **{name: f"argosy.base.{name}" for name in
       ("core", "data_feeder", "dygraph", "framework", "io", "layer_helper", "log_helper", "reader",
        "wrapped_decorator")},
    **{name: ("argosy.base.framework", name) for name in
       ("in_dygraph_mode", "in_dynamic_or_pir_mode", "in_pir_mode")},
    **{name: ("argosy.static", name) for name in
       ("BuildStrategy", "CompiledProgram", "ExecutionStrategy", "Executor", "Program",
        "append_backward", "cpu_places", "cuda_places", "default_main_program",
        "default_startup_program", "device_guard", "gradients", "name_scope", "program_guard")},
    "data_feed_desc": "argosy.base.data_feed_desc",
    "DataFeedDesc": ("argosy.base.data_feed_desc", "DataFeedDesc"),
    "DataFeeder": ("argosy.base.data_feeder", "DataFeeder"),
    "dataset": "argosy.distributed._dataset.factory",
    "DatasetFactory": ("argosy.distributed._dataset.factory", "DatasetFactory"),
    "FetchHandler": ("argosy.static.train", "FetchHandler"),
    "initializer": "argosy.nn.initializer",
    "require_version": ("argosy.utils", "require_version"),
}  # fmt: skip


def __getattr__(name):
    target = _LATER.get(name)
    if target is None:
        raise AttributeError(f"module 'argosy.base' has no attribute '{name}'")
    if isinstance(target, tuple):
        return getattr(importlib.import_module(target[0]), target[1])
    return importlib.import_module(target)
