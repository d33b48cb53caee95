"""Base services under Paddle's old address: saving and loading, and names of the package itself."""

import importlib

from .io import load, save

__all__ = ["load", "save"]

# Names that stand in the package, or in argosy.base, and are reached from here too.
_OF_PACKAGE = frozenset(
    "CPUPlace CUDAPinnedPlace CUDAPlace ParamAttr disable_static dtype enable_static "
    "get_default_dtype get_flags grad in_dynamic_mode no_grad seed set_default_dtype "
    "set_flags".split()
)
_OF_BASE = frozenset("core".split())
_OF_BASE_FRAMEWORK = frozenset(
    "Block EagerParamBase Parameter Program Variable _current_expected_place "
    "_current_expected_place_ _no_check_dy2st_diff convert_np_dtype_to_dtype_ dygraph_only "
    "in_dynamic_or_pir_mode in_pir_mode switch_main_program switch_startup_program "
    "use_pir_api".split()
)


def __getattr__(name):
    if name in _OF_PACKAGE:
        return getattr(importlib.import_module("argosy"), name)
    if name in _OF_BASE:
        return importlib.import_module(f"argosy.base.{name}")
    if name in _OF_BASE_FRAMEWORK:
        return getattr(importlib.import_module("argosy.base.framework"), name)
    if name == "LayerHelper":
        return importlib.import_module("argosy.base.layer_helper").LayerHelper
    if name == "random":
        return importlib.import_module("argosy.tensor.random")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_OF_PACKAGE, *_OF_BASE, *_OF_BASE_FRAMEWORK})
