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
