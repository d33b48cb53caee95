"""The public names of the Python front end: what the documentation site shows, and what has to be said of it.

A module is public if it has a list of exports, no part of its path starts with `_`, and programs import
it (MACHINERY they do not). `argosy` itself has no list, as its heavy rooms load at first use: its public
names are those of `dir`.
"""

import importlib
import inspect
import pathlib
import re

import argosy

PACKAGE = pathlib.Path(argosy.__file__).parent
# Behind `python -m argosy.cli`, `argosy.distributed.launch`, `jit.to_static`, the methods of `fleet`, and
# `argosy.save` and `load`.
MACHINERY = (
    "argosy.cli",
    "argosy.distributed.fleet.base.table_settings",
    "argosy.distributed.fleet.collective_client",
    "argosy.distributed.fleet.local_runtime",
    "argosy.distributed.fleet.runtime",
    "argosy.distributed.launch",
    "argosy.distributed.ps",
    "argosy.framework.pickle_reader",
    "argosy.framework.pickle_writer",
    "argosy.jit.transform",
)
_LIST = re.compile(r"^__all__\b", re.MULTILINE)


def exporting_modules():
    """Every public module that has a list of exports, imported, those above before those below."""
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda path: _name(path).split(".")):
        name = _name(path)
        if _is_public(name) and _LIST.search(path.read_text()):
            yield importlib.import_module(name)


def _is_public(name):
    if any(name == m or name.startswith(m + ".") for m in MACHINERY):
        return False
    return not any(part.startswith("_") for part in name.split("."))


def _name(path):
    return ".".join(("argosy", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def exports(module):
    """[(name, value)] that a module gives programs; modules are none of them."""
    names = dir(module) if module is argosy else module.__all__
    found = ((name, getattr(module, name)) for name in sorted(set(names)) if name[0] != "_")
    return [(name, value) for name, value in found if not inspect.ismodule(value)]


def pages():
    """{name: module} of the modules that the site has a page for: those that export something that no
    module above them does."""
    shown, found = {}, {}
    for module in exporting_modules():
        name = module.__name__
        above = [name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)]
        values = {id(value) for _, value in exports(module)}
        if not values <= set().union(*(shown.get(a, ()) for a in above)):
            found[name] = module
        shown[name] = values
    return found


def is_hand_written(value):
    """Whether a class or function stands in a file of the package that no tool writes."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return False
    if not (getattr(value, "__module__", None) or "").startswith("argosy."):
        return False
    try:
        file = pathlib.Path(inspect.getsourcefile(inspect.unwrap(value)))
    except TypeError:
        return False  # of the extension, or of a class that is made while it runs
    return PACKAGE in file.parents and "_generated" not in file.parts


def documented():
    """{public name: value} of hand-written classes and functions, and of methods that are attached to
    Tensor: each once, by the shortest name."""
    found = {}
    for module in [argosy, *exporting_modules()]:
        for name, value in exports(module):
            _add(found, f"{module.__name__}.{name}", value)
    for name in dir(argosy.Tensor):
        if name[0] != "_":
            _add(found, f"argosy.Tensor.{name}", getattr(argosy.Tensor, name))
    return {name: value for _, name, value in sorted(found.values(), key=lambda entry: entry[1])}


def _add(found, name, value):
    if is_hand_written(value):
        # It may also be there under names that other libraries give it.
        other = name.rpartition(".")[2] != value.__name__
        rank = (other, name.count("."), name)
        if id(value) not in found or rank < found[id(value)][0]:
            found[id(value)] = (rank, name, value)
