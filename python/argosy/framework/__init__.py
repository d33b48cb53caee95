"""Base services under Paddle's old address: saving and loading, and names of the package itself."""

import importlib

from argosy._core import dtype, get_default_dtype, set_default_dtype  # noqa: F401
from argosy._framework import (  # noqa: F401
    disable_static,
    enable_static,
    get_flags,
    in_dynamic_mode,
    set_flags,
)
from argosy.autograd import grad, no_grad  # noqa: F401
from argosy.base.param_attr import ParamAttr  # noqa: F401
from argosy.device import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    XPUPlace,
)
from argosy.tensor import random  # noqa: F401
from argosy.tensor.random import seed  # noqa: F401

from .io import load, save

__all__ = ["load", "save"]

_OF_BASE_FRAMEWORK = frozenset(
    "Block EagerParamBase Parameter Program Variable _current_expected_place "
    "_current_expected_place_ _no_check_dy2st_diff convert_np_dtype_to_dtype_ dygraph_only "
    "in_dynamic_or_pir_mode in_pir_mode switch_main_program switch_startup_program "
    "use_pir_api".split()
)


def __getattr__(name):
    if name == "core":
        return importlib.import_module("argosy.base.core")
    if name in _OF_BASE_FRAMEWORK:
        return getattr(importlib.import_module("argosy.base.framework"), name)
    if name == "LayerHelper":
        return importlib.import_module("argosy.base.layer_helper").LayerHelper
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), "core", *_OF_BASE_FRAMEWORK})
