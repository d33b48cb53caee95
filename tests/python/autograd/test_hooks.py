"""Hooks of gradients: what they may compute, and what they may give."""

import numpy as np
import pytest

import argosy


def leaf(*values):
    return argosy.to_tensor(np.array(values, "float32"), stop_gradient=False)


def test_a_hook_may_run_a_backward_of_its_own():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def hook(grad):
        (w * w).sum().backward()
        return grad * w

    (x * 2).register_hook(hook)
    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert w.grad.tolist() == [6.0, 8.0]
    assert x.grad.tolist() == [6.0, 8.0]


def test_what_a_hook_computes_is_recorded_as_the_callers():
    x, recorded = leaf(1.0, 2.0), []
    x.register_hook(lambda grad: recorded.append((grad * x).stop_gradient))
    x.sum().backward()
    with argosy.no_grad():
        y = x * 1
    assert y.stop_gradient
    loss = x.sum()
    with argosy.no_grad():
        loss.backward()
    assert recorded == [False, True]


def test_the_gradient_of_a_hook_has_a_history_only_if_asked_for():
    x, w = leaf(1.0), leaf(3.0)
    y = x * 2
    y.register_hook(lambda grad: grad * w)
    y.backward()
    assert x.grad.is_leaf and w.grad is None
    y = x * 2
    y.register_hook(lambda grad: grad * w)
    (dx,) = argosy.grad(y, x, create_graph=True)
    dx.backward()
    assert w.grad.tolist() == [2.0]


@pytest.mark.parametrize("of_leaf", [False, True])
@pytest.mark.parametrize("shape, dtype", [([3], "float32"), ([1], "float32"), ([2], "float64")])
def test_a_hook_gives_a_gradient_like_the_one_it_got(of_leaf, shape, dtype):
    x = leaf(1.0, 2.0)
    y = x * 2
    (x if of_leaf else y).register_hook(lambda grad: argosy.ones(shape, dtype))
    with pytest.raises(RuntimeError, match=r"\[register_hook\] .* expected .*float32\[2\], got"):
        y.sum().backward()
    assert x.grad is None
