"""bfloat16 beside float32: products, convolutions, training steps, memory, losses.

    python benchmarks/bf16.py [products] [convolutions] [elementwise] [steps] [memory] [losses]
                              [--threads N] [--data FOLDER]

Every row computes the same in both, compares the results, then times them in turns; a ratio is the
float32 time over the bfloat16 time (of steps the other way round), the median of the rounds. Without
names all parts run. Only ratios of one run mean anything.

* products, convolutions: operands in the dtype, forward and gradients.
* elementwise: calls on 16,384 elements (first-level caches), 262,144 (second) and 8 million (none).
* steps: captured training steps under auto_cast of level O1 and O2 (decorated), and in float32.
* memory: the peak of a captured step above what is there before it, O2 against float32; and what an
  eager forward pass keeps for the gradients.
* losses: 200 steps of three models from the same start. The last column is how far the mean loss of
  the last 20 steps is from float32's.
"""

import argparse
import gzip
import os
import statistics
import sys
import time

import numpy as np

import argosy as p
from argosy import _core, amp, nn

GOALS = {"products": 1.6, "convolutions": 1.5, "cached": 1 / 1.1, "uncached": 1.0,
         "step": 1.0, "small step": 1.1, "memory": 0.55}  # fmt: skip
FAILED = []


def judge(row, ratio, good, text):
    if not good:
        FAILED.append(row)
    print(f"{row:46} {ratio:8.3f}  {'ok' if good else 'MISSED'}  {text}", flush=True)


def best_of(run, seconds=0.15):
    """The least time of a call, called for this long."""
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or least == float("inf"):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
    return least


def ratio_of(one, other, rounds=7):
    """(median of one/other, times of each)"""
    one(), other()
    times = [(best_of(one), best_of(other)) for _ in range(rounds)]
    return statistics.median(a / b for a, b in times), *(min(t) for t in zip(*times))


def close(low, full, bound):
    a, b = (np.asarray(t.astype("float32").numpy()) for t in (low, full))
    return float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)) < bound


def compare(part, name, make, calls, goal=None):
    """Times calls(operands) on float32 operands and on the same in bfloat16."""
    full = make()
    low = [t.astype("bfloat16") for t in full]
    results = [(calls(full), calls(low))]
    for a, b in zip(*results[0]):
        if not close(b, a, 0.05):
            raise SystemExit(f"{name}: results differ")
    ratio, slow, fast = ratio_of(lambda: calls(full), lambda: calls(low))
    text = f"float32 {slow * 1e6:9.0f} us  bfloat16 {fast * 1e6:9.0f} us"
    judge(f"{part} {name}", ratio, ratio >= GOALS[goal or part], text)


def products():
    for m, n, k in [(2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512), (256, 1024, 1024),
                    (128, 3072, 768), (4096, 256, 256)]:  # fmt: skip
        make = lambda: [p.randn([m, k]), p.randn([k, n]), p.randn([m, n])]  # noqa: B023, E731
        compare("products", f"{m} x {k} x {n}", make, lambda t: [t[0] @ t[1]])
        compare(
            "products",
            f"gradients of {m} x {k} x {n}",
            make,
            lambda t: [p.matmul(t[2], t[1], False, True), p.matmul(t[0], t[2], True, False)],
        )


def convolutions():
    for n, c, size, out in [
        (16, 64, 56, 64),
        (16, 128, 28, 128),
        (8, 256, 14, 256),
        (32, 32, 28, 64),
    ]:
        make = lambda: [  # noqa: E731
            p.randn([n, c, size, size]), p.randn([out, c, 3, 3]), p.randn([n, out, size, size])]  # noqa: B023  # fmt: skip

        def calls(t):
            x, w = t[0].detach(), t[1].detach()
            x.stop_gradient = w.stop_gradient = False
            y = nn.functional.conv2d(x, w, padding=1)
            return [y, *p.grad(y, [x, w], t[2])]

        compare("convolutions", f"3x3 [{n}, {c}, {size}, {size}] to {out}", make, calls)


ELEMENTWISE = {
    "add": lambda t: [t[0] + t[1]],
    "multiply": lambda t: [t[0] * t[1]],
    "scale": lambda t: [p.scale(t[0], 1.7, 0.5)],
    "relu": lambda t: [nn.functional.relu(t[0])],
    "maximum": lambda t: [p.maximum(t[0], t[1])],
    "gelu": lambda t: [nn.functional.gelu(t[0])],
    "silu": lambda t: [nn.functional.silu(t[0])],
    "sigmoid": lambda t: [nn.functional.sigmoid(t[0])],
    "where": lambda t: [p.where(t[0] > t[1], t[0], t[1])],
    "add row": lambda t: [t[0].reshape([-1, 1024]) + t[1][:1024]],
    "times number": lambda t: [t[0] * 1.3],
}


