"""Importing optional packages."""

from __future__ import annotations

import importlib

__all__ = []


def try_import(module_name, err_msg=None):
    """Imports a module that need not be installed.

    Args:
        module_name (str): Its name.
        err_msg (str, optional): The text of the error.

    Returns:
        module: It.

    Raises:
        ImportError: there is none.

    Example:
        >>> argosy.utils.try_import("json").dumps([1])
        '[1]'
    """
    try:
        return importlib.import_module(module_name)
    except ImportError:
        if err_msg is None:
            err_msg = (
                f"Failed importing {module_name}. This likely means that some argosy modules "
                "require additional dependencies that have to be manually installed (usually with "
                f"`pip install {module_name}`)."
            )
        raise ImportError(err_msg) from None
