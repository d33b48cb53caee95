"""The pass fuse_slots: many look-ups as one, with the same bits."""

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, ops

import argosy
from argosy import _core
from argosy.nn import functional as F

TABLE = np.random.default_rng(0).normal(size=(9, 3)).astype("float32")
LENGTHS = np.array([2, 0, 3, 1])


def ragged(slot):
    ids = np.random.default_rng(slot).integers(0, 9, (6, 1))
    return ids, np.roll(LENGTHS, slot)


def program(pool, slots=4, dense=True, sparse=True, tables=1):
    r = Recorded()
    with r:
        weights = []
        for _ in range(tables):
            w = r.input(TABLE)
            w.stop_gradient = False
            weights.append(w)
        parts = []
        for i in range(slots):
            w = weights[i % tables]
            if pool is None:
                ids = r.input(ragged(i)[0][:4], [-1, 1])
                e = F.embedding(ids, w, padding_idx=2, sparse=sparse)
                parts.append(argosy.reshape(e, [-1, 3]))
            else:
                ids, lengths = ragged(i)
                e = F.embedding(r.input(ids, [-1, 1]), w, padding_idx=2, sparse=sparse)
                e = argosy.reshape(e, [-1, 3])
                parts.append(_core.ops.sequence_pool(e, r.input(lengths), None, pool, 0.5))
        if dense:
            parts.insert(1, r.input(np.ones((4, 2), "float32")))
        out = argosy.concat(parts, axis=1)
        grads = r.gradients([(out * out).sum()], weights)
        r.fetch(out, *[_core.ops.rows_to_dense(g) for g in grads])
    return r


@pytest.mark.parametrize("pool", [None, "sum", "average", "sqrt", "first", "last", "max"])
@pytest.mark.parametrize("dense", [False, True])
def test_same_bits(pool, dense):
    found = ops(program(pool, dense=dense).check(["fuse_slots", "dead_code"]))
    # The slot before the dense input stands alone.
    assert found.count("embedding") == (dense and pool is None)
    assert not {"sequence_pool", "sequence_pool_grad", "embedding_rows_grad"} & set(found)
    if pool != "max":
        assert found.count("embedding_pool") == 1 + (dense and pool is not None)
        assert found.count("embedding_pool_grad") == 1


def test_hundreds_of_slots_are_two_operations():
    r = program("sum", 300, dense=False)
    found = ops(r.check(["algebraic", "cse", "fuse_slots", "dead_code"]))
    assert found.count("embedding_pool") == found.count("embedding_pool_grad") == 1
    assert len(found) < 12


def test_tables_of_their_own():
    found = ops(program("sum", 4, dense=False, tables=4).check(["fuse_slots", "dead_code"]))
    assert found.count("embedding_pool") == 1 and "embedding" not in found


def test_dense_gradients_stay_as_they_are():
    found = ops(program("sum", dense=False, sparse=False).check(["fuse_slots", "dead_code"]))
    assert "embedding_pool_grad" not in found


def test_rows_that_others_read_stay():
    with Recorded() as r:
        w = r.input(TABLE)
        ids = [r.input(ragged(i)[0][:4], [-1, 1]) for i in range(2)]
        parts = [argosy.reshape(F.embedding(x, w), [-1, 3]) for x in ids]
        r.fetch(argosy.concat(parts, axis=1), parts[0] * 2, parts[1] + 1)
    assert "embedding_pool" not in ops(r.check(["fuse_slots", "dead_code"]))


# How programs get from looked up rows [.., 1, 3] to joined ones, beside the usual way.
FORMS = {
    "one axis more": lambda parts: argosy.concat(parts, axis=1),
    "the last axis": lambda parts: argosy.concat(parts, axis=-1),
    "reshaped after": lambda parts: argosy.concat([argosy.reshape(p, [-1, 3]) for p in parts], 1),
    "squeezed": lambda parts: argosy.concat([argosy.squeeze(p, 1) for p in parts], axis=-1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pool", [None, "average", "max"])
def test_rows_with_an_axis_of_one(form, pool):
    with Recorded() as r:
        w = r.input(TABLE)
        w.stop_gradient = False
        parts = []
        for i in range(3):
            ids, lengths = ragged(i)
            if pool is None:
                ids, lengths = ids[:4], None
            e = F.embedding(r.input(ids, [-1, 1]), w, sparse=True)
            if pool is not None:
                e = _core.ops.sequence_pool(e, r.input(lengths), None, pool, 0.5)
            parts.append(e)
        out = FORMS[form](parts)
        (grad,) = r.gradients([(out * out).sum()], [w])
        r.fetch(out, _core.ops.rows_to_dense(grad))
    found = ops(r.check(["fuse_slots", "dead_code"]))
    assert not {"embedding", "sequence_pool"} & set(found)
    if pool != "max":
        assert found.count("embedding_pool") == found.count("embedding_pool_grad") == 1
        assert not {"sequence_pool_grad", "embedding_rows_grad", "concat"} & set(found)


def test_other_axes_and_wider_rows_stay():
    with Recorded() as r:
        w = r.input(TABLE)
        ids = [r.input(ragged(i)[0][:4], [-1, 1]) for i in range(2)]
        rows = [F.embedding(x, w) for x in ids]
        r.fetch(argosy.concat([argosy.reshape(e, [2, -1]) for e in rows], axis=1))
        r.fetch(argosy.concat([argosy.reshape(e, [-1, 3]) for e in rows], axis=0))
        r.fetch(argosy.concat([argosy.reshape(e, [1, 4, 3]) for e in rows], axis=1))
    assert "embedding_pool" not in ops(r.check(["fuse_slots", "dead_code"]))
