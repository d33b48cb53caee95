"""Makes `import paddle` give argosy: installed by the sitecustomize beside it.

Only the standard library is imported here, so that programs that never import paddle pay nothing.
"""

import importlib
import importlib.machinery
import importlib.util
import sys


class _AliasLoader:
    def __init__(self, real):
        self._real = real

    def create_module(self, spec):
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has marked the module with the alias's spec.
        module.__spec__ = self._spec

    def get_code(self, name):
        """For `python -m paddle.x`."""
        return importlib.util.find_spec(self._real).loader.get_code(self._real)


class AliasFinder:
    """Finds paddle and paddle.x as the very modules argosy and argosy.x."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "paddle" and not name.startswith("paddle."):
            return None
        if name != "paddle" and sys.modules.get("paddle") is not sys.modules.get("argosy"):
            return None
        real = "argosy" + name[len("paddle") :]
        # In an interpreter without argosy (a child of another environment) paddle stays paddle.
        if real in sys.modules:
            return importlib.machinery.ModuleSpec(name, _AliasLoader(real))
        spec = importlib.util.find_spec(real)
        if spec is None:
            return None
        out = importlib.machinery.ModuleSpec(name, _AliasLoader(real), origin=spec.origin)
        out.submodule_search_locations = spec.submodule_search_locations
        return out


def install():
    """Put the finder first, once."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.insert(0, AliasFinder)
