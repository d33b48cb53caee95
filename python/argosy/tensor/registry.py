"""The table of Tensor's methods: each name once, with where it is defined.

It begins with what the C type has and what is generated from ops; modules of this room add theirs with
`method`. Two of one name are an error that names both, unless the second says which module's it
replaces. `import argosy` installs the table when all are there, and closes it.
"""

import sys
from importlib import import_module

from argosy._core import Tensor
from argosy._generated.method_table import METHODS as _GENERATED

CORE, GENERATED = "argosy._core", "argosy._generated"


class Entry:
    """One method: what it is, the module that adds it, and that whose own it replaces."""

    __slots__ = ("value", "module", "replaces")

    def __init__(self, value, module, replaces=None):
        self.value = value
        self.module = module
        self.replaces = replaces

    def load(self):
        """What becomes the attribute; of a generated method value is the function's name."""
        if self.module.startswith(GENERATED + "."):
            return getattr(import_module(self.module), self.value)
        return self.value


class MethodTable:
    """Name -> Entry."""

    def __init__(self):
        self.entries = {}
        self.installed = False

    def add(self, name, value, module, replaces=None):
        """Adds a method that `module` defines. replaces: the module of the one that gives way; all
        generated modules are argosy._generated."""
        known = self.entries.get(name)
        if known is not None and known.module == module and module != CORE:
            known.value = value  # the module runs again: it is reloaded, or its first import failed
            if self.installed:
                setattr(self._class, name, known.load())
            return
        if self.installed:
            raise TypeError(
                f"[Tensor.{name}] {module} adds it when the methods are installed already."
                " Do this: import that module in argosy.tensor."
            )
        there = None if known is None else known.module
        if there is not None and there.startswith(GENERATED + "."):
            there = GENERATED
        if replaces != there:
            raise TypeError(
                f"[Tensor.{name}] is defined twice: in {known.module} and in {module}. Do this: remove"
                f" one, or say replaces={there!r}."
                if replaces is None
                else f"[Tensor.{name}] of {module} replaces that of {replaces}, but"
                f" {'nobody' if known is None else known.module} defines it. Do this: correct replaces."
            )
        self.entries[name] = Entry(value, module, replaces)

    def install(self, cls):
        """Gives `cls` all methods but those that it brings itself."""
        for name, entry in self.entries.items():
            if entry.module != CORE:
                setattr(cls, name, entry.load())
        self._class = cls
        self.installed = True


def _first_table():
    table = MethodTable()
    for name, value in vars(Tensor).items():
        table.add(name, value, CORE)
    for name, (home, function) in _GENERATED.items():
        table.add(name, function, f"{GENERATED}.{home}")
    return table


TABLE = _first_table()


def method(function, name=None, replaces=None):
    """Decorator: makes the function a method of Tensor under its own (or the given) name. Properties
    and other attributes need the name."""
    module = sys._getframe(1).f_globals["__name__"]
    TABLE.add(name or function.__name__, function, module, replaces)
    return function
