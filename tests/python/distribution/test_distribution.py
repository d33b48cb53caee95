"""Distributions against SciPy, samples against their moments, divergences against integrals."""

import numpy as np
import pytest
from scipy import stats
from tests.python.numeric import slopes

import argosy as paddle
from argosy import distribution as D


def t(*values):
    return paddle.to_tensor(np.array(values, "float64"))


A, B = np.array([0.7, 2.0]), np.array([1.5, 0.8])
# name -> (ours, SciPy's, points, discrete)
CASES = {
    "Normal": (D.Normal(t(*A), t(*B)), stats.norm(A, B), [0.3, 1.7], False),
    "Uniform": (D.Uniform(t(*A), t(*(A + B))), stats.uniform(A, B), [0.9, 2.3], False),
    "Laplace": (D.Laplace(t(*A), t(*B)), stats.laplace(A, B), [0.3, 2.7], False),
    "Cauchy": (D.Cauchy(t(*A), t(*B)), stats.cauchy(A, B), [0.3, 2.7], False),
    "Gumbel": (D.Gumbel(t(*A), t(*B)), stats.gumbel_r(A, B), [0.3, 2.7], False),
    "Exponential": (D.Exponential(t(*A)), stats.expon(scale=1 / A), [0.3, 2.7], False),
    "Gamma": (D.Gamma(t(*A), t(*B)), stats.gamma(A, scale=1 / B), [0.3, 2.7], False),
    "Chi2": (D.Chi2(t(*A)), stats.chi2(A), [0.3, 2.7], False),
    "Beta": (D.Beta(t(*A), t(*B)), stats.beta(A, B), [0.3, 0.8], False),
    "LogNormal": (
        D.LogNormal(t(*A), t(0.5, 0.8)),
        stats.lognorm([0.5, 0.8], scale=np.exp(A)), [0.3, 2.7], False,
    ),
    "StudentT": (
        D.StudentT(t(3.5, 6.0), t(*A), t(*B)), stats.t([3.5, 6.0], A, B), [0.3, 2.7], False,
    ),
    "Bernoulli": (D.Bernoulli(t(0.2, 0.7)), stats.bernoulli([0.2, 0.7]), [1.0, 0.0], True),
    "Binomial": (
        D.Binomial(t(5, 8), t(0.2, 0.7)), stats.binom([5, 8], [0.2, 0.7]), [2.0, 8.0], True,
    ),
    "Poisson": (D.Poisson(t(0.5, 12.0)), stats.poisson([0.5, 12.0]), [1.0, 9.0], True),
    "Geometric": (D.Geometric(t(0.2, 0.7)), stats.geom([0.2, 0.7], loc=-1), [0.0, 3.0], True),
}  # fmt: skip
NO_MOMENTS = {"Cauchy"}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_scipy(name):
    ours, theirs, points, discrete = CASES[name]
    x = t(*points)
    density = theirs.logpmf(points) if discrete else theirs.logpdf(points)
    np.testing.assert_allclose(ours.log_prob(x).numpy(), density, rtol=1e-8)
    np.testing.assert_allclose(ours.prob(x).numpy(), np.exp(density), rtol=1e-8)
    # Entropies of SciPy's discrete distributions come from sums with a tolerance.
    np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy(), rtol=1e-5)
    if hasattr(ours, "cdf"):
        np.testing.assert_allclose(ours.cdf(x).numpy(), theirs.cdf(points), rtol=1e-7)
    if hasattr(ours, "icdf"):
        np.testing.assert_allclose(ours.icdf(t(0.2, 0.9)).numpy(), theirs.ppf([0.2, 0.9]))
    if name in NO_MOMENTS:
        with pytest.raises(ValueError, match=rf"\[{name}\] .* no mean"):
            ours.mean  # noqa: B018
    else:
        np.testing.assert_allclose(ours.mean.numpy(), theirs.mean(), rtol=1e-9)
        np.testing.assert_allclose(ours.variance.numpy(), theirs.var(), rtol=1e-9)
        np.testing.assert_allclose(ours.stddev.numpy(), theirs.std(), rtol=1e-9)
    assert ours.batch_shape == (2,) and ours.event_shape == ()


@pytest.mark.parametrize("name", sorted(set(CASES) - NO_MOMENTS))
def test_samples_follow_the_distribution(name):
    paddle.seed(11)
    ours, theirs, _, discrete = CASES[name]
    drawn = ours.sample([20000])
    assert drawn.shape == [20000, 2] and drawn.stop_gradient
    for column in range(2):
        values = drawn.numpy()[:, column]
        # 5 standard errors of the mean; the variance within a tenth, where tails allow.
        spread = theirs.std()[column]
        assert abs(values.mean() - theirs.mean()[column]) < 5 * spread / np.sqrt(20000)
        if name != "LogNormal":
            np.testing.assert_allclose(values.std(), spread, rtol=0.1)
    assert ours.sample().shape == [2] and ours.sample([3, 4]).shape == [3, 4, 2]


