#!/usr/bin/env bash
# Builds with other Pythons and runs what depends on one: lives of objects, import, capture of source.
#   tools/test_pythons.sh PYTHON..   e.g. ~/.pyenv/versions/3.1[0-3].*/bin/python3
#   JOBS   as in the Makefile
# The last commit is built, in a folder of its own for each: as long as a cold build, unless the compiler
# cache looks past folders (its base_dir).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || { echo "test_pythons: name the interpreters to build with" >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"; git worktree prune' EXIT

for python in "$@"; do
  version=$("$python" -c 'import platform; print(platform.python_version())')
  echo "Python $version"
  git worktree add -q --detach "$work/$version"
  (
    cd "$work/$version"
    make build PYTHON="$python" JOBS="${JOBS:-$(nproc)}" >build.log 2>&1 || { tail -20 build.log >&2 && exit 1; }
    .venv/bin/python -m pytest -q -p no:cacheprovider tests/python/tensor/test_object_life.py \
      tests/python/test_import.py tests/python/test_cycles.py tests/python/jit
  )
  rm -rf "${work:?}/$version"
done
