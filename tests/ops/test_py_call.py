"""Python functions as operations, in eager and recorded calls."""

import numpy as np
import pytest

import argosy
from argosy._recorder import Recorder
from argosy.static.nn.call import _call

COVERS = {"py_call": "test_python_function_with_gradient"}
X = np.array([[0.3, -0.7], [1.1, 2.0]])


def cube(x):
    def backward(values):
        x, _, dy = (v.numpy() for v in values)
        return [argosy.to_tensor(3 * x * x * dy)]

    def forward(values):
        return [argosy.to_tensor(values[0].numpy() ** 3)]

    return _call([x], [(list(x.shape), x.dtype)], forward, backward)[0]


@pytest.mark.parametrize("shape", [[2, 2], [-1, -1], None])
def test_python_function_with_gradient(shape):
    if shape is None:
        x = argosy.to_tensor(X, stop_gradient=False)
        y = cube(x)
        y.sum().backward()
        got = y.numpy(), x.grad.numpy()
    else:
        with Recorder() as r:
            x = r.input(shape, "float64", stop_gradient=False)
            y = cube(x)
            (g,) = r.gradients([y.sum()], [x])
        r.verify()
        got = [v.numpy() for v in r.run([argosy.to_tensor(X)], [y, g])]
    np.testing.assert_allclose(got[0], X**3)
    np.testing.assert_allclose(got[1], 3 * X**2)


def test_a_result_that_does_not_fit():
    x = argosy.to_tensor(X)
    with pytest.raises(ValueError, match=r"expected .*float32\[2, 2\], got"):
        _call([x], [([2, 2], argosy.float32)], lambda values: values)
    with pytest.raises(ValueError, match="expected 1, got 0"):
        _call([x], [([2, 2], argosy.float64)], lambda values: [])
    with pytest.raises(ZeroDivisionError):
        _call([x], [([2, 2], argosy.float64)], lambda values: 1 / 0)
