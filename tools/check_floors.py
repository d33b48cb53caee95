"""Check who imports whom in python/argosy.

FLOORS is the order, from the core down to what nothing stands on. A module imports modules of its own
floor and of those above it: at its head, in its functions, by import_module, or by naming their
address in a string. What has to look further down is in UP, with the reason, and does so only in
functions; so importing never goes in circles. Nobody imports the root, which gathers all floors:
a name is imported from where it is defined.

The head of a package's __init__ runs before each of its modules, so it counts as the uppermost of them;
but it may import those of its own that no other room's floor parts from that one. No circle of heads is
allowed within a floor either.
docs/architecture.md shows the floors.
"""

import ast
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "python" / "argosy"
PAGE = REPOSITORY / "docs" / "architecture.md"

# Modules of a line are one floor; a name stands for what is beneath it too, unless that has its own.
FLOORS = (
    "_interpreter _core _ps _net",
    "version",
    "_waits _job _processes",
    "_support _dtypes _op_names",
    "_generated",
    "device",
    "_beside",
    "_programs",
    "_framework _recorder _backward _capturing",
    "tensor",
    "random",
    "linalg",
    "fft",
    "autograd",
    "amp",
    "regularizer",
    "base.unique_name base.param_attr base.parameter base.static_parameter",
    "utils",
    "nn.functional",
    "nn.initializer",
    "nn",
    "quantization",
    "signal",
    "framework.io framework.async_io framework.atomic_file framework.gguf framework.pickle_reader"
    " framework.pickle_writer framework.tensor_file",
    "io",
    "vision.ops vision.image vision._detection",
    "static",
    "passes",
    "metric",
    "optimizer",
    "sparse",
    "geometric",
    "distribution",
    "audio",
    "vision",
    "text",
    "jit",
    "quantization.imperative",
    "onnx",
    "inference",
    "profiler",
    "distributed",
    "incubate",
    "hapi",
    # Old and foreign names for what is above, and the commands.
    "reader dataset hub compat callbacks cuda sysconfig _C_ops _legacy_C_ops base framework"
    " common_ops_import pir pir_utils decomposition cli _addresses",
)
# (module, name in FLOORS): who looks down, and why.
UP = {
    ("_programs.mode", "static"): "the first use of a default Program loads the class of Programs",
    ("device", "cuda"): "get_device_module returns the module of a device",
    ("framework.io", "static"): "save and load know Programs, whose files they are given too",
    ("tensor.reforming", "signal"): "Tensor.stft and istft load it when they are called",
    ("tensor.reforming", "sparse"): "Tensor.to_sparse_coo loads it when it is called",
}
MAX_UP = 5
# Made by a build, and not there before.
BUILT = ("_core", "_ps", "_net", "_generated")
# Modules that may import the root, and why.
GATHERERS = {
    "cli.doctor": "tries the package as a program sees it",
    "cli.site": "makes `import paddle` give the root",
}

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Import:
    """A file names the module `target` in line `line`; head: when it is imported, not when a function
    runs. For the root `name` says what of it is wanted, if the line does."""

    def __init__(self, target, line, head, name=""):
        self.target, self.line, self.head, self.name = target, line, head, name


