"""Check that no argument of a public function of python/argosy is accepted and ignored.

An argument that nobody reads gives a result that its caller did not ask for, without a word. It works,
or it raises by name with the remedy, or, where it cannot have an effect here by its nature, it is said
to `argosy._support.no_effect`, which warns if it differs from its default. All three read it. Deleting
an argument, assigning it to `_` or naming it in a line of its own does not; nor does keeping it in a
private attribute that no module reads or names; nor are keywords taken in by `**kwargs` read by those who
only look up some of them: the others are lost.

What may stay unread needs no mark:
  - `name`, a label for people, in functions that make no parameters;
  - what Python itself passes: methods such as __exit__ (not __init__ and __call__);
  - what functions get that do nothing but raise, themselves or by another function that never returns;
  - hooks, which are such methods and empty ones of a class that others derive from; what overrides a hook
    gets these arguments from who calls the hook, not from a program;
  - arguments of an __init__ that a decorator of KEEPERS keeps as attributes.
"""

import ast
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "python" / "argosy"

# Decorators that read all arguments.
KEEPERS = ("keeps",)
# Folders that are being gone through, and by whom it is seen when they are done: an entry that nothing
# needs any more is an error.
PENDING = ()

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOK_UPS = ("get", "pop", "setdefault")


class Function:
    """A public function or method: where it stands, its parameters, and which of them are lost."""

    def __init__(self, node, module, owner):
        self.node, self.module, self.owner = node, module, owner
        arguments = node.args
        first = arguments.posonlyargs + arguments.args
        if owner is not None and not _is_decorated(node, ("staticmethod",)):
            first = first[1:]
        self.names = [a.arg for a in first + arguments.kwonlyargs]
        self.keywords = arguments.kwarg and arguments.kwarg.arg
        self.names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]

    @property
    def address(self):
        name = self.node.name
        return f"{self.owner.name}.{name}" if self.owner else name

    def is_public(self, bases):
        """Whether programs call it; bases: the private classes whose methods public ones inherit."""
        owner = self.owner.name if self.owner else ""
        return not _is_private(self.node.name) and (not _is_private(owner) or owner in bases)

    @property
    def body(self):
        """The statements without the docstring."""
        return [s for s in self.node.body if not _is_constant(s)]

    @property
    def is_empty(self):
        return all(isinstance(s, ast.Pass) for s in self.body)

    def only_raises(self, raisers=()):
        """Whether it is one statement: a raise, or a call of one of the functions `raisers`."""
        return len(self.body) == 1 and _raises(self.body[0], raisers)

    def never_returns(self):
        """Whether it ends by a raise, and nowhere else."""
        returns = any(isinstance(n, (ast.Return, ast.Yield)) for n in ast.walk(self.node))
        return bool(self.body) and isinstance(self.body[-1], ast.Raise) and not returns

    def lost(self):
        """The parameters that nobody reads, in order."""
        reads = _Reads(self.keywords)
        reads.all(self.node.body)
        if reads.locals:
            return []
        # (A function of a module may be made a method.)
        return [n for n in self.names if n not in reads.names and n[0] != "_" and n != "self"]

    def kept(self):
        """[(parameter, attribute)] of those that an __init__ does nothing with but keep them privately."""
        loads = [n.id for n in ast.walk(self.node) if _is_names(n) and isinstance(n, ast.Name)]
        found = []
        for node in ast.walk(self.node):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, value = node.targets[0], node.value
                both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                for to, of in zip(target.elts, value.elts) if both else [(target, value)]:
                    if isinstance(of, ast.Name) and of.id in self.names and loads.count(of.id) == 1:
                        if isinstance(to, ast.Attribute) and to.attr.startswith("_"):
                            found.append((of.id, to.attr))
        return found


class _Reads(ast.NodeVisitor):
    """The names that statements read; `keywords`, the name of **kwargs, where more is read of them than
    one that is named. `locals`: whether all is read at once."""

    def __init__(self, keywords):
        self.names, self.locals = set(), False
        self._keywords = keywords

    def all(self, nodes):
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Assign(self, node):
        if not all(_is_discarded(target) for target in node.targets) or not _is_names(node.value):
            self.generic_visit(node)

    def visit_Call(self, node):
        called = node.func
        if isinstance(called, ast.Name) and called.id == "locals":
            self.locals = True
        if (
            isinstance(called, ast.Attribute)
            and called.attr in _LOOK_UPS
            and self._is_keywords(called.value)
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            self.all([*node.args, *(k.value for k in node.keywords)])
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node):
        if not (self._is_keywords(node.value) and isinstance(node.slice, ast.Constant)):
            self.generic_visit(node)

    def visit_Compare(self, node):
        named = isinstance(node.left, ast.Constant) and isinstance(node.ops[0], (ast.In, ast.NotIn))
        if not (named and all(map(self._is_keywords, node.comparators))):
            self.generic_visit(node)

    def visit_FunctionDef(self, node):
        """What an inner function reads of its own parameters is not read here."""
        inner = _Reads(self._keywords)
        inner.all(node.body if isinstance(node.body, list) else [node.body])
        a = node.args
        own = {p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg] if p}
        self.names |= inner.names - own
        self.locals = self.locals or inner.locals
        self.all([d for d in [*a.defaults, *a.kw_defaults] if d is not None])
        self.all(getattr(node, "decorator_list", ()))

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def _is_keywords(self, node):
        return isinstance(node, ast.Name) and node.id == self._keywords


