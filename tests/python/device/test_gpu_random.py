"""Random numbers of a GPU: other values than the CPU's, from the seed and the calls before alone. Run with
`--device gpu`."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy
from argosy._core import ops
from argosy.nn import functional as F

pytestmark = pytest.mark.skipif(STREAMED, reason="is about a GPU's own numbers")

N = 40000

CALLS = {
    "uniform": lambda: argosy.uniform([N]),
    "gaussian": lambda: argosy.randn([N]),
    "gaussian float64": lambda: argosy.randn([N + 1], "float64"),
    "randint": lambda: argosy.randint(0, 1000, [N]),
    "randperm": lambda: argosy.randperm(N),
    "bernoulli": lambda: argosy.bernoulli(argosy.full([N], 0.3)),
    "poisson": lambda: argosy.poisson(argosy.full([N], 30.0)),
    "dropout": lambda: F.dropout(argosy.ones([N]), 0.3),
    "multinomial": lambda: argosy.multinomial(argosy.ones([N]), 100, replacement=True),
    "gumbel": lambda: F.gumbel_softmax(argosy.ones([N // 8, 8])),
}


@pytest.mark.parametrize("name", CALLS)
def test_seed_and_state_begin_again(name):
    call = CALLS[name]
    argosy.seed(5)
    first = call().numpy()
    state = argosy.get_rng_state()
    second = call().numpy()
    assert (first != second).any()
    argosy.seed(5)
    np.testing.assert_array_equal(call().numpy(), first)
    argosy.set_rng_state(state)
    np.testing.assert_array_equal(call().numpy(), second)
    argosy.seed(6)
    assert (call().numpy() != first).any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000, 100003])
def test_dropout_keeps_and_its_gradient_fits(dtype, size):
    argosy.seed(1)
    x = argosy.ones([size], dtype)
    x.stop_gradient = False
    y = F.dropout(x, 0.25)
    y.sum().backward()
    values, grads = y.astype("float64").numpy(), x.grad.astype("float64").numpy()
    np.testing.assert_array_equal(values, grads)
    kept = values != 0
    np.testing.assert_allclose(values[kept], 4 / 3, rtol=1e-2)
    if size > 1e5:
        assert abs(kept.mean() - 0.75) < 0.007
        assert abs((kept[1:] & kept[:-1]).mean() - 0.75**2) < 0.01


def test_dropout_of_all_and_of_nothing():
    x = argosy.ones([100])
    assert not F.dropout(x, 1.0).numpy().any()
    assert F.dropout(x, 0.0).numpy().all()


def test_permutations_and_ranges():
    assert sorted(argosy.randperm(1001).tolist()) == list(range(1001))
    small = argosy.randint(-3, 4, [10000]).numpy()
    assert set(small.tolist()) == set(range(-3, 4))
    wide = argosy.randint(-(2**62), 2**62, [10000]).numpy().astype("float64")
    assert abs(wide.mean()) < 2**62 * 0.04


def test_choices_follow_weights():
    weights = argosy.to_tensor([[0.0, 1.0, 3.0, 0.0, 4.0], [5.0, 0.0, 0.0, 0.0, 5.0]])
    drawn = argosy.multinomial(weights, N, replacement=True).numpy()
    for row, want in zip(drawn, [[0, 0.125, 0.375, 0, 0.5], [0.5, 0, 0, 0, 0.5]]):
        shares = np.bincount(row, minlength=5) / N
        np.testing.assert_allclose(shares, want, atol=0.02)
    for _ in range(10):
        two = argosy.multinomial(weights, 2).numpy()
        assert two[0, 0] != two[0, 1] and sorted(two[1].tolist()) == [0, 4]
    with pytest.raises(ValueError, match="without replacement"):
        argosy.multinomial(weights, 3)
    with pytest.raises(ValueError, match="finite"):
        argosy.multinomial(argosy.to_tensor([1.0, -1.0]), 1)


def test_counts_have_their_moments():
    argosy.seed(2)
    for mean in (0.5, 3.0, 12.0, 300.0):
        drawn = argosy.poisson(argosy.full([N], mean)).numpy().astype("float64")
        assert abs(drawn.mean() - mean) < 5 * (mean / N) ** 0.5
        assert abs(drawn.var() / mean - 1) < 0.06
    for count, p in ((9, 0.5), (40, 0.7), (1000, 0.1)):
        drawn = argosy.binomial(argosy.full([N], count, "int64"), argosy.full([N], p)).numpy()
        assert abs(drawn.mean() - count * p) < 5 * (count * p * (1 - p) / N) ** 0.5
        assert abs(drawn.var() / (count * p * (1 - p)) - 1) < 0.06
    for shape in (0.3, 1.0, 8.0):
        drawn = ops.standard_gamma(argosy.full([N], shape)).numpy().astype("float64")
        assert abs(drawn.mean() - shape) < 5 * (shape / N) ** 0.5
