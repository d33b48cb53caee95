#!/usr/bin/env bash
# Checks a build on a machine with a GPU, from the archives of tools/gpu_bundle.sh and the sources:
#   tools/gpu_check.sh [smoke|ops|python|sanitizer|bench|all ..]      default: smoke ops
# Each stage has a time limit of its own and a log in $OUT (default gpu_out); what matters of all of them
# is printed last, most important first.
#   LIMIT_SMOKE, LIMIT_OPS, ..   seconds of a stage
#   JOBS                         processes of the test stages (default: as many as cores)
#   ARGS_OPS, ARGS_PYTHON, ARGS_BENCH   arguments that replace those of a stage
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
out=${OUT:-$root/gpu_out}
mkdir -p "$out"
jobs=${JOBS:-$(nproc)}
python=${PYTHON:-python3}

for archive in build/gpu/libs.tar.xz build/gpu/argosy.tar.xz; do
  stamp=$archive.unpacked
  [[ -f $archive && ! $stamp -nt $archive ]] || continue
  "$python" - "$archive" <<'PY' || exit 1
import sys, tarfile
tarfile.open(sys.argv[1]).extractall(".", filter="fully_trusted")
PY
  touch "$stamp"
done

# NVIDIA's libraries: those of the wheels first, which are newer where both are there.
wheels=$("$python" - <<'PY'
import glob, site, sysconfig
roots = {sysconfig.get_paths()["purelib"], *site.getsitepackages(), site.getusersitepackages()}
print(":".join(p for r in sorted(roots) for p in sorted(glob.glob(r + "/nvidia/*/lib"))))
PY
)
export LD_LIBRARY_PATH=$root/python/argosy/lib:$wheels:/usr/local/cuda/lib64:/usr/local/nvidia/lib64:${LD_LIBRARY_PATH:-}
export PYTHONPATH=$root/python:$root
export PYTHONDONTWRITEBYTECODE=1 COLUMNS=400
export PATH=$PATH:/usr/local/cuda/bin

# stage NAME SECONDS COMMAND..: runs it with a log; never longer than that, and some seconds to say what it
# has found.
stage() {
  local name=$1 limit=$2 begin=$SECONDS
  shift 2
  timeout -s INT -k 20 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null
  local code=$?
  ((code == 124 || code == 137)) && echo "gpu_check: $name was stopped after $limit s" >>"$out/$name.log"
  echo "$name $code $((SECONDS - begin))" >>"$out/stages"
}

smoke() {
  stage smoke "${LIMIT_SMOKE:-60}" "$python" tools/gpu_smoke.py
}

# One thread for each process: there are as many as cores.
tests() {
  local name=$1 limit=$2
  shift 2
  # A kernel that does not end blocks signals too, so a thread ends the process. What the core prints goes
  # into the log: which ops ran on the CPU.
  ARGOSY_TEST_FAILURES=$out/$name.dead ARGOSY_TEST_REPORT=$out/$name.failed OMP_NUM_THREADS=1 ARGOSY_NUM_THREADS=1 stage "$name" "$limit" \
    "$python" -m pytest -p no:cacheprovider -n "$jobs" --max-worker-restart 300 --device gpu \
    --timeout 60 --timeout-method thread --tb short -rfE --capture sys "$@"
}

ops() {
  tests ops "${LIMIT_OPS:-240}" ${ARGS_OPS:-tests/ops/test_devices.py}
}

# What computes on the device that tests begin with. Others are about files, processes, Programs and the CPU.
suites="amp audio autograd device distribution fft geometric hapi incubate io jit metric nn optimizer profiler \
  quantization sparse static tensor text vision test_indexing.py \
  framework/test_devices.py distributed/test_on_devices.py distributed/test_one_process.py"

python_suites() {
  local suite paths=()
  for suite in $suites; do paths+=("tests/python/$suite"); done
  tests python "${LIMIT_PYTHON:-240}" ${ARGS_PYTHON:-${paths[@]}}
}

sanitizer() {
  local tool
  tool=$(command -v compute-sanitizer || echo)
  if [[ -z $tool ]]; then
    echo "compute-sanitizer is not on this machine" >"$out/sanitizer.log"
    return
  fi
  stage sanitizer "${LIMIT_SANITIZER:-120}" "$tool" --tool memcheck --error-exitcode 9 \
    --report-api-errors no "$python" tools/gpu_smoke.py --kernels
}

bench() {
  stage bench "${LIMIT_BENCH:-200}" "$python" benchmarks/gpu.py ${ARGS_BENCH:-}
}

rm -f "$out/stages" "$out"/*.dead "$out"/*.failed
wanted=${*:-smoke ops}
[[ $wanted == all ]] && wanted="smoke ops python sanitizer bench"
for name in $wanted; do
  case $name in
    smoke | ops | sanitizer | bench) $name ;;
    python) python_suites ;;
    *) echo "gpu_check: there is no stage '$name'" >&2 && exit 2 ;;
  esac
done
"$python" tools/gpu_summary.py "$out" | tee "$out/summary.txt"
