"""Train a word-level LSTM language model as one compiled step, and sample from it in one Program.

    python examples/language_model.py
    python examples/language_model.py --data book.txt --steps 2000 --prompt "the king"

Training is captured with jit.compile_step. Sampling is a function captured by jit.to_static: its
`while` over tensors becomes a loop of the Program, which ends at the end of a sentence. The same
loop is built by hand with static.nn.while_loop and must say the same words. The text is --data
FILE, otherwise sentences made by a small grammar.
"""

import argparse
import re
import sys
import time

import numpy as np

import argosy as paddle
from argosy import nn

END, UNKNOWN = "<end>", "<unknown>"


def made_up(sentences, rng):
    """A text whose sentences follow a grammar, so that a model can learn it."""
    subjects = {"sailor": "sails", "pilot": "flies", "baker": "bakes", "farmer": "plants"}
    objects = {"sails": "ship", "flies": "plane", "bakes": "bread", "plants": "tree"}
    adjectives = "old new small great red".split()
    lines = []
    for _ in range(sentences):
        subject = list(subjects)[rng.randint(len(subjects))]
        verb = subjects[subject]
        first, second = (adjectives[rng.randint(len(adjectives))] for _ in range(2))
        lines.append(f"the {first} {subject} {verb} the {second} {objects[verb]} .")
    return "\n".join(lines)


def read_words(text):
    """Words and punctuation of all lines, with END after each line that has any."""
    words = []
    for line in text.lower().splitlines():
        found = re.findall(r"[a-z']+|[^a-z'\s]", line)
        words += [*found, END] if found else []
    return words


class Vocabulary:
    def __init__(self, words, limit):
        names, counts = np.unique(words, return_counts=True)
        usual = [str(names[i]) for i in np.argsort(-counts, kind="stable") if names[i] != END]
        self.words = [END, UNKNOWN, *usual[: limit - 2]]
        self.numbers = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, words):
        return np.array([self.numbers.get(word, 1) for word in words], "int64")

    def decode(self, numbers):
        return " ".join(self.words[int(i)] for i in numbers if i)


class LanguageModel(nn.Layer):
    """Embedding, LSTM layers and scores of the next word."""

    def __init__(self, words, width, layers, dropout):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.scores = nn.Linear(width, words)

    def forward(self, words, state=None):
        """words int64 [B, T]: scores float32 [B, T, words], and the state after them."""
        hidden, state = self.lstm(self.dropout(self.embedding(words)), state)
        return self.scores(self.dropout(hidden)), state


class Loss(nn.Layer):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words, following):
        scores, _ = self.model(words)
        return nn.functional.cross_entropy(scores, following)


def make_sampler(model, top):
    """sample(prompt [1, T], noise [L, top]) -> words: at most L, the last one END if it came."""

    def choose(scores, noise):
        # Gumbel's trick: the largest score plus noise is a sample of the softmax.
        values, indices = paddle.topk(scores[0, -1], top)
        values = paddle.where(indices == 1, -1e9, values)  # never UNKNOWN
        return indices[paddle.argmax(values + noise)].reshape([1, 1])

    def sample(prompt, noise):
        scores, state = model(prompt)
        word = choose(scores, noise[0])
        said = word
        i = paddle.ones([], "int64")
        while i < noise.shape[0] and word[0, 0] != 0:
            scores, state = model(word, state)
            word = choose(scores, noise[i])
            said = paddle.concat([said, word], axis=1)
            i = i + 1
        return said[0]

    def sample_by_hand(prompt, noise):
        scores, (hidden, cell) = model(prompt)
        word = choose(scores, noise[0])

        def go_on(i, word, said, hidden, cell):
            return paddle.logical_and(i < noise.shape[0], word[0, 0] != 0)

        def body(i, word, said, hidden, cell):
            scores, (hidden, cell) = model(word, (hidden, cell))
            word = choose(scores, noise[i])
            return [i + 1, word, paddle.concat([said, word], axis=1), hidden, cell]

        start = [paddle.ones([], "int64"), word, word, hidden, cell]
        return paddle.static.nn.while_loop(go_on, body, start)[2][0]

    return sample, sample_by_hand


def batches(numbers, batch, length, rng):
    """Endless pairs of int64 [batch, length]: words, and the words after them."""
    while True:
        starts = rng.randint(0, len(numbers) - length, batch)
        rows = np.stack([numbers[s : s + length + 1] for s in starts])
        yield paddle.to_tensor(rows[:, :-1]), paddle.to_tensor(rows[:, 1:])


