#!/usr/bin/env bash
# Runs the environment's Python with the address sanitizer's build of Argosy:
#   tools/python_asan.sh -m pytest tests/python/test_tensor.py
# PRESET=tsan for the thread sanitizer's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${PRESET:-asan}
case $preset in asan) name=libasan.so ;; tsan) name=libtsan.so ;; *) exit 2 ;; esac
# Argosy's pool hides errors inside a chunk; the interpreter itself leaks by design.
exec env PYTHONPATH="$root/build/$preset/python${PYTHONPATH:+:$PYTHONPATH}" \
  LD_PRELOAD="$(g++ -print-file-name=$name) $(g++ -print-file-name=libstdc++.so)" \
  ARGOSY_ALLOCATOR=system PYTHONMALLOC=malloc \
  ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
  UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}" \
  "$root/.venv/bin/python" "$@"
