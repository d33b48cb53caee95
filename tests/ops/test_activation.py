"""Activation ops against NumPy."""

import numpy as np
from scipy import special
from tests.ops.harness import FLOAT, A, Case, table_tests, tensor

import argosy
from argosy import _core

X = [A(2, 3, low=-4, high=4, away=0.05)]
EDGES = [np.array([-7.0, -3.1, -0.51, -0.2, 0.3, 0.49, 0.9, 1.2, 2.9, 3.2, 6.5])]
TOL = {"float16": (4e-3, 2e-3), "bfloat16": (3e-2, 1.6e-2)}


def sigmoid(x):
    return special.expit(x)


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x, approximate=False):
    if approximate:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def softmax(x, axis=-1):
    return special.softmax(x, axis) if x.ndim else np.ones_like(x)


def prelu(x, weight, data_format="NCHW"):
    shape = [-1] if data_format[-1] == "C" and len(data_format) > 2 else [-1] + [1] * (x.ndim - 2)
    return np.where(x > 0, x, weight.reshape(shape) * x)


def simple(name, ref, public=None, **attrs):
    """Rows of an elementwise activation: random operands of all shapes, and its edges."""
    fn = public or name
    return [
        Case(fn, X, attrs, ref=lambda x, **_: ref(x), elementwise=True, tol=TOL,
             covers=[name + "_grad"]),
        Case(fn, EDGES, attrs, ref=lambda x, **_: ref(x), dtypes=("float32", "float64"),
             tol={"float32": (2e-5, 2e-6), "float64": (1e-11, 1e-12)}, note="edges"),
    ]  # fmt: skip


