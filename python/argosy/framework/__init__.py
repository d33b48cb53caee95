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


def __getattr__(name):
    if name in _OF_PACKAGE:
        return getattr(importlib.import_module("argosy"), name)
    if name in _OF_BASE:
        return importlib.import_module(f"argosy.base.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_OF_PACKAGE, *_OF_BASE})