def perplexity(loss, numbers, batch, length):
    """exp of the mean loss over all of a text."""
    loss.eval()
    rows = (len(numbers) - 1) // length
    words = numbers[: rows * length].reshape(rows, length)
    following = numbers[1 : rows * length + 1].reshape(rows, length)
    total = 0.0
    with paddle.no_grad():
        for i in range(0, rows, batch):
            part = (
                paddle.to_tensor(words[i : i + batch]),
                paddle.to_tensor(following[i : i + batch]),
            )
            total += float(loss(*part)) * len(part[0])
    loss.train()
    return float(np.exp(total / rows))


def train(options, vocabulary, numbers, compiled):
    """(model, losses, median seconds of a step) after training, compiled or eagerly."""
    paddle.seed(options.seed)
    model = LanguageModel(len(vocabulary), options.width, options.layers, options.dropout)
    loss = Loss(model)
    optimizer = paddle.optimizer.Adam(
        options.learning_rate,
        parameters=model.parameters(),
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    if compiled:
        step = paddle.jit.compile_step(loss, None, optimizer)
    else:

        def step(words, following):
            value = loss(words, following)
            value.backward()
            optimizer.step()
            optimizer.clear_grad()
            return value

    steps = options.steps if compiled else min(options.steps, options.compare)
    source = batches(numbers, options.batch, options.length, np.random.RandomState(options.seed))
    losses, seconds = [], []
    for i in range(steps):
        words, following = next(source)
        start = time.perf_counter()
        losses.append(float(step(words, following)))
        seconds.append(time.perf_counter() - start)
        if compiled and (i + 1) % max(options.steps // 5, 1) == 0:
            print(f"step {i + 1}: loss {np.mean(losses[-20:]):.3f}", flush=True)
    return loss, np.array(losses), float(np.median(seconds))


def show_samples(options, model, vocabulary):
    """Prints sentences; returns whether all ways to sample say the same."""
    model.eval()
    sample, by_hand = make_sampler(model, min(options.top, len(vocabulary)))
    ways = {
        "eager": sample,
        "to_static": paddle.jit.to_static(sample, full_graph=True),
        "while_loop": paddle.jit.to_static(by_hand, full_graph=True),
    }
    prompt = vocabulary.encode(read_words(options.prompt)[:-1] or [END])
    rng = np.random.RandomState(options.seed)
    same, seconds = True, {name: [] for name in ways}
    for _ in range(options.samples):
        noise = rng.gumbel(size=(options.limit, min(options.top, len(vocabulary))))
        given = paddle.to_tensor(prompt[None]), paddle.to_tensor(noise.astype("float32"))
        said = []
        for name, way in ways.items():
            start = time.perf_counter()
            with paddle.no_grad():
                said.append(way(*given).numpy())
            seconds[name].append((time.perf_counter() - start) / len(said[-1]))
        same = same and all(np.array_equal(said[0], words) for words in said[1:])
        print(f"  {options.prompt} | {vocabulary.decode(said[0])}")
    for name, times in seconds.items():
        print(f"{1e6 * np.median(times):.0f} us a word, {name}")
    return same


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="text file (default: sentences of a small grammar)")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--compare", type=int, default=20, help="steps to take eagerly as well")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=32, help="words of a training row")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=4e-3)
    parser.add_argument("--prompt", default="the old")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--limit", type=int, default=40, help="longest sample")
    parser.add_argument("--top", type=int, default=20, help="sample among so many best words")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative, of each loss")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = parse_options()
    if options.data:
        with open(options.data, encoding="utf-8") as file:
            text = file.read()
    else:
        text = made_up(4000, np.random.RandomState(options.seed))
    words = read_words(text)
    held = len(words) // 10
    vocabulary = Vocabulary(words[:-held], options.vocabulary)
    numbers = vocabulary.encode(words)
    print(f"{len(words)} words, {len(vocabulary)} different ones")
    loss, compiled, seconds = train(options, vocabulary, numbers[:-held], True)
    _, eager, eager_seconds = train(options, vocabulary, numbers[:-held], False)
    print(f"{1e3 * seconds:.1f} ms a compiled step, {1e3 * eager_seconds:.1f} ms an eager one")
    apart = float(np.abs(compiled[: len(eager)] / eager - 1.0).max())
    print(f"largest relative difference of the losses, compiled and eager: {apart:.2e}")
    value = perplexity(loss, numbers[-held:], options.batch, options.length)
    print(f"perplexity {value:.2f} on text held out")
    same = show_samples(options, loss.model, vocabulary)
    print(f"captured samples are {'the same' if same else 'NOT the same'}")
    return 0 if same and apart <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