def elementwise():
    for n in (1 << 14, 1 << 18, 1 << 23):
        make = lambda: [p.randn([n]), p.randn([n])]  # noqa: B023, E731
        for name, calls in ELEMENTWISE.items():
            compare(
                "elementwise", f"{name} {n}", make, calls, "cached" if n < 1 << 20 else "uncached"
            )


class Block(nn.Layer):
    def __init__(self, c):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2D(c, c, 3, padding=1, bias_attr=False), nn.BatchNorm2D(c)
        self.conv2, self.norm2 = nn.Conv2D(c, c, 3, padding=1, bias_attr=False), nn.BatchNorm2D(c)

    def forward(self, x):
        y = nn.functional.relu(self.norm1(self.conv1(x)))
        return nn.functional.relu(x + self.norm2(self.conv2(y)))


class Words(nn.Layer):
    """A Transformer that says what comes next."""

    def __init__(self, words, size, layers, heads=4):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, dropout=0.0, activation="relu")
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(size, words)

    def forward(self, ids):
        return self.head(self.encoder(self.embedding(ids)))


def mlp(width, layers=3, inputs=784):
    sizes = [inputs] + [width] * (layers - 1)
    parts = [v for a, b in zip(sizes, sizes[1:]) for v in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*parts, nn.Linear(width, 10))


def convnet(c, blocks):
    return nn.Sequential(
        nn.Conv2D(1, c, 3, padding=1), nn.BatchNorm2D(c), nn.ReLU(), nn.MaxPool2D(2),
        *[Block(c) for _ in range(blocks)],
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(c, 10),
    )  # fmt: skip


def loss_of(logits, label):
    logits = logits.astype("float32")
    return nn.functional.cross_entropy(logits.reshape([-1, logits.shape[-1]]), label.reshape([-1]))


def picture_batch(n):
    return [p.randn([n, 1, 28, 28]), p.randint(0, 10, [n])]


MODELS = {
    "mlp 256 at 64": (lambda: mlp(256), lambda: [p.randn([64, 784]), p.randint(0, 10, [64])]),
    "mlp 1024 at 256": (lambda: mlp(1024), lambda: [p.randn([256, 784]), p.randint(0, 10, [256])]),
    "mlp 2048 at 512": (lambda: mlp(2048), lambda: [p.randn([512, 784]), p.randint(0, 10, [512])]),
    "convnet 16, 1 block at 8": (lambda: convnet(16, 1), lambda: picture_batch(8)),
    "convnet 64, 4 blocks at 32": (lambda: convnet(64, 4), lambda: picture_batch(32)),
    "transformer 64 x 2 at 4 x 32": (
        lambda: Words(256, 64, 2),
        lambda: [p.randint(0, 256, [4, 32]), p.randint(0, 256, [4, 32])],
    ),
    "transformer 256 x 4 at 8 x 128": (
        lambda: Words(1000, 256, 4),
        lambda: [p.randint(0, 1000, [8, 128]), p.randint(0, 1000, [8, 128])],
    ),
}


def trainer(make, level, rate=1e-3, white=None):
    """(model, a function of a batch that trains on it and gives the loss)"""
    p.seed(7)
    model = make()
    optimizer = p.optimizer.Adam(rate, parameters=model.parameters())
    if level == "O2":
        amp.decorate(model, optimizer, level="O2", dtype="bfloat16")
    step = p.jit.compile_step(model, loss_of, optimizer)

    def run(batch):
        with amp.auto_cast(level != "O0", white, level=level, dtype="bfloat16"):
            return step(*batch)

    return model, run


def steps():
    for name, (make, batch) in MODELS.items():
        data = batch()
        runs = {level: trainer(make, level)[1] for level in ("O0", "O1", "O2")}
        first = {level: float(run(data)) for level, run in runs.items()}
        for level in ("O1", "O2"):
            if abs(first[level] - first["O0"]) > 0.03 * abs(first["O0"]):
                raise SystemExit(f"{name} {level}: losses differ: {first}")
            ratio, low, full = ratio_of(lambda: runs[level](data), lambda: runs["O0"](data))  # noqa: B023
            goal = GOALS["step" if full >= 0.01 else "small step"]
            text = f"float32 {full * 1e3:8.2f} ms  bfloat16 {low * 1e3:8.2f} ms"
            judge(f"step {name} {level}", ratio, ratio <= goal, text)


