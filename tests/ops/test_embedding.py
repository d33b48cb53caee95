"""Word vectors against a second implementation in NumPy, pair by pair."""

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy.incubate import skip_gram, skip_gram_noise

COVERS = {"skip_gram": "test_skip_gram", "alias_table": "test_alias_table"}

MASK = (1 << 64) - 1


class SplitMix:
    """Steele, Lea and Flood 2014."""

    def __init__(self, seed):
        self.state = seed & MASK

    def __call__(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)


def reference(words, contexts, sentences, noise, seed, window, negatives, rate):
    words, contexts = words.astype("float64"), contexts.astype("float64")
    threshold, alias = noise
    draw = SplitMix(seed)
    loss, pairs = 0.0, 0
    for sentence in sentences:
        for i, center in enumerate(sentence):
            reach = 1 + draw() % window
            for j in range(max(0, i - reach), min(len(sentence), i + reach + 1)):
                if j == i:
                    continue
                targets = [center]
                for _ in range(negatives):
                    r = draw()
                    place = ((r >> 32) * len(threshold)) >> 32
                    u = ((r & 0xFFFFFFFF) >> 8) / 2**24
                    word = place if u < threshold[place] else alias[place]
                    if word != center:
                        targets.append(word)
                v = words[sentence[j]].copy()
                logits = [contexts[t] @ v for t in targets]
                moved = v.copy()
                for k, (t, x) in enumerate(zip(targets, logits)):
                    label = float(k == 0)
                    step = rate * (label - 1 / (1 + np.exp(-x)))
                    loss += np.log1p(np.exp(-x if k == 0 else x))
                    moved += step * contexts[t]
                    contexts[t] += step * v
                words[sentence[j]] = moved
                pairs += 1
    return words, contexts, loss, pairs


def tables(dim, size=23, seed=3):
    random = np.random.default_rng(seed)
    shape = (size, dim)
    return [random.normal(0, 0.3, shape).astype("float32") for _ in range(2)]


def noise_of(size):
    threshold, alias = skip_gram_noise(argosy.arange(1, size + 1))
    return threshold, alias


@pytest.mark.parametrize("dim", [1, 8, 33, 100])
@pytest.mark.parametrize("window, negatives", [(1, 0), (3, 2), (5, 5)])
@pytest.mark.parametrize("static", [False, True])
def test_skip_gram(dim, window, negatives, static):
    words, contexts = tables(dim)
    random = np.random.default_rng(dim)
    sentences = [random.integers(0, 23, n) for n in (7, 0, 1, 12)]
    noise = noise_of(23)
    want = reference(
        words, contexts, sentences, [t.numpy() for t in noise], -5, window, negatives, 0.1
    )
    w, c = argosy.to_tensor(words), argosy.to_tensor(contexts)
    arguments = [
        argosy.to_tensor(np.concatenate(sentences).astype("int64")),
        argosy.to_tensor(np.array([len(s) for s in sentences], "int64")),
        *noise,
        argosy.to_tensor(np.array([-5], "int64")),
    ]
    step = argosy.jit.to_static(lambda *a: skip_gram(w, c, *a, window, negatives, 0.1))
    with argosy.no_grad():
        loss, pairs = (
            step(*arguments) if static else skip_gram(w, c, *arguments, window, negatives, 0.1)
        )
    assert int(pairs) == want[3]
    np.testing.assert_allclose(float(loss), want[2], rtol=1e-5)
    np.testing.assert_allclose(w.numpy(), want[0], atol=2e-5)
    np.testing.assert_allclose(c.numpy(), want[1], atol=2e-5)
    assert (w.numpy() != words).any()


def test_skip_gram_of_nothing():
    words, contexts = tables(4)
    w, c = argosy.to_tensor(words), argosy.to_tensor(contexts)
    empty = argosy.zeros([0], "int64")
    loss, pairs = skip_gram(w, c, empty, empty, *noise_of(23), argosy.to_tensor([1]))
    assert float(loss) == 0 and int(pairs) == 0
    assert (w.numpy() == words).all()


def bad(**changed):
    words, contexts = tables(4)
    arguments = {
        "word_vectors": argosy.to_tensor(words),
        "context_vectors": argosy.to_tensor(contexts),
        "tokens": argosy.to_tensor([1, 2, 3]),
        "lengths": argosy.to_tensor([3]),
        "noise_threshold": noise_of(23)[0],
        "noise_alias": noise_of(23)[1],
        "seed": argosy.to_tensor([1]),
        "window": 2,
    }
    arguments.update({k: argosy.to_tensor(v) if k != "window" else v for k, v in changed.items()})
    return skip_gram(**arguments)


@pytest.mark.parametrize(
    "changed, text",
    [
        (
            {"tokens": [1, 23, 3]},
            r"\[skip_gram\] tokens\[1\]: expected a word in \[0, 23\), got 23",
        ),
        ({"tokens": [1, -1, 3]}, r"tokens\[1\].*got -1"),
        ({"lengths": [2]}, "lengths: expected a sum of 3, the tokens, got 2"),
        ({"lengths": [2, 2]}, "add up to 3 tokens, got 2 at 1 after 2"),
        ({"lengths": [4, -1]}, "got 4 at 0"),
        ({"window": 0}, "window: expected at least 1, got 0"),
        ({"word_vectors": np.zeros((23, 5), "float32")}, "two tables of rows of one width"),
        ({"noise_alias": [1, 2]}, "got 23 and 2"),
    ],
)
def test_errors(changed, text):
    with pytest.raises((ValueError, IndexError), match=text):
        bad(**changed)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 3.0], [0.0, 2.0, 0.0, 5.0, 1.0, 0.25], []])
def test_alias_table(weights):
    weights = np.array(weights, "float64")
    threshold, alias = _core.ops.alias_table(argosy.to_tensor(weights))
    threshold, alias = threshold.numpy().astype("float64"), alias.numpy()
    # The probability of each word: its own place's share, and what other places pass on to it.
    got = np.zeros(len(weights))
    for i in range(len(weights)):
        got[i] += threshold[i]
        got[alias[i]] += 1 - threshold[i]
    np.testing.assert_allclose(got / max(len(weights), 1), weights / weights.sum(), atol=1e-6)


@pytest.mark.parametrize(
    "weights, text",
    [
        ([1.0, -1.0], r"weights\[1\].*got -1"),
        ([0.0, 0.0], "zeros only"),
        ([[1.0]], "one dimension"),
    ],
)
def test_alias_table_errors(weights, text):
    with pytest.raises(ValueError, match=text):
        _core.ops.alias_table(argosy.to_tensor(np.array(weights, "float64")))
