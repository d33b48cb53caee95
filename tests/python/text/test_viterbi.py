"""Viterbi decoding against a search through all sequences."""

import itertools

import numpy as np
import pytest

import argosy
from argosy import static, text

RNG = np.random.default_rng(11)
POTENTIALS = RNG.standard_normal((4, 5, 4))
TRANSITIONS = RNG.standard_normal((4, 4))


def best(potentials, length, tags):
    """The highest score of a sequence, and the sequence."""

    def score(path):
        total = sum(potentials[i, p] for i, p in enumerate(path))
        total += sum(TRANSITIONS[a, b] for a, b in zip(path, path[1:]))
        return total + (TRANSITIONS[-1, path[0]] + TRANSITIONS[-2, path[-1]] if tags else 0)

    path = max(itertools.product(range(4), repeat=length), key=score)
    return score(path), list(path)


@pytest.mark.parametrize("tags", [True, False])
@pytest.mark.parametrize("lengths", [[5, 5, 5, 5], [4, 2, 1, 3], [1, 1, 1, 1]])
def test_against_all_sequences(lengths, tags):
    decoder = text.ViterbiDecoder(argosy.to_tensor(TRANSITIONS), tags)
    scores, paths = decoder(argosy.to_tensor(POTENTIALS), argosy.to_tensor(lengths))
    assert paths.dtype == argosy.int64 and paths.shape == [4, max(lengths)]
    for row, length in enumerate(lengths):
        score, path = best(POTENTIALS[row], length, tags)
        assert float(scores[row]) == pytest.approx(score)
        assert paths[row].tolist() == path + [0] * (max(lengths) - length)


def test_in_a_program():
    argosy.enable_static()
    try:
        with static.program_guard(static.Program(), static.Program()):
            p = static.data("p", [None, 5, 4], "float64")
            n = static.data("n", [None], "int64")
            found = text.viterbi_decode(p, argosy.to_tensor(TRANSITIONS), n)
            feed = {"p": POTENTIALS, "n": np.array([4, 2, 1, 3])}
            scores, paths = static.Executor().run(feed=feed, fetch_list=list(found))
    finally:
        argosy.disable_static()
    assert paths.shape == (4, 4)
    for row, length in enumerate([4, 2, 1, 3]):
        score, path = best(POTENTIALS[row], length, True)
        assert scores[row] == pytest.approx(score) and paths[row][:length].tolist() == path


@pytest.mark.parametrize("lengths", [[0, 0, 0, 0], [-3, 0, -5, -1], [-3, 2, 0, 1], [9, 1, 5, 2]])
@pytest.mark.parametrize("steps", [5, None])
def test_lengths_that_are_none(lengths, steps):
    """Sequences of no steps have no labels; longer ones than there are steps end with these."""
    p, t, n = (argosy.to_tensor(x) for x in (POTENTIALS, TRANSITIONS, lengths))
    eager = text.viterbi_decode(p, t, n, False)
    assert eager[1].shape == [4, min(max(*lengths, 0), 5)]
    specs = [static.InputSpec([4, steps, 4], "float64"), static.InputSpec([4], "int64")]
    captured = argosy.jit.to_static(
        lambda p, n: text.viterbi_decode(p, t, n, False), input_spec=specs, full_graph=True
    )(p, n)
    for a, b in zip(eager, captured):
        assert a.tolist() == b.tolist()


def test_wrong_arguments():
    p, t = argosy.to_tensor(POTENTIALS), argosy.to_tensor(TRANSITIONS)
    n = argosy.to_tensor([5, 5, 5, 5])
    with pytest.raises(ValueError, match="numbers of labels"):
        text.viterbi_decode(p, t[:3], n)
    with pytest.raises(ValueError, match="lengths"):
        text.viterbi_decode(p, t, n.astype("int32"))
    with pytest.raises(ValueError, match="one for each of the sequences"):
        text.viterbi_decode(p, t, n[:3])
    with pytest.raises(TypeError, match="potentials"):
        text.viterbi_decode(p.astype("int32"), t, n)


@pytest.mark.parametrize("tagged", [False, True])
def test_a_batch_of_no_sequence(tagged):
    scores, labels = argosy.text.viterbi_decode(
        argosy.zeros([0, 3, 4]), argosy.zeros([4, 4]), argosy.zeros([0], "int64"), tagged
    )
    assert scores.shape == [0] and labels.shape == [0, 0]
    assert scores.dtype == argosy.float32 and labels.dtype == argosy.int64
