"""Reference cycles through the tape are collected."""

import gc

import pytest

import argosy as paddle
from argosy import _core


def needs_grad():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    return x


class SavesItsOutput(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.exp(x)
        ctx.save_for_backward(y)
        ctx.also = y
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return dy * y


def pylayer_without_backward():
    SavesItsOutput.apply(needs_grad())


def pylayer_with_backward():
    SavesItsOutput.apply(needs_grad()).sum().backward()


def hook_of_a_leaf():
    x = needs_grad()
    x.register_hook(lambda grad: x.shape and None)
    return x


def hook_of_a_leaf_that_ran():
    (hook_of_a_leaf() * 2).sum().backward()


def hook_of_a_result():
    y = needs_grad() * 2
    y.register_hook(lambda grad: y.shape and None)
    return y


def hook_of_a_result_that_ran():
    hook_of_a_result().sum().backward()


def hook_of_a_parameter():
    layer = paddle.nn.Linear(2, 2)
    layer.weight.register_hook(lambda grad: layer and None)
    layer(paddle.ones([1, 2])).sum().backward()


def attributes():
    x = needs_grad()
    x.itself, x.weights = x, [x]


def hook_of_a_layer():
    layer = paddle.nn.Linear(2, 2)
    layer.register_forward_post_hook(lambda *args: layer and None)
    layer.weight.layer = layer


@pytest.mark.parametrize(
    "make",
    [
        pylayer_without_backward,
        pylayer_with_backward,
        hook_of_a_leaf,
        hook_of_a_leaf_that_ran,
        hook_of_a_result,
        hook_of_a_result_that_ran,
        hook_of_a_parameter,
        attributes,
        hook_of_a_layer,
    ],
)
def test_cycles_are_collected(make):
    def level():
        gc.collect()
        allocated = _core.memory_stats(paddle.CPUPlace())["allocated"]
        return allocated, sum(isinstance(o, paddle.Tensor) for o in gc.get_objects())

    make()
    before = level()
    for _ in range(20):
        make()
    assert level() == before


def test_what_is_in_use_is_not_collected():
    """The collector must not take apart what only the tape holds."""
    seen = []

    def build():
        x = needs_grad()
        x.register_hook(lambda grad: seen.append(("x", x.shape)))
        y = SavesItsOutput.apply(x)
        y.register_hook(lambda grad: seen.append(("y", y.shape)))
        return (y * 2).sum(), x

    loss, x = build()
    for _ in range(3):
        gc.collect()
    loss.backward(retain_graph=True)
    del loss
    gc.collect()
    assert [name for name, _ in seen] == ["y", "x"]
    assert x.grad.shape == [2, 3]
    loss, _ = build()
    del x, _
    gc.collect()
    loss.backward()
    assert [name for name, _ in seen] == ["y", "x", "y", "x"]
