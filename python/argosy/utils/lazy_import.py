"""Importing optional packages."""

from __future__ import annotations

import importlib

__all__ = []


def try_import(module_name, err_msg=None):
    """The module called ``module_name``.

    Raises:
        ImportError: there is none; the text is ``err_msg`` if given.
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
