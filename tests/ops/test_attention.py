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


def csr_pairs(q, offset, columns, keys=None, pairs=None):
    taken = np.zeros((*q.shape[:3], q.shape[2]), bool)
    for b, h, i in np.ndindex(q.shape[:3]):
        taken[b, h, i, columns[b, h, offset[b, h, i] : offset[b, h, i + 1]]] = True
    taken &= True if keys is None else (keys != 0)[:, None, None]
    return taken & (True if pairs is None else pairs != 0)


def sparse_attention(q, k, v, *pattern):
    taken = csr_pairs(q, *pattern)
    weights = np.exp(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) * taken
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total, total, 1) @ v


class Mask(A):
    """Zeros and other numbers."""

    def make(self, rng, dtype, shape=None):
        return (rng.random(self.shape) < 0.6) * super().make(rng, dtype, shape)


def packed(q, k, v, starts_q, starts_k, is_causal=False, scale=0.0, dropout_p=0.0):
    out = np.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    for q0, q1, k0, k1 in zip(starts_q, starts_q[1:], starts_k, starts_k[1:]):
        if q1 > q0 and k1 > k0:
            part = q[None, q0:q1], k[None, k0:k1], v[None, k0:k1]
            out[q0:q1] = attention(*part, is_causal=is_causal, scale=scale)[0]
    return out


def packed_mask(q, k, starts_q, starts_k, is_causal=False):
    out = np.zeros((1, 1, len(q), len(k)), bool)
    for q0, q1, k0, k1 in zip(starts_q, starts_q[1:], starts_k, starts_k[1:]):
        part = np.ones((q1 - q0, k1 - k0), bool)
        out[..., q0:q1, k0:k1] = np.tril(part) if is_causal else part
    return out