PAIRS = [
    (D.Normal(t(0.1), t(1.2)), D.Normal(t(0.5), t(0.9)), -9, 9),
    (D.Uniform(t(0.2), t(0.9)), D.Uniform(t(0.0), t(1.0)), 0.2, 0.9),
    (D.Laplace(t(0.1), t(1.2)), D.Laplace(t(0.5), t(0.9)), -40, 40),
    (D.Exponential(t(1.5)), D.Exponential(t(0.4)), 1e-9, 30),
    (D.Gamma(t(2.5), t(1.2)), D.Gamma(t(3.5), t(0.9)), 1e-9, 40),
    (D.Beta(t(2.5), t(3.2)), D.Beta(t(3.5), t(2.9)), 1e-9, 1 - 1e-9),
    (D.LogNormal(t(0.1), t(0.4)), D.LogNormal(t(0.3), t(0.6)), 1e-9, 30),
    (D.ContinuousBernoulli(t(0.2)), D.ContinuousBernoulli(t(0.6)), 1e-9, 1 - 1e-9),
]


@pytest.mark.parametrize("p, q, low, high", PAIRS, ids=lambda v: type(v).__name__)
def test_divergence_is_the_integral(p, q, low, high):
    x = np.linspace(low, high, 200001)
    lp, lq = (d.log_prob(paddle.to_tensor(x)).numpy() for d in (p, q))
    inside = (x > low) & (x < high)
    want = np.trapezoid(np.where(inside, np.exp(lp) * (lp - lq), 0.0), x)
    np.testing.assert_allclose(float(D.kl_divergence(p, q)), want, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(float(p.kl_divergence(q)), want, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(float(D.kl_divergence(p, p)), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "p, q, count",
    [
        (D.Bernoulli(t(0.2)), D.Bernoulli(t(0.6)), 2),
        (D.Binomial(t(5), t(0.2)), D.Binomial(t(5), t(0.6)), 6),
        (D.Poisson(t(2.5)), D.Poisson(t(3.5)), 60),
    ],
)
def test_divergence_is_the_sum(p, q, count):
    lp, lq = (d.log_prob(paddle.arange(count, dtype="float64")).numpy() for d in (p, q))
    np.testing.assert_allclose(float(D.kl_divergence(p, q)), (np.exp(lp) * (lp - lq)).sum(), 1e-6)


def test_vectors():
    c = np.array([0.8, 2.0, 3.1])
    ours, theirs = D.Dirichlet(t(*c)), stats.dirichlet(c)
    np.testing.assert_allclose(
        float(ours.log_prob(t(0.2, 0.3, 0.5))), theirs.logpdf([0.2, 0.3, 0.5])
    )
    np.testing.assert_allclose(ours.mean.numpy(), theirs.mean())
    np.testing.assert_allclose(ours.variance.numpy(), theirs.var())
    np.testing.assert_allclose(float(ours.entropy()), theirs.entropy())
    drawn = ours.sample([4000])
    np.testing.assert_allclose(drawn.sum(-1).numpy(), 1.0)
    np.testing.assert_allclose(drawn.mean(0).numpy(), theirs.mean(), atol=0.02)

    p = np.array([0.2, 0.3, 0.5])
    ours, theirs = D.Multinomial(6, t(*p)), stats.multinomial(6, p)
    np.testing.assert_allclose(float(ours.log_prob(t(1, 2, 3))), theirs.logpmf([1, 2, 3]))
    np.testing.assert_allclose(float(ours.entropy()), theirs.entropy())
    drawn = ours.sample([3000])
    assert (drawn.sum(-1).numpy() == 6).all()
    np.testing.assert_allclose(drawn.mean(0).numpy(), 6 * p, atol=0.12)

    loc, cov = np.array([0.5, -1.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    theirs = stats.multivariate_normal(loc, cov)
    other = D.MultivariateNormal(t(0.0, 0.0), scale_tril=t([1.0, 0.0], [0.5, 1.0]))
    for ours in (
        D.MultivariateNormal(t(*loc), covariance_matrix=t(*cov)),
        D.MultivariateNormal(t(*loc), precision_matrix=t(*np.linalg.inv(cov))),
        D.MultivariateNormal(t(*loc), scale_tril=t(*np.linalg.cholesky(cov))),
    ):
        np.testing.assert_allclose(float(ours.log_prob(t(0.3, 0.4))), theirs.logpdf([0.3, 0.4]))
        np.testing.assert_allclose(float(ours.entropy()), theirs.entropy())
        np.testing.assert_allclose(ours.variance.numpy(), np.diag(cov))
        q = np.array([[1.0, 0.0], [0.5, 1.0]])
        q = q @ q.T
        want = 0.5 * (
            np.trace(np.linalg.solve(q, cov)) + loc @ np.linalg.solve(q, loc) - 2
            + np.log(np.linalg.det(q) / np.linalg.det(cov))
        )  # fmt: skip
        np.testing.assert_allclose(float(ours.kl_divergence(other)), want)
    paddle.seed(2)
    np.testing.assert_allclose(np.cov(ours.sample([20000]).numpy().T), cov, atol=0.1)


def test_categorical_reads_logits_as_weights_and_as_logits():
    c = D.Categorical(t([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]))
    weights = np.array([[1, 2, 3], [2, 2, 1]]) / np.array([[6.0], [5.0]])
    np.testing.assert_allclose(
        c.probs(paddle.to_tensor([0, 2])).numpy(), weights[:, [0, 2]], rtol=1e-12
    )
    got = c.log_prob(paddle.to_tensor([[0], [1]])).numpy()
    np.testing.assert_allclose(got, np.log(weights[[[0], [1]], [[0], [1]]]))
    soft = np.exp([[1.0, 2, 3], [2, 2, 1]])
    soft /= soft.sum(-1, keepdims=True)
    np.testing.assert_allclose(c.entropy().numpy(), -(soft * np.log(soft)).sum(-1))
    assert c.kl_divergence(c).shape == [2, 1]
    paddle.seed(5)
    drawn = c.sample([6000])
    assert drawn.shape == [6000, 2] and drawn.dtype == paddle.int64
    np.testing.assert_allclose(
        [np.bincount(drawn.numpy()[:, i], minlength=3) / 6000 for i in range(2)], soft, atol=0.03
    )
    assert (D.Categorical(t([-50.0, 0.0, -50.0])).sample([20]).numpy() == 1).all()


@pytest.mark.parametrize("method", ["onion", "cvine"])
def test_lkj_factors_are_of_correlation_matrices(method):
    paddle.seed(3)
    lower = D.LKJCholesky(4, 2.0, method).sample([300]).numpy().astype("float64")
    np.testing.assert_allclose(np.triu(lower, 1), 0.0, atol=1e-7)
    matrices = lower @ lower.transpose(0, 2, 1)
    np.testing.assert_allclose(np.diagonal(matrices, 0, 1, 2), 1.0, atol=1e-5)
    # Each correlation is 2 Beta(b, b) - 1 with b = concentration + (dim - 2) / 2, variance 1/(2b+1).
    np.testing.assert_allclose(matrices[:, 1, 0].var(), 1 / 7, atol=0.05)
    np.testing.assert_allclose(matrices[:, 3, 2].var(), 1 / 7, atol=0.05)


def test_lkj_density_integrates_to_one():
    # dim 2: the factor is [[1, 0], [r, sqrt(1 - r^2)]]; densities are over r.
    r = np.linspace(-0.99999, 0.99999, 4001)
    lower = np.zeros((4001, 2, 2))
    lower[:, 0, 0], lower[:, 1, 0], lower[:, 1, 1] = 1, r, np.sqrt(1 - r**2)
    density = D.LKJCholesky(2, t(1.5).reshape([])).log_prob(paddle.to_tensor(lower)).exp().numpy()
    np.testing.assert_allclose(np.trapezoid(density, r), 1.0, atol=1e-3)


def test_gradients_reach_the_parameters():
    for make in (
        lambda a, b: D.Normal(a, b).rsample([5]),
        lambda a, b: D.Laplace(a, b).rsample([5]),
        lambda a, b: D.Gumbel(a, b).rsample([5]),
        lambda a, b: D.Normal(a, b).log_prob(t(0.3)),
        lambda a, b: D.Gamma(a, b).entropy(),
        lambda a, b: D.Beta(a, b).kl_divergence(D.Beta(t(1.0), t(1.0))),
    ):

        def total(a, b):
            paddle.seed(3)
            return make(a, b).sum()

        a, b = t(0.7).astype("float64"), t(1.3).astype("float64")
        a.stop_gradient = b.stop_gradient = False
        total(a, b).backward()
        np.testing.assert_allclose(a.grad.numpy(), slopes(lambda a: total(a, b), a), rtol=1e-6)
        np.testing.assert_allclose(b.grad.numpy(), slopes(lambda b: total(a, b), b), rtol=1e-6)
    assert D.Normal(t(0.0), t(1.0)).sample().stop_gradient


def test_which_samples_have_gradients():
    """As in Paddle: programs train by ``sample`` of the normal distribution and its relatives."""
    a, b = t(0.7), t(1.3)
    a.stop_gradient = b.stop_gradient = False
    normal = D.Normal(a, b)
    for of in (
        normal, D.Uniform(a, b), D.LogNormal(a, b), D.StudentT(t(3.0), a, b),
        D.Independent(D.Normal(a.expand([2]), b), 1),
        D.TransformedDistribution(normal, [D.ExpTransform()]),
    ):  # fmt: skip
        paddle.seed(3)
        a.clear_gradient(False), b.clear_gradient(False)
        of.sample([4]).sum().backward()
        assert float(a.grad) != 0 and float(b.grad) != 0, of  # which they are, is tested below
    paddle.seed(3)
    noise = paddle.randn([4], "float64")
    paddle.seed(3)
    a.clear_gradient(False), b.clear_gradient(False)
    normal.sample([4]).sum().backward()
    np.testing.assert_allclose([float(a.grad), float(b.grad)], [4, float(noise.sum())], rtol=1e-5)
    for of in (
        D.Laplace(a, b), D.Gumbel(a, b), D.Cauchy(a, b), D.Gamma(a, b), D.Beta(a, b),
        D.Exponential(a), D.Bernoulli(a), D.Dirichlet(a.expand([2])),
    ):  # fmt: skip
        assert of.sample([4]).stop_gradient, of


def test_shapes_of_samples():
    one = t(0.5)
    assert D.Beta(one, one).sample([4]).shape == [4]
    assert D.Beta(0.5, 0.7).sample([4]).shape == [4]
    assert D.Beta(0.5, 0.7).sample().shape == []
    assert D.Beta(t(0.5, 1.0), one).sample([4]).shape == [4, 2]
    assert D.LKJCholesky(3, one).sample([2]).shape == [2, 1, 3, 3]
    assert D.LKJCholesky(2, 1.5, "cvine").sample([2]).shape == [2, 2, 2]


def test_rules_are_chosen_by_class():
    class Near(D.Normal):
        pass

    one, other = Near(t(0.0), t(1.0)), Near(t(1.0), t(1.0))
    assert float(D.kl_divergence(one, other)) == 0.5

    @D.register_kl(Near, Near)
    def near(p, q):
        return paddle.to_tensor(7.0)

    assert float(D.kl_divergence(one, other)) == 7.0
    assert float(D.kl_divergence(one, D.Normal(t(1.0), t(1.0)))) == 0.5
    with pytest.raises(NotImplementedError, match=r"\[kl_divergence\].*register_kl"):
        D.kl_divergence(one, D.Beta(t(1.0), t(1.0)))
    with pytest.raises(TypeError, match=r"\[register_kl\]"):
        D.register_kl(Near, int)


def test_numbers_and_arrays_as_parameters():
    assert D.Normal(0.0, 1.0).sample([3]).shape == [3]
    assert D.Normal([0.0, 1.0], 1.0).batch_shape == (2,)
    assert D.Normal(np.zeros(2), np.ones(2)).loc.dtype == paddle.float64
    assert D.Normal(0, 1).sample().dtype == paddle.float32


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: D.StudentT(-1.0, 0.0, 1.0), ValueError, r"\[StudentT\] df must be positive"),
        (lambda: D.Dirichlet(paddle.to_tensor(1.0)), ValueError, r"\[Dirichlet\].*vector"),
        (lambda: D.Multinomial(0, t(1.0)), ValueError, r"\[Multinomial\] total_count"),
        (lambda: D.MultivariateNormal(t(0.0)), ValueError, "takes one of"),
        (lambda: D.Independent(D.Normal(t(0.0), t(1.0)), 2), ValueError, r"in 1 \.\. 1"),
        (lambda: D.LKJCholesky(1), ValueError, "dim must be 2 or more"),
        (lambda: D.Distribution().sample(), NotImplementedError, "rsample is not defined"),
        (lambda: D.TransformedDistribution(1, []), TypeError, "base must be a Distribution"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("name", ["Laplace", "Gumbel", "Uniform"])
def test_integers_are_values(name):
    made = getattr(D, name)(paddle.to_tensor([-0.5, 0.0]), paddle.to_tensor([1.5, 3.0]))
    values = paddle.to_tensor([1, 2])
    for method in ("log_prob", "prob"):
        got = getattr(made, method)(values)
        want = getattr(made, method)(values.astype("float32"))
        assert got.tolist() == want.tolist() and got.dtype == paddle.float32
