"""Word vectors by skip-gram with negative sampling, trained by several threads without locks.

python examples/word2vec/train.py                 # a corpus made on the spot
python examples/word2vec/train.py --text FILE     # a text file, a sentence a line
"""

import argparse
import pathlib
import sys
import threading
import time

import numpy as np

import argosy as paddle
from argosy.incubate import skip_gram, skip_gram_noise

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import corpus  # noqa: E402


def read_text(path, at_least):
    """Words in falling order of frequency, and sentences as arrays of their numbers."""
    lines = [line.lower().split() for line in open(path, encoding="utf-8")]
    counts = {}
    for line in lines:
        for word in line:
            counts[word] = counts.get(word, 0) + 1
    words = sorted((w for w in counts if counts[w] >= at_least), key=lambda w: (-counts[w], w))
    number = {word: i for i, word in enumerate(words)}
    sentences = [[number[w] for w in line if w in number] for line in lines]
    return words, [np.array(s, "int64") for s in sentences if len(s) > 1]


class Trainer:
    """Tables of vectors, and threads that train them on sentences."""

    def __init__(self, counts, dim=100, window=5, negatives=5, sample=1e-3, seed=0):
        self.window, self.negatives, self.seed = window, negatives, seed
        random = np.random.default_rng(seed)
        start = (2 * random.random((len(counts), dim), "float32") - 1) / dim
        self.words = paddle.to_tensor(start)
        self.contexts = paddle.zeros([len(counts), dim], "float32")
        self.noise = skip_gram_noise(paddle.to_tensor(counts.astype("int64")))
        # Frequent words are left out now and then (Mikolov et al. 2013, in the form of their code).
        share = counts / (sample * counts.sum())
        self.keep = np.minimum(1, (np.sqrt(share) + 1) / np.maximum(share, 1e-12))
        self.random = np.random.default_rng(seed + 1)

    def epoch(self, tokens, lengths, rate, next_rate, threads=1, chunk=1000):
        """Trains on all sentences once, from one learning rate down to the next.

        Returns the mean loss of a pair.
        """
        ends = np.cumsum(lengths)
        cuts = np.arange(0, len(lengths), chunk)
        order = self.random.permutation(len(cuts))
        seeds = self.random.integers(0, 1 << 62, len(cuts))
        draws = self.random.integers(0, 1 << 62, len(cuts))
        lock, done, sums, errors = threading.Lock(), iter(range(len(cuts))), [0.0, 0], []

        def run():
            try:
                while not errors:
                    with lock:
                        turn = next(done, None)
                    if turn is None:
                        return
                    first = cuts[order[turn]]
                    last = min(first + chunk, len(lengths)) - 1
                    begin, end = ends[first] - lengths[first], ends[last]
                    part = tokens[begin:end]
                    owner = np.repeat(np.arange(last - first + 1), lengths[first : last + 1])
                    kept = np.random.default_rng(draws[turn]).random(len(part)) < self.keep[part]
                    left = np.bincount(owner[kept], minlength=last - first + 1)
                    loss, pairs = skip_gram(
                        self.words, self.contexts,
                        paddle.to_tensor(part[kept]), paddle.to_tensor(left), *self.noise,
                        paddle.to_tensor(seeds[turn : turn + 1]),
                        window=self.window, negatives=self.negatives,
                        learning_rate=float(rate + (next_rate - rate) * turn / len(cuts)),
                    )  # fmt: skip
                    with lock:
                        sums[0] += float(loss)
                        sums[1] += int(pairs)
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]
        return sums[0] / max(sums[1], 1)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", help="a text file, a sentence a line")
    parser.add_argument("--sentences", type=int, default=40_000, help="of the made corpus")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--at-least", type=int, default=5, help="rarer words of a text are left out"
    )
    parser.add_argument("--save", help="where to write the vectors (.npy)")
    args = parser.parse_args(argv)

    topic_of = words = None
    if args.text:
        words, sentences = read_text(args.text, args.at_least)
        lengths = np.array([len(s) for s in sentences])
        tokens = np.concatenate(sentences)
    else:
        tokens, topic_of = corpus.make(sentences=args.sentences)
        lengths = np.full(len(tokens), tokens.shape[1])
        tokens = tokens.reshape(-1)
    size = len(words) if words else len(topic_of)
    counts = np.bincount(tokens, minlength=size)
    trainer = Trainer(counts, args.dim, args.window, args.negatives)
    print(f"{len(tokens):,} words of {size:,} different ones, {len(lengths):,} sentences")
    rates = np.linspace(0.025, 0.0001, args.epochs + 1)
    for epoch in range(args.epochs):
        begin = time.perf_counter()
        loss = trainer.epoch(tokens, lengths, rates[epoch], rates[epoch + 1], args.threads)
        seconds = time.perf_counter() - begin
        print(
            f"epoch {epoch + 1}: loss {loss:.4f}, {len(tokens) / seconds:,.0f} words/s", flush=True
        )
    vectors = trainer.words.numpy()
    if topic_of is not None:
        print(f"separation of topics: {corpus.separation(vectors, topic_of, counts):.4f}")
    else:
        normal = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for i in range(min(5, size)):
            near = np.argsort(-normal @ normal[i])[1:6]
            print(f"{words[i]}: {', '.join(words[j] for j in near)}")
    if args.save:
        np.save(args.save, vectors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
