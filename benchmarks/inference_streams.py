"""Several calls of trained models, one after the other, beside ONNX Runtime.

    python benchmarks/inference_streams.py --peer PYTHON --silero silero_vad.onnx
    python benchmarks/inference_streams.py --peer PYTHON --det det.onnx --rec rec.onnx

`--silero`: a voice detector over a stream of pieces of sound, whose state goes from each call to the
next. `--det` and `--rec`: ten pages of several sizes, on each of which the first model finds lines
of text and the second reads them in batches of up to six, as wide as the widest; which lines there
are is drawn, so that both frameworks do the same. Otherwise as benchmarks/inference.py.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from inference import HERE, TOLERANCE, error_of, take_turns

WORKER = r"""
import json, os, sys, time
import numpy as np
kind, threads, job, inputs, outputs = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), *sys.argv[4:]
arrays = np.load(inputs)
calls = [(model, {name.split("/", 1)[1]: arrays[name] for name in arrays if name.startswith(f"{i}/")})
         for i, model in enumerate(job["calls"])]
clock = time.process_time if os.environ.get("PROCESSOR_TIME") else time.perf_counter

def argosy_model(path):
    from argosy import inference
    config = inference.Config(path)
    config.set_cpu_math_library_num_threads(threads)
    predictor = inference.create_predictor(config)
    inputs = {name: predictor.get_input_handle(name) for name in predictor.get_input_names()}
    outputs = {name: predictor.get_output_handle(name) for name in predictor.get_output_names()}
    def run(feeds):
        for name, array in feeds.items():
            inputs[name].copy_from_cpu(array)
        predictor.run()
        return {name: handle.copy_to_cpu() for name, handle in outputs.items()}
    return run

def onnxruntime_model(path):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(None, feeds)))

models = [globals()[kind + "_model"](path) for path in job["models"]]
def run():
    results, kept = [], {}
    for model, feeds in calls:
        made = models[model]({**feeds, **kept})
        kept = {to: made[name] for name, to in job["kept"].items()}
        results += [array for name, array in made.items() if name not in job["kept"]]
    return results
np.savez(outputs, *run())
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        begin = clock()
        run()
        times.append(clock() - begin)
    print(json.dumps(times), flush=True)
"""


class Worker:
    """A process that has loaded the models of a job in one framework."""

    def __init__(self, python, kind, job, threads, inputs, outputs):
        env = {**os.environ, "ARGOSY_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        env["PYTHONPATH"] = str(HERE.parent / "python") if kind == "argosy" else ""
        arguments = [kind, str(threads), json.dumps(job), str(inputs), str(outputs)]
        self.process = subprocess.Popen(
            [python, "-c", WORKER, *arguments], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{kind} has failed")
        self.outputs = list(np.load(outputs).values())

    def times(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def silero(path, pieces):
    """A stream of 32 ms pieces at 16 kHz, each with the end of the one before."""
    rate, piece, before = 16000, 512, 64
    random = np.random.RandomState(0)
    time = np.arange(before + pieces * piece) / rate
    voice = np.sin(2 * np.pi * 140 * time) * (np.sin(2 * np.pi * 3 * time) > 0)
    sound = (0.3 * voice + 0.01 * random.randn(len(time))).astype("float32")
    feeds = []
    for i in range(pieces):
        part = sound[None, i * piece : (i + 1) * piece + before]
        feeds.append({"input": part, "sr": np.int64(rate)})
    feeds[0]["state"] = np.zeros((2, 1, 128), "float32")
    return {"models": [path], "calls": [0] * pieces, "kept": {"stateN": "state"}}, feeds


def pages(det, rec, count):
    """Pages, and the lines on each, by how wide they are at a height of 48."""
    random = np.random.RandomState(0)
    calls, feeds = [], []
    for _ in range(count):
        height, width = (int(size) * 32 for size in random.randint(15, 31, 2))
        calls.append(0)
        feeds.append({"x": random.uniform(-1, 1, (1, 3, height, width)).astype("float32")})
        lines = sorted(int(w) * 8 for w in random.randint(12, 60, random.randint(4, 15)))
        for begin in range(0, len(lines), 6):
            batch = lines[begin : begin + 6]
            calls.append(1)
            shape = (len(batch), 3, 48, batch[-1])
            feeds.append({"x": random.uniform(-1, 1, shape).astype("float32")})
    return {"models": [det, rec], "calls": calls, "kept": {}}, feeds


def compare(name, job, feeds, threads, folder, peer, seconds, unit):
    """Prints a row; times are of one of `unit`."""
    inputs = folder / "calls.npz"
    arrays = {f"{i}/{key}": value for i, feed in enumerate(feeds) for key, value in feed.items()}
    np.savez(inputs, **arrays)
    workers = []
    try:
        for python, kind in ((sys.executable, "argosy"), (peer, "onnxruntime")):
            workers.append(Worker(python, kind, job, threads, inputs, folder / f"{kind}.npz"))
        error = error_of(workers[0].outputs, workers[1].outputs)
        if error > TOLERANCE:
            raise SystemExit(f"{name}: outputs differ by {error:.1e} of their size")
        times = take_turns(*workers, seconds)
    finally:
        for worker in workers:
            worker.close()
    mine, other, best, other_best = times
    print(
        f"{name:13} {threads:7} {mine / unit * 1e3:10.3f} {other / unit * 1e3:8.3f}"
        f" {mine / other:6.2f} {best / other_best:7.2f} {0.9:6.2f} {error:8.1e}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, help="an interpreter with onnxruntime")
    parser.add_argument("--silero", help="the voice detector's file")
    parser.add_argument("--det", help="the file of the model that finds lines")
    parser.add_argument("--rec", help="the file of the model that reads them")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--pieces", type=int, default=100)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("               threads  argosy ms   ort ms  ratio  (best)   goal    error")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for threads in args.threads:
            rest = threads, folder, args.peer, args.seconds
            if args.silero:
                compare("silero piece", *silero(args.silero, args.pieces), *rest, args.pieces)
            if args.det and args.rec:
                compare("OCR page", *pages(args.det, args.rec, args.pages), *rest, args.pages)


if __name__ == "__main__":
    main()
