"""Latency of trained models beside ONNX Runtime.

    python benchmarks/inference.py --peer PYTHON [--threads 1 2] [--batch 1 16] [--nets resnet50 ..]
    python benchmarks/inference.py --peer PYTHON --nets --model "rec=rec.onnx;x=float32:1x3x48x320" ..
    python benchmarks/inference.py --peer PYTHON --bound build/release/tests/predictor_bench

PYTHON is an interpreter with onnx and onnxruntime. Both run the same weights on the same inputs; their
outputs are compared first. Runs of both take turns, and the ratio is that of the medians. Also: the
time from nothing to the first answer, in a process of its own, with the model's files in the page
cache, and the memory that it holds then.

`--model` compares any ONNX file: its name, its file, and a dtype and shape for each input; inputs are
drawn, integers from 0 to 9, or are what follows `=` (`sr=int64=16000`). `--bound` is the MLP with
inputs and outputs that stay where they are: from C++ against `run_with_iobinding`. With PROCESSOR_TIME
in the environment times are those of the processor: for one thread on a busy machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
NETS = ("mlp", "mobilenet_v2", "resnet50", "bert")
GOALS = {"mlp": 0.35, "mobilenet_v2": 0.90, "resnet50": 1.00, "bert": 0.88}
TOLERANCE = 1e-3  # of the largest output

WORKER = r"""
import json, os, resource, sys, time
import numpy as np
kind, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
feeds = dict(np.load(sys.argv[4]))
clock = time.process_time if os.environ.get("PROCESSOR_TIME") else time.perf_counter
if kind == "argosy":
    from argosy import inference
    started = clock()
    config = inference.Config(path)
    config.set_cpu_math_library_num_threads(threads)
    predictor = inference.create_predictor(config)
    sources = [(predictor.get_input_handle(name), array) for name, array in feeds.items()]
    targets = [predictor.get_output_handle(name) for name in predictor.get_output_names()]
    def run():
        for source, array in sources:
            source.copy_from_cpu(array)
        predictor.run()
        return [target.copy_to_cpu() for target in targets]
else:
    import onnxruntime as ort
    started = clock()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    if kind == "bound":
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        for value in session.get_outputs():
            binding.bind_output(value.name, "cpu")
        def run():
            session.run_with_iobinding(binding)
            return binding.get_outputs()
    else:
        def run():
            return session.run(None, feeds)
y = run()
first = clock() - started
with open("/proc/self/statm") as f:
    resident = int(f.read().split()[1]) * resource.getpagesize()
if kind != "bound":
    np.savez(sys.argv[5], *y)
