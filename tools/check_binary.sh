#!/usr/bin/env bash
# Checks the built libraries: names that libargosy.so leaks and thread-local space it takes, how large
# libargosy_infer.so is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
library=python/argosy/lib/libargosy.so
status=0

# Symbols of ours only; those of the standard library's templates are weak or unique and shared anyway.
leaked=$(nm -D --defined-only -C "$library" | awk '$2 ~ /[TDBR]/' |
  grep -vE ' (non-virtual thunk to |typeinfo for |vtable for )?argosy::| argosy_| (__bss_start|_edata|_end)$' || true)
if [ -n "$leaked" ]; then
  echo "$library: exports names that are not Argosy's (missing namespace or hidden visibility):" >&2
  head -20 <<<"$leaked" >&2
  status=1
fi

# The body of an elementwise loop that is called instead of inlined: such a loop is not vectorized, and ten
# times as slow. Its lambda then needs __attribute__((always_inline)).
called=$(nm -C "$library" | grep -E ' argosy::cpu::avx(2|512)::.*lambda.*::operator\(\)|auto argosy::cpu::avx(2|512)::.*operator\(\)' || true)
if [ -n "$called" ]; then
  echo "$library: bodies of vectorized loops that are functions of their own:" >&2
  head -20 <<<"$called" >&2
  status=1
fi

# -ftls-model=initial-exec takes from the ~1.5 KB that the loader keeps for libraries loaded late, for
# all libraries of the process together.
tls=$(readelf -lW "$library" | awk '$1 == "TLS" {print $6}')
if ((${tls:-0} > 512)); then
  echo "$library: $((tls)) bytes of thread_local (at most 512); keep big state behind a pointer." >&2
  status=1
fi

# The same space is not there for thread-local memory of other libraries: one that is loaded late and reads
# that of libstdc++ (std::call_once) in this way cannot be loaded beside many others.
for late in python/argosy/lib/libargosy_*.so; do
  if nm -D --undefined-only "$late" | grep -q _ZSt15__once_callable; then
    echo "$late: uses std::call_once, so it may not load; use a Mutex or a static of a function." >&2
    status=1
  fi
done

# What a program that only runs models has to bring along. (The number falls; nobody raises it.)
infer=python/argosy/lib/libargosy_infer.so
most=8000000
size=$(stat -c %s "$infer")
if ((size > most)); then
  echo "$infer: $size bytes (at most $most); see loops_smaller in cmake/library.cmake, and leave out what only trains." >&2
  status=1
fi
exit $status
