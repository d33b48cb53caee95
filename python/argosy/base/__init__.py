"""Foundations of the front end, and the old names under which programs reach them."""

from __future__ import annotations

import importlib

from . import framework, param_attr, unique_name  # noqa: F401
from .framework import Variable, in_dygraph_mode, in_dynamic_or_pir_mode, in_pir_mode  # noqa: F401
from .param_attr import ParamAttr, WeightNormParamAttr

__all__ = ["ParamAttr", "WeightNormParamAttr"]

_MODULES = ("core", "data_feeder", "dygraph", "io", "layer_helper", "reader")
_STATIC = (
    "BuildStrategy", "CompiledProgram", "ExecutionStrategy", "Executor", "Program", "Scope",
    "append_backward", "cpu_places", "cuda_places", "default_main_program",
    "default_startup_program", "device_guard", "global_scope", "gradients", "name_scope",
    "program_guard", "scope_guard",
)  # fmt: skip
_PACKAGE = (
    "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "CustomPlace", "Tensor", "XPUPlace", "get_flags",
    "is_compiled_with_cinn", "is_compiled_with_cuda", "is_compiled_with_rocm",
    "is_compiled_with_xpu", "set_flags",
)  # fmt: skip


def enable_dygraph(place=None):
    """Run ops at once (the default)."""
    import argosy

    argosy.disable_static(place)


def disable_dygraph():
    """Build a static Program instead of running ops at once."""
    import argosy

    argosy.enable_static()


enable_imperative = enable_dygraph
disable_imperative = disable_dygraph


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"argosy.base.{name}")
    import argosy

    if name in _STATIC:
        return getattr(argosy.static, name)
    if name in _PACKAGE:
        return getattr(argosy, name)
    if name == "create_lod_tensor":
        return argosy.static.scope.create_lod_tensor
    if name in ("DenseTensor", "LoDTensor"):
        return argosy.static.DenseTensor
    if name in ("dataset", "DatasetFactory"):
        module = importlib.import_module("argosy.distributed._dataset.factory")
        return module if name == "dataset" else module.DatasetFactory
    if name == "FetchHandler":
        return importlib.import_module("argosy.static.train").FetchHandler
    if name == "initializer":
        return argosy.nn.initializer
    if name == "require_version":
        return argosy.utils.require_version
    raise AttributeError(f"module 'argosy.base' has no attribute '{name}'")