print(json.dumps([first, resident]), flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        begin = clock()
        run()
        times.append(clock() - begin)
    print(json.dumps(times), flush=True)
"""


class Worker:
    """A process that has loaded one net in one framework."""

    def __init__(self, command, kind, path, threads, inputs, outputs=None):
        env = {**os.environ, "ARGOSY_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        env["PYTHONPATH"] = str(HERE.parent / "python") if kind == "argosy" else ""
        arguments = [kind, str(path), str(threads), str(inputs), str(outputs)]
        self.process = subprocess.Popen(
            [*command, *arguments], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.first, self.resident = json.loads(self.process.stdout.readline())
        self.outputs = list(np.load(outputs).values()) if outputs else []

    def times(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def inputs_of(net, batch):
    random = np.random.RandomState(0)
    if net == "bert":
        return random.randint(0, 30522, (batch, 128)).astype("int64")
    shape = (batch, 784) if net == "mlp" else (batch, 3, 224, 224)
    return random.uniform(-1, 1, shape).astype("float32")


def drawn(form, random):
    """The array that `dtype:shape` or `dtype=numbers` says."""
    if "=" in form:
        dtype, numbers = form.split("=")
        values = [float(v) for v in numbers.split(",")]
        return np.array(values[0] if len(values) == 1 else values, dtype)
    dtype, sizes = form.split(":")
    shape = [int(size) for size in sizes.split("x")]
    if np.dtype(dtype).kind == "f":
        return random.uniform(-1, 1, shape).astype(dtype)
    return random.randint(0, 10, shape).astype(dtype)


def parse_model(text):
    """(name, file, feeds) of an argument of --model."""
    head, *inputs = text.split(";")
    name, path = head.split("=", 1)
    random = np.random.RandomState(0)
    return name, path, {key: drawn(form, random) for key, form in (i.split("=", 1) for i in inputs)}


def error_of(ours, theirs):
    """The largest difference of outputs, by the size of the largest one; 0 of none."""
    worst = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        if other.size:
            scale = max(np.abs(other.astype("float64")).max(), 1e-30)
            worst = max(worst, float(np.abs(mine.astype("float64") - other).max() / scale))
    return worst


def read_files(paths):
    """Whoever comes first would wait for the disk."""
    for path in map(pathlib.Path, paths):
        for file in {path, *path.parent.glob(f"{path.name}.*")}:
            if file.is_file():
                file.read_bytes()


def take_turns(ours, theirs, seconds):
    """Medians and best times of both, in seconds."""
    one = max(min(theirs.times(3)), 1e-6)
    count = max(1, int(0.2 / one))
    rounds = max(5, int(seconds / (2 * count * one)))
    mine, other = [], []
    for _ in range(rounds):
        mine += ours.times(count)
        other += theirs.times(count)
    return statistics.median(mine), statistics.median(other), min(mine), min(other)


def compare(name, paths, feeds, threads, folder, peer, seconds):
    """A row; paths: the model's for Argosy and for ONNX Runtime."""
    inputs = folder / "feeds.npz"
    np.savez(inputs, **feeds)
    read_files(paths)
    workers = []
    try:
        kinds = ((sys.executable, "argosy"), (peer, "onnxruntime"))
        for (python, kind), path in zip(kinds, paths, strict=True):
            command = [python, "-c", WORKER]
            outputs = folder / f"{kind}.npz"
            workers.append(Worker(command, kind, path, threads, inputs, outputs))
        ours, theirs = workers
        error = error_of(ours.outputs, theirs.outputs)
        if error > TOLERANCE:
            raise SystemExit(f"{name}: outputs differ by {error:.1e} of their size")
        mine, other, best, other_best = take_turns(ours, theirs, seconds)
    finally:
        for worker in workers:
            worker.close()
    return {
        "threads": threads, "error": error, "argosy_ms": mine * 1e3, "onnxruntime_ms": other * 1e3,
        "ratio": mine / other, "best_ratio": best / other_best,
        "first_answer": ours.first / theirs.first, "memory": ours.resident / theirs.resident,
    }  # fmt: skip


def show(name, batch, goal, r):
    print(
        f"{name:13} {batch:5} {r['threads']:7} {r['argosy_ms']:10.3f} {r['onnxruntime_ms']:8.3f}"
        f" {r['ratio']:6.2f} {r['best_ratio']:7.2f} {goal:6.2f} {r['first_answer']:6.2f}"
        f" {r['memory']:6.2f} {r['error']:8.1e}",
        flush=True,
    )


def compare_bound(binary, folder, peer, seconds):
    """The MLP from C++, and in ONNX Runtime with bound inputs and outputs, on one thread."""
    inputs = folder / "feeds.npz"
    np.savez(inputs, x=inputs_of("mlp", 1))
    ours = Worker([binary], "cpp", folder / "mlp", 1, "1x784")
    theirs = Worker([peer, "-c", WORKER], "bound", folder / "mlp.onnx", 1, inputs)
    try:
        mine, other, best, other_best = take_turns(ours, theirs, seconds)
    finally:
        ours.close()
        theirs.close()
    print(f"mlp, bound        1       1 {mine * 1e3:10.4f} {other * 1e3:8.4f} {mine / other:6.2f}"
          f" {best / other_best:7.2f} {0.4:6.2f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--nets", nargs="*", default=NETS, choices=NETS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 16])
    parser.add_argument("--model", nargs="*", type=parse_model, default=[])
    parser.add_argument("--bound", help="the program predictor_bench")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--folder", type=pathlib.Path, help="where the nets are kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        if not (folder / "mlp.onnx").exists():
            env = {**os.environ, "PYTHONPATH": str(HERE.parent / "python")}
            nets = [sys.executable, HERE / "inference_nets.py", folder]
            subprocess.run(nets, check=True, env=env)
        print(f"load average {os.getloadavg()[0]:.1f}")
        print(
            "net           batch threads  argosy ms  ort ms   ratio  (best)  goal  first  memory  error"
        )
        for net in args.nets:
            paths = folder / net, folder / f"{net}.onnx"
            for batch in args.batch:
                feeds = {"x": inputs_of(net, batch)}
                for threads in args.threads:
                    row = compare(net, paths, feeds, threads, folder, args.peer, args.seconds)
                    show(net, batch, GOALS[net] if batch == 1 else 1.0, row)
        for name, path, feeds in args.model:
            for threads in args.threads:
                row = compare(name, (path, path), feeds, threads, folder, args.peer, args.seconds)
                show(name, "", 0.9, row)
        if args.bound:
            compare_bound(args.bound, folder, args.peer, args.seconds)


if __name__ == "__main__":
    main()