def memory():
    for name, (make, batch) in MODELS.items():
        data, peaks = batch(), {}
        for level in ("O0", "O2"):
            # Embeddings stay float32 by Paddle's lists, and so would all that is added to them.
            _, run = trainer(make, level, white={"embedding"})
            run(data), run(data)
            before = p.device.memory_allocated()
            p.device.reset_max_memory_allocated()
            run(data)
            peaks[level] = p.device.max_memory_allocated() - before
        ratio = peaks["O2"] / peaks["O0"]
        text = f"float32 {peaks['O0'] / 2**20:8.2f} MiB  bfloat16 {peaks['O2'] / 2**20:8.2f} MiB"
        judge(f"memory {name}", ratio, ratio <= GOALS["memory"], text)
    eager_memory()


def kept_bytes(make, level, batch):
    """What an eager forward pass with its loss keeps."""
    p.seed(7)
    model = make()
    if level == "O2":
        amp.decorate(model, level="O2", dtype="bfloat16")
    x, label = batch
    before = p.device.memory_allocated()
    with amp.auto_cast(level != "O0", {"embedding"}, level=level, dtype="bfloat16"):
        loss = loss_of(model(x), label)
    kept = p.device.memory_allocated() - before
    loss.backward()
    return kept


def eager_memory():
    for name, (make, batch) in MODELS.items():
        data = batch()
        full, low = (kept_bytes(make, level, data) for level in ("O0", "O2"))
        text = f"float32 {full / 2**20:8.2f} MiB  bfloat16 {low / 2**20:8.2f} MiB"
        judge(f"kept by eager {name}", low / full, low / full <= GOALS["memory"], text)


def pictures(root):
    """Images and labels of an MNIST-like set, or of random numbers where there is none."""

    def read(name):
        with gzip.open(os.path.join(root, name)) as file:
            return np.frombuffer(file.read(), "uint8")

    try:
        x = read("train-images-idx3-ubyte.gz")[16:].reshape(-1, 1, 28, 28)
        return x.astype("float32") / 127.5 - 1, read("train-labels-idx1-ubyte.gz")[8:].astype(
            "int64"
        )
    except OSError:
        print(f"no data set in {root}: random pictures")
        rng = np.random.RandomState(0)
        return rng.randn(4096, 1, 28, 28).astype("float32"), rng.randint(0, 10, 4096)


def losses(root):
    x, y = pictures(root)
    text = np.frombuffer(open(__file__, "rb").read(), "uint8").astype("int64")

    def picture(i, flat):
        at = slice(i * 64 % 4096, i * 64 % 4096 + 64)
        return [p.to_tensor(x[at].reshape(64, -1) if flat else x[at]), p.to_tensor(y[at])]

    def words(i):
        at = [(i * 8 + r) * 97 % (len(text) - 65) for r in range(8)]
        rows = np.stack([text[a : a + 65] for a in at])
        return [p.to_tensor(rows[:, :-1]), p.to_tensor(rows[:, 1:])]

    models = {
        "mlp": (lambda: mlp(256), lambda i: picture(i, True)),
        "convnet": (lambda: convnet(16, 2), lambda i: picture(i, False)),
        "transformer": (lambda: Words(256, 64, 2), words),
    }
    for name, (make, batch) in models.items():
        found = {}
        for level in ("O0", "O1", "O2"):
            _, run = trainer(make, level)
            found[level] = np.array([float(run(batch(i))) for i in range(200)])
        for level in ("O1", "O2"):
            apart = abs(found[level][-20:].mean() / found["O0"][-20:].mean() - 1)
            worst = np.abs(found[level] / found["O0"] - 1).max()
            text_ = f"loss {found['O0'][0]:.3f} to {found['O0'][-20:].mean():.4f}, worst step {worst:.3f}"
            judge(f"losses {name} {level}", apart, apart <= 0.01, text_)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    args = parser.parse_args()
    if args.threads:
        _core.set_num_threads(args.threads)
    parts = {"products": products, "convolutions": convolutions, "elementwise": elementwise, "steps": steps, "memory": memory,
             "losses": lambda: losses(args.data)}  # fmt: skip
    for name in args.parts or parts:
        parts[name]()
    print(f"{len(FAILED)} rows missed their goal" + "".join(f"\n  {row}" for row in FAILED))
    return bool(FAILED)


if __name__ == "__main__":
    sys.exit(main())
