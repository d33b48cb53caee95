"""Train a Transformer to translate, and save its greedy and beam search as Programs.

    python examples/translate.py
    python examples/translate.py --source train.en.gz --target train.de.gz --steps 3000

Training is one compiled step. Both searches are methods captured by jit.to_static: their `while`
goes on until all sentences have ended and their tensors grow by a word at each turn. They are
saved, loaded without this file's classes, and must give the same words, as must the C++ program
--runner (examples/cpp/run_model, built). Data are two text files whose lines correspond, otherwise
sentences of two small made-up grammars, where adjectives follow their noun in the second.
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
import time

import numpy as np

import argosy as paddle
from argosy import nn
from argosy.static import InputSpec

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = ["<pad>", "<begin>", "<end>", "<unknown>"]

NOUNS = {"dog": "chien", "cat": "chat", "horse": "cheval", "bird": "oiseau", "man": "homme"}
ADJECTIVES = {"red": "rouge", "black": "noir", "young": "jeune", "sad": "triste", "quick": "rapide"}
VERBS = {"sees": "voit", "hears": "entend", "follows": "suit", "loves": "aime"}


def made_up(count, rng):
    """Pairs of sentences: (the red dog sees a cat, le chien rouge voit un chat)."""

    def phrase():
        article = (("the", "le"), ("a", "un"))[rng.randint(2)]
        noun = list(NOUNS)[rng.randint(len(NOUNS))]
        chosen = [list(ADJECTIVES)[i] for i in rng.permutation(len(ADJECTIVES))[: rng.randint(3)]]
        there = [ADJECTIVES[word] for word in reversed(chosen)]
        return [article[0], *chosen, noun], [article[1], NOUNS[noun], *there]

    pairs = []
    for _ in range(count):
        verb = list(VERBS)[rng.randint(len(VERBS))]
        (first, premier), (second, deuxieme) = phrase(), phrase()
        pairs.append(([*first, verb, *second], [*premier, VERBS[verb], *deuxieme]))
    return pairs


def read_pairs(source, target, longest):
    """Pairs of lists of words, from two text files (or .gz) with as many lines."""
    sides = []
    for path in (source, target):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            sides.append([re.findall(r"\w+|[^\w\s]", line.lower()) for line in file])
    if len(sides[0]) != len(sides[1]):
        raise SystemExit(f"{source} has {len(sides[0])} lines, {target} has {len(sides[1])}")
    return [
        pair for pair in zip(*sides) if 0 < min(map(len, pair)) and max(map(len, pair)) <= longest
    ]


class Vocabulary:
    def __init__(self, sentences, limit):
        names, counts = np.unique([w for s in sentences for w in s], return_counts=True)
        usual = [str(names[i]) for i in np.argsort(-counts, kind="stable")]
        self.words = (SPECIAL + usual)[:limit]
        self.numbers = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, sentences, multiple=1):
        """int64 [count, T]: BEGIN, the words, END and PAD up to a multiple."""
        length = max(map(len, sentences)) + 2
        length += -length % multiple
        out = np.full((len(sentences), length), PAD, "int64")
        for row, sentence in zip(out, sentences):
            numbers = [self.numbers.get(word, UNKNOWN) for word in sentence]
            row[: len(numbers) + 2] = [BEGIN, *numbers, END]
        return out

    def decode(self, numbers):
        """Words up to END of one row."""
        words = []
        for i in numbers:
            if i == END:
                break
            if i not in (PAD, BEGIN):
                words.append(self.words[int(i)])
        return words


def sines(length, width):
    """Positions as in Vaswani et al., "Attention Is All You Need" (2017): float32 [length, width]."""
    angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angle), np.cos(angle)], 2).reshape(length, width).astype("float32")


class Translator(nn.Layer):
    """Transformer encoder and decoder, and two searches for the most likely translation."""

    def __init__(self, source_words, target_words, options):
        super().__init__()
        self.beams, self.alpha = options.beams, options.alpha
        width = self.width = options.width
        self.source = nn.Embedding(source_words, width, padding_idx=PAD)
        self.target = nn.Embedding(target_words, width, padding_idx=PAD)
        for table in (self.source, self.target):
            table.weight.set_value(paddle.randn(table.weight.shape) * width**-0.5)
        self.register_buffer("positions", paddle.to_tensor(sines(512, width)))
        self.dropout = nn.Dropout(options.dropout)
        self.transformer = nn.Transformer(
            width, options.heads, options.layers, options.layers, 4 * width, options.dropout
        )
        self.scores = nn.Linear(width, target_words)

    def embed(self, table, words, first=0):
        """words [B, T] at positions first.. : [B, T, width]."""
        places = self.positions[first : first + words.shape[1]]
        return self.dropout(table(words) * self.width**0.5 + places)

    def encode(self, source):
        """(what the encoder says [B, S, width], mask of padding [B, 1, 1, S])."""
        mask = (source == PAD).astype("float32").unsqueeze([1, 2]) * -1e9
        return self.transformer.encoder(self.embed(self.source, source), mask), mask

    def decode(self, words, memory, memory_mask):
        """Scores of the next word after each of words [B, T]: [B, T, words]."""
        size = words.shape[1]
        causal = paddle.triu(paddle.full([size, size], -1e9), 1)
        hidden = self.embed(self.target, words)
        return self.scores(self.transformer.decoder(hidden, memory, causal, memory_mask))

    def forward(self, source, target):
        return self.decode(target, *self.encode(source))

    @paddle.jit.to_static(input_spec=[InputSpec([None, None], "int64", "source")], full_graph=True)
    def greedy(self, source):
        """Translations [B, T] of source [B, S], each the most likely word after the others.

        Keys and values of attention are kept in caches that grow.
        """
        memory, mask = self.encode(source)
        caches = self.transformer.decoder.gen_cache(memory)
        word = paddle.full_like(source[:, :1], BEGIN)
        said = word
        ended = paddle.zeros_like(word, dtype="bool")
        while said.shape[1] < 2 * source.shape[1] + 8 and not ended.all():
            hidden = self.embed(self.target, word, said.shape[1] - 1)
            hidden, caches = self.transformer.decoder(hidden, memory, None, mask, caches)
            word = self.scores(hidden).argmax(axis=-1)
            word = paddle.where(ended, PAD, word)
            ended = paddle.logical_or(ended, word == END)
            said = paddle.concat([said, word], axis=1)
        return said

    @paddle.jit.to_static(input_spec=[InputSpec([1, None], "int64", "source")], full_graph=True)
    def beam(self, source):
        """(translations [beams, T] of source [1, S], their scores [beams]), the best first."""
        memory, mask = self.encode(source)
        memory = memory.expand([self.beams, -1, -1])
        said = paddle.full([self.beams, 1], BEGIN, "int64")
        total = paddle.concat([paddle.zeros([1]), paddle.full([self.beams - 1], -1e9)])
        ended = paddle.zeros([self.beams], "bool")
        length = paddle.ones([self.beams])
        while said.shape[1] < 2 * source.shape[1] + 8 and not ended.all():
            likely = nn.functional.log_softmax(self.decode(said, memory, mask)[:, -1])
            words = likely.shape[1]
            # A beam that has ended goes on with PAD alone, at no cost.
            pad_only = (paddle.arange(words) != PAD).astype("float32") * -1e9
            likely = paddle.where(ended.unsqueeze(1), pad_only, likely)
            total, chosen = paddle.topk((total.unsqueeze(1) + likely).reshape([-1]), self.beams)
            beam, word = chosen // words, chosen % words
            ended = ended[beam]
            length = length[beam] + paddle.logical_not(ended).astype("float32")
            said = paddle.concat([said[beam], word.unsqueeze(1)], axis=1)
            ended = paddle.logical_or(ended, word == END)
        score = total / length**self.alpha
        order = score.argsort(descending=True)
        return said[order], score[order]


class Loss(nn.Layer):
    """Cross entropy with label smoothing over what is not padding."""

    def __init__(self, model, smoothing):
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, source, target):
        likely = nn.functional.log_softmax(self.model(source, target[:, :-1]))
        wanted = target[:, 1:]
        right = paddle.take_along_axis(likely, wanted.unsqueeze(2), 2).squeeze(2)
        each = (1.0 - self.smoothing) * right + self.smoothing * likely.mean(axis=2)
        there = (wanted != PAD).astype("float32")
        return -(each * there).sum() / there.sum()


def train(options, model, vocabularies, pairs, compiled, steps):
    """(losses, median seconds of a step of a form seen before) after `steps` steps."""
    paddle.seed(options.seed + 1)
    rng = np.random.RandomState(options.seed)
    loss = Loss(model, options.smoothing)
    schedule = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.CosineAnnealingDecay(options.learning_rate, options.steps),
        max(options.steps // 10, 1),
        0.0,
        options.learning_rate,
    )
    optimizer = paddle.optimizer.Adam(
        schedule,
        0.9,
        0.98,
        parameters=model.parameters(),
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    if compiled:
        step = paddle.jit.compile_step(loss, None, optimizer)
    else:

        def step(source, target):
            value = loss(source, target)
            value.backward()
            optimizer.step()
            optimizer.clear_grad()
            return value

    model.train()
    losses, seconds, seen = [], [], set()
    for i in range(steps):
        chosen = [pairs[j] for j in rng.randint(0, len(pairs), options.batch)]
        batch = [v.encode(side, 8) for v, side in zip(vocabularies, zip(*chosen))]
        form = tuple(a.shape for a in batch)
        batch = [paddle.to_tensor(a) for a in batch]
        start = time.perf_counter()
        losses.append(float(step(*batch)))
        if form in seen:
            seconds.append(time.perf_counter() - start)
        seen.add(form)
        schedule.step()
        if compiled and (i + 1) % max(steps // 5, 1) == 0:
            print(f"step {i + 1}: loss {np.mean(losses[-20:]):.3f}", flush=True)
    return np.array(losses), float(np.median(seconds or [0.0]))


def in_common(said, wanted):
    """Share of the words said that are among the wanted ones, each counted once."""
    left, right = list(wanted), 0
    for word in said:
        if word in left:
            left.remove(word)
            right += 1
    return right / max(len(said), len(wanted), 1)


def evaluate(options, model, vocabularies, pairs):
    """Prints how good the translations of the pairs are, and a few of them."""
    model.eval()
    greedy, beam = [], []
    with paddle.no_grad():
        for i in range(0, len(pairs), options.batch):
            source = vocabularies[0].encode([s for s, _ in pairs[i : i + options.batch]])
            greedy += list(model.greedy(paddle.to_tensor(source)).numpy())
        for source, _ in pairs:
            beam.append(
                model.beam(paddle.to_tensor(vocabularies[0].encode([source])))[0][0].numpy()
            )
    for name, found in (("greedy", greedy), ("beam search", beam)):
        said = [vocabularies[1].decode(row) for row in found]
        exact = np.mean([a == b for a, (_, b) in zip(said, pairs)])
        words = np.mean([in_common(a, b) for a, (_, b) in zip(said, pairs)])
        print(f"{name}: {exact:.2f} of sentences exact, {words:.2f} of words right")
    for (source, wanted), row in list(zip(pairs, beam))[:3]:
        print(
            f"  {' '.join(source)} | {' '.join(vocabularies[1].decode(row))} | {' '.join(wanted)}"
        )


def seconds_of(function, source, times=5):
    result, measured = None, []
    with paddle.no_grad():
        for _ in range(times):
            start = time.perf_counter()
            result = function(source)
            measured.append(time.perf_counter() - start)
    return result, min(measured)


def run_in_cpp(runner, prefix, source, folder):
    """The results of the C++ program, as NumPy arrays by their names."""
    given, results = (os.path.join(folder, f"{name}.safetensors") for name in ("given", "results"))
    paddle.save({"source": source}, given)
    subprocess.run([runner, prefix, given, results], check=True, stdout=subprocess.DEVNULL)
    return [v.numpy() for _, v in sorted(paddle.load(results).items())]


def check_everywhere(options, model, source):
    """Runs both searches as Python, captured, loaded and in C++; returns whether all agree."""
    prefix = os.path.join(options.out, "model")
    model.eval()
    words = InputSpec([None, None], "int64", "target")
    paddle.jit.save(model, prefix, input_spec=[InputSpec([None, None], "int64", "source"), words])
    loaded = paddle.jit.load(prefix)
    loaded.eval()
    good = True
    for name in ("greedy", "beam"):
        captured = getattr(model, name)
        given = paddle.to_tensor(source if name == "greedy" else source[:1])
        results = {}
        for way, function in (
            ("eager", captured.dygraph_function),
            ("captured", captured),
            ("loaded", getattr(loaded, name)),
        ):
            result, seconds = seconds_of(function, given)
            results[way] = [t.numpy() for t in (result if name == "beam" else [result])]
            words = given.shape[0] * (results[way][0].shape[1] - 1)
            print(f"{name}, {way}: {1e3 * seconds:.1f} ms for {words} words")
        if options.runner:
            results["C++"] = run_in_cpp(options.runner, f"{prefix}.{name}", given, options.out)
        for way, found in results.items():
            same = len(found) == len(results["eager"]) and all(
                np.array_equal(a, b) if a.dtype == "int64" else np.allclose(a, b, 1e-4, 1e-5)
                for a, b in zip(found, results["eager"])
            )
            if way != "eager":
                print(f"{name}, {way}: {'the same words' if same else 'OTHER words'} as eager")
            good = good and same
    return good


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", help="text file, a sentence a line (default: made up)")
    parser.add_argument("--target", help="text file, the translation of each line")
    parser.add_argument("--out", default="out/translate", help="folder for the saved model")
    parser.add_argument("--runner", help="the program built of examples/cpp/run_model")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--compare", type=int, default=10, help="steps to take eagerly as well")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--longest", type=int, default=30, help="leave out longer sentences")
    parser.add_argument("--vocabulary", type=int, default=6000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.6, help="of the length in a beam's score")
    parser.add_argument(
        "--held-out", type=int, default=50, help="sentences to translate at the end"
    )
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative, of each loss")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if bool(options.source) != bool(options.target):
        parser.error("--source and --target belong together")
    return options


def main():
    options = parse_options()
    rng = np.random.RandomState(options.seed)
    if options.source:
        pairs = read_pairs(options.source, options.target, options.longest)
    else:
        pairs = made_up(5000, rng)
    order = rng.permutation(len(pairs))
    held, pairs = ([pairs[i] for i in part] for part in np.split(order, [options.held_out]))
    vocabularies = [Vocabulary(side, options.vocabulary) for side in zip(*pairs)]
    sizes = [len(v) for v in vocabularies]
    print(f"{len(pairs)} pairs of sentences, {sizes[0]} and {sizes[1]} words")

    def new_model():
        paddle.seed(options.seed)
        return Translator(*sizes, options)

    model = new_model()
    compiled, seconds = train(options, model, vocabularies, pairs, True, options.steps)
    count = min(options.compare, options.steps)
    eager, eager_seconds = train(options, new_model(), vocabularies, pairs, False, count)
    print(f"{1e3 * seconds:.1f} ms a compiled step, {1e3 * eager_seconds:.1f} ms an eager one")
    apart = float(np.abs(compiled[:count] / eager - 1.0).max())
    print(f"largest relative difference of the losses, compiled and eager: {apart:.2e}")

    evaluate(options, model, vocabularies, held)
    good = check_everywhere(options, model, vocabularies[0].encode([s for s, _ in held[:8]]))
    return 0 if good and apart <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
