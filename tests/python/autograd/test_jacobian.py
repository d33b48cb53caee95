"""Jacobians and Hessians against formulas."""

import numpy as np
import pytest

import argosy as paddle
from argosy.autograd import hessian, jacobian
from argosy.incubate import autograd as functional


def leaf(values):
    return paddle.to_tensor(values, dtype="float64", stop_gradient=False)


X, W = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0])


def test_jacobian():
    x = leaf(X)
    j = jacobian(x**2, x)
    assert list(j.shape) == [3, 3]
    np.testing.assert_allclose(j[:].numpy(), np.diag(2 * X))
    np.testing.assert_allclose(j[1].numpy(), [0, 4, 0])
    np.testing.assert_allclose((j * 2 + 1).numpy(), 2 * np.diag(2 * X) + 1)
    np.testing.assert_allclose((1 - j).numpy(), 1 - np.diag(2 * X))
    np.testing.assert_allclose(j.sum().numpy(), 12)
    np.testing.assert_allclose(jacobian((x**2).sum(), x)[:].numpy(), 2 * X)


def test_sequences_and_unused_inputs():
    x, w = leaf(X), leaf(W)
    rows = jacobian([(x**2).sum() * w, x], [x, w])
    np.testing.assert_allclose(rows[0][0][:].numpy(), np.outer(W, 2 * X))
    np.testing.assert_allclose(rows[0][1][:].numpy(), 14 * np.eye(2))
    np.testing.assert_allclose(rows[1][1][:].numpy(), np.zeros((3, 2)))


def test_batched():
    data = np.arange(6.0).reshape(3, 2)
    x = leaf(data)
    j = jacobian(2 * x**2, x, batch_axis=0)[:].numpy()
    np.testing.assert_allclose(j, [np.diag(4 * row) for row in data])
    x = leaf(data)
    h = hessian((x**3).sum(-1), x, batch_axis=0)[:].numpy()
    np.testing.assert_allclose(h, [np.diag(6 * row) for row in data])


def test_hessian():
    x, w = leaf(X), leaf(W)
    np.testing.assert_allclose(hessian((x**3).sum(), x)[:].numpy(), np.diag(6 * X))
    blocks = hessian((x**2).sum() * (w**2).sum(), [x, w])
    np.testing.assert_allclose(blocks[0][0][:].numpy(), 2 * (W @ W) * np.eye(3))
    np.testing.assert_allclose(blocks[0][1][:].numpy(), 4 * np.outer(X, W))
    np.testing.assert_allclose(blocks[1][0][:].numpy(), 4 * np.outer(W, X))


def test_functions():
    x, v = paddle.to_tensor(X), paddle.to_tensor([1.0, 0.0, 2.0], dtype="float64")
    y, product = functional.vjp(lambda x: x**2, x, v)
    np.testing.assert_allclose(y.numpy(), X**2)
    np.testing.assert_allclose(product.numpy(), 2 * X * v.numpy())
    y, product = functional.jvp(lambda x: x.sum() * x, x, v)
    np.testing.assert_allclose(product.numpy(), (X.sum() * np.eye(3) + X[:, None]) @ v.numpy())
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[0.0, 1], [2, 5]])
    j = functional.Jacobian(lambda x, y: paddle.matmul(x, y), [leaf(a), leaf(b)])
    want = np.concatenate([np.kron(np.eye(2), b.T), np.kron(a, np.eye(2))], 1)
    assert j.shape == (4, 8)
    np.testing.assert_allclose(j[:].numpy(), want)
    h = functional.Hessian(lambda x: (x**3).sum(), leaf(X))
    np.testing.assert_allclose(h[:].numpy(), np.diag(6 * X))
    x = leaf(X)
    product = functional.forward_grad(x**2, x, v)
    np.testing.assert_allclose(product.numpy(), 2 * X * v.numpy())


def test_errors():
    with pytest.raises(ValueError, match=r"\[jacobian\] ys has a wrong number.*got 2"):
        jacobian(leaf([[1.0]]), leaf(X))
    with pytest.raises(ValueError, match="batch_axis must be None or 0"):
        jacobian(leaf(X), leaf(X), batch_axis=1)
    with pytest.raises(ValueError, match=r"\[hessian\] ys must be a scalar"):
        hessian(leaf(X), leaf(X))
    with pytest.raises(RuntimeError, match=r"\[vjp\] v must have the shapes"):
        functional.vjp(lambda x: x, paddle.to_tensor(X), paddle.ones([2]))
