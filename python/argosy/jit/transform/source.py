"""From a function to its syntax tree and back: finding the source, compiling, sharing cells."""

import __future__

import ast
import copy
import functools
import linecache
import sys
import threading
import types

from .analysis import FUNCTIONS, obstacle, parameters
from .statements import RUNTIME, rewrite

_FACTORY = "_argosy_factory"
_FUTURES = functools.reduce(
    lambda a, b: a | b,
    (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names),
)

_lock = threading.RLock()
_trees = {}  # file name -> (lines, tree)
_compiled = {}  # (code, file name) -> new code, or a string: why there is none
_made = set()  # codes that are themselves results


class Untransformable(Exception):
    """Why a function is left as it is."""


def new_code(function):
    """The transformed code of a Python function; raises Untransformable."""
    code = function.__code__
    key = (code, code.co_filename)
    with _lock:
        if is_made(code):
            return code
        if key not in _compiled:
            try:
                _compiled[key] = _build(code)
            except Untransformable as e:
                _compiled[key] = str(e)
        found = _compiled[key]
    if isinstance(found, str):
        raise Untransformable(found)
    return found


def is_made(code):
    """Is this code a result of the transformation?"""
    return (code, code.co_filename, code.co_name) in _made


def with_code(function, code, runtime):
    """A function with `code` that shares globals, defaults and closure cells with `function`."""
    old = function.__code__
    cells = dict(zip(old.co_freevars, function.__closure__ or ()))
    cells[RUNTIME] = types.CellType(runtime)
    made = types.FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[n] for n in code.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    made.__qualname__ = function.__qualname__
    made.__dict__.update(function.__dict__)
    return made


def _tree(filename, module_globals=None):
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        raise Untransformable(f"there is no source text of {filename}")
    known = _trees.get(filename)
    if known is None or known[0] != lines:
        try:
            known = _trees[filename] = (lines, ast.parse("".join(lines), filename))
        except SyntaxError as e:
            raise Untransformable(f"the source text of {filename} does not parse: {e}") from None
    return known[1]


def _find(code):
    """The function's node, and the name of the class around it (for private names)."""
    found = []

    def search(node, owner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS) and child.name == code.co_name:
                first = child.decorator_list[0].lineno if child.decorator_list else child.lineno
                if first == code.co_firstlineno or child.lineno == code.co_firstlineno:
                    found.append((child, owner))
            search(child, child.name if isinstance(child, ast.ClassDef) else owner)

    search(_tree(code.co_filename), None)
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    names = [n.split("__")[-1] for n in code.co_varnames[:count]]
    found = [
        (node, owner)
        for node, owner in found
        if [n.split("__")[-1] for n in parameters(node)] == names
    ]
    if len(found) != 1:
        what = "is not the text that was imported" if not found else "has several functions"
        raise Untransformable(
            f"the source text of {code.co_filename} {what} at line {code.co_firstlineno}"
        )
    return found[0]


def _build(code):
    if code.co_name == "<lambda>":
        raise Untransformable("it is a lambda")
    node, owner = _find(code)
    reason = obstacle(node)
    if reason:
        raise Untransformable(reason)
    node = copy.deepcopy(node)
    # Defaults and annotations were evaluated when the function was defined.
    decorators, node.decorator_list, node.returns = node.decorator_list, [], None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    for a in ast.walk(node.args):
        if isinstance(a, ast.arg):
            a.annotation = None
    try:
        rewritten = rewrite(node)
        # Line tables count from the first decorator. It is never called: only the code is used.
        rewritten.decorator_list = [ast.copy_location(ast.Constant(None), d) for d in decorators]
        tree = _wrapped(rewritten, owner, code.co_freevars)
        flags = code.co_flags & _FUTURES
        module = compile(tree, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except RecursionError:
        raise Untransformable("its statements nest too deeply") from None
    new = module
    for name in [_FACTORY, owner, node.name] if owner else [_FACTORY, node.name]:
        new = next(c for c in new.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    # The factory's name is missing where the function or its class is a global name.
    parts = ([owner] if owner else []) + [node.name]
    if parts[0] in code.co_freevars:
        parts[:0] = [_FACTORY, "<locals>"]
    prefix = ".".join(parts)
    new = _relabelled(new, code, prefix, _qualname(code))
    missing = set(new.co_freevars) - set(code.co_freevars) - {RUNTIME}
    if missing:
        raise Untransformable(f"it would need closure variables {sorted(missing)} it does not have")
    return new


def _wrapped(node, owner, freevars):
    """The function inside what its compilation depends on: enclosing variables and class.

    def _argosy_factory():
        global f                       # f or Owner, if f sees it as a global name
        _argosy_rt = a = b = None      # so that they compile to closure variables
        class Owner:                   # so that __private names are mangled
            def f(self): ...
    """
    inner = node
    if owner:
        inner = ast.ClassDef(
            name=owner, bases=[], keywords=[], body=[node], decorator_list=[], type_params=[]
        )
    names = [RUNTIME] + [n for n in freevars if n != "__class__"]
    bind = ast.Assign(
        targets=[ast.Name(id=n, ctx=ast.Store()) for n in names], value=ast.Constant(value=None)
    )
    factory = ast.parse(f"def {_FACTORY}(): pass").body[0]
    factory.body = [bind, inner]
    if inner.name not in names:
        factory.body.insert(0, ast.Global(names=[inner.name]))
    for n in factory.body:
        ast.copy_location(n, node)
    return ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))


def _qualname(code):
    """co_qualname; in Python 3.10 only what is defined inside tells it, by its own."""
    if hasattr(code, "co_qualname"):
        return code.co_qualname
    for inner, name in zip(code.co_consts, code.co_consts[1:]):
        if isinstance(inner, types.CodeType) and isinstance(name, str):
            outer, _, last = name.rpartition(".<locals>.")
            if last == inner.co_name:
                return outer
    return code.co_name


def _relabelled(code, original, prefix, qualname):
    """Code whose names are those of the user's text: lifted parts carry their function's name."""

    def visit(c, name):
        own = name if c.co_name.startswith("_argosy_") else c.co_name
        consts = []
        for k in c.co_consts:
            if isinstance(k, types.CodeType):
                k = visit(k, own)
            elif sys.version_info < (3, 11) and isinstance(k, str) and k.startswith(prefix):
                k = qualname + k[len(prefix) :]
            consts.append(k)
        changes = {"co_consts": tuple(consts), "co_name": own}
        if hasattr(c, "co_qualname"):
            parts = c.co_qualname
            if parts.startswith(prefix):
                parts = qualname + parts[len(prefix) :]
            steps = [s for s in parts.split(".<locals>.") if not s.startswith("_argosy_")]
            changes["co_qualname"] = ".<locals>.".join(steps)
        made = c.replace(**changes)
        _made.add((made, made.co_filename, made.co_name))
        return made

    return visit(code, original.co_name)
