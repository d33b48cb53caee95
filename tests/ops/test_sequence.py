"""Batches of sequences, look-ups of many slots and row-sparse tensors against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import A, Case, table_tests, tensor

import argosy
from argosy import _core

ops = _core.ops
WIDE = ("float32", "float64")
LENGTHS = np.array([2, 0, 3, 1])
OTHER = np.array([1, 2, 0, 1])
IDS = np.array([1, 5, 5, 0, 2, 5])
MORE = np.array([[3], [2], [2], [0]])

POOLS = {
    "sum": lambda p: p.sum(0),
    "average": lambda p: p.mean(0),
    "sqrt": lambda p: p.sum(0) / np.sqrt(len(p)),
    "max": lambda p: p.max(0),
    "first": lambda p: p[0],
    "last": lambda p: p[-1],
}


def pool(x, lengths, where=None, pool="sum", pad_value=0.0):
    parts = np.split(x, np.cumsum(lengths)[:-1])
    empty = np.full(x.shape[1:], pad_value)
    return np.stack([POOLS[pool](p) if len(p) else empty for p in parts])


def pool_values(x, lengths, **attrs):
    return ops.sequence_pool(x, lengths, None, *attrs.values())


def slots(ids, weights, lengths=(), pool_type="sum", pad_value=0.0, padding_idx=-1):
    out = []
    for i, slot in enumerate(ids):
        table = weights[0 if len(weights) == 1 else i]
        rows = table[slot.reshape(-1)]
        rows[slot.reshape(-1) == padding_idx] = 0
        n = lengths[i] if len(lengths) else np.full(len(slot), slot.size // len(slot))
        out.append(pool(rows, n, None, pool_type, pad_value))
    return np.concatenate(out, 1)


def slots_of(*args, pool="sum", pad_value=0.0, padding_idx=-1):
    return slots(*args, pool_type=pool, pad_value=pad_value, padding_idx=padding_idx)


# fmt: off
CASES = [
    *[Case("sequence_pool", [A(6, 3), LENGTHS], {"pool": p, "pad_value": 7.0}, ref=pool,
           tol=3.0, note=p, strided=p != "max", covers=["sequence_pool_grad"]) for p in POOLS],
    Case("sequence_pool", [A(6, 2, 2), LENGTHS], ref=pool, dtypes=WIDE, note="wide rows",
         errors=[([A(6, 2), np.array([2, 3])], {}, ValueError, "add up to 5"),
                 ([A(6, 2), np.array([7, -1])], {}, ValueError, "expected numbers >= 0"),
                 ([A(6, 2), LENGTHS], {"pool": "median"}, ValueError, "pool: expected one of")]),
    Case("sequence_pool", [A(0, 2), np.zeros(2, "int64")], ref=pool, dtypes=WIDE, note="empty"),
    Case("sequence_pool", [A(6, 2), LENGTHS, np.array([[1, 0], [-1, -1], [2, 0], [0, 0]], "int32")], {"pool": "max"},
         ref=lambda x, n, where, pool: np.array([[x[1, 0], x[0, 1]], [0, 0], [x[4, 0], x[2, 1]], x[5]]),
         dtypes=WIDE, grad=False, note="found before",
         errors=[([A(6, 2), LENGTHS, np.zeros(3, "int32")], {"pool": "max"}, ValueError, "where must have"),
                 ([A(6, 2), LENGTHS, np.full((4, 2), 3, "int32")], {"pool": "max"}, IndexError, "where names row 3")]),
    *[Case("embedding_pool", [[IDS, MORE[:, 0]], [A(6, 3)], [LENGTHS, OTHER]],
           {"pool": p, "padding_idx": 5, "pad_value": 2.0}, ref=slots_of, dtypes=("float16", *WIDE), tol=3.0,
           note=f"one table {p}", strided=p != "max",
           covers=["embedding_pool_grad", *(["embedding_pool_picked"] if p == "max" else [])])
      for p in POOLS],
    Case("embedding_pool", [[MORE, MORE[::-1].astype("int32")], [A(6, 3), A(4, 2)], []], ref=slots_of, dtypes=WIDE,
         note="two tables", errors=[
             ([[np.array([6])], [A(6, 3)], []], {}, ValueError, "id 6 of slot 0 is out of range"),
             ([[np.array([1]), np.array([1, 2])], [A(6, 3)], []], {}, ValueError, "slot 1 has the wrong number of samples"),
             ([[IDS], [A(6, 3), A(6, 3)], [LENGTHS]], {}, ValueError, "weights: expected one table"),
             ([[IDS], [A(6, 3)], [LENGTHS, LENGTHS]], {}, ValueError, "lengths: expected none")]),
    Case("embedding_pool", [[np.array([[1, 2, 2], [0, 3, 5]])], [A(6, 3)], []], {"pool": "average"}, ref=slots_of,
         dtypes=WIDE, tol=3.0, note="equal lengths"),
]
# fmt: on
COVERS = {
    "embedding_rows_grad": "test_row_sparse_gradients_in_a_program",
    "add_rows": "test_sums_of_row_sparse_tensors",
    "rows_to_dense": "test_sums_of_row_sparse_tensors",
    "clip_by_value": "test_clipping_rows_by_value",
}

test_values, test_gradients, test_errors = table_tests(CASES)


def row_sparse(ids, height=5, width=2, seed=0):
    weight = tensor(np.zeros((height, width)))
    weight.stop_gradient = False
    ids = np.asarray(ids, "int64")
    dy = np.random.default_rng(seed).normal(size=(len(ids), width))
    (g,) = argosy.grad([ops.embedding(tensor(ids), weight, -1, True)], [weight], [tensor(dy)])
    dense = np.zeros((height, width))
    np.add.at(dense, ids, dy)
    return g, dense


def test_sums_of_row_sparse_tensors():
    a, dense_a = row_sparse([4, 1, 1], seed=1)
    b, dense_b = row_sparse([0, 1], seed=2)
    total = ops.add_rows([a, b])
    np.testing.assert_array_equal(total._parts[0].numpy(), [4, 1, 1, 0, 1])
    np.testing.assert_allclose(ops.rows_to_dense(total).numpy(), dense_a + dense_b)
    c = np.ones((5, 2))
    mixed = ops.add_rows([a, tensor(c), b])
    np.testing.assert_allclose(mixed.numpy(), dense_a + dense_b + c)
    none, _ = row_sparse([])
    np.testing.assert_array_equal(ops.rows_to_dense(none).numpy(), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="must have one form"):
        ops.add_rows([a, tensor(np.ones(5))])


def test_clipping_rows_by_value():
    a, dense = row_sparse([4, 1, 1], seed=1)
    got = ops.rows_to_dense(ops.clip_by_value(a, -0.3, 0.2)).numpy()
    np.testing.assert_allclose(got, np.clip(dense, -0.3, 0.2))
    x = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(
        ops.clip_by_value(tensor(x), -0.3, 0.2).numpy(), np.clip(x, -0.3, 0.2)
    )


def test_many_rows_are_merged_in_order():
    ids = np.random.default_rng(4).zipf(1.1, 20000) * 7919 % 3000001
    g, _ = row_sparse(ids, height=3000001, width=1)
    rows, values = (p.numpy() for p in ops.clip_by_value(g, -1e9, 1e9)._parts)
    want, place = np.unique(ids, return_inverse=True)
    np.testing.assert_array_equal(rows, want)
    # In the order of occurrence, so bit for bit.
    sums = np.zeros((len(want), 1))
    np.add.at(sums, place, g._parts[1].numpy())
    np.testing.assert_array_equal(values, sums)


def test_row_sparse_gradients_in_a_program():
    from argosy._recorder import Recorder

    ids = np.array([[3, 1], [1, 1]])
    with Recorder() as r:
        x = r.input([-1, 2], "int64")
        w = r.input([6, 3], "float64", False)
        out = ops.embedding(x, w, -1, True)
        (g,) = r.gradients([(out * out).sum()], [w])
        dense = ops.rows_to_dense(g)
    assert g._layout == "row_sparse" and list(g.shape) == [6, 3]
    r.verify()
    table = np.random.default_rng(0).normal(size=(6, 3))
    (got,) = r.run([tensor(ids), tensor(table)], [dense])
    want = np.zeros((6, 3))
    np.add.at(want, ids, 2 * table[ids])
    np.testing.assert_allclose(got.numpy(), want)


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_tables_that_share_nothing(sparse):
    tables = [tensor(np.ones((4, 2))), tensor(np.ones((3, 1)))]
    for t in tables:
        t.stop_gradient = False
    a, b = np.array([3, 1, 1]), np.array([0, 2, 0])
    out = ops.embedding_pool([tensor(a), tensor(b)], tables, [], "sum", 0.0, 1, sparse)
    dy = np.arange(9.0).reshape(3, 3)
    grads = argosy.grad([out], tables, [tensor(dy)])
    want = [np.zeros((4, 2)), np.zeros((3, 1))]
    np.add.at(want[0], a[a != 1], dy[a != 1, :2])
    np.add.at(want[1], b, dy[:, 2:])
    for g, w in zip(grads, want):
        assert (g._layout == "row_sparse") == sparse
        np.testing.assert_allclose(ops.rows_to_dense(g).numpy(), w)
