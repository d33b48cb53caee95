"""Capture of Python functions as Programs."""

from .api import (
    StaticFunction,
    enable_to_static,
    ignore_module,
    not_to_static,
    set_code_level,
    set_verbosity,
    to_static,
)
from .saved import TranslatedLayer, load, save
from .step import CompiledStep, compile_step

__all__ = [
    "CompiledStep",
    "StaticFunction",
    "TranslatedLayer",
    "compile_step",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
]
