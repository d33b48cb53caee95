"""Transforms: inverses, shapes, and Jacobians against those of finite differences."""

import numpy as np
import pytest

import argosy as paddle
from argosy import distribution as D


def t(*values):
    return paddle.to_tensor(np.array(values, "float64"))


X = t(0.3, 0.6)
BIJECTIONS = {
    "affine": D.AffineTransform(t(1.0), t(2.0, -3.0)),
    "exp": D.ExpTransform(),
    "power": D.PowerTransform(t(2.5)),
    "sigmoid": D.SigmoidTransform(),
    "tanh": D.TanhTransform(),
    "stick": D.StickBreakingTransform(),
    "independent": D.IndependentTransform(D.ExpTransform(), 1),
    "chain": D.ChainTransform([D.AffineTransform(t(1.0), t(2.0)), D.ExpTransform()]),
    "mixed chain": D.ChainTransform([D.ExpTransform(), D.StickBreakingTransform()]),
    "stack": D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0),
    "reshape": D.ReshapeTransform((2,), (1, 2)),
}


def jacobian(function, x, eps=1e-6):
    columns = []
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = eps
        high, low = (function(paddle.to_tensor(x + s)).numpy().ravel() for s in (step, -step))
        columns.append((high - low) / (2 * eps))
    return np.stack(columns, -1)


@pytest.mark.parametrize("name", BIJECTIONS)
def test_inverse_and_jacobian(name):
    transform = BIJECTIONS[name]
    y = transform.forward(X)
    np.testing.assert_allclose(transform.inverse(y).numpy(), X.numpy(), rtol=1e-10)
    assert tuple(y.shape) == tuple(transform.forward_shape(tuple(X.shape)))
    assert tuple(transform.inverse_shape(tuple(y.shape))) == tuple(X.shape)
    got = transform.forward_log_det_jacobian(X)
    matrix = jacobian(transform.forward, X.numpy())[:2]  # of the stick, all but the last part
    want = np.log(abs(np.linalg.det(matrix)))
    elementwise = got.ndim > 0 and name != "reshape"
    total = got.expand([2]).sum() if elementwise else got
    np.testing.assert_allclose(float(total), want, atol=1e-6)
    np.testing.assert_allclose(
        transform.inverse_log_det_jacobian(y).numpy(), -got.numpy(), rtol=1e-9
    )


def test_calls():
    exp = D.ExpTransform()
    assert isinstance(exp(D.TanhTransform()), D.ChainTransform)
    made = exp(D.Normal(t(0.0), t(1.0)))
    assert isinstance(made, D.TransformedDistribution)
    want = D.LogNormal(t(0.0), t(1.0)).log_prob(X)
    np.testing.assert_allclose(made.log_prob(X).numpy(), want.numpy())
    np.testing.assert_allclose(exp(X).numpy(), np.exp(X.numpy()))


def test_transforms_that_are_no_bijections():
    low, high = D.AbsTransform().inverse(X)
    np.testing.assert_allclose(low.numpy(), -high.numpy())
    with pytest.raises(NotImplementedError, match=r"\[AbsTransform\] maps several"):
        D.AbsTransform().forward_log_det_jacobian(X)
    np.testing.assert_allclose(D.SoftmaxTransform().forward(X).sum().numpy(), 1.0)


