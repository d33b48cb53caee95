"""Run by Python at start, in programs that `argosy run` started and in their children.

`argosy run` puts this folder into PYTHONPATH. The folder leaves sys.path again, and a sitecustomize
that it hides is run as well.
"""

import importlib.machinery
import importlib.util
import os
import sys

import _argosy_alias

_argosy_alias.install()


def _run_hidden():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_run_hidden()
