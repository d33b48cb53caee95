"""Imports modules that share their names with objects, each in a process of its own, and prints as JSON
what came of it: `listed_modules.py PACKAGE MODULE...`. PACKAGE, which the modules are in, is argosy or,
under argosy run, paddle.
"""

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


def in_child(path):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = verdict(path)
        except BaseException as error:
            text = repr(error)
        os.write(theirs, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        return pipe.read()


print(json.dumps({path: in_child(f"{package}.{path}") for path in sys.argv[2:]}))
