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
