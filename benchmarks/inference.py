"""Latency of trained models beside ONNX Runtime.

    python benchmarks/inference.py --peer PYTHON [--threads 1 2] [--batch 1 16] [--nets resnet50 ..]

PYTHON is an interpreter with onnx and onnxruntime. Both run the same weights on the same inputs; their
outputs are compared first. Runs of both take turns, and the ratio is that of the medians. Also: the
time from nothing to the first answer, in a process of its own, and the memory that it holds then.
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
kind, path, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
x = np.load(sys.argv[5])[:batch]
if kind == "argosy":
    from argosy import inference
    started = time.perf_counter()
    config = inference.Config(path)
    config.set_cpu_math_library_num_threads(threads)
    predictor = inference.create_predictor(config)
    source = predictor.get_input_handle(predictor.get_input_names()[0])
    target = predictor.get_output_handle(predictor.get_output_names()[0])
    def run():
        source.copy_from_cpu(x)
        predictor.run()
        return target.copy_to_cpu()
else:
    import onnxruntime as ort
    started = time.perf_counter()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    def run():
        return session.run(None, {name: x})[0]
y = run()
first = time.perf_counter() - started
with open("/proc/self/statm") as f:
    resident = int(f.read().split()[1]) * resource.getpagesize()
np.save(sys.argv[6], y)
print(json.dumps([first, resident]), flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    print(json.dumps(times), flush=True)
"""


class Worker:
    """A process that has loaded one net in one framework."""

    def __init__(self, python, kind, path, batch, threads, inputs, outputs):
        env = {**os.environ, "ARGOSY_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        env["PYTHONPATH"] = str(HERE.parent / "python") if kind == "argosy" else ""
        arguments = [kind, str(path), str(batch), str(threads), str(inputs), str(outputs)]
        self.process = subprocess.Popen(
            [python, "-c", WORKER, *arguments], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.first, self.resident = json.loads(self.process.stdout.readline())
        self.output = np.load(outputs)

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


def compare(net, batch, threads, folder, peer, seconds):
    inputs = folder / "x.npy"
    np.save(inputs, inputs_of(net, batch))
    workers = []
    try:
        for python, kind in ((sys.executable, "argosy"), (peer, "onnxruntime")):
            outputs = folder / f"{kind}.npy"
            workers.append(Worker(python, kind, folder / net, batch, threads, inputs, outputs))
        ours, theirs = workers
        scale = np.abs(theirs.output).max()
        error = float(np.abs(ours.output - theirs.output).max() / scale)
        if error > TOLERANCE:
            raise SystemExit(f"{net}: outputs differ by {error:.1e} of their size")
        one = min(theirs.times(3))
        count = max(1, int(0.2 / one))
        rounds = max(5, int(seconds / (2 * count * one)))
        mine, other = [], []
        for _ in range(rounds):
            mine += ours.times(count)
            other += theirs.times(count)
    finally:
        for worker in workers:
            worker.close()
    return {
        "net": net, "batch": batch, "threads": threads, "error": error,
        "argosy_ms": statistics.median(mine) * 1e3,
        "onnxruntime_ms": statistics.median(other) * 1e3,
        "ratio": statistics.median(mine) / statistics.median(other),
        "best_ratio": min(mine) / min(other),
        "first_answer": ours.first / theirs.first,
        "memory": ours.resident / theirs.resident,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--nets", nargs="+", default=NETS, choices=NETS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 16])
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
            for batch in args.batch:
                for threads in args.threads:
                    r = compare(net, batch, threads, folder, args.peer, args.seconds)
                    print(
                        f"{net:13} {batch:5} {threads:7} {r['argosy_ms']:10.3f}"
                        f" {r['onnxruntime_ms']:8.3f} {r['ratio']:6.2f} {r['best_ratio']:7.2f}"
                        f" {GOALS[net]:6.2f} {r['first_answer']:6.2f} {r['memory']:6.2f} {r['error']:8.1e}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
