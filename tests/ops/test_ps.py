"""Operations that speak to tables, over tables of this process."""

import importlib
import json

import numpy as np
import pytest

import argosy
from argosy import _core

COVERS = {
    "ps_pull_rows": "test_rows_follow_their_gradients",
    "ps_push_rows": "test_rows_follow_their_gradients",
    "ps_prefetch_rows": "test_fetching_ahead_changes_nothing",
    "ps_pull_dense": "test_dense_parameters_are_one_block",
    "ps_push_dense": "test_dense_parameters_are_one_block",
    "ps_end_step": "test_dense_parameters_are_one_block",
}
ops = _core.ops


def servers():
    """The library of servers, which a package for running models may lack."""
    return importlib.import_module("argosy._ps")


def tables():
    sgd = {"rule": "sgd", "initial_range": 0.0, "learning_rate": 0.5}
    plain = {"kind": "plain", "dim": 2, "embedding": sgd}
    click = {"kind": "click", "dim": 1, "embedding_threshold": 0.0, "embedding": sgd, "weight": sgd,
             "show_scale": False}  # fmt: skip
    return json.dumps(
        [
            {"id": 0, "name": "rows", "kind": "sparse", "accessor": plain},
            {"id": 1, "name": "block", "kind": "dense", "size": 5, "accessor": {"embedding": sgd}},
            {"id": 2, "name": "clicks", "kind": "sparse", "accessor": click},
        ]
    )


@pytest.fixture
def remote():
    mode = servers().mode_local(tables())
    servers().mode_install(mode)
    yield mode
    servers().mode_install(None)


def tensor(values, dtype):
    return argosy.to_tensor(np.array(values, dtype))


def pull_rows(ids, paddings=(), table=0, width=2, training=True):
    """Rows, their keys, and places of the lists of ids."""
    rows, keys, *places = ops.ps_pull_rows(
        list(ids), [table], [width], [len(ids)], list(paddings), training
    )
    return rows, keys, places


def pull(*ids, **more):
    rows, _, places = pull_rows(ids, **more)
    return [rows.numpy()[p.numpy()] for p in places]


def push(ids, gradients, show=None, click=None, table=0, paddings=(), clicks=False, slots=(),
         lr=-1.0, scale=1.0):  # fmt: skip
    width = gradients[0].shape[-1]
    rows, keys, places = pull_rows(ids, paddings, table, width)
    padding = 0 if paddings else -1
    parts = [ops.embedding_rows_grad(p, g, rows, padding, True) for p, g in zip(places, gradients)]
    ops.ps_push_rows([keys], [ops.add_rows(parts)], places if clicks else [], show, click, table,
                     clicks, [len(ids)] if clicks else [], list(slots), lr, scale)  # fmt: skip


def test_rows_follow_their_gradients(remote):
    a = tensor([[1, 2], [2, -1]], "int64")  # -1 is the key 2^64 - 1
    b = tensor([7, 2, 3], "int32")
    first = pull(a, b, paddings=[-1, 7])
    assert [r.shape for r in first] == [(2, 2, 2), (3, 2)]
    assert all((r == 0).all() for r in first)
    ga = np.arange(8, dtype="float32").reshape(2, 2, 2)
    gb = 10 + np.arange(6, dtype="float32").reshape(3, 2)
    push([a, b], [tensor(ga, "float32"), tensor(gb, "float32")], paddings=[-1, 7], lr=0.25)
    got_a, got_b = pull(a, b, paddings=[-1, 7])
    two = ga[0, 1] + ga[1, 0] + gb[1]  # the sum over all that named it
    np.testing.assert_allclose(got_a, -0.25 * np.array([[ga[0, 0], two], [two, ga[1, 1]]]))
    np.testing.assert_allclose(got_b, -0.25 * np.array([[0, 0], two, gb[2]]))  # 7 pads


def test_several_tables_in_one_request(remote):
    a, b = tensor([3, 4, 3], "int64"), tensor([[4], [9]], "int64")
    push([a], [tensor(np.ones([3, 2]), "float32")])
    rows, clicks, keys, other, first, second = ops.ps_pull_rows(
        [a, b], [0, 2], [2, 4], [1, 1], [], True
    )
    assert keys.numpy().tolist() == [3, 4] and other.numpy().tolist() == [4, 9]
    assert first.numpy().tolist() == [0, 1, 0] and second.numpy().tolist() == [[0], [1]]
    np.testing.assert_allclose(rows.numpy(), [[-1, -1], [-0.5, -0.5]])
    assert clicks.shape == [2, 4]


