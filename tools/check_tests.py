"""Check that every test on disk is run: `python tools/check_tests.py BUILD_FOLDER`.

C++: each .cc file under tests/cpp is named *_test.cc and compiled into a test binary. Python: each
file under tests that defines tests is collected by pytest.
"""

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
        if not path.name.endswith("_test.cc"):
            yield f"{name}: is not named *_test.cc, so no test binary holds it"
        elif path.resolve() not in compiled:
            yield f"{name}: no test binary holds it; is it in a folder tests/cpp/<room>/?"
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


def main():
    problems = [*unrun_cpp(ROOT / sys.argv[1]), *unrun_python()]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
