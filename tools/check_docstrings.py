"""Check that docstrings of hand-written public names say what a caller has to know.

A function or method needs `Args:` with every parameter, `Returns:` if it returns something, `Raises:` if its
code raises an error that it makes, and a session (`>>>`, which tests/docs runs); a class needs the same of
its __init__, and a layer `Shape:` (or `Returns:`) for what a call of it gives. `name`, a label for people,
may go unsaid; of *args and **kwargs the entries say what they hold. A method is asked where a base class describes it first, a property for a text alone; the
example of a method may stand in the class. Ops' functions are written by tools/generate_api.py, which checks their descriptions.

    python tools/check_docstrings.py [--max N] [--counts] [PREFIX ..]

prints what names that start with a PREFIX lack, and exits 1 if more than N of them lack something.
"""

import argparse
import ast
import collections
import enum
import functools
import inspect
import re
import sys

import public_names

import argosy

_HEAD = re.compile(r"^(\w[\w ]*):(?=\s|$)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}([*\w][\w*, ]*?)\s*(?:\(.*?\))?:(?=\s|$)", re.MULTILINE)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_SECTIONS = {
    "Args": ("Args", "Arguments", "Parameters"),
    "Returns": ("Returns", "Yields"),
    "Shape": ("Shape", "Shapes", "Returns"),
    "Raises": ("Raises",),
}


def sections(text):
    """{head: what stands below it} of a docstring."""
    heads = [m for m in _HEAD.finditer(text)]
    ends = [m.start() for m in heads[1:]] + [len(text)]
    return {m[1]: text[m.end() : end] for m, end in zip(heads, ends, strict=False)}


def section(text, kind):
    found = sections(text)
    return next((found[head] for head in _SECTIONS[kind] if head in found), None)


def named(arguments):
    """The parameters that a section Args has entries of."""
    return {n.strip(" *") for m in _ENTRY.finditer(arguments) for n in m[1].split(",")}


def parameters(function, bound):
    """Names of what a caller passes, with a * if it is any number of them; bound: whether the first is self
    or the class."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    names = [("*" * (p.kind in _VARIABLE)) + p.name for p in found[bound:]]
    return [n for n in names if n != "name" and not n.startswith("_")]


@functools.lru_cache(maxsize=None)
def _nodes(file):
    """{line: definition} of a file's functions."""
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    return found


def node_of(function):
    """The definition of a function, None if it has none of its own."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not code.co_filename.startswith(str(public_names.PACKAGE)):
        return None
    return _nodes(code.co_filename).get(code.co_firstlineno)


def _inside(node):
    """The nodes of a function without those of functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _inside(child)


def returns(node):
    for n in _inside(node):
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(n, ast.Return) and n.value is not None:
            if not (isinstance(n.value, ast.Constant) and n.value.value is None):
                return True
    return False


def raises(node):
    """Whether it makes an error. (A plain `raise NotImplementedError` marks what others override.)"""
    return any(isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call) for n in _inside(node))


def lacks_of(text, function, bound, shown, result="Returns"):
    """What a docstring lacks that speaks of `function`; shown: whether an example stands elsewhere."""
    if not text.strip():
        return ["docstring"]
    lacks = []
    node = node_of(function)
    wanted = parameters(function, bound)
    known = named(section(text, "Args") or "")
    missing = [n for n in wanted if n not in known and not (known and n[0] == "*")]
    if missing:
        lacks.append(f"Args ({', '.join(missing)})")
    if not any(n[0] == "*" for n in wanted):
        others = known - {*wanted, "name", "self"}
        lacks += [f"the parameter {n} that Args names" for n in sorted(others) if n.isidentifier()]
    if result and (result == "Shape" or node is not None and returns(node)):
        if section(text, result) is None:
            lacks.append(result)
    if node is not None and raises(node) and section(text, "Raises") is None:
        lacks.append("Raises")
    if not shown and ">>> " not in text:
        lacks.append("example")
    return lacks