def test_the_tables_own_rate_and_a_factor(remote):
    ids = tensor([5], "int64")
    push([ids], [tensor([[1, 2]], "float32")])
    np.testing.assert_allclose(pull(ids)[0], [[-0.5, -1]])
    push([ids], [tensor([[1, 2]], "float32")], lr=1.0, scale=0.1)
    np.testing.assert_allclose(pull(ids)[0], [[-0.6, -1.2]], rtol=1e-6)


def test_looking_up_without_training_makes_no_rows(remote):
    ids = tensor([11, 12], "int64")
    assert (pull(ids, training=False)[0] == 0).all()
    assert pull(tensor(np.zeros([0, 3]), "int64"))[0].shape == (0, 3, 2)


def test_click_rows_count_shows_and_clicks(remote):
    ids = tensor([[4, 9], [4, 4]], "int64")  # two instances
    gradient = tensor(np.ones([2, 2, 4]), "float32")
    show, click = tensor([[1], [1]], "float32"), tensor([[0], [1]], "int64")
    push([ids], [gradient], show, click, table=2, clicks=True, slots=[6], lr=0.5)
    rows = pull(ids, table=2, width=4)[0]
    np.testing.assert_allclose(rows[0, 0, :3], [3, 2, -1.5])  # shows, clicks, weight
    np.testing.assert_allclose(rows[0, 1, :3], [1, 0, -0.5])


def test_dense_parameters_are_one_block(remote):
    w, b = tensor(np.ones([2, 2]), "float32"), tensor([9], "float32")
    ops.ps_pull_dense([w, b], 1)
    assert (w.numpy() == 0).all() and (b.numpy() == 0).all()
    ops.ps_push_dense([tensor([[1, 2], [3, 4]], "float32"), tensor([5], "float32")], 1, 0.1, 2.0)
    ops.ps_end_step()
    ops.ps_pull_dense([w, b], 1)
    np.testing.assert_allclose(w.numpy(), [[-0.2, -0.4], [-0.6, -0.8]], rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), [-1], rtol=1e-6)
    assert json.loads(servers().mode_stats(remote))["steps"] == 1


def test_errors_say_what_is_wrong(remote):
    ids = tensor([1, 2], "int64")
    with pytest.raises(ValueError, match="no table 8"):
        pull(ids, table=8)
    with pytest.raises(ValueError, match="paddings must be empty or have a number for each"):
        pull(ids, paddings=[1, 2])
    with pytest.raises(ValueError, match="counts add up to the 1 lists of ids"):
        ops.ps_pull_rows([ids], [0], [2], [2], [], True)
    rows, keys, places = pull_rows([ids])
    gradient = ops.embedding_rows_grad(
        places[0], tensor(np.ones([2, 2]), "float32"), rows, -1, True
    )

    def refused(match, keys, gradients, places, counts, slots, table=0, clicks=True):
        with pytest.raises(ValueError, match=match):
            ops.ps_push_rows(
                keys, gradients, places, None, None, table, clicks, counts, slots, -1.0, 1.0
            )

    refused("a row for each key", [keys[:0]], [gradient], [], [], [], clicks=False)
    refused("a gradient for each list of keys", [keys, keys], [gradient], places, [1], [])
    refused("slots must be empty or have", [keys], [gradient], places, [1], [1, 2])
    refused("counts must have a number for each", [keys], [gradient], places, [2], [])
    refused("its width is at least 4", [keys], [gradient], places, [1], [], table=2)


def test_fetching_ahead_changes_nothing(remote):
    ids = tensor([4, 7, 4], "int64")
    ops.ps_prefetch_rows([ids], [0], [2], [1], [7], True)
    push([ids], [tensor(np.ones([3, 2]), "float32")], lr=1.0, paddings=[7])
    assert pull(ids, paddings=[7])[0].tolist() == [[-2, -2], [0, 0], [-2, -2]]


def test_keys_of_several_pulls_add_up(remote):
    rows, keys, places = pull_rows([tensor([4, 6], "int64")])
    more, others, theirs = pull_rows([tensor([6, 8], "int64")])
    a = ops.embedding_rows_grad(places[0], tensor([[1, 1], [2, 2]], "float32"), rows, -1, True)
    b = ops.embedding_rows_grad(theirs[0], tensor([[3, 3], [4, 4]], "float32"), more, -1, True)
    ops.ps_push_rows([keys, others], [a, b], [], None, None, 0, False, [], [], 1.0, 1.0)
    got = pull(tensor([4, 6, 8], "int64"))[0]
    assert got.tolist() == [[-1, -1], [-5, -5], [-4, -4]]
    assert json.loads(servers().mode_stats(remote))["pushes"] == 1


def test_without_a_connection():
    servers().mode_install(None)
    with pytest.raises(RuntimeError, match=r"fleet.init_worker\(\)"):
        pull(tensor([1], "int64"))