def test_density_of_a_stick_breaking_distribution():
    # The density over the first K parts integrates to 1.
    base = D.Normal(t(0.2), t(0.7))
    made = D.TransformedDistribution(base, [D.StickBreakingTransform()])
    assert made.event_shape == (2,) and made.batch_shape == ()
    p = np.linspace(1e-4, 1 - 1e-4, 20001)
    density = made.log_prob(paddle.to_tensor(np.stack([p, 1 - p], -1))).exp().numpy()
    np.testing.assert_allclose(np.trapezoid(density, p), 1.0, atol=1e-4)
    assert made.sample([4]).shape == [4, 2]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: D.AffineTransform(1.0, 2.0), TypeError, "loc must be a Tensor"),
        (lambda: D.ExpTransform().forward(1.0), TypeError, "x must be a Tensor"),
        (lambda: D.ReshapeTransform((2,), (3,)), ValueError, "as many elements"),
        (lambda: D.ReshapeTransform((2,), (1, 2)).forward_shape((3,)), ValueError, "must end with"),
        (lambda: D.IndependentTransform(D.ExpTransform(), 0), ValueError, "1 or more"),
        (lambda: D.StackTransform([D.ExpTransform()], 0).forward(X), ValueError, "expected size 1"),
        (lambda: D.ChainTransform(D.ExpTransform()), TypeError, "list of Transforms"),
        (lambda: D.Transform().forward(X), NotImplementedError, "_forward is not defined"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_constraints():
    c = paddle.distribution.constraint
    x = paddle.to_tensor([-1.0, 0.0, 2.0, float("nan")])
    assert c.real(x).tolist() == [True, True, True, False]
    assert c.positive(x).tolist() == [False, True, True, False]
    assert c.Range(-1, 0.0)(x).tolist() == [True, True, False, False]
    rows = paddle.to_tensor([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]])
    assert c.simplex(rows).tolist() == [True, False, False]
    with pytest.raises(NotImplementedError, match="__call__"):
        c.Constraint()(x)


def test_variables():
    v = paddle.distribution.variable
    rows = paddle.to_tensor([[1.0, -1.0], [2.0, 0.0]])
    one = v.Independent(v.positive, 1)
    assert (one.event_rank, one.is_discrete) == (1, False)
    assert one.constraint(rows).tolist() == [False, True]
    assert v.Independent(v.real, 2).constraint(rows).item() is True
    both = v.Stack([v.real, v.positive], 1)
    assert both.event_rank == 0 and v.Stack([v.real], -1).event_rank == 1
    assert both.constraint(rows).tolist() == [[True, False], [True, True]]
    assert v.Stack([v.Variable(is_discrete=True), v.real]).is_discrete
    with pytest.raises(ValueError, match="must have 3 dimensions or more, got 2"):
        v.Independent(v.real, 3).constraint(rows)
    with pytest.raises(ValueError, match="axis 0 must have 3 places, got 2"):
        v.Stack([v.real] * 3).constraint(rows)
    with pytest.raises(AssertionError, match="no constraint"):
        v.Variable().constraint(rows)
    with pytest.raises(TypeError, match="base"):
        v.Independent(3, 1)


def test_a_transform_says_what_it_maps_by_variables():
    v = paddle.distribution.variable

    class Sums(paddle.distribution.Transform):
        _type = paddle.distribution.transform.Type.BIJECTION
        _domain = property(lambda self: v.Independent(v.real, 1))
        _codomain = property(lambda self: v.Independent(v.real, 1))

        def _forward(self, x):
            return paddle.cumsum(x, -1)

        def _forward_log_det_jacobian(self, x):
            return paddle.zeros(x.shape[:-1])

    sums = Sums()
    assert sums.forward(paddle.to_tensor([1.0, 2.0])).tolist() == [1, 3]
    with pytest.raises(ValueError, match="must have 1 dimensions or more"):
        sums.forward(paddle.to_tensor(1.0))
    base = paddle.distribution.Normal(paddle.zeros([2]), paddle.ones([2]))
    whole = paddle.distribution.TransformedDistribution(base, [sums])
    assert list(whole.event_shape) == [2] and list(whole.batch_shape) == []
    assert paddle.distribution.SoftmaxTransform()._domain.event_rank == 1
    assert paddle.distribution.ExpTransform()._codomain.event_rank == 0


def test_a_shape_that_stays_is_given_back_as_it_came():
    for transform in (D.ExpTransform(), D.ChainTransform([D.ExpTransform(), D.TanhTransform()])):
        assert transform.forward_shape([2]) == [2] and transform.forward_shape((2,)) == (2,)
        assert transform.inverse_shape([2]) == [2]
    assert D.ReshapeTransform((2,), (1, 2)).forward_shape([2]) == (1, 2)
