"""Training a click model from text files: Argosy and Paddle 2.6.2, the same script.

    ARGOSY_BENCH_PADDLE26=/path/to/python python benchmarks/ctr.py

CTR-DNN: 26 slots of one id, dim 10, one table, 13 numbers, layers 400-400-400, batch 512, Adam with
lazy_mode, Hogwild threads, read by QueueDataset (or InMemoryDataset) with train_from_dataset. Data come
from examples/ctr/generate.py. A run with n threads is bound to n cores, so what reads the text counts in
all of them. Runs of both sides alternate; the best of each counts. The AUC is that of a pass over the
same data after the epoch, computed from predictions by one function for both.

Printed first: the floor, which is the time of the matrix products of a step at the rate that the same
products have on their own in Argosy.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SLOTS, NUMBERS, DIM, BATCH = 26, 13, 10, 512
LAYERS = [400, 400, 400]
ROOT = pathlib.Path(__file__).resolve().parents[1]


def generator():
    path = ROOT / "examples" / "ctr" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- one run, in a process of its own, with either framework ---


def build(paddle, args):
    kind = {"ragged": 1, "dense": 0}[args.slots]
    ids = [paddle.static.data(f"C{i}", [-1, 1], "int64", lod_level=kind) for i in range(SLOTS)]
    numbers = paddle.static.data("numbers", [-1, NUMBERS], "float32")
    click = paddle.static.data("click", [-1, 1], "int64")
    table = paddle.ParamAttr(name="table", initializer=paddle.nn.initializer.Uniform(-0.05, 0.05))
    parts = []
    for x in ids:
        e = paddle.static.nn.embedding(x, [args.rows, DIM], is_sparse=True, param_attr=table)
        e = paddle.reshape(e, [-1, DIM])
        if kind:
            from_lod = getattr(paddle.static.nn, "sequence_lod", paddle.static.nn)
            e = from_lod.sequence_pool(e, "sum")
        parts.append(e)
    h = paddle.concat([*parts, numbers], axis=1)
    for n in LAYERS:
        scale = 1 / h.shape[1] ** 0.5
        attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Normal(0.0, scale))
        h = paddle.static.nn.fc(h, n, weight_attr=attr, activation="relu")
    logit = paddle.static.nn.fc(h, 1)
    loss = paddle.mean(
        paddle.nn.functional.binary_cross_entropy_with_logits(logit, click.astype("float32"))
    )
    return [*ids, numbers, click], paddle.nn.functional.sigmoid(logit), loss


def parse(path, limit):
    """Columns of a file as arrays."""
    import numpy as np

    with open(path) as f:
        rows = [line.split() for _, line in zip(range(limit), f)]
    table = np.array(rows, dtype="float64")
    ids = table[:, 1 : 2 * SLOTS : 2].astype("int64")
    at = 2 * SLOTS + 1
    return ids, table[:, at : at + NUMBERS].astype("float32"), table[:, -1].astype("int64")


def predictions(paddle, exe, program, predict, args):
    """Labels and probabilities of all lines, by plain runs."""
    import numpy as np

    labels, found = [], []
    for path in args.files:
        ids, numbers, click = parse(path, args.check_lines // len(args.files))
        for at in range(0, len(click), 2048):
            part = slice(at, at + 2048)
            n = len(click[part])
            feed = {"numbers": numbers[part], "click": click[part, None]}
            for i in range(SLOTS):
                column = np.ascontiguousarray(ids[part, i : i + 1])
                if args.slots == "ragged":
                    base = getattr(paddle, "base", None)
                    column = base.create_lod_tensor(column, [[1] * n], paddle.CPUPlace())
                feed[f"C{i}"] = column
            (p,) = exe.run(program, feed=feed, fetch_list=[predict])
            found.append(np.asarray(p).reshape(-1))
            labels.append(click[part])
    return np.concatenate(labels), np.concatenate(found)


def child(args):
    if args.framework == "argosy":
        import argosy as paddle
    else:
        import paddle
    paddle.enable_static()
    paddle.seed(1)
    main, startup = paddle.static.Program(), paddle.static.Program()
    main.random_seed = startup.random_seed = 1
    with paddle.static.program_guard(main, startup):
        inputs, predict, loss = build(paddle, args)
        test = main.clone(for_test=True)
        paddle.optimizer.Adam(1e-3, lazy_mode=True).minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    kind = paddle.distributed.QueueDataset if args.queue else paddle.distributed.InMemoryDataset
    dataset = kind()
    dataset.init(batch_size=BATCH, thread_num=args.threads, use_var=inputs, pipe_command="cat")
    dataset.set_filelist(args.files)
    if not args.queue:
        dataset.load_into_memory()
    first = predictions(paddle, exe, test, predict, args) if args.check_first else None
    start, cpu = time.time(), time.process_time()
    exe.train_from_dataset(main, dataset, thread=args.threads)
    seconds, cpu = time.time() - start, time.process_time() - cpu
    labels, found = predictions(paddle, exe, test, predict, args)
    auc = generator().auc
    result = {"seconds": seconds, "cpu": cpu, "auc": auc(found, labels)}
    if first:
        result["auc_before"] = auc(first[1], first[0])
    print("RESULT " + json.dumps(result), flush=True)


def floor():
    """Milliseconds that a step's matrix products take on one thread."""
    import argosy

    def rate(m, k, n):
        a, b = argosy.randn([m, k]), argosy.randn([k, n])
        best = 1e9
        for _ in range(30):
            start = time.perf_counter()
            argosy.matmul(a, b)
            best = min(best, time.perf_counter() - start)
        return best

    total, flops, width = 0.0, 0, SLOTS * DIM + NUMBERS
    for n in [*LAYERS, 1]:
        for form in ((BATCH, width, n), (width, BATCH, n), (BATCH, n, width)):
            total += rate(*form)
            flops += 2 * form[0] * form[1] * form[2]
        width = n
    print(json.dumps({"ms": total * 1e3, "gflop": flops / 1e9}))


