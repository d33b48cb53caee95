"""Write python/argosy/_addresses.txt: where Paddle has the objects that Argosy has too. Run by hand.

    python tools/generate_addresses.py --peer PYTHON

PYTHON is an interpreter that has paddlepaddle; this one has to have argosy. All modules of Paddle
are imported there (those that fail are named; some need pyyaml or pandas), and objects told apart by
identity. An object that Argosy has by one of its addresses, best a public name, is to be found by all
of them. What Argosy has under an address, but as another object, is printed and left out.
"""

import argparse
import collections
import contextlib
import importlib
import json
import operator
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import types

OUT = pathlib.Path(__file__).resolve().parent.parent / "python" / "argosy" / "_addresses.txt"


# In the interpreter that has Paddle.


def import_all(package):
    """Import every module below a package that can be imported."""
    for _, name, _ in pkgutil.walk_packages(package.__path__, "paddle.", lambda name: None):
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except BaseException as error:  # whatever a module of tools, servers or devices does
                print(f"not imported: {name}: {error!r}"[:200], file=sys.stderr)


def is_of_paddle(value):
    """Whether an object is one of Paddle, by its type or by the module that says it made it. Modules
    are; the package is not: most of its modules import it."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("paddle.")
    made_in = (getattr(value, "__module__", None), type(value).__module__)
    return any(isinstance(name, str) and name.partition(".")[0] == "paddle" for name in made_in)


def is_left_over(path, name, value):
    """Whether a private name is a variable that a module has used to define something, in a loop."""
    made = getattr(value, "__module__", None), getattr(value, "__name__", name)
    return name[0] == "_" and made[0] == path and made[1] != name


def collect():
    """Print what Paddle has: its version; for each object its addresses, as {module, name, whether in
    public, whether it is a module}; the modules whose names `import *` brings; and those whose name in
    their package is another object."""
    with contextlib.redirect_stdout(sys.stderr):
        import paddle

        import_all(paddle)
    objects, starred, shadowed = collections.defaultdict(list), [], []
    for path, module in sorted(sys.modules.items()):
        if path.partition(".")[0] != "paddle" or not isinstance(module, types.ModuleType):
            continue
        has = {
            name: value
            for name, value in vars(module).items()
            if is_of_paddle(value) and name[:2] != "__" and not is_left_over(path, name, value)
        }
        listed = set(getattr(module, "__all__", has))
        if listed.intersection(has):
            starred.append(path)
        package, _, child = path.rpartition(".")
        there = vars(sys.modules[package]).get(child) if package else None
        if is_of_paddle(there) and not isinstance(there, types.ModuleType):
            shadowed.append(path)
        for name, value in sorted(has.items()):
            public = name in getattr(module, "__all__", ()) and "._" not in path
            public = public or path == "paddle" and name[0] != "_"
            is_module = isinstance(value, types.ModuleType)
            if is_module:
                public = value.__name__ == f"{path}.{name}"
            address = {"module": path, "name": name, "public": public, "is_module": is_module}
            objects[id(value)].append(address)
    for name, value in vars(paddle.Tensor).items():
        if id(value) in objects and name[:2] != "__":
            method = {"module": "paddle", "name": f"Tensor.{name}", "public": True}
            objects[id(value)].append({**method, "is_module": False})
    found = {"version": paddle.__version__, "objects": list(objects.values())}
    json.dump({**found, "starred": starred, "shadowed": shadowed}, sys.stdout)


# In the interpreter that has Argosy.


def ours(path):
    """The name of Argosy for a name of Paddle."""
    return "argosy" + path[len("paddle") :]


def label(address):
    return f"{address['module']}.{address['name']}"


def is_method(address):
    return address["name"].startswith("Tensor.")


def resolve(address):
    """What Argosy has under an address, without the list; None if it has nothing."""
    try:
        module = importlib.import_module(ours(address["module"]))
        return operator.attrgetter(address["name"])(module)
    except (ImportError, AttributeError):
        return None


def is_alike(address, value):
    """Whether a value of Argosy can be what Paddle has under the address: a module by its own name."""
    if isinstance(value, types.ModuleType) or address["is_module"]:
        return address["is_module"] and getattr(value, "__name__", "") == ours(label(address))
    return value is not None


def rank(address):
    """Public ones first; functions before methods, front doors before old ones, short before long."""
    path = address["module"]
    old = path.startswith(("paddle.base", "paddle.framework", "paddle.incubate"))
    old = old and not address["is_module"]
    return (
        not address["public"],
        is_method(address),
        old,
        path.count("."),
        path,
        address["name"],
    )


def rows(objects):
    """(module, name, home, name at home) of every address, and texts about those left out."""
    found, differ = [], []
    for addresses in objects:
        known = [(address, resolve(address)) for address in sorted(addresses, key=rank)]
        known = [pair for pair in known if is_alike(*pair)]
        for address in addresses if known else ():
            is_module, name = address["is_module"], address["name"]
            # Of two spellings of one object the one that the module uses too.
            home, value = min(known, key=lambda pair: not is_module and pair[0]["name"] != name)
            there = resolve(address)
            if is_method(address) or address is home or is_module and address["public"]:
                continue
            if there is None or there is value:
                found.append((ours(address["module"]), name, ours(home["module"]), home["name"]))
            else:
                differ.append(f"{label(address)} is not {label(home)}")
    return found, differ


def without_lacking(found, shadowed):
    """The rows but those of modules whose name in their package is an object that Argosy lacks, where
    one would find the module instead."""
    has = {(module, name) for module, name, _, _ in found}
    lacking = set()
    for path in shadowed:
        module, _, name = path.rpartition(".")
        if (ours(module), name) not in has and resolve({"module": module, "name": name}) is None:
            lacking.add(ours(path))
    return [row for row in found if not any(f"{row[0]}.".startswith(f"{m}.") for m in lacking)]


def text(found, starred):
    """The file: a line for each module and package, divided by tabs. Its dotted name; the names of the
    modules in it, after * if `import *` brings its names; and, for each module of ours that has some of
    the objects, that module and their names, as `name` or `name=name of ours`."""
    names = collections.defaultdict(lambda: collections.defaultdict(list))
    within = collections.defaultdict(set)
    for path, name, home, other in sorted(found):
        names[path][home].append(name if name == other else f"{name}={other}")
        while path != "argosy":
            package, _, child = path.rpartition(".")
            within[package].add(child)
            path = package
    lines = []
    for path in sorted({*names, *within}):
        modules = " ".join(sorted(within[path]))
        homes = [" ".join([home, *of]) for home, of in sorted(names[path].items())]
        lines.append("\t".join([path, "*" * (path in starred) + modules, *homes]) + "\n")
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True)
    peer = parser.parse_args().peer
    with tempfile.TemporaryDirectory() as folder:  # some modules leave logs where they are imported
        command = [peer, str(pathlib.Path(__file__).resolve()), "--collect"]
        collected = json.loads(subprocess.check_output(command, cwd=folder))
    from argosy import _addresses

    _addresses.forget()
    found, differ = rows([of for of in collected["objects"] if not of[0]["is_module"]])
    found = without_lacking(found, collected["shadowed"])
    listed = {module for module, _, _, _ in found}
    modules, differ_too = rows([of for of in collected["objects"] if of[0]["is_module"]])
    found += [row for row in modules if row[0] in listed]
    differ += differ_too
    starred = {ours(path) for path in collected["starred"]}
    OUT.write_text(text(found, starred))
    count = f"{len(found)} addresses of Paddle {collected['version']}, {len(differ)} left out"
    print(*differ, count, sep="\n")


if __name__ == "__main__":
    collect() if "--collect" in sys.argv else main()
