"""Scaled dot-product attention."""

import numpy as np
from tests.ops.harness import FLOAT, A, Case, array, table_tests, tensor

import argosy
from argosy import _core

OP = "scaled_dot_product_attention"


def attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=0.0, return_weights=False):
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    times = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, times, 1), np.repeat(v, times, 1)
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = (weights @ v).swapaxes(1, 2)
    return [out, weights] if return_weights else out


def future(x, value=-np.inf):
    return np.where(np.tri(*x.shape[-2:], dtype=bool), x, value)


QKV = [A(2, 3, 4, 5), A(2, 6, 4, 5), A(2, 6, 4, 5)]
KEEP = np.random.default_rng(0).random((2, 1, 3, 6)) < 0.5
KEEP[..., 2] = True
# Products and a softmax of 16-bit numbers.
LOOSE = {
    "float16": (2e-2, 1e-2),
    "bfloat16": (1e-1, 1e-1),
    "float32": (1e-4, 1e-5),
    "float64": (1e-11, 1e-12),
}

# fmt: off
CASES = [
    Case(OP, QKV, ref=attention, dtypes=FLOAT, tol=LOOSE),
    Case(OP, [*QKV, KEEP], ref=attention, dtypes=FLOAT, tol=LOOSE, note="bool mask"),
    Case(OP, [*QKV, A(3, 6)], ref=attention, dtypes=("float32", "float64"), tol=LOOSE, note="added mask"),
    Case(OP, QKV, {"is_causal": True, "scale": 0.3, "return_weights": True}, ref=attention, dtypes=FLOAT, tol=LOOSE,
         covers=["fill_future"]),
    Case(OP, [A(2, 6, 4, 5), A(2, 3, 2, 5), A(2, 3, 2, 7)], {"is_causal": True}, ref=attention, dtypes=FLOAT,
         tol=LOOSE, note="fewer key heads",
         errors=[([A(2, 3, 4, 5), A(2, 6, 3, 5), A(2, 6, 3, 5)], {}, ValueError, "multiple of key heads"),
                 ([A(2, 3, 4, 5), A(2, 6, 4, 5), A(2, 5, 4, 5)], {}, ValueError, "check the order of the axes"),
                 ([A(3, 4, 5), A(3, 4, 5), A(3, 4, 5)], {}, ValueError, "[batch, length, heads, head_dim]")]),
    Case("fill_future", [A(2, 3, 4)], {"value": 7.0}, ref=future, dtypes=FLOAT,
         shapes=[[(4, 3)], [(0, 3, 3)], [(2, 3, 0)]]),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


def test_dropout_of_the_weights():
    rng = np.random.default_rng(0)
    q, k, v = (
        tensor(spec.make(rng, "float32")) for spec in (A(1, 16, 2, 4), *[A(1, 32, 2, 4)] * 2)
    )
    plain = array(_core.ops.scaled_dot_product_attention(q, k, v, None, 0.0, False, 0.0, True)[1])
    argosy.seed(3)
    out, weights = _core.ops.scaled_dot_product_attention(q, k, v, None, 0.5, False, 0.0, True)
    weights = array(weights)
    kept = weights != 0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(weights[kept], 2 * plain[kept], rtol=1e-5)
    want = (weights @ array(v).swapaxes(1, 2)).swapaxes(1, 2)
    np.testing.assert_allclose(array(out), want, rtol=1e-5, atol=1e-6)


def test_rows_without_a_key_are_nan():
    x = tensor(np.ones((1, 2, 1, 3), np.float32))
    mask = tensor(np.array([[True, True], [False, False]]))
    out = array(_core.ops.scaled_dot_product_attention(x, x, x, mask))[0, :, 0]
    assert np.isfinite(out[0]).all() and np.isnan(out[1]).all()
