"""Objects are also found where Paddle defines and imports them.

`_addresses.txt` says for each module of Paddle which names it has and where the objects are here
(written by tools/generate_addresses.py from an installed Paddle). A module of that list which has a
file here finds the names that it lacks; one without a file is in sys.modules as soon as its package
is. So the import system never loads it, and never binds its name in the package: where a function
and a module share a name (amp.auto_cast), the package keeps the function. Objects are looked up when
they are asked for.
"""

import functools
import importlib
import importlib.machinery
import operator
import os
import sys
import types


def _read():
    path = os.path.join(os.path.dirname(__file__), "_addresses.txt")
    with open(path, encoding="utf-8") as file:
        return dict(line.partition("\t")[::2] for line in file.read().splitlines())


# What the list has on each module; modules() to names() read it.
_LIST = _read()


def modules():
    """The modules of the list."""
    return list(_LIST)


def modules_in(path):
    """The names of the modules in one; none if it is no package."""
    return _LIST[path].partition("\t")[0].lstrip("*").split()


def is_starred(path):
    """Whether `import *` brings the names of a module."""
    return _LIST[path].startswith("*")


@functools.lru_cache(maxsize=None)
def names(path):
    """The names that the list has for a module, with the module and the name where each is here."""
    found = {}
    for known in _LIST[path].split("\t")[1:]:
        home, *entries = known.split(" ")
        for entry in entries:
            name, _, other = entry.partition("=")
            found[name] = home, other or name
    return found


def forget():
    """Empty the list in this process: what is found from now on is found without it."""
    _LIST.update(dict.fromkeys(_LIST, ""))
    names.cache_clear()


def find(home, name):
    """The object that a module of ours has under a name (of a method: Tensor.name)."""
    return operator.attrgetter(name)(importlib.import_module(home))


def complete(module):
    """Let a module find what the list has for it, after what it finds itself."""
    path = module.__name__
    own = vars(module).get("__getattr__")

    def __getattr__(name):
        missing = None
        try:
            if own is not None:
                try:
                    return own(name)
                except AttributeError as error:
                    missing = error
            if name in names(path):
                value = find(*names(path)[name])
            elif name in modules_in(path):
                value = importlib.import_module(f"{path}.{name}")
            else:
                raise missing or AttributeError(f"module {path!r} has no attribute {name!r}")
        finally:
            missing = None  # its traceback has this frame, which would keep the callers' alive
        vars(module)[name] = value
        return value

    module.__getattr__ = __getattr__
    within = modules_in(path)
    if within:
        folders = vars(module).setdefault("__path__", [])
        files = [(folder, set(os.listdir(folder))) for folder in folders]
        for name in within:
            if not any(_has_file(name, *each) for each in files):
                _add_without_file(f"{path}.{name}")


def _has_file(name, folder, entries):
    if name + ".py" in entries:
        return True
    return name in entries and os.path.exists(os.path.join(folder, name, "__init__.py"))


def _add_without_file(path):
    module = types.ModuleType(path, "A module of Paddle whose objects have other homes here.")
    spec = importlib.machinery.ModuleSpec(path, _Loader, is_package=bool(modules_in(path)))
    module.__spec__, module.__loader__, module.__package__ = spec, _Loader, spec.parent
    module.__getattr__ = functools.partial(_attribute_without_file, path)
    module.__dir__ = lambda: sorted({*vars(module), *names(path), *modules_in(path)})
    sys.modules[path] = module
    complete(module)


def _attribute_without_file(path, name):
    if name == "__all__":
        return [each for each in names(path) if is_starred(path) and each[0] != "_"]
    raise AttributeError(f"module {path!r} has no attribute {name!r}")


class _Loader:
    """Of modules without a file, which are loaded already."""

    @staticmethod
    def create_module(spec):
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module):
        pass


class _Finder:
    """Has modules of the list completed when they are loaded."""

    @staticmethod
    def find_spec(path, folders=None, target=None):
        if path not in _LIST:
            return None
        loaded = sys.modules.get(path)
        if loaded is not None and loaded.__spec__.loader is _Loader:
            return loaded.__spec__
        spec = importlib.machinery.PathFinder.find_spec(path, folders, target)
        if spec is not None and spec.loader is not None:
            _complete_after(spec.loader)
        return spec


def _complete_after(loader):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        complete(module)

    loader.exec_module = exec_module


def install():
    """Complete the modules that are loaded, and from now on each that will be."""
    for path, module in list(sys.modules.items()):
        if path in _LIST:
            complete(module)
    sys.meta_path.insert(0, _Finder)