# --- the comparison ---


def run(python, framework, threads, args, files):
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", GLOG_v="0")
    cores = sorted(os.sched_getaffinity(0))[:threads]
    command = [python, __file__, "--child", "--framework", framework, "--threads", str(threads),
               "--rows", str(args.rows), "--slots", args.slots,
               "--check-lines", str(args.check_lines), "--files", *files]  # fmt: skip
    command += ["--queue"] if args.queue else []
    done = subprocess.run(
        command, env=env, capture_output=True, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    sys.exit(f"{framework} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=200000)
    parser.add_argument("--rows", type=int, default=1000001)
    parser.add_argument("--slots", choices=("ragged", "dense"), default="ragged")
    parser.add_argument("--memory", dest="queue", action="store_false", help="InMemoryDataset")
    parser.add_argument("--queue", dest="queue", action="store_true", default=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--check-lines", type=int, default=40000)
    parser.add_argument("--check-first", action="store_true")
    parser.add_argument("--data", help="folder for the text files; a temporary one if left out")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--framework", help=argparse.SUPPRESS)
    parser.add_argument("--files", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.floor:
        return floor()
    if args.child:
        args.threads = args.threads[0]
        return child(args)
    env = dict(os.environ, ARGOSY_NUM_THREADS="1")
    command = [sys.executable, __file__, "--floor"]
    least = json.loads(subprocess.run(command, env=env, capture_output=True, text=True).stdout)
    print(f"floor: {least['gflop']:.2f} GFLOP of matrix products a step, {least['ms']:.2f} ms,"
          f" {BATCH / least['ms']:.1f}k examples/s on one thread")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(args.data or folder)
        files = sorted(map(str, where.glob("part-*")))
        if not files:
            files, best = generator().write(str(where), args.lines, 4, rows=args.rows)
            print(f"best AUC: {best:.4f}")
        lines = sum(f.read().count(b"\n") for f in (open(p, "rb") for p in files))
        sides = {"argosy": sys.executable}
        if os.environ.get("ARGOSY_BENCH_PADDLE26"):
            sides["paddle 2.6.2"] = os.environ["ARGOSY_BENCH_PADDLE26"]
        rate, area, work = {}, {}, {}
        for _ in range(args.repeat):
            for threads in args.threads:
                for side, python in sides.items():
                    r = run(python, side.split()[0], threads, args, files)
                    key = side, threads
                    rate[key] = max(rate.get(key, 0), lines / r["seconds"])
                    area.setdefault(key, []).append(r["auc"])
                    work[key] = min(work.get(key, 1e9), r["cpu"] / lines * 1e6)
    for (side, threads), value in rate.items():
        auc = sorted(area[side, threads])[len(area[side, threads]) // 2]
        print(f"{side:13} {threads} threads: {value / 1e3:7.1f}k examples/s, AUC {auc:.4f},"
              f" {work[side, threads]:.1f} us of processor time an example")  # fmt: skip
    for threads in args.threads:
        if len(sides) > 1:
            ratio = rate["argosy", threads] / rate["paddle 2.6.2", threads]
            print(f"{threads} threads: {ratio:.2f} times Paddle (goal 1.5)")
    if len(args.threads) > 1:
        a, b = args.threads[0], args.threads[-1]
        for side in sides:
            ratio = rate[side, b] / rate[side, a]
            print(f"{side}: {b} threads are {ratio:.2f} times {a} (goal 1.75)")


if __name__ == "__main__":
    main()
