"""Imports modules that share their names with objects, each in a process of its own, and prints as JSON
what came of it: `listed_modules.py PACKAGE MODULE...`. PACKAGE, which the modules are in, is argosy or,
under argosy run, paddle.
"""

import collections
import importlib
import json
import os
import sys
import types

package = sys.argv[1]
importlib.import_module(package)


def verdict(path):
    above, _, name = path.rpartition(".")
    parent = importlib.import_module(above)
    before = getattr(parent, name)
    if isinstance(before, types.ModuleType):
        return "the package has the module"
    module = importlib.import_module(path)
    exec(f"import {path}")
    exec(f"from {path} import __name__")
    if not isinstance(module, types.ModuleType) or module is not sys.modules[path]:
        return f"imported {module!r}"
    if getattr(parent, name) is not before:
        return f"the package got {getattr(parent, name)!r} for {before!r}"
    return "kept"


def in_child(function, *arguments):
    """What function(*arguments) gives in a forked process, or the text of its error."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            found = function(*arguments)
        except BaseException as error:
            found = repr(error)
        with os.fdopen(theirs, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return found


def verdicts(above, paths):
    """Imports the package once; what is imported from it is so in a process of its own."""
    importlib.import_module(above)
    return {path: in_child(verdict, path) for path in paths}


of_package = collections.defaultdict(list)
for path in sys.argv[2:]:
    of_package[f"{package}.{path}".rpartition(".")[0]].append(f"{package}.{path}")
found = {}
for above, paths in of_package.items():
    found.update(in_child(verdicts, above, paths))
print(json.dumps({path: found[f"{package}.{path}"] for path in sys.argv[2:]}))
