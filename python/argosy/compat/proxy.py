"""`import torch` in programs that are to run on Argosy: a finder that gives Argosy's modules that name."""

import importlib
import importlib.machinery
import importlib.util
import sys
import types
import warnings

from argosy._support import ArgumentError

_ROOT = "torch"
_REAL = "argosy"


class _ProxyModule(types.ModuleType):
    """A module of Argosy under another name; names that argosy.compat has of their own come first."""

    def __init__(self, name, real):
        super().__init__(name, real.__doc__)
        path = real.__name__[len(_REAL) :]
        own = None
        if importlib.util.find_spec(f"{_REAL}.compat{path}") is not None:
            own = importlib.import_module(f"{_REAL}.compat{path}")
        self.__dict__["_sources"] = [module for module in (own, real) if module is not None]
        self.__path__ = []

    def __getattr__(self, name):
        own, real = self._sources[0], self._sources[-1]
        if name in getattr(own, "__all__", ()):
            return getattr(own, name)
        value = getattr(real, name)
        if isinstance(value, types.ModuleType) and value.__name__ == f"{real.__name__}.{name}":
            return importlib.import_module(f"{self.__name__}.{name}")
        return value

    def __dir__(self):
        return sorted({name for module in self._sources for name in dir(module)})


class _Finder:
    """Finds torch and torch.x for importers that were named, or for all, but those that are blocked."""

    def __init__(self):
        self.scope = None  # None: every module
        self.blocked = frozenset()

    def _serves(self, importer):
        names = {".".join(importer.split(".")[: i + 1]) for i in range(importer.count(".") + 1)}
        return not names & self.blocked and (self.scope is None or bool(names & self.scope))

    def find_spec(self, name, path=None, target=None):
        """The spec of a proxy; None where another finder is to answer."""
        if name.partition(".")[0] != _ROOT or not self._serves(_importer()):
            return None
        real = _REAL + name[len(_ROOT) :]
        try:
            if real not in sys.modules and importlib.util.find_spec(real) is None:
                return None
        except ModuleNotFoundError:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        """The proxy of the module that has the name here."""
        return _ProxyModule(spec.name, importlib.import_module(_REAL + spec.name[len(_ROOT) :]))

    def exec_module(self, module):
        """Nothing is left to run."""


def _importer():
    """The name of the module whose import statement runs."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != __name__ and not name.startswith("importlib"):
            return name
        frame = frame.f_back
    return ""


_finder = _Finder()


def _names(value):
    return frozenset([value] if isinstance(value, str) else value)


def enable_compat(*, scope=None, blocked_modules=None, backend="torch", silent=False):
    """Lets `import torch` give this package, with the functions of `argosy.compat` in place of their namesakes.

    Args:
        scope (str | iterable of str, optional): Packages whose imports are served. Default: all.
        blocked_modules (str | iterable of str, optional): Packages whose imports are not.
        backend (str): "torch".
        silent (bool): Whether to say nothing where another scope was in force.

    Raises:
        AssertionError: backend is another.
        TypeError: scope or blocked_modules are no names.

    Example:
        >>> argosy.enable_compat()
        >>> import torch
        >>> torch.sin is argosy.sin
        True
        >>> argosy.disable_compat()
    """
    if backend != "torch":
        raise AssertionError(
            f"[enable_compat] Unsupported backend: {backend}. Do this: pass 'torch', or leave it out."
        )
    try:
        wanted = None if scope is None else _names(scope)
        blocked = frozenset() if blocked_modules is None else _names(blocked_modules)
    except TypeError:
        raise ArgumentError(
            f"[enable_compat] expected names of modules, got {scope!r} and {blocked_modules!r}. Do this:"
            " pass a string or a collection of strings."
        ) from None
    if _finder in sys.meta_path and wanted != _finder.scope and not silent:
        warnings.warn(
            "[enable_compat] another scope was in force; this one replaces it.", stacklevel=2
        )
    _finder.scope, _finder.blocked = wanted, blocked
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def disable_compat():
    """Ends what enable_compat began; modules that it gave are imported anew next time.

    Example:
        >>> argosy.enable_compat(scope="my_package")
        >>> argosy.disable_compat()
        >>> argosy.disable_compat()
    """
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, _ProxyModule):
            del sys.modules[name]
