"""Where the headers and libraries of the package lie, for programs that are built against it."""

from __future__ import annotations

from argosy.utils import package_paths as paths

__all__ = ["get_include", "get_lib"]


def get_include():
    """The folder of the C++ headers: include <argosy/..> and <paddle/extension.h> from it.

    Returns:
        str: Its path.

    Example:
        >>> isinstance(argosy.sysconfig.get_include(), str)
        True
    """
    return str(paths.include_folder())


def get_lib():
    """The folder of libargosy.so.

    Returns:
        str: Its path.

    Example:
        >>> isinstance(argosy.sysconfig.get_lib(), str)
        True
    """
    return str(paths.library_folder())
