"""Scaled dot-product attention."""

import numpy as np
import pytest
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


def dropped_attention(q, k, v, mask, bits, factor, **attrs):
    _, weights = attention(q, k, v, mask, return_weights=True, **attrs)
    kept = np.unpackbits(bits, bitorder="little")[: weights.size].reshape(weights.shape)
    values = np.repeat(v.swapaxes(1, 2), q.shape[2] // v.shape[2], 1)
    return ((weights * kept * factor) @ values).swapaxes(1, 2)


def future(x, value=-np.inf):
    return np.where(np.tri(*x.shape[-2:], dtype=bool), x, value)


QKV = [A(2, 3, 4, 5), A(2, 6, 4, 5), A(2, 6, 4, 5)]
KEEP = np.random.default_rng(0).random((2, 1, 3, 6)) < 0.5
KEEP[..., 2] = True
BITS = np.random.default_rng(1).integers(0, 256, 2 * 4 * 3 * 6 // 8).astype("uint8")
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
    Case("scaled_dot_product_attention", [A(1, 300, 2, 3), A(1, 530, 1, 3), A(1, 530, 1, 4), A(1, 1, 300, 1)], ref=attention,
         dtypes=("float32", "float64"), tol=LOOSE, grad=False, note="several blocks"),
    Case("scaled_dot_product_attention", [A(1, 300, 2, 3), A(1, 530, 1, 3), A(1, 530, 1, 4), None], {"is_causal": True}, ref=attention,
         dtypes=("float32", "bfloat16"), tol=LOOSE, grad=False, note="several blocks"),
    Case("tiled_attention", [*QKV, A(4, 1, 6)], ref=attention, dtypes=("float32", "float64"), tol=LOOSE, note="mask",
         errors=[([*QKV, A(5, 1, 6)], {}, ValueError, "mask must broadcast to the scores"),
                 ([*QKV, None, np.zeros(5, "uint8")], {}, ValueError, "expected 18 bytes of bits"),
                 ([A(2, 3, 4, 5), A(2, 6, 3, 5), A(2, 6, 3, 5)], {}, ValueError, "multiple of key heads")]),
    Case("tiled_attention", [*QKV, A(4, 1, 1, dtype="bool")], ref=attention, dtypes=("float64",), note="empty", grad=False,
         shapes=[[(2, 0, 4, 5), (2, 6, 4, 5), (2, 6, 4, 5), (4, 1, 6)], [(0, 3, 4, 5), (0, 6, 4, 5), (0, 6, 4, 5), (4, 1, 1)]]),
    Case("tiled_attention", [*QKV, None, BITS], {"is_causal": True, "scale": 0.3, "factor": 2.0}, ref=dropped_attention,
         dtypes=FLOAT, tol=LOOSE, note="dropped", covers=["tiled_attention_grad"]),
    Case("fill_future", [A(2, 3, 4)], {"value": 7.0}, ref=future, dtypes=FLOAT,
         shapes=[[(4, 3)], [(0, 3, 3)], [(2, 3, 0)]]),
]
# fmt: on

COVERS = {"attention_bits": "test_dropout_of_the_tiled_op_is_that_of_the_weights"}

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


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_gradients_over_several_blocks(dtype, causal):
    """Against the composition, in which every score is kept."""
    rng = np.random.default_rng(0)
    shapes = [(2, 150, 4, 8), (2, 270, 2, 8), (2, 270, 2, 6)]
    mask = tensor(rng.random((150, 270)) < 0.8)
    found = []
    for weights in (False, True):
        argosy.seed(5)
        rng = np.random.default_rng(0)
        leaves = [argosy.cast(tensor(rng.normal(size=s).astype("float32")), dtype) for s in shapes]
        for leaf in leaves:
            leaf.stop_gradient = False
        out = _core.ops.scaled_dot_product_attention(*leaves, mask, 0.25, causal, 0.0, weights)
        out = argosy.cast(out[0] if weights else out, "float64")
        seed = tensor(rng.normal(size=(2, 150, 4, 6)))
        grads = argosy.grad([(out * seed).sum()], leaves)
        found.append([array(argosy.cast(t, "float64")) for t in (out, *grads)])
    rtol, atol = {"float32": (1e-4, 1e-5), "float64": (1e-10, 1e-12), "bfloat16": (5e-2, 5e-2)}[
        dtype
    ]
    for tiled, parts in zip(*found):
        np.testing.assert_allclose(tiled, parts, rtol=rtol, atol=atol * np.abs(parts).max())


def test_packed_operands_are_not_copied():
    qkv = tensor(np.random.default_rng(0).normal(size=(2, 40, 3, 2, 8)).astype("float32"))
    qkv.stop_gradient = False
    packed = _core.ops.scaled_dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], None)
    whole = [argosy.assign(qkv[:, :, i]) for i in range(3)]
    plain = _core.ops.scaled_dot_product_attention(*whole, None)
    np.testing.assert_array_equal(array(packed), array(plain))
    (grad,) = argosy.grad([packed.sum()], [qkv])
    wanted = argosy.grad([plain.sum()], [qkv])[0]
    np.testing.assert_array_equal(array(grad), array(wanted))


def test_a_learned_mask_has_a_gradient():
    rng = np.random.default_rng(0)
    q, k, v = (tensor(rng.normal(size=(1, n, 2, 3))) for n in (4, 5, 5))
    found = []
    for weights in (False, True):
        bias = tensor(rng.normal(size=(2, 1, 5)) * 0 + 0.5)
        bias.stop_gradient = False
        out = _core.ops.scaled_dot_product_attention(q, k, v, bias, 0.0, False, 0.0, weights)
        out = out[0] if weights else out
        found.append(array(argosy.grad([(out * out).sum()], [bias])[0]))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-13)


def test_dropout_of_the_tiled_op_is_that_of_the_weights():
    """The same seed drops the same weights, whether they are asked for or not."""
    rng = np.random.default_rng(0)
    q, k, v = (tensor(spec.make(rng, "float32")) for spec in (A(2, 7, 2, 4), *[A(2, 9, 2, 4)] * 2))
    found = []
    for weights in (False, True):
        argosy.seed(11)
        out = _core.ops.scaled_dot_product_attention(q, k, v, None, 0.3, True, 0.0, weights)
        found.append(array(out[0] if weights else out))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


def test_rows_without_a_key_are_nan():
    x = tensor(np.ones((1, 2, 1, 3), np.float32))
    mask = tensor(np.array([[True, True], [False, False]]))
    out = array(_core.ops.scaled_dot_product_attention(x, x, x, mask))[0, :, 0]
    assert np.isfinite(out[0]).all() and np.isnan(out[1]).all()
