"""Where the headers and libraries of the package lie, for programs that are built against it."""

from __future__ import annotations

import pathlib

__all__ = ["get_include", "get_lib"]

_PACKAGE = pathlib.Path(__file__).resolve().parent


def get_include():
    """The folder of the C++ headers: include <argosy/..> from it."""
    installed = _PACKAGE / "include"
    sources = _PACKAGE.parent.parent / "src"
    found = installed if installed.is_dir() or not (sources / "argosy").is_dir() else sources
    return str(found)


def get_lib():
    """The folder of libargosy.so."""
    return str(_PACKAGE / "lib")
