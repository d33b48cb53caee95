"""What durability costs: pushes in each mode, snapshots under load, memory, recovery after kill -9.

python benchmarks/ps_durability.py [--rows 10e6] [--directory DIR] [--seconds 10]
    [--part modes|training|pushes] [--mode snapshot|log]

One server and one worker process on this machine; rows of dim 8 with Adagrad of one state (36 bytes
and the key), pushed in batches of 13,312 (512 x 26). The sums of all tables are checked at the end.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

DIM, BATCH = 8, 512 * 26


def tables(rule):
    """One sparse table. Only sums can be checked exactly; only Adagrad has state."""
    part = {"rule": rule, "initial_range": 0}
    accessor = {"dim": DIM, "embedding": part}
    return [{"id": 0, "name": "rows", "kind": "sparse", "accessor": accessor}]


SERVER = """
import json, signal, sys
from argosy import _ps
server = _ps.Server(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print(server.port, flush=True)
server.wait()
"""


class Server:
    """A server process."""

    def __init__(self, rule, **options):
        options = dict(endpoint="127.0.0.1:0", tables=tables(rule), threads=2, **options)
        if "directory" in options:
            options["save_roots"] = [os.path.dirname(options["directory"])]
        start = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, json.dumps(options)], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())
        self.start_seconds = time.monotonic() - start

    def client(self):
        """A connection from this process."""
        from argosy import _ps

        return _ps.Client(json.dumps(dict(endpoints=[f"127.0.0.1:{self.port}"])))

    def stats(self):
        """Of durability."""
        return json.loads(self.client().stats())[0]["durability"]

    def memory(self, name="VmRSS"):
        """Bytes."""
        with open(f"/proc/{self.process.pid}/status") as file:
            line = next(x for x in file if x.startswith(name))
        return int(line.split()[1]) * 1024

    def reset_peak(self):
        """Lets VmHWM start anew."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def kill(self):
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def fill(client, rows):
    """Makes rows 0 .. rows - 1."""
    ones = np.ones((65536, DIM), "float32")
    for first in range(0, rows, 65536):
        keys = np.arange(first, min(first + 65536, rows), dtype="uint64")
        client.push_sparse(0, keys, ones[: len(keys)])


def train(client, pusher, pushes, keys, weights):
    """One step of a network of 26 x 8 inputs and three layers of 400: pull, compute, push.

    Pushes are asynchronous; four may be on their way.
    """
    values = np.empty((BATCH, DIM), "float32")
    client.pull_sparse(0, keys, values, True)
    x = values.reshape(512, 26 * DIM)
    layers = [x]
    for w in weights:
        layers.append(np.maximum(layers[-1] @ w, 0))
    gradient = layers[-1]
    for w, x in zip(reversed(weights), reversed(layers[:-1])):
        w -= 1e-6 * (x.T @ gradient)
        gradient = gradient @ w.T
    if len(pushes) == 4:
        pushes.pop(0).result()
    pushes.append(pusher.submit(client.push_sparse, 0, keys, np.ones_like(values)))


def work(port, rows, seconds, threads, training, queue):
    """Pushes random batches; the times at which each ended, per thread."""
    from argosy import _ps

    client = _ps.Client(json.dumps(dict(endpoints=[f"127.0.0.1:{port}"])))
    times = [[] for _ in range(threads)]
    end = time.monotonic() + seconds

    def run(i):
        draw = np.random.default_rng(i)
        values = np.ones((BATCH, DIM), "float32")
        batches = [draw.integers(0, rows, BATCH).astype("uint64") for _ in range(200)]
        sizes = [26 * DIM, 400, 400, 400]
        weights = [np.full(s, 1e-3, "float32") for s in zip(sizes, sizes[1:])]
        n, pushes, pusher = 0, [], concurrent.futures.ThreadPoolExecutor(2)
        while time.monotonic() < end:
            if training:
                train(client, pusher, pushes, batches[n % 200], weights)
            else:
                client.push_sparse(0, batches[n % 200], values)
            times[i].append(time.monotonic())
            n += 1
        pusher.shutdown()

    all_threads = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    queue.put(sorted(x for per in times for x in per))


def push_for(port, rows, seconds, training=False, threads=2):
    """Starts a worker process; returns it and where its times will come."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(port, rows, seconds, threads, training, queue))
    process.start()
    return process, queue


def total(client, rows):
    """The sum of all first weights."""
    out = np.empty((65536, DIM), "float32")
    result = 0.0
    for first in range(0, rows, 65536):
        keys = np.arange(first, min(first + 65536, rows), dtype="uint64")
        client.pull_sparse(0, keys, out[: len(keys)], False)
        result += float(out[: len(keys), 0].sum(dtype="float64"))
    return result


def rate(times, start, end):
    """Pushes per second between two times."""
    return sum(start <= t < end for t in times) / max(end - start, 1e-9)


def modes(directory, rows, seconds):
    """Keys pushed per second in each mode."""
    print(f"pushes of {BATCH} keys, 2 threads of one worker, {rows:,} rows:")
    for mode in ("none", "snapshot", "log"):
        server = Server("adagrad", durability=mode, directory=os.path.join(directory, mode))
        fill(server.client(), rows)
        process, queue = push_for(server.port, rows, seconds)
        times = queue.get()
        process.join()
        middle = rate(times, times[0] + 1, times[-1])
        print(f"  {mode:9} {middle * BATCH / 1e6:6.2f} M keys/s", flush=True)
        server.kill()
        shutil.rmtree(os.path.join(directory, mode), ignore_errors=True)


def snapshots(directory, rows, seconds, mode, training):
    """Snapshots under load, then kill -9 and recovery."""
    where = os.path.join(directory, "snapshots")
    server = Server("sum", durability=mode, directory=where, snapshot_every=int(seconds))
    client = server.client()
    fill(client, rows)
    before = server.memory()
    server.reset_peak()
    process, queue = push_for(server.port, rows, 4 * seconds, training)
    windows, sizes, count = [], [], server.stats()["snapshots"]
    while process.is_alive() and queue.empty():
        s = server.stats()
        if s["snapshots"] != count:
            count = s["snapshots"]
            windows.append((time.monotonic() - s["snapshot_ms"] / 1000, time.monotonic()))
            sizes.append((s["snapshot_bytes"], s["snapshot_ms"]))
        time.sleep(0.05)
    times = queue.get()
    process.join()
    peak = server.memory("VmHWM")
    inside = [rate(times, a, b) for a, b in windows if a > times[0] + 1 and b < times[-1]]
    quiet, at = [], times[0] + 1
    for a, b in windows + [(times[-1], times[-1])]:
        if a - at > 1:
            quiet.append(rate(times, at, a))
        at = b
    load = "a network trained by 2 threads" if training else "pushes alone, 2 threads"
    print(f"{mode} mode, snapshots while there is {load}, {rows:,} rows:")
    for size, ms in sizes:
        print(f"  {size / 1e6:7.0f} MB in {ms / 1000:5.2f} s: {size / 1e3 / max(ms, 1):5.0f} MB/s")
    if inside and quiet:
        a, b = np.mean(inside), np.mean(quiet)
        print(
            f"  pushes: {b * BATCH / 1e6:.2f} M keys/s, while one is written "
            f"{a * BATCH / 1e6:.2f} ({100 * (1 - a / b):+.0f} % slower)"
        )
    print(f"  memory: {before / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB ({peak / before:.3f} x)")
    if mode == "log":
        expected = rows + len(times) * BATCH
        server.kill()
        again = Server("sum", durability=mode, directory=where)
        s = again.stats()
        got = total(again.client(), rows)
        print(
            f"  kill -9, recovery: {s['recovery_ms'] / 1000:.2f} s for {s['recovered_rows']:,} rows and "
            f"{s['replayed_records']} records; sum {got:.0f}, expected {expected}"
        )
        # Pushes that nobody acknowledged may be there too: one for each thread at most.
        assert expected <= got <= expected + 2 * BATCH, (got, expected)
        server = again
    else:
        got = total(client, rows)
        assert got == rows + len(times) * BATCH, (got, rows + len(times) * BATCH)
    start = time.monotonic()
    model = os.path.join(directory, "model")
    server.client().save(model, 0)
    spent = time.monotonic() - start
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(model) for f in fs)
    print(f"  save: {size / 1e6:.0f} MB in {spent:.2f} s ({size / 1e6 / spent:.0f} MB/s)")
    server.kill()
    shutil.rmtree(model)
    shutil.rmtree(where)


def main():
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=10e6)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--directory", help="on the disk to measure (default: the temporary one)")
    parser.add_argument("--part", choices=["modes", "training", "pushes"], help="only this one")
    parser.add_argument("--mode", choices=["snapshot", "log"], help="only this one")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="argosy-durability-", dir=options.directory)
    rows = int(options.rows)
    if options.part in (None, "modes"):
        modes(directory, min(rows, 1_000_000), options.seconds)
    for part in ("training", "pushes"):
        for mode in ("snapshot", "log"):
            if options.part in (None, part) and options.mode in (None, mode):
                snapshots(directory, rows, options.seconds, mode, part == "training")
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
