"""L-BFGS on functions with known minima."""

import numpy as np
import pytest

import argosy
from argosy import optimizer
from argosy.base.framework import EagerParamBase
from argosy.optimizer.lbfgs import _cubic_minimum, _strong_wolfe


def parameter(values):
    return EagerParamBase.from_tensor(argosy.to_tensor(np.asarray(values, "float64")))


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2).sum() + (100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def closure_of(opt, loss):
    def closure():
        opt.clear_grad()
        value = loss()
        value.backward()
        return value

    return closure


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_quadratic(search):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    matrix = argosy.to_tensor(root @ root.T + np.eye(5))
    target = argosy.to_tensor(rng.standard_normal(5))
    x = parameter(np.zeros(5))
    opt = optimizer.LBFGS(
        1.0 if search else 0.3, max_iter=60, line_search_fn=search, parameters=[x]
    )

    def loss():
        d = x - target
        return argosy.matmul(argosy.matmul(matrix, d), d) * 0.5

    first = opt.step(closure_of(opt, loss))
    t = target.numpy()
    assert float(first) == pytest.approx(0.5 * t @ matrix.numpy() @ t)
    np.testing.assert_allclose(x.numpy(), t, atol=1e-5 if search else 2e-4)


def test_rosenbrock_in_two_tensors():
    a, b = parameter([-1.2]), parameter([[1.0]])
    opt = optimizer.LBFGS(
        line_search_fn="strong_wolfe", max_iter=200, tolerance_change=1e-12, parameters=[a, b]
    )
    closure = closure_of(opt, lambda: rosenbrock(argosy.concat([a, b.reshape([1])])))
    for _ in range(2):
        opt.step(closure)
    np.testing.assert_allclose(np.r_[a.numpy(), b.numpy()[0]], np.ones(2), atol=1e-5)


def test_limits():
    x = parameter([-1.2, 1.0])
    calls = []
    opt = optimizer.LBFGS(0.001, max_iter=5, parameters=[x])
    inner = closure_of(opt, lambda: rosenbrock(x))
    opt.step(lambda: calls.append(1) or inner())
    assert len(calls) == 5  # one for the start; the last iteration needs none
    state = opt.state_dict()["state"]
    assert (state["n_iter"], state["func_evals"]) == (5, 5)
    few = optimizer.LBFGS(0.001, max_iter=50, max_eval=3, parameters=[x])
    few.step(closure_of(few, lambda: rosenbrock(x)))
    assert few.state_dict()["state"]["func_evals"] == 3
    at_minimum = parameter([1.0, 1.0])
    done = optimizer.LBFGS(parameters=[at_minimum])
    done.step(closure_of(done, lambda: rosenbrock(at_minimum)))
    assert done.state_dict()["state"]["n_iter"] == 0


def test_a_saved_state_goes_on_exactly():
    def make(values):
        x = parameter(values)
        opt = optimizer.LBFGS(max_iter=4, history_size=3, line_search_fn="strong_wolfe",
                              parameters=[x])  # fmt: skip
        return x, opt, closure_of(opt, lambda: rosenbrock(x))

    x, opt, closure = make([-1.2, 1.0, 0.3])
    opt.step(closure)
    state, where = opt.state_dict(), x.numpy().copy()
    y, other, other_closure = make(where)
    other.set_state_dict(state)
    other.step(other_closure)
    opt.step(closure)
    assert x.numpy().tobytes() == y.numpy().tobytes()


def test_misuse():
    x = parameter([1.0])
    opt = optimizer.LBFGS(parameters=[x])
    with pytest.raises(NotImplementedError, match=r"call step\(closure\)"):
        opt.minimize(x)
    with pytest.raises(TypeError, match="parameter groups"):
        optimizer.LBFGS(parameters=[{"params": [x]}])
    with pytest.warns(UserWarning, match="have no effect"):
        optimizer.LBFGS(parameters=[x], weight_decay=0.1)


def test_line_search():
    def evaluate(t):
        return (t - 3.0) ** 2, None, 2 * (t - 3.0)

    value, _, t, count = _strong_wolfe(evaluate, 1.0, 1.0, (9.0, None, -6.0), 1e-9)
    assert value == (t - 3) ** 2 < 9 and abs(2 * (t - 3)) <= 0.9 * 6 and count <= 4
    assert _cubic_minimum(0.0, 9.0, -6.0, 5.0, 4.0, 4.0) == pytest.approx(3.0)
    assert _cubic_minimum(0.0, 9.0, -6.0, 2.0, 1.0, -2.0) == 2.0  # kept within
