"""No function of the front end is written twice."""

import ast
import collections
import pathlib

import argosy

ROOT = pathlib.Path(argosy.__file__).parent
# Bodies of fewer characters say less than a name and an import would.
SHORT = 40


class _Renamed(ast.NodeTransformer):
    """Parameters by their places, so that their names do not matter."""

    def __init__(self, arguments):
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.names = {a.arg: f"_{i}" for i, a in enumerate(given)}

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node


def body_of(function):
    """What a function does, without its docstring and the names of its parameters."""
    statements = function.body
    first = statements[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        statements = statements[1:]
    text = "\n".join(map(ast.unparse, statements))
    return ast.unparse(_Renamed(function.args).visit(ast.parse(text)))


def repeated(files):
    """Lists of "file:line name" whose bodies are equal, in several files."""
    found = collections.defaultdict(dict)
    for path, text in files:
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                body = body_of(node)
                if len(body) >= SHORT:
                    found[body, len(node.args.args)][path] = f"{path}:{node.lineno} {node.name}"
    return [list(where.values()) for where in found.values() if len(where) > 1]


def test_functions_are_written_once():
    paths = [p for p in ROOT.rglob("*.py") if "_generated" not in p.parts]
    assert repeated((str(p.relative_to(ROOT)), p.read_text()) for p in paths) == []


def test_a_copy_under_other_names_is_found():
    one = (
        'def total(values):\n    """Sum."""\n    return sum(v * v for v in values) / len(values)\n'
    )
    two = "def mean(xs):\n    return sum(v * v for v in xs) / len(xs)\n"
    other = "def mean(xs):\n    return sum(v * v for v in xs) / (len(xs) - 1)\n"
    assert repeated([("a.py", one), ("b.py", two)]) == [["a.py:1 total", "b.py:1 mean"]]
    assert repeated([("a.py", one), ("b.py", other)]) == []
