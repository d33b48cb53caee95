#!/usr/bin/env bash
# Every check that is not a test: runs all, says which failed. `make lint` builds first.
#   JOBS, PRESET   as in the Makefile
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
build=build/${PRESET:-release}
jobs=${JOBS:-$(nproc)}
failed=()

check() {
  local name=$1
  shift
  "$@" || failed+=("$name")
}

clang_format() {
  git ls-files -co --exclude-standard -z '*.h' '*.cc' '*.cu' '*.cuh' |
    xargs -0 -r -n 32 -P "$jobs" clang-format --dry-run -Werror
}

headers_alone() {
  cmake --build "$build" -j "$jobs" -t all_verify_interface_header_sets >"$build/headers.log" ||
    { grep -v '^\[' "$build/headers.log" >&2 && return 1; }
}

check "clang-format (make format)" clang_format
check "ruff check" $python -m ruff check -q --output-format=concise
check "ruff format (make format)" $python -m ruff format --check -q
check "layers" $python tools/check_layers.py
check "floors" $python tools/check_floors.py
check "names of ops" $python tools/check_op_names.py
check "arguments that nobody reads" $python tools/check_arguments.py
# (The number falls as texts are completed; nobody raises it.)
check "docstrings" $python tools/check_docstrings.py --max 29
check "locks" $python tools/check_locks.py "$build" "$jobs"
check "tests that are unrun or assert nothing" $python tools/check_tests.py "$build"
check "binary" tools/check_binary.sh
check "headers alone" headers_alone

if ((${#failed[@]})); then
  printf 'lint: FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: passed"