PACKED = [A(9, 4, 3), A(8, 2, 3), A(8, 2, 5)]
STARTS = [np.array(s, "int32") for s in ([0, 3, 3, 7, 8], [0, 2, 4, 8, 8])]
QKV = [A(2, 3, 4, 5), A(2, 6, 4, 5), A(2, 6, 4, 5)]
KEEP = np.random.default_rng(0).random((2, 1, 3, 6)) < 0.5
KEEP[..., 2] = True
BITS = np.random.default_rng(1).integers(0, 256, 2 * 4 * 3 * 6 // 8).astype("uint8")

# Sparse patterns of 2 batches, 2 heads and 4 queries; -1: columns that nobody reads.
SPARSE_QKV = [A(2, 2, 4, 3)] * 3
OFFSET = np.array([[[0, 2, 2, 5, 8], [0, 4, 5, 6, 7]], [[0, 0, 2, 3, 3], [0, 1, 2, 3, 4]]])
COLUMNS = np.array(
    [
        [[2, 0, 3, 1, 0, 1, 2, 3], [3, 1, 0, 2, 0, 3, 1, -1]],
        [[3, 0, 2, -1, -1, -1, -1, -1], [0, 1, 2, 3, -1, -1, -1, -1]],
    ]
)
PATTERN = [OFFSET, COLUMNS]
MASKS = [Mask(2, 4, grad=False), Mask(4, 4, grad=False)]
SPARSE = "nn.functional.sparse_attention"


def changed(x, value, *at):
    x = x.copy()
    x[at] = value
    return x


def bad_pattern(offset, columns, text):
    return ([*SPARSE_QKV, offset, columns], {}, ValueError, text)


# Products and a softmax of 16-bit numbers.
LOOSE = {
    "float16": (2e-2, 1e-2),
    "bfloat16": (1e-1, 1e-1),
    "float32": (1e-4, 1e-5),
    "float64": (1e-11, 1e-12),
}

# fmt: off
SPARSE_ERRORS = [
    ([A(2, 4, 3), *SPARSE_QKV[1:], *PATTERN], {}, ValueError, "[batch, heads, length, size], got"),
    ([*SPARSE_QKV[:2], A(2, 2, 5, 3), *PATTERN], {}, ValueError, "value must be [batch, heads, le"),
    ([A(2, 2, 4, 3), A(2, 2, 4, 3, dtype="float64"), A(2, 2, 4, 3), *PATTERN], {}, ValueError,
     "key must have the dtype of query"),
    ([*SPARSE_QKV, *PATTERN, A(4, 2)], {}, ValueError, "key_padding_mask must be [batch, length] = [2, 4]"),
    ([*SPARSE_QKV, *PATTERN, None, A(2, 4)], {}, ValueError, "attn_mask must be [length, length] = [4, 4]"),
    ([*SPARSE_QKV, *PATTERN, None, A(4, 4, dtype="float64")], {}, ValueError, "attn_mask must have the dtype"),
    ([*SPARSE_QKV, A(2, 2, 5), COLUMNS], {}, TypeError, "sparse_csr_offset"),
    bad_pattern(OFFSET[..., 1:], COLUMNS, "sparse_csr_offset must be [batch, heads, length + 1] = [2, 2, 5]"),
    bad_pattern(OFFSET, COLUMNS[:, :1], "sparse_csr_columns must be [batch, heads, columns]"),
    bad_pattern(changed(OFFSET, 1, 1, 0, 0), COLUMNS, "must begin with 0, got 1 for batch 1, head 0"),
    bad_pattern(changed(OFFSET, 3, 0, 1, 2), COLUMNS, "must not fall: expected at least 4 at 2, got 3"),
    bad_pattern(changed(OFFSET, 9, 0, 0, 4), COLUMNS, "must end with at most 8, the columns that there are, got 9"),
    bad_pattern(OFFSET, changed(COLUMNS, 4, 0, 0, 7), "column 4 of query 3, batch 0, head 0, is out of range"),
    bad_pattern(OFFSET, changed(COLUMNS, -1, 1, 1, 2), "column -1 of query 2, batch 1, head 1, is out of range"),
    bad_pattern(OFFSET, changed(COLUMNS, 3, 0, 1, 3), "column 3 of query 0, batch 0, head 1, is there twice"),
]
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
    Case("packed_attention", [*PACKED, *STARTS], ref=packed, dtypes=FLOAT, tol=LOOSE, covers=["packed_attention_grad"],
         strided=False,
         errors=[([A(9, 4, 3), A(8, 3, 3), A(8, 3, 5), *STARTS], {}, ValueError, "[varlen_attention] query must be"),
                 ([*PACKED, STARTS[0], STARTS[1][:3]], {}, ValueError, "starts of sequences must be [sequences + 1]"),
                 ([*PACKED, STARTS[0], STARTS[1][::-1].copy()], {}, ValueError, "the starts of key must rise")]),
    Case("packed_attention", [*PACKED, *(s.astype("int64") for s in STARTS)], {"is_causal": True, "scale": 0.3},
         ref=packed, dtypes=("float32", "float64"), tol=LOOSE, strided=False),
    Case("packed_attention", [A(5, 2, 3)] * 3 + [np.array([0, 5])] * 2, ref=packed, tol=LOOSE, strided=False, note="one"),
    Case("packed_attention", [A(0, 2, 3)] * 3 + [np.array([0, 0])] * 2, ref=packed, strided=False, note="empty"),
    Case("varlen_attention", [*PACKED, *STARTS], {"is_causal": True}, ref=packed, dtypes=FLOAT, tol=LOOSE, strided=False),
    Case("varlen_mask", [A(9, 2, grad=False), A(8, 2, grad=False), *STARTS], {"is_causal": True}, ref=packed_mask,
         dtypes=("float32",), out="bool"),
    Case("varlen_mask", [A(9, 2, grad=False), A(8, 2, grad=False), *STARTS], ref=packed_mask, dtypes=("float32",), out="bool"),
    Case(SPARSE, [*SPARSE_QKV, *PATTERN], ref=sparse_attention, tol=LOOSE, covers=["sparse_attention_grad"],
         errors=SPARSE_ERRORS),
    Case(SPARSE, [*SPARSE_QKV, *(x.astype("int32") for x in PATTERN), *MASKS], ref=sparse_attention, tol=LOOSE,
         note="masks"),
    Case(SPARSE, [*SPARSE_QKV, *PATTERN, MASKS[0]], ref=sparse_attention, tol=LOOSE, note="keys"),
    Case(SPARSE, [*SPARSE_QKV, *PATTERN, None, MASKS[1]], ref=sparse_attention, tol=LOOSE, note="pairs"),
    Case(SPARSE, [*SPARSE_QKV, 0 * OFFSET, COLUMNS[..., :0]], ref=sparse_attention, note="no columns"),
    Case(SPARSE, [A(2, 2, 0, 3)] * 3 + [OFFSET[..., :1], COLUMNS[..., :0]], ref=sparse_attention, note="no queries"),
    Case(SPARSE, [A(0, 2, 4, 3)] * 3 + [OFFSET[:0], COLUMNS[:0]], ref=sparse_attention, note="no batch"),
    Case("sparse_attention_pairs", [SPARSE_QKV[0], *PATTERN, *MASKS], ref=csr_pairs,
         errors=[([A(2, 2, 4, 3), *PATTERN, A(4, 2)], {}, ValueError, "[sparse_attention_pairs] key_padding_mask")]),
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


def test_dropout_of_packed_attention():
    """Its mean over many draws is the result without; rows without keys stay 0."""
    rng = np.random.default_rng(0)
    q, k, v = (tensor(spec.make(rng, "float64")) for spec in PACKED)
    starts = [tensor(s) for s in STARTS]
    plain = array(_core.ops.varlen_attention(q, k, v, *starts))
    argosy.seed(0)
    q.stop_gradient = False
    draws = [_core.ops.varlen_attention(q, k, v, *starts, 0.3, False, 0.0) for _ in range(3000)]
    assert not np.allclose(array(draws[0]), array(draws[1]))
    np.testing.assert_allclose(np.mean([array(d) for d in draws], 0), plain, atol=0.06)
    assert (array(draws[0])[7:] == 0).all()
    (dq,) = argosy.grad(draws[0].sum(), q)
    assert np.isfinite(array(dq)).all() and (array(dq)[7:] == 0).all()


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


def test_sparse_attention_of_any_number_of_threads():
    """The same bits; and the gradients of the kernel are those of dense products."""
    rng = np.random.default_rng(0)
    shape, kept = (2, 3, 70, 16), rng.random((2, 3, 70, 70)) < 0.3
    kept[:, :, ::9] = False
    rows = [[np.nonzero(kept[b, h])[1] for h in range(3)] for b in range(2)]
    columns = np.zeros((2, 3, max(len(x) for head in rows for x in head)), "int32")
    for b, h in np.ndindex(2, 3):
        columns[b, h, : len(rows[b][h])] = rows[b][h]
    offset = np.zeros((2, 3, 71), "int32")
    offset[..., 1:] = kept.sum(-1).cumsum(-1)
    numbers = [rng.normal(size=shape) for _ in range(4)]

    def run(function, dtype):
        q, k, v, dy = (tensor(x.astype(dtype)) for x in numbers)
        for t in (q, k, v):
            t.stop_gradient = False
        out = function(q, k, v)
        return [array(t) for t in (out, *argosy.grad([out], [q, k, v], [dy]))]

    def sparse(q, k, v):
        return argosy.nn.functional.sparse_attention(q, k, v, tensor(offset), tensor(columns))

    def dense(q, k, v):
        weights = argosy.exp(argosy.matmul(q, k, transpose_y=True) * 0.25) * tensor(kept * 1.0)
        total = weights.sum(-1, keepdim=True)
        return argosy.matmul(weights / (total + (total == 0).cast("float64")), v)

    before, found = _core.num_threads(), []
    try:
        for threads in (1, 2):
            _core.set_num_threads(threads)
            found.append([x.tobytes() for t in ("float32", "float64") for x in run(sparse, t)])
    finally:
        _core.set_num_threads(before)
    assert found[0] == found[1]
    for got, want in zip(run(sparse, "float64"), run(dense, "float64")):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_queries_without_keys_give_zero():
    """Left out by the pattern, by both masks, and by one of them each."""
    q = tensor(np.ones((1, 1, 3, 2)))
    k, v = (tensor(np.array([[[[1.0, 2], [5, 6], [3, 4]]]])) for _ in range(2))
    for t in (q, k, v):
        t.stop_gradient = False
    offset, columns = tensor(np.array([[[0, 3, 3, 4]]])), tensor(np.array([[[1, 2, 0, 1]]]))
    keys = tensor(np.array([[1.0, 0.0, -1.0]]))
    pairs = tensor(np.array([[0.0, 1, 1], [1, 1, 1], [1, 1, 1]]))
    out = argosy.nn.functional.sparse_attention(q, k, v, offset, columns, keys, pairs)
    np.testing.assert_array_equal(array(out)[0, 0], [[3, 4], [0, 0], [0, 0]])
    grads = [array(g)[0, 0] for g in argosy.grad([out.sum()], [q, k, v])]
    np.testing.assert_array_equal(grads[0], np.zeros((3, 2)))
    np.testing.assert_array_equal(grads[1], np.zeros((3, 2)))
    np.testing.assert_array_equal(grads[2], [[0, 0], [0, 0], [1, 1]])


def dense_mask(indices, length, causal):
    """What flashmask's bounds hide, entry by entry."""
    batch, heads, keys, n = indices.shape
    hidden = np.zeros((batch, heads, length, keys), bool)
    for b, h, j in np.ndindex(batch, heads, keys):
        bounds = indices[b, h, j]
        column = hidden[b, h, :, j]
        column[bounds[0] : bounds[1] if n == (2 if causal else 4) else None] = True
        if causal:
            column[:j] = True
        elif n == 2:
            column[: bounds[1]] = True
        else:
            column[bounds[2] : bounds[3]] = True
    return hidden


@pytest.mark.parametrize("causal, n", [(True, 1), (True, 2), (False, 2), (False, 4)])
def test_flashmask(causal, n):
    rng = np.random.default_rng(n)
    q, k, v = (rng.normal(size=(2, 6, heads, 3)) for heads in (4, 2, 2))
    indices = np.sort(rng.integers(0, 7, (2, 2, 6, n)), -1).astype("int32")
    if not causal:
        indices = np.concatenate([indices[..., n // 2 :], indices[..., : n // 2]], -1)
    # Query 3 of the first batch sees no key.
    indices[0, :, :, 0] = np.minimum(indices[0, :, :, 0], 3)
    if n in (2, 4) and (causal or n == 4):
        indices[0, :, :, 1] = np.maximum(indices[0, :, :, 1], 4)
    hidden = np.repeat(dense_mask(indices, 6, causal), 2, 1)
    blind = hidden.all(-1)
    assert blind[0, :, 3].all()
    want = attention(q, k, v, ~hidden | blind[..., None])
    want = np.where(blind.swapaxes(1, 2)[..., None], 0, want)
    leaves = [tensor(x) for x in (q, k, v)]
    leaves[0].stop_gradient = False
    got = argosy.nn.functional.flashmask_attention(*leaves, tensor(indices), causal=causal)
    np.testing.assert_allclose(array(got), want, rtol=1e-10, atol=1e-12)
    (dq,) = argosy.grad(got.sum(), leaves[0])
    assert np.isfinite(array(dq)).all()


def test_flashmask_windows_and_errors():
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 7, 2, 3)) for _ in range(3))
    leaves = [tensor(x) for x in (q, k, v)]
    flashmask = argosy.nn.functional.flashmask_attention
    distance = np.arange(7)[:, None] - np.arange(7)
    got = flashmask(*leaves, window_size=(2, 1))
    np.testing.assert_allclose(
        array(got), attention(q, k, v, (distance <= 2) & (distance >= -1)), rtol=1e-10
    )
    got = flashmask(*leaves, causal=True, window_size=2, softmax_scale=0.3)
    want = attention(q, k, v, (distance <= 2) & (distance >= 0), scale=0.3)
    np.testing.assert_allclose(array(got), want, rtol=1e-10)
    wrong = tensor(np.zeros((1, 2, 7, 3), "int32"))
    with pytest.raises(ValueError, match=r"key length, 1 or 2\] with causal=True"):
        flashmask(*leaves, wrong, causal=True)
    with pytest.raises(NotImplementedError, match=r"\[flashmask_attention\] return_softmax_lse"):
        flashmask(*leaves, return_softmax_lse=True)


def test_varlen_of_the_third_kind():
    rng = np.random.default_rng(0)
    q, k, v = (spec.make(rng, "float64") for spec in PACKED)
    given = [tensor(x) for x in (q, k, v, *STARTS)]
    varlen = argosy.nn.functional.flash_attention_v3_varlen
    got, rest = varlen(*given, 4, 4, causal=True)
    assert rest is None
    np.testing.assert_allclose(array(got), packed(q, k, v, *STARTS, is_causal=True), rtol=1e-10)
    with pytest.raises(NotImplementedError, match=r"window_size is not supported"):
        varlen(*given, 4, 4, window_size=(2, 0))