def own_text(value):
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def lacks_of_class(cls, layer):
    text = own_text(cls)
    init = cls.__init__
    if not inspect.isfunction(init) or issubclass(cls, enum.Enum):
        return [] if text else ["docstring"]
    text += "\n" + own_text(init)
    called = issubclass(cls, layer) and cls.forward is not layer.forward
    return lacks_of(text, init, True, False, "Shape" if called else None)


def members(cls, public):
    """{name: (attribute, function)} of the methods and properties that a class has, or gets from bases that
    are not public themselves, and that no base of it says something of."""
    found = {}
    for owner in cls.__mro__:
        if owner is not cls and (id(owner) in public or not public_names.is_hand_written(owner)):
            continue
        for name, value in vars(owner).items():
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            function = function.fget if isinstance(function, property) else function
            if name[0] != "_" and inspect.isfunction(function) and name not in found:
                if not any(own_text(vars(base).get(name)) for base in owner.__mro__[1:]):
                    found[name] = value, function
    return found


def examples_of(cls):
    """The lines of sessions in what is said of a class."""
    texts = [own_text(v) for c in cls.__mro__ for v in (c, *vars(c).values())]
    return "\n".join(t for t in texts if ">>> " in t)


def problems():
    """[(public name, [what it lacks])], each class, function and method once."""
    from argosy.nn import Layer

    found = public_names.documented()
    public = {id(value) for value in found.values()}
    result = {}
    for name, value in found.items():
        if inspect.isclass(value):
            result[name] = lacks_of_class(value, Layer)
        else:
            owner, _, method = name.rpartition(".")
            attribute = vars(argosy.Tensor).get(method) if owner == "argosy.Tensor" else None
            result[name] = lacks_of(own_text(value), value, inspect.isfunction(attribute), False)
    # What a private base brings is said of the class that is the least derived.
    classes = [(len(v.__mro__), name, v) for name, v in found.items() if inspect.isclass(v)]
    seen = set()
    for _, name, cls in sorted(classes, key=lambda each: each[:2]):
        sessions = examples_of(cls)
        for method, (attribute, function) in members(cls, public).items():
            if id(function) not in seen and id(function) not in public:
                seen.add(id(function))
                result[f"{name}.{method}"] = lacks_of_member(attribute, function, method, sessions)
    return sorted(result.items())


def lacks_of_member(attribute, function, name, sessions):
    if isinstance(attribute, property):
        return [] if own_text(attribute) else ["docstring"]
    shown = re.search(rf"(\.|def ){name}\b", sessions) is not None
    return lacks_of(own_text(function), function, not isinstance(attribute, staticmethod), shown)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max", type=int, help="how many names may lack something")
    parser.add_argument("--counts", action="store_true", help="no list of names")
    parser.add_argument("prefix", nargs="*", default=["argosy"])
    options = parser.parse_args()
    prefixes = tuple(p if p.startswith("argosy") else f"argosy.{p}" for p in options.prefix)
    asked = [p for p in problems() if f"{p[0]}.".startswith(tuple(f"{q}." for q in prefixes))]
    wrong = [p for p in asked if p[1]]
    if options.max is not None and len(wrong) <= options.max:
        return 0
    if not options.counts:
        for name, lacks in wrong:
            print(f"{name}: lacks {', '.join(lacks)}")
    modules = collections.Counter(name.rpartition(".")[0] for name, _ in asked)
    incomplete = collections.Counter(name.rpartition(".")[0] for name, _ in wrong)
    for module, count in sorted(modules.items()):
        if incomplete[module]:
            print(f"{incomplete[module]:5} of {count:4} in {module}")
    print(f"{len(wrong)} of {len(asked)} public names lack something", end="")
    if options.max is None:
        print()
        return 0
    print(f", expected at most {options.max}. Do this: complete the docstrings of what you added.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
