"""Check which locks guard what: `python tools/check_locks.py BUILD_FOLDER [JOBS]`.

Clang's thread safety analysis of the parameter server's library, by what base/mutex.h declares.
Other libraries are not asked: Clang 14 does not compile what includes the tensor.
"""

import json
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ("CMakeFiles/argosy_ps.dir/", "CMakeFiles/argosy_net.dir/")
# Taken over from the build; other flags are GCC's or make no difference. _Float16 exists for
# Clang 14 only with AVX-512.
TAKEN = ("-D", "-I", "-std=", "-march=")
ADDED = ["-mavx512fp16", "-fsyntax-only", "-Wno-everything", "-Werror=thread-safety"]


def arguments(command):
    words = iter(shlex.split(command))
    for word in words:
        if word == "-isystem":
            yield from (word, next(words))
        elif word.startswith(TAKEN):
            yield word


def problems(entry):
    run = subprocess.run(
        ["clang++", *ADDED, *arguments(entry["command"]), entry["file"]],
        cwd=entry["directory"],
        capture_output=True,
        text=True,
    )
    return run.stderr or f"{entry['file']}: clang++ fails\n" if run.returncode else ""


def main():
    build = ROOT / sys.argv[1]
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    entries = json.loads((build / "compile_commands.json").read_text())
    entries = [
        entry for entry in entries if any(library in entry["command"] for library in LIBRARIES)
    ]
    if not entries:
        print(f"check_locks: no source of {LIBRARIES} in {build}", file=sys.stderr)
        return True
    with ThreadPoolExecutor(jobs) as pool:
        found = [text for text in pool.map(problems, entries) if text]
    print(*found, sep="", end="", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
