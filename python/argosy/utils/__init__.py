"""Helpers for programs: unique names, optional imports, versions, downloads."""

from __future__ import annotations

import importlib

from . import unique_name  # noqa: F401
from .deprecated import deprecated
from .layers_utils import (  # noqa: F401
    assert_same_structure,
    convert_to_list,
    copy_mutable_vars,
    flatten,
    hold_mutable_vars,
    is_sequence,
    map_structure,
    pack_sequence_as,
    to_sequence,
)
from .lazy_import import try_import

__all__ = ["deprecated", "require_version", "run_check", "try_import"]

_LAZY = ("cpp_extension", "dlpack", "download", "install_check")


def run_check():
    """Train a small network for one step and say whether the result is right.

    Examples:
        >>> import contextlib, io
        >>> with contextlib.redirect_stdout(io.StringIO()) as told:
        ...     argosy.utils.run_check()
        >>> "success" in told.getvalue()
        True
    """
    from .install_check import run_check as check

    check()


def require_version(min_version, max_version=None):
    """Raise unless the API version that this package follows lies in [min, max].

    Args:
        min_version, max_version: str such as '2.4.1'; ``max_version`` may be None.

    Raises:
        TypeError: a version is no str.
        ValueError: a version has another form.
        Exception: the version lies outside.

    Example:
        >>> argosy.utils.require_version("2.0.0")
    """
    from argosy import version

    wanted = []
    for name, value in (("min_version", min_version), ("max_version", max_version)):
        if value is None and name == "max_version":
            wanted.append(None)
            continue
        if not isinstance(value, str):
            raise TypeError(
                f"[require_version] {name}: expected a string, got {type(value).__name__}. Do "
                "this: write e.g. '3.0.0'."
            )
        parts = value.split(".")
        if not 1 <= len(parts) <= 4 or not all(part.isdigit() for part in parts):
            raise ValueError(
                f"[require_version] {name}: expected one to four numbers divided by dots, got "
                f"{value!r}. Do this: write e.g. '3.0.0'."
            )
        wanted.append(_numbers(value))
    have = _numbers(version.full_version)
    low, high = wanted
    if low > have or (high is not None and have > high):
        if high is None:
            text = f"version {min_version} or higher is required"
        else:
            text = f"version in [{min_version}, {max_version}] required"
        raise Exception(
            f"[require_version] {text}, but {version.full_version} is installed. Do this: "
            "install such a version."
        )


def _numbers(text):
    numbers = [int(part) for part in text.split(".") if part.isdigit()][:4]
    return numbers + [0] * (4 - len(numbers))


def __getattr__(name):
    if name in _LAZY:
        return importlib.import_module(f"argosy.utils.{name}")
    raise AttributeError(f"module 'argosy.utils' has no attribute '{name}'")
