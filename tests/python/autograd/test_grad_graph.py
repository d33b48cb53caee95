"""What paddle.grad leaves of the graph."""

import numpy as np
import pytest

import argosy as paddle


def leaf(values):
    return paddle.to_tensor(values, stop_gradient=False)


def test_grad_leaves_the_graph_as_it_was():
    x, w = leaf([0.3, -0.7]), leaf([2.0, 3.0])
    h = x.exp()
    loss = (h * w).sum()
    (first,) = paddle.grad(loss, x)
    (again,) = paddle.grad(loss, x)
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    (by_w,) = paddle.grad(loss, w, no_grad_vars=[h])
    np.testing.assert_array_equal(by_w.numpy(), h.numpy())
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), first.numpy())
    with pytest.raises(RuntimeError, match="already run"):
        paddle.grad(loss, x)


def test_grad_frees_what_ops_saved_if_told_to():
    x = leaf([0.3, -0.7])
    loss = (x.exp() * x).sum()
    paddle.grad(loss, x, retain_graph=False)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        loss.backward()
