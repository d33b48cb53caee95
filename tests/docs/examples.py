"""Examples of docstrings, ops and pages, found and run.

An example is an interactive session (>>>) as doctest reads it; argosy and numpy (as np) are there.
Numbers with a decimal point agree within 1e-3, as kernels of other processors round otherwise; all
other text is compared as it is. Each example runs in a process of its own, forked from this one, so
that modes, seeds and defaults that it sets end with it.
"""

import ast
import contextlib
import dataclasses
import doctest
import inspect
import io
import os
import pathlib
import re
import select
import signal
import sys
import time

import numpy

import argosy
from argosy import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import public_names  # noqa: E402

PACKAGE = ROOT / "python" / "argosy"
LIMIT = 200  # seconds for one example
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d*(?:e[-+]?\d+)?|(?<![\w.])[-+]?\d+e[-+]?\d+", re.I)
_SPACE = re.compile(r"\s+")


@dataclasses.dataclass(frozen=True)
class Example:
    """A session, and where it stands."""

    name: str
    text: str
    file: str
    line: int = 1


class Checker(doctest.OutputChecker):
    """Decimal numbers within rtol, white space as it comes."""

    rtol, atol = 1e-3, 1e-3

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if _words(want) != _words(got):
            return False
        pairs = zip(_NUMBER.findall(want), _NUMBER.findall(got), strict=True)
        return all(
            abs(float(a) - float(b)) <= self.atol + self.rtol * abs(float(a)) for a, b in pairs
        )


def _words(text):
    """The text without its numbers; brackets stand apart, so that columns may have any width."""
    return _SPACE.sub("", _NUMBER.sub("#", text))


def sessions(text):
    """The interactive sessions of a docstring as one text, or "" if it has none."""
    return text if ">>> " in text else ""


def of_docstrings():
    """Examples of docstrings of the package's modules, classes and functions."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if "_generated" in file.parts:
            continue
        module = ".".join(("argosy", *file.relative_to(PACKAGE).with_suffix("").parts))
        yield from _walk(ast.parse(file.read_text()), module.removesuffix(".__init__"), file)


def _walk(node, name, file):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(child) or ""
            path = f"{name}.{child.name}"
            if sessions(text):
                yield Example(path, text, str(file), child.lineno)
            yield from _walk(child, path, file)


def of_made_docstrings():
    """Examples of public names whose docstrings are made while the package is loaded."""
    written = {example.text for example in of_docstrings()}
    for name, value in public_names.documented().items():
        text = inspect.cleandoc(value.__doc__ or "")
        if sessions(text) and text not in written:
            yield Example(name, text, inspect.getsourcefile(inspect.unwrap(value)))


def of_ops():
    """Examples of the registry."""
    for op in _core.registry():
        if op["example"]:
            yield Example(f"op {op['name']}", op["example"], op["file"])


def of_pages():
    """Sessions in Markdown: those of one page are one example."""
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blocks = re.findall(r"^```(?:python|pycon)\n(.*?)^```", file.read_text(), re.M | re.S)
        text = "\n".join(b for b in blocks if sessions(b))
        if text:
            yield Example(f"page {file.name}", text, str(file))


def run(example):
    """What went wrong, "" if nothing did; in this process."""
    parsed = doctest.DocTestParser().get_doctest(
        example.text,
        {"argosy": argosy, "paddle": argosy, "np": numpy, "__name__": "__main__"},
        example.name,
        example.file,
        example.line,
    )
    report = io.StringIO()
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(Checker(), optionflags=flags, verbose=False)
    with contextlib.redirect_stderr(report):
        runner.run(parsed, out=report.write)
    return report.getvalue() if runner.failures else ""


def run_apart(example):
    """What went wrong in a forked process, "" if nothing did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            problem = run(example)
            with os.fdopen(writing, "w") as pipe:
                pipe.write(problem)
            status = bool(problem)
        finally:
            os._exit(status)
    os.close(writing)
    parts, end = [], time.monotonic() + LIMIT
    with os.fdopen(reading, "rb") as pipe:
        while select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
            part = os.read(pipe.fileno(), 65536)
            if not part:
                break
            parts.append(part)
        else:
            os.kill(child, signal.SIGKILL)
            parts.append(f"did not end within {LIMIT} s".encode())
    status = os.waitpid(child, 0)[1]
    text = b"".join(parts).decode()
    return text or (f"ended with status {status}" if status else "")
