"""softmax of sparse tensors along axes that have coordinates, against NumPy; what dense operands raise."""

import numpy as np
import pytest

import argosy as paddle
from argosy import sparse

rng = np.random.default_rng(4)
X = np.where(rng.random((2, 3, 4)) < 0.6, rng.uniform(-1, 1, (2, 3, 4)), 0).astype("float32")


def reference(x, axis):
    powers = np.where(x != 0, np.exp(x), 0)
    total = powers.sum(axis, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_coordinates(axis):
    x = paddle.to_tensor(X, stop_gradient=False)
    made = sparse.nn.functional.softmax(x.to_sparse_coo(3), axis).to_dense()
    np.testing.assert_allclose(made.numpy(), reference(X, axis), rtol=1e-5)
    weights = rng.uniform(-1, 1, X.shape).astype("float32")
    (made * paddle.to_tensor(weights)).sum().backward()
    softmax = reference(X, axis)
    wanted = softmax * (weights - (weights * softmax).sum(axis, keepdims=True))
    np.testing.assert_allclose(x.grad.numpy(), np.where(X != 0, wanted, 0), rtol=1e-4, atol=1e-6)


def test_axes_without_coordinates():
    softmax = sparse.nn.functional.softmax
    for x, axis in (
        (paddle.to_tensor(X[0]).to_sparse_csr(), 0),
        (paddle.to_tensor(X).to_sparse_coo(2), 2),
        (paddle.to_tensor(X).to_sparse_coo(3), 3),
    ):
        with pytest.raises(
            ValueError, match=r"\[sparse.softmax\] expected an axis of coordinates.*Do this"
        ):
            softmax(x, axis)


def test_truth_values():
    places = np.array([[0, 1], [1, 0]])
    x = sparse.sparse_coo_tensor(places, np.float32([np.nan, 1]), [2, 2])
    np.testing.assert_array_equal(
        sparse.isnan(x).to_dense().numpy(), [[False, True], [False, False]]
    )


def test_dense_operands():
    for call in (lambda x: sparse.sin(x), lambda x: sparse.nn.functional.relu(x)):
        with pytest.raises(NotImplementedError, match="expected a sparse tensor.*Do this"):
            call(paddle.to_tensor(X))
