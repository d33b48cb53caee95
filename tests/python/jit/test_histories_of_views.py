"""Gradients of views of outside that branches and loops of captured functions write, and of what they are views of."""

import numpy as np
import pytest

import argosy

T = argosy.to_tensor


def _view_then_base(x, c):
    y = x * 1.0
    v = y[1]
    if c > 0:
        v.multiply_(T(3.0))
        y[1] = y[1] * 5.0
    return v.sum() + (y * y).sum()


def _two_views_that_overlap(x, c):
    y = x * 1.0
    v, w = y[1], y[:, 1]
    if c > 0:
        v.multiply_(T(3.0))
        w.multiply_(T(5.0))
    return v.sum() + 10 * w.sum()


def _base_in_one_branch_later(x, c):
    y = x * 1.0
    v = y[1]
    if c > 0:
        v.multiply_(T(3.0))
    else:
        v.multiply_(T(2.0))
        y[1] = y[1] * 5.0
    return v.sum()


def _view_or_base(x, c):
    y = x * 1.0
    v = y[1]
    if c > 0:
        v.multiply_(T(3.0))
    else:
        y[0] = y[0] * 5.0
    return v.sum() + (y * y).sum()


def _base_in_a_branch(x, c):
    y = x * 1.0
    v = y[1]
    if c > 0:
        y[1] = y[1] * 3.0
    return v.sum() + (y * y).sum()


def _base(x, c):
    y = x * 1.0
    v = y[1]
    y[1] = y[1] * 3.0
    return v.sum() + (y * y).sum()


def _nested_branches(x, c):
    y = x * 1.0
    v = y[1]
    if c > 0:
        if c > 0.5:
            v.multiply_(T(3.0))
        else:
            y[1] = y[1] * 2.0
    return (v * v).sum() + (y * y).sum()


def _loop(x, c):
    y = x * 1.0
    v = y[0]
    i = T(0)
    while i < 3:
        v.multiply_(T(2.0))
        i = i + 1
    return v.sum() + (y * y).sum()


def _loop_of_no_rounds(x, c):
    y = x * 1.0
    v = y[1]
    i = T(0)
    while i < c:
        v.multiply_(T(2.0))
        i = i + 1
    return (v * v).sum() + (y * y * y).sum()


def _loop_that_sets_the_view(x, c):
    y = x * 1.0
    v, w = y[1], x[0] * 2.0
    i = T(0)
    while i < 2:
        v[:] = w * c
        i = i + 1
    return (v * v).sum()


def _loop_of_views_that_overlap(x, c):
    y = x * 1.0
    v, w = y[1], y[:, 1]
    i = T(0)
    while i < 2:
        v.multiply_(T(3.0))
        w.multiply_(T(5.0))
        i = i + 1
    return v.sum() + 10 * w.sum()


def _nested_loops(x, c):
    y = x * 1.0
    v = y[1]
    i = T(0)
    while i < 2:
        j = T(0)
        while j < 2:
            v.multiply_(T(2.0))
            j = j + 1
        if c > 0:
            v.add_(x[0])
        i = i + 1
    return (v * v).sum() + (y * y * y).sum()


FUNCTIONS = [
    _view_then_base, _two_views_that_overlap, _base_in_one_branch_later, _view_or_base, _base_in_a_branch, _base,
    _nested_branches, _loop, _loop_of_no_rounds, _loop_that_sets_the_view, _loop_of_views_that_overlap, _nested_loops,
]  # fmt: skip


def _outcome(call, c):
    x = T(np.arange(6.0).reshape(2, 3) + 1, stop_gradient=False)
    y = call(x, T(c))
    y.backward()
    return float(y), x.grad.tolist()


@pytest.mark.parametrize("c", [1.0, 0.2, -1.0])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_gradients_are_those_of_eager_calls(function, c):
    captured = argosy.jit.to_static(function, full_graph=True)
    assert _outcome(captured, c) == _outcome(function, c)


def test_a_view_that_a_loop_writes_has_the_gradient_of_that():
    # v is 8 times what it was; what it is a view of has its values, and not that history.
    captured = argosy.jit.to_static(_loop, full_graph=True)
    value, slopes = _outcome(captured, 1.0)
    assert value == 48.0 + (8.0**2 + 16.0**2 + 24.0**2) + (16.0 + 25.0 + 36.0)
    assert slopes == [[8.0 + 16.0, 8.0 + 32.0, 8.0 + 48.0], [8.0, 10.0, 12.0]]
