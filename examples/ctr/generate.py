"""Click logs of the shape of Criteo's, with a known answer.

26 slots of one id each with Criteo's published numbers of values, 13 numbers, a click; ids follow
Zipf's law. Whether somebody clicks is drawn from a planted model: weights of ids, a factorization
machine over them and a small network over the numbers, all of them functions of a seed. Nobody can
rank better than that model, so its AUC, which is printed, is the best there is.

    python examples/ctr/generate.py --out data --lines 200000 --files 4 --rows 1000001

Lines are MultiSlot text, what QueueDataset and InMemoryDataset read: for each variable the number of
its values, then these. Ids 1 .. rows - 1 are hashes of (slot, value); 0 is left for padding.
"""

import argparse
import math
import os

import numpy as np

# Values of C1 .. C26 in the Criteo Kaggle data.
CARDINALITIES = [
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
    5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572,
]  # fmt: skip
SLOTS, NUMBERS = len(CARDINALITIES), 13
RANK = 4  # of the planted factorization machine


def mixed(x, salt):
    """64 well mixed bits of each of x (uint64)."""
    x = x + np.uint64(salt * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def normal(x, salt):
    """A number for each of x, the same in every run, of mean 0 and deviation 1 (nearly normal)."""
    bits = mixed(x, salt)
    parts = [(bits >> np.uint64(16 * i)) & np.uint64(0xFFFF) for i in range(4)]
    return (sum(p.astype("float32") for p in parts) / 65536 - 2) * math.sqrt(3)


class Generator:
    """Batches of the planted model.

    Args:
        rows (int): Ids are 0 < id < rows, of all slots together.
        scale (float): Factor on the numbers of values of slots.
        zipf (float): Exponent: the n-th most frequent value has a share of n ** -zipf.
        seed (int): Of the model and of what is drawn.
    """

    def __init__(self, rows=1000001, scale=1.0, zipf=1.05, seed=0):
        self.rows, self.zipf, self.seed = rows, zipf, seed
        self.sizes = [max(2, int(c * scale)) for c in CARDINALITIES]
        rng = np.random.default_rng(seed)
        self.first = rng.normal(0, 1, (NUMBERS + RANK, 16)).astype("float32") / 4
        self.second = rng.normal(0, 1, 16).astype("float32")

    def values(self, rng, count):
        """Which value each slot has, [count, slots]."""
        out = np.empty((count, SLOTS), "uint64")
        a = 1 - self.zipf
        for s, n in enumerate(self.sizes):
            u = rng.random(count)
            # The inverse of the integral of x ** -zipf over [1, n + 1).
            x = np.exp(u * math.log(n + 1)) if a == 0 else (1 + u * ((n + 1) ** a - 1)) ** (1 / a)
            out[:, s] = np.minimum(x.astype("uint64") - 1, n - 1)
        return out

    def batch(self, rng, count):
        """ids int64 [count, 26], numbers float32 [count, 13], probability of a click [count]."""
        keys = self.values(rng, count) + (np.arange(SLOTS, dtype="uint64") << np.uint64(32))
        salt = self.seed * 1000
        ids = (mixed(keys, salt + 1) % np.uint64(self.rows - 1) + np.uint64(1)).astype("int64")
        numbers = rng.exponential(1.0, (count, NUMBERS)).astype("float32")
        numbers = np.round(np.log1p(numbers), 3)
        linear = normal(keys, salt + 2).sum(1) * 0.28
        factors = np.stack([normal(keys, salt + 3 + k) for k in range(RANK)], 2) * 0.22
        pooled = factors.sum(1)
        pairs = ((pooled**2).sum(1) - (factors**2).sum((1, 2))) * 0.5
        hidden = np.tanh(np.concatenate([numbers, pooled], 1) @ self.first)
        score = linear + pairs + hidden @ self.second * 0.6 - 2.6
        return ids, numbers, 1 / (1 + np.exp(-score))


def auc(score, label):
    """Share of pairs of a click and no click that the score puts in order; ties count half."""
    order = np.argsort(score, kind="stable")
    score, label = np.asarray(score)[order], np.asarray(label)[order].astype(bool)
    _, first, count = np.unique(score, return_index=True, return_counts=True)
    rank = np.repeat(first + (count - 1) / 2, count)
    ones = int(label.sum())
    zeros = len(label) - ones
    return (rank[label].sum() - ones * (ones - 1) / 2) / (ones * zeros)


def bayes_auc(probability):
    """The AUC that is expected of the true probabilities."""
    p = np.sort(probability.astype("float64"))
    below = np.cumsum(1 - p) - (1 - p)
    return float((p * (below + (1 - p) / 2)).sum() / (p.sum() * (1 - p).sum()))


def write(out, lines, files=1, prefix="part", batch=8192, stream=0, **model):
    """Writes `lines` lines into `files` files of the folder `out`. Another `stream` of the same model
    is other data, for a test.

    Returns:
        tuple: paths, and the best AUC there is.
    """
    generator = Generator(**model)
    os.makedirs(out, exist_ok=True)
    form = "1 %d " * SLOTS + f"{NUMBERS}" + " %g" * NUMBERS + " 1 %d\n"
    paths, chances = [], []
    for i in range(files):
        rng = np.random.default_rng([generator.seed, stream, i])
        paths.append(os.path.join(out, f"{prefix}-{i:05d}"))
        rest = lines * (i + 1) // files - lines * i // files
        with open(paths[-1], "w") as f:
            while rest:
                count = min(batch, rest)
                ids, numbers, chance = generator.batch(rng, count)
                click = (rng.random(count) < chance).astype("int64")
                rows = zip(
                    ids.tolist(), numbers.astype("float64").round(3).tolist(), click.tolist()
                )
                f.write("".join([form % (*a, *b, c) for a, b, c in rows]))
                chances.append(chance)
                rest -= count
    return paths, bayes_auc(np.concatenate(chances))


def behaviour(rng, items, kinds):
    """History, item offered, number, and the chance of a click."""
    likes = rng.integers(0, kinds, 3)
    size = int(rng.integers(1, 21))
    kind = np.where(rng.random(size) < 0.8, rng.choice(likes, size), rng.integers(0, kinds, size))
    history = kind + kinds * rng.integers(0, items // kinds, size)
    wanted = rng.choice(kind) if rng.random() < 0.5 else rng.integers(0, kinds)
    item = wanted + kinds * rng.integers(0, items // kinds)
    number = float(rng.normal())
    fit = min((kind == wanted).sum(), 5)
    return history + 1, item + 1, number, 1 / (1 + math.exp(2.5 - 1.2 * fit - 0.5 * number))


def write_behaviour(out, lines, files=4, items=200, kinds=10, stream=0, seed=0):
    """Writes files for DIN: what somebody clicked (a slot of any length), the item offered, one
    number, a click. Items are of kinds; who clicked more items of a kind likes it more.

    Returns:
        tuple: paths, and the best AUC there is.
    """
    os.makedirs(out, exist_ok=True)
    rng = np.random.default_rng([seed, stream, 77])
    paths, chances = [], []
    for i in range(files):
        paths.append(os.path.join(out, f"behaviour{stream}-{i}"))
        with open(paths[-1], "w") as f:
            for _ in range(lines * (i + 1) // files - lines * i // files):
                history, item, number, chance = behaviour(rng, items, kinds)
                chances.append(chance)
                ids = " ".join(map(str, history))
                click = int(rng.random() < chance)
                f.write(f"{len(history)} {ids} 1 {item} 1 {number:.4g} 1 {click}\n")
    return paths, bayes_auc(np.array(chances))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="ctr-data")
    parser.add_argument("--lines", type=int, default=200000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--rows", type=int, default=1000001)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--zipf", type=float, default=1.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stream", type=int, default=0, help="other data of the same model")
    given = vars(parser.parse_args())
    paths, best = write(**given)
    size = sum(map(os.path.getsize, paths))
    print(f"{given['lines']} lines, {size / 1e6:.1f} MB in {len(paths)} files of {given['out']}")
    print(f"AUC of the planted model: {best:.4f}")


if __name__ == "__main__":
    main()