def _is_dunder(name):
    return name.startswith("__") and name.endswith("__")


def _is_private(name):
    return name.startswith("_") and not _is_dunder(name)


def _is_constant(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_discarded(target):
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_discarded, target.elts))
    return isinstance(target, ast.Name) and not target.id.strip("_")


def _is_names(value):
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(map(_is_names, value.elts))
    return isinstance(value, ast.Name)


def _named(node):
    """Names of attributes that a node reads, or that it may, as a string."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _raises(statement, raisers):
    if isinstance(statement, ast.Raise):
        return True
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in raisers


def _is_decorated(node, names):
    return any(ast.unparse(d).split("(")[0].split(".")[-1] in names for d in node.decorator_list)


class Package:
    """The classes and public functions of a folder."""

    def __init__(self, folder):
        self.functions, self.classes, self._used = [], {}, set()
        for path in sorted(folder.rglob("*.py")):
            module = path.relative_to(folder).as_posix()
            tree = ast.parse(path.read_text())
            self._used |= {text for node in ast.walk(tree) for text in _named(node)}
            self._read(tree, module, None)
        self._raisers = {f.node.name for f in self.functions if f.never_returns()}
        self._inherited = self._bases_of(n for n in self.classes if not _is_private(n))
        self._bases = {b for nodes in self.classes.values() for n in nodes for b in _bases(n)}

    def _read(self, node, module, owner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                self.classes.setdefault(child.name, []).append(child)
                self._read(child, module, child)
            elif isinstance(child, _FUNCTIONS):
                self.functions.append(Function(child, module, owner))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                self._read(child, module, owner)

    def _bases_of(self, names):
        """The names of all classes that those called `names` derive from."""
        found, left = set(), list(names)
        while left:
            bases = {b for node in self.classes.get(left.pop(), ()) for b in _bases(node)} - found
            found |= bases
            left += bases
        return found

    def is_hook(self, function):
        """Whether others override it: empty, or no more than an error, in a class with subclasses."""
        if function.owner is None:
            return False
        empty = function.is_empty and function.owner.name in self._bases
        return empty or function.only_raises(self._raisers)

    def _of_hook(self, function):
        """The parameters that a hook has which the function overrides."""
        if function.owner is None:
            return ()
        for name in self._bases_of([function.owner.name]):
            for base in self.classes.get(name, ()):
                for method in base.body:
                    if isinstance(method, _FUNCTIONS) and method.name == function.node.name:
                        hook = Function(method, "", base)
                        if self.is_hook(hook):
                            return hook.names
        return ()

    def problems(self):
        """(module, line, function, parameter) of all that is lost."""
        for function in self.functions:
            name = function.node.name
            if not function.is_public(self._inherited) or (
                _is_dunder(name) and name not in ("__init__", "__call__")
            ):
                continue
            if function.only_raises(self._raisers) or _is_decorated(function.node, KEEPERS):
                continue
            lost = [p for p in function.lost() if p != "name"]
            if name == "__init__":
                lost += [p for p, kept in function.kept() if p != "name" and kept not in self._used]
            if lost and not self.is_hook(function):
                known = self._of_hook(function)
                for parameter in lost:
                    if parameter not in known:
                        yield function.module, function.node.lineno, function.address, parameter


def _bases(node):
    return [ast.unparse(b).split(".")[-1] for b in node.bases]


def problems(folder, pending=()):
    """Yield what is wrong with the package in `folder`."""
    needed = set()
    for module, line, function, parameter in Package(folder).problems():
        home = next((p for p in pending if module.startswith((p + "/", p + ".py"))), None)
        if home is not None:
            needed.add(home)
            continue
        yield (
            f"{folder.name}/{module}:{line}: {function} does not read '{parameter}'; let it work, raise"
            " by name with the remedy, or tell no_effect why it cannot matter"
        )
    for home in sorted(set(pending) - needed):
        yield f"PENDING has {home}, which nothing needs any more"


def main():
    found = list(problems(PACKAGE, PENDING))
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
