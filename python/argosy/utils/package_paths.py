"""Where headers and libraries of the package lie: of an installed one, or of a source tree."""

from __future__ import annotations

import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def include_folder():
    """The folder of <argosy/..> and <paddle/extension.h>."""
    installed = PACKAGE / "include"
    sources = PACKAGE.parent.parent / "src"
    return installed if installed.is_dir() or not (sources / "argosy").is_dir() else sources


def include_folders():
    """All that a library of ops needs. A source tree has what was generated in a folder apart."""
    return [include_folder(), PACKAGE / "_generated" / "include"]


def library_folder():
    """The folder of libargosy.so."""
    return PACKAGE / "lib"
