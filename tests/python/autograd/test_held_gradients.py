"""Gradients that somebody holds while they are cleared, set and added to."""

import argosy

T = argosy.to_tensor


def _leaf():
    return T([1.0, 2.0], stop_gradient=False)


def _backward(x, factor=1.0):
    (x * factor).sum().backward()


def test_a_held_gradient_is_cleared_with_its_tensor_and_then_its_own():
    x = _leaf()
    _backward(x)
    g, view = x.grad, x.grad.detach()
    _backward(x, 2.0)
    assert g.tolist() == [3.0, 3.0]  # added in place
    x.clear_gradient(True)
    assert g.tolist() == view.tolist() == x.grad.tolist() == [0.0, 0.0]
    _backward(x, 5.0)
    assert g.tolist() == view.tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [5.0, 5.0]
    assert x.grad is not g


def test_a_held_gradient_outlives_its_tensor_letting_it_go():
    x = _leaf()
    _backward(x)
    g = x.grad
    x.clear_gradient(False)
    assert x.grad is None
    _backward(x, 5.0)
    assert g.tolist() == [1.0, 1.0] and x.grad.tolist() == [5.0, 5.0]


def test_what_was_written_into_zeros_is_added_to():
    x = _leaf()
    _backward(x)
    x.clear_gradient(True)
    with argosy.no_grad():
        x.grad.add_(T([1.0, 2.0]))
    _backward(x, 5.0)
    assert x.grad.tolist() == [6.0, 7.0]


def test_a_gradient_that_was_set_is_not_written():
    x, g = _leaf(), T([5.0, 6.0])
    x.grad = g
    _backward(x)
    assert g.tolist() == [5.0, 6.0] and x.grad.tolist() == [6.0, 7.0]
    x.grad = g
    x.clear_gradient(True)
    assert g.tolist() == [5.0, 6.0] and x.grad.tolist() == [0.0, 0.0]
    _backward(x, 2.0)
    assert g.tolist() == [5.0, 6.0] and x.grad.tolist() == [2.0, 2.0]


def test_gradients_held_while_an_optimizer_clears_them():
    layer = argosy.nn.Linear(2, 1)
    sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
    layer(argosy.ones([1, 2])).sum().backward()
    g = layer.weight.grad
    sgd.step()
    sgd.clear_grad(True)
    assert g.tolist() == [[0.0], [0.0]]
    (layer(argosy.ones([1, 2])) * 3).sum().backward()
    assert g.tolist() == [[0.0], [0.0]] and layer.weight.grad.tolist() == [[3.0], [3.0]]
