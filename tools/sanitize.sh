#!/usr/bin/env bash
# Builds with the sanitizers and runs under them: every suite of tests/cpp with the address and
# undefined behaviour sanitizers and with the thread sanitizer, then tests in Python: with the former
# those of operations and layers, with the latter those of servers, workers and training threads.
#   tools/sanitize.sh [asan] [tsan]
#   JOBS                as in the Makefile
#   SANITIZE_CPP        rooms whose suites in C++ run, as "comm runtime"; all of them unless it is set
#   SANITIZE_PYTHON     the Python tests of both; empty: none
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
jobs=${JOBS:-$(nproc)}
declare -A python_tests=(
  [asan]="tests/ops tests/python/tensor tests/python/nn tests/python/io tests/python/amp
    tests/python/profiler tests/python/test_indexing.py tests/python/ps tests/python/data"
  [tsan]="tests/python/ps tests/python/data tests/python/runtime"
)
export ASAN_OPTIONS=detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# Not instrumented: RocksDB and gRPC, whose own locks the sanitizer does not see.
export TSAN_OPTIONS=halt_on_error=0:second_deadlock_stack=1:print_suppressions=0:ignore_noninstrumented_modules=1:suppressions=$PWD/cmake/tsan.supp
failed=()

check() {
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

# A process that a test started, or a worker of xdist, may hide its exit code: reports go to files.
# The thread sanitizer of this compiler cannot place its memory where addresses are random.
sanitized() {
  local reports=build/$1/reports
  shift
  rm -rf "$reports"
  mkdir -p "$reports"
  env TSAN_OPTIONS="$TSAN_OPTIONS:log_path=$PWD/$reports/tsan" setarch --addr-no-randomize "$@"
  local status=$?
  find "$reports" -type f -exec cat {} + | tee "$reports.txt" | head -n 200 >&2
  [[ ! -s $reports.txt ]] && return $status
  return 1
}

(($#)) || set -- asan tsan
for preset; do
  cmake --preset "$preset" --log-level=WARNING >/dev/null || exit 1
  tests=${SANITIZE_PYTHON-${python_tests[$preset]}}
  read -ra rooms <<<"${SANITIZE_CPP-}"
  targets=()
  if ((${#rooms[@]})) && [[ -z $tests ]]; then
    targets=(--target "${rooms[@]/#/test_}")
  fi
  cmake --build --preset "$preset" -j "$jobs" "${targets[@]}" || exit 1
  only=()
  ((${#rooms[@]})) && only=(-R "^cpp/($(IFS='|' && echo "${rooms[*]}"))\$" --no-tests=error)
  check "$preset: C++" sanitized "$preset" ctest --preset "$preset" -j "$jobs" "${only[@]}"
  if [[ -n $tests ]]; then
    # shellcheck disable=SC2086
    check "$preset: Python" sanitized "$preset" env PRESET="$preset" tools/python_asan.sh \
      -m pytest -n "$jobs" --timeout=1200 $tests
  fi
done

if ((${#failed[@]})); then
  printf 'sanitize: FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "sanitize: passed"
