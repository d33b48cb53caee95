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
        _follow(self._real)

    def get_code(self, name):
        """For `python -m paddle.x`."""
        return importlib.util.find_spec(self._real).loader.get_code(self._real)


def _follow(package):
    """Give modules below a package that are loaded already their other name.

    They are not loaded once more then, so the import system does not bind them in the package: where
    a function and a module share a name (amp.auto_cast), the package keeps what it has.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(package + "."):
            spec = getattr(module, "__spec__", None)
            if not getattr(spec, "_initializing", False):
                sys.modules.setdefault("paddle" + name[len("argosy") :], module)


class AliasFinder:
    """Finds paddle and paddle.x as the very modules argosy and argosy.x."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
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
