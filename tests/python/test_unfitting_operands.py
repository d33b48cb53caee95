"""Operands that do not fit each other are refused before a kernel reads past one: by gradients that are called
by themselves, and in Programs whose sizes were unknown when they were checked first."""

import numpy as np
import pytest

import argosy as paddle
from argosy import _core
from argosy.nn import functional as F

ops = _core.ops


def f(*shape):
    return paddle.ones(shape)


GRADIENTS = {
    "cumprod_grad": lambda: ops.cumprod_grad(f(4, 5), f(0, 5), f(4, 5)),
    "logcumsumexp_grad": lambda: ops.logcumsumexp_grad(f(4, 5), f(4, 5), f(5)),
    "softmax_grad": lambda: ops.softmax_grad(f(6, 5), f(6, 0), -1),
    "log_softmax_grad": lambda: ops.log_softmax_grad(f(6, 5), f(5), -1),
    "tile_grad": lambda: ops.tile_grad(f(1, 6), f(1, 6, 4), [2]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_called_by_themselves(name):
    with pytest.raises(ValueError, match=rf"\[{name}\] \w+ does not fit the other operands"):
        GRADIENTS[name]()


def test_rnnt_loss_of_labels_of_another_batch():
    two = paddle.to_tensor([1, 1], "int32")
    with pytest.raises(ValueError, match=r"\[rnnt_loss\] input and label must have one batch size"):
        F.rnnt_loss(f(2, 4, 3, 5), paddle.zeros([0, 2], "int32"), two, two)


@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_sizes_that_are_known_when_a_program_runs(loss):
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [-1, -1], "float32")
            label = paddle.static.data("label", [-1, -1], "float32")
            y = loss(x, label, reduction="sum")
            x.stop_gradient = False
            (gradient,) = paddle.static.gradients([y], [x])
            exe = paddle.static.Executor()
            half = np.full((4, 3), 0.5, "float32")
            exe.run(feed={"x": half, "label": half}, fetch_list=[y, gradient])
            with pytest.raises(ValueError, match="shape"):
                exe.run(feed={"x": half, "label": half[:1]}, fetch_list=[y, gradient])
    finally:
        paddle.disable_static()


def test_paddings_that_cannot_be_counted():
    with pytest.raises(MemoryError, match=r"\[pad\] axis 2 .* more elements than can be counted"):
        F.pad(f(1, 1, 3, 3), [0, 0, 2**62, 2**62])
