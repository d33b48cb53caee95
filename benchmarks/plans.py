"""What plans cost and save: compiling, walking, loops, several threads, memory.

    python benchmarks/plans.py [NAME]... [--seconds 0.3]

Prints one line for each measurement; nothing is compared with other frameworks.
"""

import argparse
import time

import numpy as np

import argosy
from argosy import _core, nn
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import while_loop

SERIAL, AUTOMATIC, ALWAYS = 0, 1, 2
SECONDS = 0.3


def best(f):
    """Seconds of the fastest of the calls that fit into SECONDS."""
    f()
    f()
    fastest, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        f()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


class Planned:
    """A recorded Program, its feeds and fetches."""

    def __init__(self, build, shapes, dtypes=None, values=None):
        with Recorder() as r:
            symbols = [
                r.input(list(s), d) for s, d in zip(shapes, dtypes or ["float32"] * len(shapes))
            ]
            self.fetches = build(r, *symbols)
        rng = np.random.default_rng(0)
        self.feeds = values or [
            argosy.to_tensor(
                rng.integers(0, 2, s) if d.startswith("int") else rng.standard_normal(s), d
            )
            for s, d in zip(shapes, dtypes or ["float32"] * len(shapes))
        ]
        self.program = r._program

    def executor(self, mode=AUTOMATIC):
        e = _core.executor_new(8)
        _core.executor_parallel(e, mode)
        return e

    def report(self, mode=AUTOMATIC):
        return _core.executor_plan(
            self.executor(mode), self.program, self.feeds, self.fetches, None
        )[0]

    def seconds(self, mode=AUTOMATIC):
        e = self.executor(mode)
        return best(lambda: _core.executor_run(e, self.program, self.feeds, self.fetches, None))


def training(model, loss, shapes, dtypes, optimizer="momentum"):
    """A whole step with the update of the parameters."""
    parameters = [p for p in model.parameters() if not p.stop_gradient]
    velocities = [argosy.zeros_like(p) for p in parameters]
    for v in velocities:
        v.persistable = True

    def build(r, *symbols):
        value = loss(model, *symbols)
        grads = r.gradients([value], parameters)
        live = [(p, g, v) for p, g, v in zip(parameters, grads, velocities) if g is not None]
        ps, gs, vs = map(list, zip(*live))
        n = len(ps)
        _core.ops.momentum_(ps, gs, vs, [], 0.01, [1.0] * n, [0.0] * n, [0.0] * n, 0.9, False, 1.0)
        return [value]

    return Planned(build, shapes, dtypes)


def cross_entropy(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


def resnet(batch=8, size=224):
    model = argosy.vision.models.resnet50(num_classes=1000)
    return training(
        model, cross_entropy, [(batch, 3, size, size), (batch, 1)], ["float32", "int64"]
    )


class Encoder(nn.Layer):
    def __init__(self, words=1000, width=256, layers=6):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x))).reshape([-1, self.head.weight.shape[1]])


class Language(nn.Layer):
    def __init__(self, words=1000, width=256):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0]).reshape([-1, self.head.weight.shape[1]])


def words(model, x, y):
    return nn.functional.cross_entropy(model(x), y.reshape([-1, 1]))


def transformer():
    return training(Encoder(), words, [(16, 128), (16, 128)], ["int64", "int64"])


def lstm():
    return training(Language(), words, [(32, 100), (32, 100)], ["int64", "int64"])


def show_plan(name, planned):
    r = planned.report()
    ratio = r["arena"] / max(r["lower_bound"], 1)
    print(
        f"{name}: compiled in {r['seconds']:.3f} s, {r['steps']} steps ({r['dispatched']} by"
        f" dispatch, {r['views']} views), {r['in_place']} in place, {r['copies']} copies, arena"
        f" {r['arena'] / 2**20:.1f} MiB = {ratio:.3f} x lower bound"
    )


def bench_memory():
    show_plan("ResNet-50, batch 8 of 224x224", resnet())
    show_plan("Transformer, 6 layers, 16x128", transformer())
    show_plan("LSTM, 32x100", lstm())


def bench_walk():
    """Overhead of a step: 2,000 scales of one number, less the kernels called directly."""

    def build(count):
        def chain(r, x):
            for _ in range(count):
                x = argosy.scale(x, 1.0)
            return [x]

        return chain

    few, many = Planned(build(100), [(4,)]), Planned(build(2100), [(4,)])
    each = (many.seconds(SERIAL) - few.seconds(SERIAL)) / 2000
    print(f"serial walk: {each * 1e9:.0f} ns a step, the kernel of 4 numbers included")


def bench_loop():
    def build(r, x):
        def body(i, a):
            return i + 1, a * 1.0

        n = argosy.full([], 10000, "int64")
        return [while_loop(lambda i, a: i < n, body, [argosy.full([], 0, "int64"), x])[1]]

    seconds = Planned(build, [(4,)]).seconds(SERIAL)
    print(f"loop of 10,000 rounds of 3 ops: {seconds / 30000 * 1e9:.0f} ns an op")


def bench_parallel():
    def branches(count, length=60, n=12000):
        def build(r, x):
            ends = []
            for k in range(count):
                y = x * float(k + 1)
                for _ in range(length):
                    y = argosy.tanh(y)
                ends.append(y)
            total = ends[0]
            for y in ends[1:]:
                total = total + y
            return [total]

        return Planned(build, [(n,)])

    def rounds(count, times=40):
        """The same in the body of a loop, a few ops in each round."""

        def build(r, x):
            def body(i, *ys):
                for _ in range(8):
                    ys = [argosy.tanh(y) for y in ys]
                return i + 1, *ys

            n, i = argosy.full([], times, "int64"), argosy.full([], 0, "int64")
            start = [x * float(k + 1) for k in range(count)]
            return list(while_loop(lambda i, *ys: i < n, body, [i, *start]))[1:]

        return Planned(build, [(12000,)])

    def show(name, p):
        threads = _core.num_threads()
        _core.set_num_threads(1)
        one = p.seconds(SERIAL)
        _core.set_num_threads(threads)
        auto = p.seconds(AUTOMATIC)
        print(
            f"{name}: one thread in order {one * 1e6:.0f} us, automatic {auto * 1e6:.0f} us:"
            f" {one / auto:.2f} x ({p.report()['parallel']} steps in parallel)"
        )

    for n in (1000, 3000, 12000):
        for count in (1, 2, 4):
            show(f"{count} branch(es) of 60 ops on {n} numbers", branches(count, n=n))
    show("2 branches in a loop", rounds(2))


BENCHES = {
    "memory": bench_memory,
    "walk": bench_walk,
    "loop": bench_loop,
    "parallel": bench_parallel,
}


def main():
    global SECONDS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHES], default=[])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments = parser.parse_args()
    SECONDS = arguments.seconds
    for name in arguments.names or BENCHES:
        BENCHES[name]()


if __name__ == "__main__":
    main()
