"""Dense tables against the formulas of the optimizer operations in NumPy."""

import json

import numpy as np
import pytest

from argosy import _ps


def dense(rule="sgd", size=37, kind="dense", **options):
    config = {"kind": kind, "size": size, "accessor": {"embedding": {"rule": rule, **options}}}
    return _ps.DenseTable(json.dumps([config]), size)


def formula(rule, w, gradients, lr, c):
    """w after all gradients, in float64."""
    w = w.astype(np.float64)
    a = np.full_like(w, c["initial_g2sum"]) if "adagrad" in rule else np.zeros_like(w)
    b, top = np.zeros_like(w), np.zeros_like(w)
    for step, g in enumerate(gradients, 1):
        g = g.astype(np.float64)
        if rule == "sum":
            w = w + g
        elif rule == "sgd":
            w = w - lr * g
        elif "adagrad" in rule:
            a = a + g * g
            w = w - lr * g / (np.sqrt(a) + c["epsilon"])
        elif rule == "adam":
            a = c["beta1"] * a + (1 - c["beta1"]) * g
            b = c["beta2"] * b + (1 - c["beta2"]) * g * g
            top = np.maximum(top, b)
            first, second = 1 - c["beta1"] ** step, 1 - c["beta2"] ** step
            root = np.sqrt((top if c.get("amsgrad") else b) / second) + c["epsilon"]
            w = w * (1 - lr * c.get("decay", 0)) - lr * (a / first) / root
        elif rule == "momentum":
            a = c["momentum"] * a + g
            w = w - lr * (g + c["momentum"] * a if c.get("nesterov") else a)
        elif rule == "rmsprop":
            a = c["rho"] * a + (1 - c["rho"]) * g * g
            b = c["momentum"] * b + lr * g / np.sqrt(a + c["epsilon"])
            w = w - b
        elif rule == "ftrl":
            n = a + g * g
            b = b + g - (np.sqrt(n) - np.sqrt(a)) / lr * w
            a = n
            shrunk = c["l1"] * np.sign(b) - b
            w = np.where(np.abs(b) > c["l1"], shrunk / (np.sqrt(n) / lr + 2 * c["l2"]), 0)
    return w


OPTIONS = {
    "initial_g2sum": 0.5,
    "epsilon": 1e-6,
    "beta1": 0.8,
    "beta2": 0.99,
    "rho": 0.9,
    "momentum": 0.7,
    "l1": 0.1,
    "l2": 0.01,
}


@pytest.mark.parametrize(
    "rule, more",
    [
        *((r, {}) for r in ("sgd", "sum", "adagrad", "adagrad_elementwise", "adam", "rmsprop", "ftrl")),
        ("adam", {"decay": 0.3}),
        ("adam", {"amsgrad": True, "beta2": 0.5}),
        ("momentum", {}),
        ("momentum", {"nesterov": True}),
    ],
)  # fmt: skip
def test_rules(rule, more):
    options = {**OPTIONS, **more}
    random = np.random.default_rng(1)
    start = random.normal(size=37).astype(np.float32)
    gradients = random.normal(size=(25, 37)).astype(np.float32)
    t = dense(rule, **options)
    assert t.size == 37 and not t.pull().any()
    t.assign(start)
    assert np.array_equal(t.pull(), start)
    for g in gradients[:12]:
        t.push(g, 0.1)
    # State comes along with a copy.
    other = dense(rule, **options)
    other.put(t.copy())
    for g in gradients[12:]:
        t.push(g, 0.1)
        other.push(g, 0.1)
    expected = formula(rule, start, gradients, 0.1, options)
    np.testing.assert_allclose(t.pull(), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(t.pull(), other.pull())


def test_bounds_and_the_tables_own_rate():
    t = dense("sgd", learning_rate=2.0, minimum=-1, maximum=1)
    t.push(np.full(37, 0.25, np.float32), -1.0)
    assert np.all(t.pull() == -0.5)
    t.push(np.full(37, 0.5, np.float32), -1.0)
    assert np.all(t.pull() == -1)
    t.push(np.full(37, -100, np.float32), 1.0)
    assert np.all(t.pull() == 1)


def test_statistics_of_data_norm_fade():
    t = dense(kind="summary", size=6)
    t.assign(np.array([1e4, 1e4, 0, 0, 1e4, 1e4], np.float32))
    for _ in range(3):
        t.push(np.array([32, 32, 5, -5, 40, 40], np.float32), -1.0)
    expected = np.array([1e4, 1e4, 0, 0, 1e4, 1e4])
    for _ in range(3):
        expected = expected * 0.999999 + [32, 32, 5, -5, 40, 40]
    np.testing.assert_allclose(t.pull(), expected, rtol=1e-6)


def test_steps_are_counted_past_what_float_holds():
    t = _ps.DenseTable(json.dumps([{"kind": "global_step"}]), 1)
    t.assign(np.array([2.0**24], np.float32))
    for _ in range(4):
        t.push(np.ones(1, np.float32), -1.0)
    assert t.pull()[0] == 2**24 + 4
    other = _ps.DenseTable(json.dumps([{"kind": "global_step"}]), 1)
    other.put(t.copy())
    for _ in range(4):
        other.push(np.ones(1, np.float32), -1.0)
    assert other.pull()[0] == 2**24 + 8


def test_wrong_calls_say_what_is_wrong():
    t = dense("adam")
    bad = np.zeros(37, np.float32)
    bad[3] = np.nan
    t.push(bad, 0.1)
    assert t.rejected == 1 and not t.pull().any()
    with pytest.raises(ValueError, match="expected 37 rows of 1 numbers, got 36"):
        t.push(bad[:36], 0.1)
    with pytest.raises(ValueError, match="expected the state of a table of this size and rule"):
        t.put(dense("sgd").copy())
    with pytest.raises(ValueError, match="adam_shared is for rows"):
        dense("adam_shared")
    with pytest.raises(ValueError, match="multiple of 3"):
        dense(kind="summary", size=4)
    with pytest.raises(ValueError, match="expected kind dense, summary or global_step"):
        _ps.DenseTable(json.dumps([{"kind": "sparse"}]), 3)
