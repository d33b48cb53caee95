"""Random ops: values recorded from PaddlePaddle 3.3.1 with the same seed on the CPU, moments,
determinism."""

import numpy as np
import pytest

import argosy
from argosy import _core

ops = _core.ops
SEED = 2024
X = [0.2, 0.5, 0.9, 4.0]


def x():
    return argosy.to_tensor(np.array(X, "float32"))


# What the reference draws after seed(2024): name -> (call, values).
RECORDED = {
    "uniform": (
        lambda: ops.uniform([4], 0.0, 1.0),
        [0.9383115768432617, 0.23659813404083252, 0.10174139589071274, 0.0846780315041542],
    ),
    "uniform in float64": (
        lambda: ops.uniform([4], 0.0, 1.0, 0, "float64"),
        [0.9383115599806438, 0.23659812675377018, 0.10174139715052745, 0.0846780329134141],
    ),
    "gaussian": (
        lambda: ops.gaussian([4]),
        [-0.07176628708839417, 0.3524163067340851, -0.77873694896698, 0.27761805057525635],
    ),
    "truncated_gaussian_random": (
        lambda: ops.truncated_gaussian_random([4]),
        [1.3941792249679565, -0.6789556741714478, -1.1756757497787476, -1.261439323425293],
    ),
    "randint": (lambda: ops.randint(0, 100, [5]), [93, 23, 10, 8, 97]),
    "randperm": (lambda: ops.randperm(6), [4, 1, 3, 5, 2, 0]),
    "bernoulli": (lambda: ops.bernoulli(argosy.full([6], 0.5)), [0, 1, 1, 1, 0, 1]),
    "poisson": (lambda: ops.poisson(x() * 4), [1, 0, 3, 13]),
    "standard_gamma": (
        lambda: ops.standard_gamma(x()),
        [5.12977692324057e-07, 0.0027349931187927723, 0.572410523891449, 7.702960014343262],
    ),
    "binomial": (
        lambda: ops.binomial(
            argosy.to_tensor([10, 20, 30]), argosy.to_tensor([0.2, 0.5, 0.9], dtype="float32")
        ),
        [2, 9, 27],
    ),
    "multinomial": (lambda: ops.multinomial(x(), 3), [3, 1, 0]),
    "multinomial with replacement": (lambda: ops.multinomial(x(), 5, True), [3, 2, 1, 1, 3]),
    "uniform_like": (
        lambda: argosy.zeros([3]).uniform_(0, 1),
        [0.9383115768432617, 0.23659813404083252, 0.10174139589071274],
    ),
    "normal_like": (
        lambda: argosy.zeros([3]).normal_(1, 2),
        [0.8564674258232117, 1.7048325538635254, -0.55747389793396],
    ),
    "exponential_like": (
        lambda: argosy.zeros([3]).exponential_(2.0),
        [1.3928295373916626, 0.13498534262180328, 0.05364862456917763],
    ),
}

COVERS = {name: "test_recorded" for name in RECORDED if " " not in name}


@pytest.mark.cpu_only("is about the values of the CPU's generator")
@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name):
    call, want = RECORDED[name]
    argosy.seed(SEED)
    first = call()
    np.testing.assert_allclose(first.numpy(), want, rtol=2e-6)
    second = call()
    argosy.seed(SEED)
    assert (call().numpy() == first.numpy()).all()
    assert (call().numpy() == second.numpy()).all()


N = 20000


# name -> (call for N numbers, mean, variance)
MOMENTS = {
    "uniform": (lambda d: ops.uniform([N], 1.0, 3.0, 0, d), 2, 1 / 3),
    "gaussian": (lambda d: ops.gaussian([N], 1.0, 2.0, 0, d), 1, 4),
    "truncated": (
        lambda d: ops.truncated_gaussian_random([N], 0.0, 1.0, 0, -2.0, 2.0, d),
        0,
        0.7737,
    ),
    "bernoulli": (lambda d: ops.bernoulli(argosy.full([N], 0.25, d)), 0.25, 0.1875),
    "poisson": (lambda d: ops.poisson(argosy.full([N], 3.0, d)), 3, 3),
    "gamma": (lambda d: ops.standard_gamma(argosy.full([N], 2.0, d)), 2, 2),
    "exponential": (lambda d: argosy.zeros([N], d).exponential_(0.5), 2, 4),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name, dtype):
    call, mean, variance = MOMENTS[name]
    argosy.seed(SEED)
    drawn = call(dtype)
    assert str(drawn.dtype).endswith(dtype) and drawn.shape == [N]
    values = drawn.astype("float64").numpy()
    # Five standard errors of the mean; the seed is fixed.
    assert abs(values.mean() - mean) < 5 * (variance / N) ** 0.5 + 0.004 * abs(mean)
    assert abs(values.var() / variance - 1) < 0.1


@pytest.mark.cpu_only("is about the values of the CPU's generator")
def test_truncated_normal_at_the_ends_of_its_range():
    # With such bounds a float32 is rounded to probability 0 or 1 once in millions.
    argosy.seed(17)
    x = ops.truncated_gaussian_random([2000, 1000], 0.0, 0.02, 0, -2.0, 2.0, "float32").numpy()
    assert x[1411, 260] == -2.0
    np.testing.assert_allclose(
        x[1411, [258, 259, 261]], [0.00615917, -0.00844811, 0.02069528], rtol=1e-5
    )
    assert np.isfinite(x).all() and np.sort(x, axis=None)[1] > -0.2 and x.max() < 0.2


def test_ranges_and_forms():
    argosy.seed(SEED)
    u = ops.uniform([1000], -2.0, 5.0).numpy()
    assert u.min() >= -2 and u.max() < 5
    i = ops.randint(-3, 4, [1000], "int32")
    assert str(i.dtype).endswith("int32") and set(i.numpy().tolist()) == set(range(-3, 4))
    assert sorted(ops.randperm(50).numpy().tolist()) == list(range(50))
    assert ops.uniform([2, 0, 3]).shape == [2, 0, 3]
    draws = ops.multinomial(argosy.to_tensor([[0.0, 1.0], [1.0, 0.0]]), 1).numpy()
    assert draws.tolist() == [[1], [0]]


def test_own_seed_leaves_the_generator_alone():
    argosy.seed(SEED)
    plain = ops.uniform([4]).numpy()
    argosy.seed(SEED)
    own = ops.uniform([4], -1.0, 1.0, 7).numpy()
    assert (ops.uniform([4]).numpy() == plain).all()
    assert (ops.uniform([4], -1.0, 1.0, 7).numpy() == own).all() and (own != plain).any()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ops.randint(5, 5, [1]), "low must be less than high"),
        (lambda: ops.uniform([-1]), "must not be negative"),
        (lambda: ops.randperm(-1), "n must be 0 or more"),
        (lambda: ops.multinomial(argosy.ones([2, 2, 2]), 1), "1 or 2 dimensions"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()
