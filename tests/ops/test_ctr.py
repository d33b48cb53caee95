"""Ops of click models against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import A, Case, table_tests, tensor

import argosy
from argosy import _core

ops = _core.ops
WIDE = ("float32", "float64")
# The second row has a slot that was never shown.
X = np.array([[1.0, 2.0, 3.0, -1.0], [0.0, 5.0, 1.0, 2.0], [2.0, 1.0, 4.0, 0.5]])


def value_model(x, cvm, use_cvm=True):
    if not use_cvm:
        return x[:, 2:]
    show = np.log(x[:, 0] + 1)
    return np.column_stack([show, np.log(x[:, 1] + 1) - show, x[:, 2:]])


def data_norm(x, size, total, square, weight=None, bias=None, epsilon=1e-5, slot_dim=-1):
    y = (x - total / size) * np.sqrt(size / square)
    if weight is not None:
        y = y * weight + bias
    return np.where(absent(x, slot_dim), 0, y)


def absent(x, slot_dim):
    if slot_dim <= 0:
        return np.zeros(x.shape, bool)
    return np.repeat(x[:, ::slot_dim] == 0, slot_dim, 1)


SCORES = np.array([[0.0], [0.2], [0.3], [0.99], [1.0]])


def auc_count(scores, label, weight=None, thresholds=4095):
    bins = np.floor(scores[:, -1] * thresholds).astype(int)
    use = np.ones(len(bins), bool) if weight is None else weight != 0
    label = label.reshape(-1)
    return tuple(np.bincount(bins[use & (label == c)], minlength=thresholds + 1) for c in (1, 0))


def auc_area(positive, negative, curve):
    p, q = positive.sum(0)[::-1], negative.sum(0)[::-1]
    true, false = np.cumsum(p), np.cumsum(q)
    if curve == "ROC":
        x, y = false / false[-1], true / true[-1]
        start = 0.0
    else:
        x, y = true / true[-1], true / np.maximum(true + false, 1)
        start = 1.0
    x, y = np.append(0.0, x), np.append(start, y)
    return np.array(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum())


def state(low, high):
    return A(4, low=low, high=high, grad=False)


STATES = [state(90, 110), state(-5, 5), state(50, 150)]

# fmt: off
CASES = [
    Case("continuous_value_model", [A(3, 5, low=0.0, high=9.0), A(3, 2)], ref=value_model, grad=False, tol=3.0,
         errors=[([A(3, 2), A(3, 2)], {}, ValueError, "D > 2"), ([A(3, 4), A(3, 3)], {}, ValueError, "cvm must be"),
                 ([A(3, 4), A(2, 2)], {}, ValueError, "as many rows")]),
    Case("continuous_value_model", [A(3, 5), A(3, 2)], {"use_cvm": False}, ref=value_model, grad=False, dtypes=WIDE),
    Case("auc_count", [SCORES, np.array([[1], [0], [1], [0], [1]])], {"thresholds": 4}, ref=auc_count, grad=False, dtypes=WIDE,
         out="int64", errors=[([A(3), A(3)], {}, ValueError, "input must be [N, 1]"), ([A(3, 1, low=0.0), A(2)], {}, ValueError, "one element for each row"),
                 ([np.array([[np.nan]]), np.array([1])], {}, ValueError, "is not a number")]),
    Case("auc_count", [np.column_stack([1 - SCORES, SCORES]), np.arange(5) % 2, np.array([1, 1, 0, 1, 1])], {"thresholds": 4}, ref=auc_count,
         grad=False, dtypes=WIDE, out="int64", note="weights"),
    *[Case("auc_area", [np.array([[0, 2, 3], [0, 0, 1]]), np.array([[4, 1, 1], [1, 0, 0]])], {"curve": c}, ref=auc_area, grad=False,
           dtypes=("int64",), out="float64", errors=[([np.zeros(3, "int64")] * 2, {"curve": "F1"}, ValueError, "curve: expected 'ROC'")]) for c in ("ROC", "PR")],
    Case("data_norm", [A(3, 4), *STATES], ref=data_norm, grad=False, dtypes=WIDE, tol=5.0,
         errors=[([A(3, 4, 1), *STATES], {}, ValueError, r"x must be [N, C]"), ([A(3, 5), *STATES], {}, ValueError, "must be [C]"),
                 ([A(3, 4), *STATES], {"slot_dim": 3}, ValueError, "slot_dim must divide")]),
    Case("data_norm", [X, *STATES, A(4), A(4)], {"slot_dim": 2}, ref=data_norm, grad=False, dtypes=WIDE, tol=10.0),
]
# fmt: on
COVERS = {
    "continuous_value_model_grad": "test_gradient_of_the_value_model",
    "data_norm_grad": "test_gradients_of_data_norm",
    "summary_update_": "test_summary_update",
}

test_values, test_gradients, test_errors = table_tests(CASES)


def leaf(x):
    t = tensor(np.asarray(x, "float64"))
    t.stop_gradient = False
    return t


@pytest.mark.parametrize("use", [True, False])
def test_gradient_of_the_value_model(use):
    x, cvm = leaf(np.ones((2, 5))), np.array([[1.0, 0.0], [3.0, 1.0]])
    out = ops.continuous_value_model(x, tensor(cvm), use)
    dy = np.arange(out.size, dtype="float64").reshape(out.shape) + 1
    (g,) = argosy.grad([out], [x], [tensor(dy)])
    np.testing.assert_array_equal(g.numpy(), np.column_stack([cvm, dy[:, -3:]]))


@pytest.mark.parametrize("slot_dim", [-1, 2])
@pytest.mark.parametrize("weights", [False, True])
def test_gradients_of_data_norm(slot_dim, weights):
    rng = np.random.default_rng(3)
    size, total, square = np.full(4, 100.0), rng.normal(size=4), np.full(4, 150.0)
    w, b = (rng.normal(size=4), rng.normal(size=4)) if weights else (None, None)
    leaves = [leaf(v) for v in (X, size, total, square, *((w, b) if weights else ()))]
    more = leaves[4:] if weights else [None, None]
    out = ops.data_norm(*leaves[:4], *more, 0.5, slot_dim)
    dy = rng.normal(size=X.shape)
    got = [g.numpy() for g in argosy.grad([out], leaves, [tensor(dy)])]
    scale, mean, shown = np.sqrt(size / square), total / size, ~absent(X, slot_dim)
    dx = dy * scale * w * shown if weights else dy * scale
    count = shown.sum(0)
    per = count if slot_dim > 0 else 1
    centred = (X - mean) * shown
    want = [dx, count / per, (X * shown).sum(0) / per, (centred**2).sum(0) / per + count * 0.5]
    if weights:
        want += [(dy * centred * scale).sum(0), (dy * shown).sum(0)]
    for g, v in zip(got, want):
        np.testing.assert_allclose(g, v, rtol=1e-12)


def test_summary_update():
    p, g = tensor(np.array([1.0, 2.0])), tensor(np.array([3.0, -1.0]))
    ops.summary_update_([p], [g], 0.5)
    np.testing.assert_array_equal(p.numpy(), [3.5, 0.0])
    with pytest.raises(ValueError, match="wrong form"):
        ops.summary_update_([p], [tensor(np.ones(3))], 0.5)


@pytest.mark.parametrize("use_cvm", [True, False])
def test_second_derivative_of_the_value_model(use_cvm):
    rng = np.random.default_rng(0)
    width = 4 if use_cvm else 2
    x, cvm, dy = (tensor(rng.uniform(0.5, 2, s)) for s in ((3, 4), (3, 2), (3, width)))
    x.stop_gradient = dy.stop_gradient = False
    out = _core.ops.continuous_value_model(x, cvm, use_cvm)
    (first,) = argosy.grad([out], [x], [dy], create_graph=True)
    (second,) = argosy.grad([(first * first).sum()], [dy])
    want = 2 * dy.numpy()
    if use_cvm:
        want[:, :2] = 0  # what comes back there is not looked at
    np.testing.assert_allclose(second.numpy(), want)


def test_data_norm_says_that_it_has_no_second_derivative():
    x, one = tensor(np.ones((3, 2))), tensor(np.ones(2))
    x.stop_gradient = False
    out = _core.ops.data_norm(x, one, one, one, None, None)
    (first,) = argosy.grad([(out * out).sum()], [x], create_graph=True)
    with pytest.raises(NotImplementedError, match="has no second derivative"):
        argosy.grad([first.sum()], [x])
