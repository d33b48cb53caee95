"""What the backward of a PyLayer gets for its outputs."""

import numpy as np
import pytest

import argosy as paddle
from argosy.autograd import PyLayer


@pytest.mark.parametrize("zeros", [True, False])
def test_outputs_without_gradient_have_an_argument_too(zeros):
    seen = []

    class Split(PyLayer):
        @staticmethod
        def forward(ctx, x):
            rest = x * 2
            ctx.mark_non_differentiable(rest)
            ctx.set_materialize_grads(zeros)
            return rest, x * 3, "no tensor"

        @staticmethod
        def backward(ctx, d_rest, dy):
            seen.append(d_rest)
            return 3 * dy

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    rest, y, text = Split.apply(x)
    assert rest.stop_gradient and not y.stop_gradient and text == "no tensor"
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3, 3])
    if zeros:
        np.testing.assert_array_equal(seen[0].numpy(), [0, 0])
    else:
        assert seen == [None]


def test_a_backward_that_is_differentiable_once():
    from argosy.autograd.py_layer import once_differentiable

    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensor()
            assert not paddle.is_grad_enabled()
            return 3 * x**2 * grad

    x = paddle.to_tensor(2.0, stop_gradient=False)
    Cube.apply(x).backward()
    assert x.grad.item() == 12
    weight = paddle.to_tensor(5.0, stop_gradient=False)
    (g,) = paddle.grad(Cube.apply(x) * weight, x, create_graph=True)
    assert g.item() == 60
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function"):
        g.backward()
