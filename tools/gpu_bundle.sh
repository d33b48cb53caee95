#!/usr/bin/env bash
# Collects what a machine with a GPU and another Python needs of this build into build/gpu: archives that
# tools/gpu_check.sh unpacks over the sources there.
#   ARGOSY_OTHER_PYTHON   headers of that Python (default: those of 3.12 that pyenv has)
#   PRESET                the build it is taken from (default release, built with ARGOSY_CUDA=ON)
# libs.tar.xz, which is made once, holds the libraries of others; argosy.tar.xz the package's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
build=$root/build/${PRESET:-release}
out=$root/build/gpu
headers=${ARGOSY_OTHER_PYTHON:-$(echo "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12.*/include/python3.12)}
most=${GPU_MB:-60} # what travels to the machine, in MiB

if ! grep -q "^ARGOSY_OTHER_PYTHON:PATH=$headers$" "$build/CMakeCache.txt"; then
  cmake -S . -B "$build" --log-level=WARNING "-DARGOSY_OTHER_PYTHON=$headers" >/dev/null
fi
cmake --build "$build" --target argosy_other_python -- --quiet
package=$build/python/argosy
if grep -q '^ARGOSY_INPLACE:BOOL=ON' "$build/CMakeCache.txt"; then package=$root/python/argosy; fi

mkdir -p "$out"
stage=$(mktemp -d "$out/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# The libraries of others: beside ours, where the loader looks for them too.
if [[ ! -s $out/libs.tar.xz ]]; then
  mkdir -p "$stage/libs/python/argosy/lib"
  for name in libdnnl.so.3 libscipy_openblas.so; do
    path=$(ldd "$package/lib/libargosy.so" | awk -v name="$name" '$1 == name {print $3}')
    [[ -f $path ]] || { echo "gpu_bundle: $name of libargosy.so is nowhere" >&2; exit 1; }
    cp -L "$path" "$stage/libs/python/argosy/lib/$name"
  done
  strip --strip-unneeded "$stage"/libs/python/argosy/lib/*
  tar -C "$stage/libs" -c python | xz -6 -T0 >"$stage/libs.tar.xz"
  mv "$stage/libs.tar.xz" "$out/libs.tar.xz"
fi

to=$stage/ours/python/argosy
mkdir -p "$to/lib"
cp "$build"/other_python/_core.*.so "$to"
cp -r "$package/_generated" "$to"
# Sources of ops are compiled there.
find "$to/_generated/include" -type f ! -name argosy_abi.h -delete
for part in "" _cuda _paddle _onnx _net _ps; do
  name=libargosy$part.so
  if [[ -f $package/lib/$name ]]; then
    cp "$package/lib/$name" "$to/lib"
    strip --strip-unneeded "$to/lib/$name"
  else
    echo "gpu_bundle: there is no $name in $package/lib" >&2
  fi
done
tar -C "$stage/ours" -c python | xz -1 -T0 >"$stage/argosy.tar.xz"
mv "$stage/argosy.tar.xz" "$out/argosy.tar.xz"

bytes=$(cat "$out"/*.tar.xz | wc -c)
ls -l "$out"/*.tar.xz | awk '{printf "%s %.1f MiB\n", $NF, $5 / 2^20}'
echo "gpu_bundle: $((bytes >> 20)) MiB"
if ((bytes > most << 20)); then
  echo "gpu_bundle: more than $most MiB" >&2
  exit 1
fi
