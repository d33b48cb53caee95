"""Ops from C++ sources of one's own: compiled and loaded while the program runs, or installed by a
setup script (docs/custom_ops.md)."""

from .compiler import get_build_directory
from .cpp_extension import CppExtension, CUDAExtension, load, setup
from .library import (
    load_op_library,
    load_op_meta_info_and_register_op,
    parse_op_info,
)

__all__ = ["CppExtension", "CUDAExtension", "load", "setup", "get_build_directory"]


def __getattr__(name):
    if name == "BuildExtension":
        from . import cpp_extension

        return cpp_extension.BuildExtension
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
