"""What argosy.grad gives, takes and leaves alone."""

import numpy as np
import pytest

import argosy


def leaf(*values):
    return argosy.to_tensor(np.array(values, "float32"), stop_gradient=False)


@pytest.mark.parametrize("call", ["x * 3", "x + y", "argosy.matmul(x, y)", "x ** 2", "x.sum()"])
def test_gradients_that_may_be_differentiated_again_say_so(call):
    x, y = leaf(1.0, 2.0), argosy.ones([2])
    value = eval(call, {"x": x, "y": y, "argosy": argosy})
    assert argosy.grad(value, x)[0].stop_gradient
    (gradient,) = argosy.grad(value, x, create_graph=True)
    assert not gradient.stop_gradient
    assert y.stop_gradient  # what a gradient was read from is as it was


def test_a_constant_gradient_has_no_gradient_in_turn():
    x = leaf(1.0, 2.0)
    (first,) = argosy.grad(x * 3, x, create_graph=True)
    with pytest.raises(ValueError, match="not reached"):
        argosy.grad(first, x)
    assert argosy.grad(first, x, allow_unused=True) == [None]
    (first.sum() + (x**2).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0])


def test_hooks_of_leaves_belong_to_backward():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 2)
    (first,) = argosy.grad(x * x, x, create_graph=True)
    assert first.tolist() == [2.0, 4.0]
    (x * x + first).sum().backward()
    assert x.grad.tolist() == [8.0, 12.0]
    inner = leaf(1.0, 2.0) * 1
    inner.register_hook(lambda g: g * 2)
    assert argosy.grad(inner * 3, inner)[0].tolist() == [6.0, 6.0]


@pytest.mark.parametrize("name", ["create_graph", "retain_graph", "allow_unused"])
@pytest.mark.parametrize("kind", [ValueError, AssertionError])
def test_switches_are_bools(name, kind):
    x = leaf(1.0)
    with pytest.raises(kind, match=rf"\[grad\] {name}: expected a bool, got 1. Do this"):
        argosy.grad(x * x, x, **{name: 1})


def test_a_layer_of_no_tensors():
    class Layer(argosy.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, result):
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad

    for result in (None, 3, (1, 2)):
        with pytest.raises(ValueError, match=r"\[Layer.forward\] expected at least one Tensor"):
            Layer.apply(leaf(1.0), result)


@pytest.mark.parametrize(
    "value, expected",
    [
        ([[1, 2], [3, 4], [5, 6]], [[1, 2], [0, 0], [3, 4]]),
        ([[1], [2], [3]], [[3], [0], [7]]),
        ([1, 2], [4, 6]),
        (5.0, 10),
    ],
)
def test_a_value_that_was_overwritten_at_once_has_no_gradient(value, expected):
    """x[[0, 1, 1]] = v: the last value for a place stays, and has the gradient."""
    v = argosy.to_tensor(value, dtype="float32", stop_gradient=False)
    x = argosy.zeros([3, 2])
    x.stop_gradient = False
    y = x * 1
    y[[0, 1, 1]] = v
    (y * argosy.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert v.grad.tolist() == expected
    assert x.grad.tolist() == [[0, 0], [0, 0], [5, 6]]


def test_places_named_twice_by_several_indices():
    v = argosy.arange(12, dtype="float64").reshape([3, 2, 2])
    v.stop_gradient = False
    y = argosy.zeros([2, 4, 2], "float64")
    rows, columns = argosy.to_tensor([[0], [1], [0]]), argosy.to_tensor([1, 3])
    y[rows, columns] = v
    weights = argosy.arange(16, dtype="float64").reshape([2, 4, 2])
    (y * weights).sum().backward()
    expected = weights.numpy()[np.array([[0], [1], [0]]), np.array([1, 3])]
    expected[0] = 0
    np.testing.assert_array_equal(v.grad.numpy(), expected)


def test_an_input_is_named_once():
    x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * x
    with pytest.raises(RuntimeError, match=r"\[grad\] inputs names a tensor twice\. Do this"):
        argosy.grad(y, [x, x])
    # The gradients of x + y by x and y may be one object, so outputs may be.
    assert argosy.grad([y, y], x)[0].tolist() == [4, 8]


OVERWRITTEN = {
    "itself": lambda x: x.multiply_(x),
    "its row": lambda x: x.multiply_(x[0]),
    "what it is a view of": lambda x: x.reshape([-1]).multiply_(x.reshape([-1])),
    "its transpose": lambda x: x.divide_(x.T),
    "three times": lambda x: x.lerp_(x, x),
}


@pytest.mark.parametrize("write", OVERWRITTEN.values(), ids=OVERWRITTEN)
def test_an_operand_that_is_overwritten_has_no_gradient(write):
    """The gradient needs what it was; Paddle refuses it, too."""
    leaf = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    with pytest.raises(RuntimeError, match="overwritten in place since"):
        write(leaf * 3).sum().backward()


def test_an_operand_beside_what_is_overwritten_keeps_its_gradient():
    leaf = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    x = leaf * 3
    row = x[0]
    row.multiply_(x[1])
    row.sum().backward()
    assert leaf.grad.tolist() == [[27, 36], [9, 18]]
    x = leaf * 3
    x.add_(x)  # needs no value
    leaf.clear_grad()
    x.sum().backward()
    assert leaf.grad.tolist() == [[6, 6], [6, 6]]
