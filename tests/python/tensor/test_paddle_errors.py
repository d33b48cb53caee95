"""Exceptions are caught by the clauses of programs written for Paddle, Python and NumPy alike."""

import numpy as np
import pytest

import argosy as paddle


@pytest.mark.parametrize("kind", [TypeError, ValueError, RuntimeError])
@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.exp(),
        lambda: paddle.exp("a"),
        lambda: paddle.nn.functional.relu(paddle.to_tensor([1, 2])),
        lambda: paddle.bitwise_and(paddle.ones([2]), paddle.ones([2])),
    ],
)
def test_wrong_operands(call, kind):
    with pytest.raises(kind, match=r"^(\(\w+\) )?\["):
        call()


@pytest.mark.parametrize("kind", [ValueError, AssertionError])
@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: bool(paddle.ones([2])), r"bool\(\): only a tensor of one element"),
        (lambda: float(paddle.ones([2])), r"float\(\): only a tensor of one element"),
        (lambda: len(paddle.to_tensor(1)), "no first dimension"),
        (lambda: paddle.ones([2]).set_value(np.ones(3, "float32")), "expected .2., got .3."),
    ],
)
def test_shapes_that_do_not_convert(call, text, kind):
    with pytest.raises(kind, match=text):
        call()


def test_backward_without_history_changes_nothing_and_warns():
    x = paddle.ones([2])
    with pytest.warns(UserWarning, match=r"\[backward\] changes no gradient.*Do this"):
        (x * 2).sum().backward()
    assert x.grad is None
    with pytest.raises(ValueError, match="allow_unused"):
        paddle.grad((x * 2).sum(), x)


def test_gradients_carry_a_history_of_their_own():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (x**2).sum().backward()
    assert x.grad.stop_gradient is False and x.grad.is_leaf
    with pytest.raises(ValueError, match="in place"):
        x.grad.scale_(2.0)
    with paddle.no_grad():
        x.grad.scale_(2.0)
    np.testing.assert_allclose(x.grad.numpy(), [4.0, 8.0])
    (x**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 12.0])
    x.clear_gradient()
    assert x.grad.stop_gradient is False
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 0.0])


def test_tensor_constructor():
    assert paddle.Tensor().shape == [0]
    assert paddle.Tensor(2, 3).shape == [2, 3] and paddle.Tensor(2, 3).dtype == paddle.float32
    assert paddle.Tensor([1, 2]).dtype == paddle.float32
    assert paddle.Tensor(np.ones(3)).dtype == paddle.float64
    t = paddle.Tensor(value=np.ones(3), stop_gradient=False)
    assert t.dtype == paddle.float64 and not t.stop_gradient
    assert paddle.Tensor(paddle.to_tensor([1, 2])).dtype == paddle.int64


def test_small_agreements():
    assert paddle.randperm(0).shape == [0]
    x = paddle.zeros([1000]).uniform_()
    assert 0 <= float(x.min()) < 0.1 and 0.9 < float(x.max()) < 1
    y = paddle.zeros([1000]).uniform_(**{"from": 2, "to": 3})
    assert 2 <= float(y.min()) and float(y.max()) < 3
    with pytest.raises(TypeError, match="got high"):
        x.uniform_(high=3)
    assert paddle.ones([1]).type.name == "DENSE_TENSOR"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: paddle.abs_(x),
        lambda x: paddle._core.ops.add_(x, paddle.ones([2])),
        lambda x: paddle.tolist(x),
        lambda x: paddle.Tensor.numpy(x),
        lambda x: paddle.Tensor.item(x),
        lambda x: paddle.Tensor.detach_(x),
        lambda x: paddle.Tensor.retain_grads(x),
        lambda x: paddle.utils.dlpack.to_dlpack(x),
    ],
)
def test_what_is_no_tensor_does_not_crash(call):
    for nothing in (None, object(), [1, 2]):
        with pytest.raises((TypeError, AttributeError)):
            call(nothing)
