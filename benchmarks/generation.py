"""Words a second of a language model (examples/smollm2) beside PyTorch in float32.

    python benchmarks/generation.py --peer PYTHON --model model.gguf [--threads 1 2] [--count 64]

PYTHON is an interpreter with torch; the model is a GGUF file of the Llama family. Both write the
likeliest words after the same few, one by one, and must write the same in float32. Runs take turns;
the ratio is that of the medians. Rows: float32, and weights of 8 and 4 bits. With PROCESSOR_TIME in
the environment times are those of the processor: for one thread on a busy machine.
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
EXAMPLE = HERE.parent / "examples/smollm2"
WORDS = [1, 504, 1343, 253, 655, 28, 665, 436, 253, 1165]  # that are written on
GOALS = {"float32": 1.0, "int8": 1.0, "int4": 2.5}

WORKER = r"""
import json, os, sys, time
kind, threads, path, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
words = json.loads(sys.argv[5])
clock = time.process_time if os.environ.get("PROCESSOR_TIME") else time.perf_counter
if kind == "torch":
    from generation_torch import load
    model = load(path, threads, len(words) + count)
else:
    from model import quantize
    from weights import load
    model = load(path, len(words) + count)
    if kind != "float32":
        quantize(model, int(kind[3:]))
print(json.dumps(model.write(words, count)), flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        begin = clock()
        model.write(words, count)
        times.append(clock() - begin)
    print(json.dumps(times), flush=True)
"""


class Worker:
    """A process that writes with the model in one form."""

    def __init__(self, python, kind, threads, path, count):
        env = {**os.environ, "ARGOSY_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        folders = [HERE] if kind == "torch" else [HERE.parent / "python", EXAMPLE]
        env["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        arguments = [kind, str(threads), str(path), str(count), json.dumps(WORDS)]
        self.process = subprocess.Popen(
            [python, "-c", WORKER, *arguments], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.written = json.loads(self.process.stdout.readline())

    def times(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def weights_of(path, folder):
    """The model's numbers for the peer, which has no reader: (sizes as JSON, arrays)."""
    sys.path[:0] = [str(HERE.parent / "python"), str(EXAMPLE)]
    import dataclasses

    from weights import sizes_of

    import argosy
    from argosy.framework import gguf

    tensors = argosy.load(path, return_numpy=True)
    sizes = sizes_of(gguf.metadata(path), len(tensors["token_embd.weight"]))
    arrays = {name: array.astype("float32") for name, array in tensors.items()}
    target = folder / "weights.npz"
    np.savez(target, sizes=json.dumps({**dataclasses.asdict(sizes), "head": sizes.head}), **arrays)
    return target


def take_turns(workers, rounds):
    times = {kind: [] for kind in workers}
    for _ in range(rounds):
        for kind, worker in workers.items():
            times[kind] += worker.times(1)
    return {kind: statistics.median(list_) for kind, list_ in times.items()}


def compare(path, weights, threads, count, rounds, peer):
    workers = {}
    try:
        workers["torch"] = Worker(peer, "torch", threads, weights, count)
        for kind in GOALS:
            workers[kind] = Worker(sys.executable, kind, threads, path, count)
        if workers["float32"].written != workers["torch"].written:
            raise SystemExit("float32 writes other words than torch")
        medians = take_turns(workers, rounds)
    finally:
        for worker in workers.values():
            worker.close()
    for kind, goal in GOALS.items():
        same = sum(map(int.__eq__, workers[kind].written, workers["torch"].written))
        print(
            f"{kind:8} {threads:7} {count / medians[kind]:8.1f} {count / medians['torch']:8.1f}"
            f" {medians['torch'] / medians[kind]:6.2f} {goal:6.2f} {same:5} of {count}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, help="an interpreter with torch")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("weights  threads  argosy/s  torch/s  ratio   goal  same words")
    with tempfile.TemporaryDirectory() as temporary:
        weights = weights_of(args.model, pathlib.Path(temporary))
        for threads in args.threads:
            compare(args.model, weights, threads, args.count, args.rounds, args.peer)


if __name__ == "__main__":
    main()
