"""Wrong arguments of backward and grad; programs catch them as AssertionError."""

import copy

import numpy as np
import pytest

import argosy
from argosy.autograd import backward


def leaf():
    x = argosy.ones([2, 2])
    x.stop_gradient = False
    return x


@pytest.mark.parametrize(
    "arguments, text",
    [
        (lambda x: (None, None), "outputs: expected a Tensor"),
        (lambda x: (1, np.ones(2)), "outputs: expected a Tensor"),
        (lambda x: (np.ones(2), 1), "outputs: expected a Tensor"),
        (lambda x: ([x], [1]), "inputs: expected a Tensor"),
        (lambda x: ([], [x]), "outputs: expected a Tensor or more"),
        (lambda x: ([x * 2], []), "inputs: expected a Tensor or more"),
        (lambda x: ([x * 2, x], [x], [x]), "grad_outputs: expected one for each of 2"),
        (lambda x: (x * 2, x, argosy.ones([3])), "must have the shape of its tensor"),
        (lambda x: ([x * 2], [x], [1]), "grad_outputs: expected a Tensor"),
    ],
)
def test_grad_of_wrong_things(arguments, text):
    with pytest.raises(AssertionError, match=text):
        argosy.grad(*arguments(leaf()))


@pytest.mark.parametrize(
    "options",
    [
        {"no_grad_vars": 1},
        {"no_grad_vars": [1]},
        {"create_graph": 3},
        {"retain_graph": "yes"},
        {"only_inputs": False},
        {"allow_unused": 3},
    ],
)
def test_grad_with_wrong_options(options):
    x = leaf()
    with pytest.raises(AssertionError, match=r"\[grad\]"):
        argosy.grad([x * 2], [x], **options)


def test_backward_of_wrong_things():
    x = leaf()
    y = x * 2
    for tensors, seeds in [(1, None), ([], None), ([y, y], None), ([y], [1]), ([y], [y, y])]:
        with pytest.raises(AssertionError, match=r"\[backward\]"):
            backward(tensors, seeds)
    for seed in (1, argosy.ones([3]), np.ones([2, 2])):
        with pytest.raises(AssertionError, match=r"\[backward\] grad_tensor"):
            y.backward(seed)
    backward([y, x * 3], [None, argosy.full([2, 2], 2.0)])
    assert x.grad.tolist() == [[8, 8], [8, 8]]


def test_a_copy_of_a_result_is_a_leaf():
    x = leaf()
    y = copy.deepcopy(x * 3)
    assert y.is_leaf and not y.stop_gradient and y.tolist() == [[3, 3], [3, 3]]
    y.sum().backward()
    assert x.grad is None and y.grad.tolist() == [[1, 1], [1, 1]]


def test_set_grad_enabled_decorates():
    def doubled(x):
        return x * 2

    x = argosy.to_tensor([1.0], stop_gradient=False)
    off, on = argosy.set_grad_enabled(False)(doubled), argosy.set_grad_enabled(True)(doubled)
    assert argosy.is_grad_enabled()
    assert off(x).stop_gradient and not on(x).stop_gradient
    with argosy.no_grad():
        assert not on(x).stop_gradient