class Tree:
    """The modules of a package, by their names without the package's: "" is the root."""

    def __init__(self, folder):
        self.folder = folder
        self.files = {}
        for path in sorted(folder.rglob("*.py")):
            parts = list(path.relative_to(folder).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            self.files[".".join(parts)] = path
        self.origins = self._origins()

    def has(self, name):
        return name in self.files or name.split(".")[0] in BUILT

    def is_package(self, module):
        return self.files[module].name == "__init__.py"

    def _origins(self):
        """Name in the root -> module that it comes from; "*" for all others."""
        found = {}
        for node in ast.walk(ast.parse(self.files[""].read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = node.module
            elif isinstance(node, ast.Dict):  # names that are found later: ("argosy.io", "load")
                for key, value in zip(node.keys, node.values):
                    if isinstance(value, ast.Tuple) and isinstance(key, ast.Constant):
                        found[key.value] = getattr(value.elts[0], "value", "")
        return found

    def origin(self, name):
        """The module that the root has `name` from, with the package's name; "" if unknown."""
        return self.origins.get(name) or self.origins.get("*", "")

    def nearest(self, dotted):
        """The module that `dotted` is or lies in: "nn.functional" for "nn.functional.relu"."""
        while dotted and not self.has(dotted):
            dotted = dotted.rpartition(".")[0]
        return dotted

    def imports(self, module):
        """What the file of `module` imports from this package."""
        tree = ast.parse(self.files[module].read_text())
        found = {(i.target, i.line, i.name): i for i in _Reader(self, module).read(tree)}
        return list(found.values())


class _Reader:
    def __init__(self, tree, module):
        self.tree = tree
        self.name = tree.folder.name
        self.package = module if tree.is_package(module) else module.rpartition(".")[0]

    def read(self, node, head=True):
        for child in ast.iter_child_nodes(node):
            if _is_docstring(child, node):
                continue
            for target, name in self._targets(child):
                yield Import(target, child.lineno, head and not _is_late(child), name)
            yield from self.read(child, head and not isinstance(child, _FUNCTIONS))

    def _targets(self, node):
        """(module, name wanted of it if it is the root) of what a node names."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                inside = self._inside(alias.name)
                if inside is not None:
                    # `import argosy.nn` binds the root, `import argosy.nn as nn` does not.
                    yield (self.tree.nearest(inside) if alias.asname else ""), ""
        elif isinstance(node, ast.ImportFrom):
            base = self._base(node)
            if base is not None:
                for alias in node.names:
                    yield self.tree.nearest(f"{base}.{alias.name}".lstrip(".")), alias.name
        elif isinstance(node, ast.Attribute):
            inside = self._inside(_dotted(node))
            if inside:
                target = self.tree.nearest(inside)
                yield target or self.tree.nearest(self._inside(self.tree.origin(inside)) or ""), ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            inside = self._inside(node.value)
            if inside and self.tree.has(inside):
                yield inside, ""
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            inside = self._inside(node.values[0].value)
            if inside and inside.endswith("."):  # f"argosy.base.{name}"
                yield self.tree.nearest(inside), ""
        elif _names_root(node, self.name):
            yield "", ""

    def _inside(self, dotted):
        """The name without the package's, or None if it is of another one."""
        if dotted == self.name:
            return ""
        return dotted[len(self.name) + 1 :] if dotted.startswith(self.name + ".") else None

    def _base(self, node):
        if not node.level:
            return self._inside(node.module)
        parts = self.package.split(".") if self.package else []
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, node.module] if node.module else parts)


def _is_docstring(node, parent):
    return isinstance(parent, ast.Expr) and isinstance(node, ast.Constant)


def _is_late(node):
    """A string imports nothing by itself: somebody does later."""
    return isinstance(node, (ast.Constant, ast.JoinedStr))


def _dotted(node):
    """argosy.nn.functional as text; "" if it is no chain of names."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _names_root(node, name):
    """import_module("argosy"), __import__("argosy"), sys.modules["argosy"], sys.modules.get("argosy")"""
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        known = ("import_module", "__import__", "modules.get")
        first = node.args[0] if node.args and called.endswith(known) else None
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("modules"):
        first = node.slice
    else:
        return False
    return isinstance(first, ast.Constant) and first.value == name


def entry_of(module, table):
    """The name in `table` that a module falls under: itself, or its nearest package; else None."""
    while module and module not in table:
        module = module.rpartition(".")[0]
    return module or None


class Order:
    """Floors of modules; see FLOORS."""

    def __init__(self, floors):
        self.floor = {name: i for i, names in enumerate(floors) for name in names.split()}

    def of(self, module):
        """The number of a module's floor, None if it has none."""
        return self.floor.get(entry_of(module, self.floor))

    def floors_of(self, package, first):
        """The numbers of the floors from `first` on that are of one package, up to another's."""
        number = first
        while number in self.floor.values() and all(
            name == package or name.startswith(package + ".")
            for name, floor in self.floor.items()
            if floor == number
        ):
            number += 1
        return range(first, number)


def problems_of_module(tree, order, module, up, gatherers, used):
    """Yield what is wrong with one module; adds the entries of `up` that it needs to `used`."""
    name, own = tree.folder.name, order.of(module)
    where = tree.files[module].relative_to(tree.folder.parent)
    if own is None:
        yield f"{where}: is on no floor of tools/check_floors.py"
        return
    upper, gathered = own, ()
    if tree.is_package(module):
        below = (order.of(other) for other in tree.files if other.startswith(module + "."))
        upper = min([own, *(floor for floor in below if floor is not None)])
        gathered = order.floors_of(module, upper)
    for found in tree.imports(module):
        line = f"{where}:{found.line}"
        if found.target == "":
            if entry_of(module, gatherers) is None:
                where_from = tree.origin(found.name) if found.name else ""
                where_from = where_from or "where it is defined"
                yield f"{line}: imports the root; import {found.name or 'a name'} from {where_from}"
            continue
        to = order.of(found.target)
        if to is None or to <= (upper if found.head else own) or to in gathered:
            continue
        key = (module, entry_of(found.target, order.floor))
        if key in up and not found.head:
            used.add(key)
            continue
        what = "its package's modules are" if to <= own else f"{name}.{module} is"
        yield f"{line}: imports {name}.{found.target}, which is below the floor that {what} on"


def circle(tree):
    """Modules each of which imports the next at its head, and the last the first; [] if there are none."""
    left = {
        module: {found.target for found in tree.imports(module) if found.head} - {module, ""}
        for module in tree.files
        if module
    }
    while done := [module for module in left if not left[module] & left.keys()]:
        for module in done:
            del left[module]
    path = list(left)[:1]
    while path:
        following = min(left[path[-1]] & left.keys())
        if following in path:
            return path[path.index(following) :]
        path.append(following)
    return []


def problems(tree, floors, up, gatherers):
    """Yield all that is wrong with a package."""
    order, used = Order(floors), set()
    for name in order.floor:
        if not tree.has(name):
            yield f"FLOORS names {name}, which does not exist"
    for module in tree.files:
        if module:
            yield from problems_of_module(tree, order, module, up, gatherers, used)
    round_trip = circle(tree)
    if round_trip:
        yield f"a circle of imports: {' -> '.join([*round_trip, round_trip[0]])}"
    for module, below in sorted(up.keys() - used):
        yield f"UP has ({module}, {below}), which nobody needs"
    if len(up) > MAX_UP:
        yield f"UP has {len(up)} entries; at most {MAX_UP} may look down"


def page_problems(page):
    """What is wrong with the page that shows the floors."""
    shown = " ".join(" -> ".join(FLOORS).split())
    return [] if shown in " ".join(page.split()) else [f"{PAGE.name} does not show: {shown}"]


def main():
    found = list(problems(Tree(PACKAGE), FLOORS, UP, GATHERERS))
    found += page_problems(PAGE.read_text())
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
