"""Why `import argosy` fails: the C++ core is there for one version of Python only."""

import importlib.machinery
import pathlib
import sys


def explain_missing_core(error):
    """The error to raise for one of importing argosy._core: itself, unless no file is for this Python."""
    folder = pathlib.Path(__file__).parent
    mine = importlib.machinery.EXTENSION_SUFFIXES
    if any((folder / f"_core{suffix}").exists() for suffix in mine):
        return error
    built = ", ".join(sorted(p.name for p in folder.glob("_core.*.so")))
    version = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return ImportError(
        f"Argosy in {folder} is not built for this Python: expected {version} to find "
        f"_core{mine[0]}, got {built or 'no _core at all'}. Do this: run the Python that it was "
        "built with, install the wheel of this one, or build it: "
        f"make build PYTHON={sys.executable}"
    )
