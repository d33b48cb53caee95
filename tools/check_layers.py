"""Check who includes whom, and what a header may show.

Rooms are the folders of src/argosy, and some folders in them. A room may include only rooms above it
in ROOMS, and none that STRANGERS names. Third-party headers may be included by sources, and by headers
only inside kernels/ and cuda/; those in BEHIND by the one header that stands before them.
Files stay short enough to be read.
"""

import pathlib
import re
import subprocess
import sys

ROOMS = (
    "base",
    "kernels",
    "tensor",
    "op",
    "streamed",
    "ops",
    "cuda",
    "extension",
    "autograd",
    "program",
    "passes",
    "runtime",
    "jit",
    "data",
    "trainer",
    "comm",
    "comm/ops",
    "comm/net",
    "parallel",
    "ps",
    "ps/ops",
    "ps/table",
    "ps/service",
    "ps/mode",
    "infer",
    "serve",
)
STRANGERS = {
    # Collectives know nothing of Programs.
    "comm": {"autograd", "program", "passes", "runtime", "jit"},
    "infer": {"ps"},
    # A device is known by its interfaces only.
    **{
        room: {"streamed"}
        for room in ("ops", "extension", "autograd", "program", "passes", "runtime")
    },
    # Operations are in the other library: they know the folder's Remote only, and tables know no ops.
    "ps/table": {"ps/ops"},
    "ps/service": {"ps/ops"},
    "ps/mode": {"ps/ops"},
    # Batches and how they are read: of tensors only.
    "data": {"op", "ops", "autograd", "program", "passes", "runtime", "jit"},
}
C_HEADERS = ("src/argosy/infer/c/argosy.h",)  # #pragma once is no part of C
MAX_LINES = 800
MAX_BYTES = 1_000_000
THIRD_PARTY = re.compile(
    r"^(flatbuffers/|nlohmann/|dnnl|oneapi/|cblas|lapack|omp\.h|Python\.h|cuda|gtest/|grpc|google/|rocksdb/|openssl/|.*\.pb\.h)"
)
# Third-party header: what all others include instead.
BEHIND = {"nlohmann/json.hpp": "src/argosy/base/json.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

ROOT = pathlib.Path(__file__).resolve().parent.parent


def room_of(parts):
    """The room in which a path beneath src/argosy lies."""
    divided = any(room.startswith(parts[0] + "/") for room in ROOMS)
    return "/".join(parts[:2]) if divided and len(parts) > 2 else parts[0]


def strangers_of(room):
    return {*STRANGERS.get(room, ()), *STRANGERS.get(room.split("/")[0], ())}


def problems_of_include(path, room, target, number):
    where = f"{path}:{number}"
    if door := BEHIND.get(target):
        if path.as_posix() != door:
            yield f"{where}: {target} is behind {door}; include that"
    elif (
        THIRD_PARTY.match(target) and path.suffix == ".h" and room not in ("kernels", "cuda", None)
    ):
        yield f"{where}: a header of {room}/ shows {target}; include it in a .cc file"
    if not target.startswith("argosy/"):
        return
    to = room_of(target.split("/")[1:])
    if to not in ROOMS:
        yield f"{where}: {target} is in no room of src/argosy"
    elif room is None or to == room:
        return
    elif ROOMS.index(to) > ROOMS.index(room):
        yield f"{where}: {room}/ may not include {to}/ ({target}), which is below it"
    elif strangers_of(room) & {to, to.split("/")[0]}:
        yield f"{where}: {room}/ and {to}/ do not know each other ({target})"


def problems_of_file(path):
    """Yield what is wrong with one file; `path` is relative to the root."""
    room = None
    if path.parts[:2] == ("src", "argosy"):
        room = room_of(path.parts[2:])
        if room not in ROOMS:
            yield f"{path}: {room}/ is not listed in ROOMS of tools/check_layers.py"
            return
    text = (ROOT / path).read_text()
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines; split it (at most {MAX_LINES})"
    if path.suffix == ".py":
        return
    if path.suffix == ".h" and "#pragma once" not in text and path.as_posix() not in C_HEADERS:
        yield f"{path}: no #pragma once"
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found:
            yield from problems_of_include(path, room, found[1], number)


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    problems = []
    for path in map(pathlib.Path, listed):
        if not (ROOT / path).is_file():
            continue
        size = (ROOT / path).stat().st_size
        if size > MAX_BYTES:
            problems.append(f"{path}: {size / 1e6:.1f} MB; large files do not belong into git")
        elif path.suffix in (".h", ".cc", ".cu", ".py"):
            problems.extend(problems_of_file(path))
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
