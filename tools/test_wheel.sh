#!/usr/bin/env bash
# Builds the wheel, repairs it, and tries it in an empty environment: dist/argosy-*.whl.
#   WHEEL_MB   the most it may weigh (default 60)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "wheel: building"
# In .venv, with the release build's compiler and flags, so that the compiler cache serves both.
CXX=c++ PATH=$root/.venv/bin:$PATH .venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps \
  --no-build-isolation --config-settings=cmake.define.ARGOSY_WERROR=ON -w "$work/raw" .

# Not bundled: oneDNN is a dependency of ours, found by run path in the environment's lib. libgomp has
# to be the copy that oneDNN uses, or omp_set_num_threads would reach the wrong threads.
echo "wheel: repairing"
mkdir -p dist
rm -f dist/argosy-*.whl
PATH=$root/.venv/bin:$PATH .venv/bin/auditwheel repair -w dist \
  --exclude 'libdnnl.so.*' --exclude 'libgomp.so.*' "$work"/raw/argosy-*.whl
wheel=$(echo "$root"/dist/argosy-*.whl)
bytes=$(stat -c %s "$wheel")
echo "wheel: $(basename "$wheel"), $((bytes / 1000000)) MB"
if ((bytes > ${WHEEL_MB:-60} * 1000000)); then
  echo "wheel: heavier than ${WHEEL_MB:-60} MB; largest members:" >&2
  .venv/bin/python -m zipfile -l "$wheel" | awk '{print $NF, $1}' | sort -rn | head >&2
  exit 1
fi

echo "wheel: trying it in an empty environment"
"$(.venv/bin/python -c 'import sys; print(sys._base_executable)')" -m venv "$work/env"
"$work/env/bin/python" -m pip install -q --disable-pip-version-check "$wheel"
cd "$work" # away from the source tree
env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/python" "$root/tools/wheel_smoke.py" "$root"
env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/argosy" doctor >/dev/null

echo "wheel: building an op against it"
cp -r "$root/examples/out_of_tree_op" "$work/op"
cmake -S "$work/op" -B "$work/op/build" -G Ninja -DCMAKE_BUILD_TYPE=Release --log-level=WARNING \
  -DCMAKE_PREFIX_PATH="$("$work/env/bin/python" -c 'import argosy; print(argosy.__path__[0])')" \
  >/dev/null
cmake --build "$work/op/build" >/dev/null
env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/python" "$work/op/use.py"

echo "wheel: compiling ops while a program runs, and by a setup script"
cp -r "$root/examples/custom_op" "$work/custom_op"
env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/python" "$work/custom_op/use.py"
"$work/env/bin/python" -m pip install -q --disable-pip-version-check setuptools
(cd "$work/custom_op" && env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/python" setup.py -q install) 2>/dev/null
env -i HOME="$work" PATH=/usr/bin:/bin "$work/env/bin/python" -c \
  'import argosy, custom_sine_setup_ops as ops; print(ops.custom_sine(argosy.to_tensor([0.5])))'
echo "wheel: works"
