"""Check that every test on disk is run and judges: `python tools/check_tests.py BUILD_FOLDER`.

C++: each .cc file under tests/cpp is compiled into a test binary, which takes those named *_test.cc.
Python: each file under tests that defines tests is collected by pytest. Both: a test asserts
something, or calls a helper of the tests that does.
"""

import ast
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def unrun_cpp(build):
    compiled = {
        pathlib.Path(entry["file"]).resolve()
        for entry in json.loads((build / "compile_commands.json").read_text())
    }
    for path in sorted((ROOT / "tests/cpp").rglob("*.cc")):
        name = path.relative_to(ROOT)
        if path.resolve() not in compiled:
            yield f"{name}: no test binary holds it; is it tests/cpp/<room>/.._test.cc?"
        elif re.search(r"\bDISABLED_", path.read_text()):
            yield f"{name}: has a DISABLED_ test; repair it or delete it"


def unrun_python():
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if run.returncode not in (0, 5):  # 5: there are no tests
        yield f"pytest cannot collect the tests:\n{run.stdout[-3000:]}{run.stderr[-1000:]}"
        return
    collected = {line.split("::")[0] for line in run.stdout.splitlines() if "::" in line}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        has_tests = re.search(r"^(async )?def test_|^class Test", path.read_text(), re.MULTILINE)
        if (has_tests or path.name.startswith("test_")) and name not in collected:
            yield f"{name}: pytest collects nothing from it"


# --- tests that judge nothing ---


class Function:
    """A test or helper: whether it judges by itself, and the names that it uses. Those of methods
    in Python begin with a dot."""

    def __init__(self, where, name, judges, uses):
        self.where, self.name, self.judges, self.uses = where, name, judges, uses


def unjudging(shared, files):
    """Tests that do not judge, neither themselves nor through helpers: those that are shared, and
    the other functions of the file. files: {path: (functions, tests)}."""
    for functions, tests in files.values():
        helpers = [*shared, *functions]
        judges = {f.name for f in helpers if f.judges}
        while more := {f.name for f in helpers if f.name not in judges and f.uses & judges}:
            judges |= more
        for test in tests:
            if not test.judges and not test.uses & judges:
                yield f"{test.where}: {test.name} asserts nothing, so it cannot fail"


def name_of(node):
    return getattr(node, "id", None) or getattr(node, "attr", None)


def python_function(where, node, modules):
    judges, uses = False, {a.arg for a in node.args.args}  # fixtures
    for part in ast.walk(node):
        judges |= isinstance(part, (ast.Assert, ast.Raise))
        if isinstance(part, ast.Call) and (name := name_of(part.func)):
            judges |= name.startswith("assert") or name in ("raises", "warns", "fail")
        if isinstance(part, ast.Name):
            uses.add(part.id)
        elif isinstance(part, ast.Attribute):
            uses.add("." + part.attr)
            if name_of(part.value) in modules:
                uses.add(part.attr)
    return Function(f"{where}:{node.lineno}", node.name, judges, uses)


def helper_modules(tree):
    """Names of the modules of tests that a file imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                a.asname or a.name for a in node.names if a.name not in sys.stdlib_module_names
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            names |= {a.asname or a.name for a in node.names}
    return names - {"argosy", "paddle", "np", "pytest"}


def is_autouse(node):
    return any(
        isinstance(d, ast.Call) and any(k.arg == "autouse" for k in d.keywords)
        for d in node.decorator_list
    )


def unjudging_python():
    shared, files = [], {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text())
        modules = helper_modules(tree)
        methods = {f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
        found = [
            (node, python_function(path.relative_to(ROOT), node, modules))
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        for node, f in found:
            f.name = "." * (node in methods) + f.name
        helpers = [f for _, f in found if not f.name.lstrip(".").startswith("test_")]
        if not path.name.startswith("test_"):
            shared += helpers
            continue
        everywhere = {node.name for node, _ in found if is_autouse(node)}
        tests = [f for _, f in found if f not in helpers]
        for test in tests:
            test.uses |= everywhere
        files[path] = helpers, tests
    yield from unjudging(shared, files)


CPP_JUDGES = re.compile(r"\b(?:EXPECT|ASSERT)_\w+|\bFAIL\(|\bADD_FAILURE")
# NAME(arguments) {, which is a function, a test, or a statement with a block.
CPP_BLOCK = re.compile(r"\b(\w+)\(((?:[^(){};]|\([^(){};]*\))*)\)[^(){};=]*\{", re.MULTILINE)
CPP_NOISE = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")


def body_from(text, at):
    """What the brace before `at` encloses."""
    depth = 1
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[at:i]
    return text[at:]


def unjudging_cpp():
    shared, files = [], {}
    for path in sorted((ROOT / "tests/cpp").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        helpers, tests = [], []
        text = CPP_NOISE.sub("0", path.read_text())
        for block in CPP_BLOCK.finditer(text):
            body = body_from(text, block.end())
            where = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, block.start()) + 1}"
            judges, uses = bool(CPP_JUDGES.search(body)), set(re.findall(r"\w+", body))
            if re.fullmatch(r"TEST(_F|_P)?", block[1]):
                tests.append(Function(where, block[2].replace(", ", "."), judges, uses))
            elif block[1] not in ("if", "for", "while", "switch", "catch"):
                helpers.append(Function(where, block[1], judges, uses))
        if path.suffix == ".h":
            shared += helpers
        else:
            files[path] = helpers, tests
    yield from unjudging(shared, files)


def main():
    problems = [
        *unrun_cpp(ROOT / sys.argv[1]),
        *unrun_python(),
        *unjudging_cpp(),
        *unjudging_python(),
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
