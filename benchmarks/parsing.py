"""How fast text becomes batches, on one core: Argosy and, if there is one, Paddle 2.6.2.

    [ARGOSY_BENCH_PADDLE26=/path/to/python] python benchmarks/parsing.py [--megabytes 50] [--repeat 5]

Three kinds of lines: `click` (26 slots of one small id, 13 numbers of 4 digits), `signs` (26 feature
signs of up to 20 digits, 13 numbers of 16 digits), `wide` (300 slots of 0 to 3 ids). The process is
bound to one core. `batches` reads with QueueDataset until the end, `memory` is load_into_memory; both in
megabytes of text a second, by the processor time of all threads; `load` is the wall time of
load_into_memory of both frameworks, their runs alternating. Sums of all values are checked against
NumPy's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def click(rng, lines):
    ids = rng.zipf(1.2, (lines, 26)) % 10**7 + 1
    numbers = rng.integers(0, 10**4, (lines, 13)) / 1e4
    labels = rng.integers(0, 2, lines)
    for k in range(lines):
        slots = " ".join(f"1 {i}" for i in ids[k].tolist())
        yield f"1 {labels[k]} 13 {' '.join(map(str, numbers[k].tolist()))} {slots}\n"


def signs(rng, lines):
    ids = rng.integers(1, 2**64 - 1, (lines, 26), dtype="uint64")
    numbers = rng.random((lines, 13))
    for k in range(lines):
        slots = " ".join(f"1 {i}" for i in ids[k].tolist())
        yield f"1 1 13 {' '.join(map(repr, numbers[k].tolist()))} {slots}\n"


def wide(rng, lines):
    # Paddle takes no empty lists.
    counts = rng.integers(1, 4, (lines, 300))
    for k in range(lines):
        ids = iter(rng.integers(1, 10**9, int(counts[k].sum())).tolist())
        yield (
            "1 1 "
            + " ".join(
                f"{c} " + " ".join(str(next(ids)) for _ in range(c)) for c in counts[k].tolist()
            )
            + "\n"
        )


KINDS = {"click": click, "signs": signs, "wide": wide}


def make(kind, path, megabytes):
    rng = np.random.default_rng(1)
    written = 0
    with open(path, "w") as f:
        while written < megabytes * 1e6:
            for line in KINDS[kind](rng, 500):
                f.write(line)
                written += len(line)


def variables(paddle, kind):
    data = paddle.static.data
    label = data("label", [-1, 1], "int64")
    if kind == "wide":
        return [label, *(data(f"s{i}", [-1, 1], "int64", lod_level=1) for i in range(300))]
    ids = [data(f"C{i}", [-1, 1], "int64") for i in range(26)]
    return [label, data("numbers", [-1, 13], "float32"), *ids]


def expected(kind, path):
    """Sums of the integers (mod 2^64) and of the floats, by NumPy."""
    integers, floats = 0, 0.0
    for line in open(path):
        words = line.split()
        if kind == "wide":
            at = 0
            while at < len(words):
                count = int(words[at])
                integers += sum(map(int, words[at + 1 : at + 1 + count]))
                at += 1 + count
        else:
            integers += int(words[1]) + sum(map(int, words[17::2]))
            floats += float(np.array(words[3:16], "float32").astype("float64").sum())
    return integers % 2**64, floats


def argosy_run(kind, path):
    import argosy as paddle
    from argosy import _core

    paddle.enable_static()
    slots = variables(paddle, kind)
    queue = paddle.distributed.QueueDataset()
    queue.init(batch_size=512, use_var=slots)
    queue.set_filelist([path])
    result, size = {}, os.path.getsize(path) / 1e6
    start = time.process_time()
    source = queue._start(1)
    while _core.data_next(source, 0) is not None:
        pass
    result["batches"] = size / (time.process_time() - start)
    integers, floats = 0, 0.0
    source = queue._start(1)
    while (got := _core.data_next(source, 0)) is not None:
        for tensor in got[0]:
            values = np.array(tensor)
            if values.dtype == np.float32:
                floats += float(values.astype("float64").sum())
            else:
                integers += int(values.view("uint64").sum())
    result["sums"] = [integers % 2**64, floats]
    return {**result, **load(paddle, slots, path)}


def load(paddle, slots, path):
    memory = paddle.distributed.InMemoryDataset()
    memory.init(batch_size=512, thread_num=1, use_var=slots)
    memory.set_filelist([path])
    size = os.path.getsize(path) / 1e6
    wall, start = time.perf_counter(), time.process_time()
    memory.load_into_memory()
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    return {
        "memory": size / cpu,
        "load": size / wall,
        "samples": int(memory.get_memory_data_size()),
    }


def child(args):
    if args.child == "argosy":
        result = argosy_run(args.kind, args.file)
    else:
        import paddle

        paddle.enable_static()
        result = load(paddle, variables(paddle, args.kind), args.file)
    print("RESULT " + json.dumps(result), flush=True)


def run(python, framework, kind, path):
    core = sorted(os.sched_getaffinity(0))[0]
    done = subprocess.run(
        [python, __file__, "--child", framework, "--kind", kind, "--file", path],
        env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
        capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, [core]),
    )  # fmt: skip
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    sys.exit(f"{framework} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kinds", nargs="*", choices=sorted(KINDS), default=list(KINDS))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args)
    peer = os.environ.get("ARGOSY_BENCH_PADDLE26")
    with tempfile.TemporaryDirectory() as folder:
        for kind in args.kinds:
            path = os.path.join(folder, kind)
            make(kind, path, args.megabytes)
            ours, theirs = [], []
            for _ in range(args.repeat):
                ours.append(run(sys.executable, "argosy", kind, path))
                if peer:
                    theirs.append(run(peer, "paddle", kind, path))
            integers, floats = expected(kind, path)
            for r in ours:
                if r["sums"][0] != integers or abs(r["sums"][1] - floats) > 1e-6 * max(floats, 1):
                    sys.exit(f"{kind}: wrong values: {r['sums']} instead of {[integers, floats]}")
            best = {k: max(r[k] for r in ours) for k in ("batches", "memory", "load")}
            text = (
                f"{kind:6} batches {best['batches']:6.0f} MB/s  memory {best['memory']:6.0f} MB/s"
            )
            text += f"  load {best['load']:6.0f} MB/s"
            if theirs:
                load_of = max(r["load"] for r in theirs)
                if any(r["samples"] != ours[0]["samples"] for r in theirs):
                    sys.exit(f"{kind}: another number of samples than Paddle")
                text += f"  Paddle {load_of:6.0f} MB/s  ratio {best['load'] / load_of:.1f}"
            print(text + "  (values checked)", flush=True)


if __name__ == "__main__":
    main()