# fmt: off
CASES = [
    *simple("relu", lambda x: np.maximum(x, 0)),
    *simple("relu6", lambda x: np.clip(x, 0, 6)),
    *simple("leaky_relu", lambda x: np.where(x > 0, x, 0.1 * x), negative_slope=0.1),
    *simple("hardtanh", lambda x: np.clip(x, -1.5, 2.5), min=-1.5, max=2.5),
    *simple("hardsigmoid", lambda x: np.clip(0.2 * x + 0.4, 0, 1), slope=0.2, offset=0.4),
    *simple("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    *simple("hardshrink", lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    *simple("thresholded_relu", lambda x: np.where(x > 1.1, x, 0.3), threshold=1.1, value=0.3),
    *simple("elu", lambda x: np.where(x > 0, x, 0.7 * np.expm1(x)), alpha=0.7),
    *simple("celu", lambda x: np.where(x > 0, x, 0.7 * np.expm1(x / 0.7)), alpha=0.7),
    *simple("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    *simple("silu", lambda x: x * sigmoid(x)),
    *simple("mish", lambda x: x * np.tanh(softplus(x))),
    *simple("softsign", lambda x: x / (1 + np.abs(x))),
    *simple("tanhshrink", lambda x: x - np.tanh(x)),
    *simple("log_sigmoid", lambda x: -softplus(-x)),
    *simple("softplus", lambda x: softplus(2 * x) / 2, beta=2.0),
    *simple("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    *simple("gelu", gelu),
    *simple("gelu", lambda x: gelu(x, True), approximate=True),
    Case("softshrink", X, {"threshold": -1.0}, errors=[(X, {"threshold": -1.0}, ValueError, "not be negative")], grad=False),
    Case("selu", X, errors=[(X, {"scale": 0.5}, ValueError, "greater than 1.0"),
                            (X, {"alpha": -1.0}, ValueError, "must not be negative")], grad=False),
    Case("celu", X, errors=[(X, {"alpha": 0.0}, ValueError, "must not be 0")], grad=False),
    Case("softmax", [A(2, 3, 4)], ref=softmax, dtypes=FLOAT, tol=TOL, covers=["softmax_grad"],
         shapes=[[()], [(0, 3)], [(40,)]]),
    Case("softmax", [A(2, 3, 4)], {"axis": 1}, ref=softmax, dtypes=FLOAT, tol=TOL,
         errors=[([A(2, 3)], {"axis": 2}, IndexError, "softmax")]),
    Case("softmax", [A(2, 3)], {"dtype": "float64"}, ref=lambda x, dtype: softmax(x),
         dtypes=("int32", "float32"), out="float64", grad=False, inplace=False),
    Case("log_softmax", [A(2, 3, 4)], ref=lambda x: np.log(softmax(x)), dtypes=FLOAT, tol=TOL,
         covers=["log_softmax_grad"]),
    Case("log_softmax", [A(3, 2)], {"axis": 0}, ref=lambda x, axis: np.log(softmax(x, axis)), dtypes=FLOAT, tol=TOL),
    Case("glu", [A(2, 6)], ref=lambda x: x[:, :3] * sigmoid(x[:, 3:]), tol=TOL,
         errors=[([A(2, 3)], {}, ValueError, "must be even"),
                 ([A()], {}, ValueError, "must have an axis")]),
    Case("glu", [A(4, 3)], {"axis": 0}, ref=lambda x, axis: x[:2] * sigmoid(x[2:]), tol=TOL),
    Case("swiglu", [A(2, 3), A(2, 3)], ref=lambda x, y: x * sigmoid(x) * y, tol=TOL),
    Case("swiglu", [A(2, 6), None], ref=lambda x, y: x[:, :3] * sigmoid(x[:, :3]) * x[:, 3:], tol=TOL, note="halves"),
    Case("maxout", [A(2, 6, 3, 2)], {"groups": 3}, ref=lambda x, groups: x.reshape(2, 2, 3, 3, 2).max(2),
         errors=[([A(2, 6, 3, 2)], {"groups": 4}, ValueError, "must divide")]),
    Case("maxout", [A(2, 3, 4)], {"groups": 2, "axis": -1}, ref=lambda x, groups, axis: x.reshape(2, 3, 2, 2).max(3)),
    Case("prelu", [A(2, 3, 4, away=0.05), A(3)], ref=prelu, tol=TOL,
         errors=[([A(2, 3, 4), A(4)], {}, ValueError, "number of channels"),
                 ([A(2, 3, 4), A(3)], {"data_format": "CHW"}, ValueError, "data_format")]),
    Case("prelu", [A(2, 3, 4, away=0.05), A(4)], {"data_format": "NLC"}, ref=prelu, tol=TOL),
    Case("prelu", [A(2, away=0.05), A(1)], ref=lambda x, w: np.where(x > 0, x, w[0] * x), tol=TOL, note="one weight",
         shapes=[[(), (1,)]]),
    Case("rrelu", X, {"lower": 0.2, "upper": 0.4, "training": False},
         ref=lambda x, lower, upper, training: np.where(x >= 0, x, 0.3 * x), tol=TOL,
         errors=[(X, {"lower": 0.5, "upper": 0.2}, ValueError, "lower")]),
]
# fmt: on

COVERS = {"gumbel_softmax": "test_gumbel_softmax"}

test_values, test_gradients, test_errors = table_tests(CASES)


def test_rrelu_draws_slopes():
    x = tensor(np.full((200, 5), -1.0, "float32"))
    x.stop_gradient = False
    argosy.seed(3)
    y = _core.ops.rrelu(x, 0.25, 0.5, True)
    slopes = -y.numpy()
    assert 0.25 <= slopes.min() < 0.26 and 0.49 < slopes.max() <= 0.5
    (grad,) = argosy.grad([y], [x])
    np.testing.assert_allclose(grad.numpy(), slopes, rtol=1e-6)


def test_gumbel_softmax():
    x = tensor(np.tile(np.log([0.1, 0.6, 0.3]), (4000, 1)))
    x.stop_gradient = False
    argosy.seed(1)
    soft = _core.ops.gumbel_softmax(x, 0.5, False, -1)
    argosy.seed(1)
    hard = _core.ops.gumbel_softmax(x, 0.5, True, -1)
    s, h = soft.numpy(), hard.numpy()
    np.testing.assert_allclose(s.sum(-1), 1, rtol=1e-12)
    assert (h.argmax(-1) == s.argmax(-1)).all() and set(np.unique(h)) == {0, 1}
    np.testing.assert_allclose(h.mean(0), [0.1, 0.6, 0.3], atol=0.03)
    weights = np.arange(12000.0).reshape(4000, 3) / 1e4
    want = 2 * s * (weights - (weights * s).sum(-1, keepdims=True))
    for out in (soft, hard):
        (grad,) = argosy.grad([out], [x], [tensor(weights)], retain_graph=True)
        np.testing.assert_allclose(grad.numpy(), want, rtol=1e-9, atol=1e-12)
