"""Graph functions against loops."""

import numpy as np
import pytest

import argosy as paddle
from argosy import geometric as G

X = np.array([[0.0, 2, 3], [1, 4, 5], [2, 6, 7]], "float32")
SRC, DST = np.array([0, 1, 2, 0]), np.array([1, 2, 1, 0])
REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}


def reduced(messages, to, count, how):
    out = np.zeros((count, *messages.shape[1:]), messages.dtype)
    for row in range(count):
        if (to == row).any():
            out[row] = REDUCE[how](messages[to == row], 0)
    return out


def t(a):
    return paddle.to_tensor(a)


@pytest.mark.parametrize("how", REDUCE)
@pytest.mark.parametrize("size", [None, 2 + 3])
def test_messages(how, size):
    got = G.send_u_recv(t(X), t(SRC), t(DST), how, size)
    np.testing.assert_allclose(got.numpy(), reduced(X[SRC], DST, size or 3, how))
    y = np.array([1.0, 2, 3, 4], "float32")
    for op, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        got = G.send_ue_recv(t(X), t(y), t(SRC), t(DST), op, how, size)
        message = function(X[SRC], y[:, None])
        np.testing.assert_allclose(got.numpy(), reduced(message, DST, size or 3, how))
    np.testing.assert_allclose(G.send_uv(t(X), t(X), t(SRC), t(DST)).numpy(), X[SRC] + X[DST])


@pytest.mark.parametrize("how", REDUCE)
def test_segments(how):
    ids = np.array([0, 0, 2])
    got = getattr(G, f"segment_{how}")(t(X), t(ids))
    np.testing.assert_allclose(got.numpy(), reduced(X, ids, 3, how))


@pytest.mark.parametrize("how", REDUCE)
def test_gradients_flow(how):
    x = t(X + np.arange(9).reshape(3, 3).astype("float32") / 10)  # no ties
    x.stop_gradient = False
    G.send_u_recv(x, t(SRC), t(DST), how).sum().backward()
    want = np.zeros((3, 3))
    for row in range(3):
        edges = np.flatnonzero(DST == row)
        for column in range(3):
            values = x.numpy()[SRC[edges], column]
            share = {
                "sum": np.ones(len(edges)),
                "mean": np.full(len(edges), 1 / max(len(edges), 1)),
                "max": values == values.max(),
                "min": values == values.min(),
            }[how]
            np.add.at(want[:, column], SRC[edges], share)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_reindex():
    x, neighbors = t([0, 1, 2]), t([8, 9, 0, 4, 7, 6, 7])
    count = paddle.to_tensor([2, 3, 2], dtype="int32")
    source, target, nodes = G.reindex_graph(x, neighbors, count)
    assert nodes.tolist() == [0, 1, 2, 8, 9, 4, 7, 6]
    assert source.tolist() == [3, 4, 0, 5, 6, 7, 6]
    assert target.tolist() == [0, 0, 1, 1, 1, 2, 2]
    more = paddle.to_tensor([1, 3, 1], dtype="int32")
    source, target, nodes = G.reindex_heter_graph(x, [neighbors, t([0, 2, 3, 5, 1])], [count, more])
    assert nodes.tolist() == [0, 1, 2, 8, 9, 4, 7, 6, 3, 5]
    assert source.tolist() == [3, 4, 0, 5, 6, 7, 6, 0, 2, 8, 9, 1]
    assert target.tolist() == [0, 0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 2]


ROW = np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
COLPTR = np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])
NODES = [0, 8, 1, 7, 5]


def test_sampling():
    paddle.seed(3)
    everything, count = G.sample_neighbors(t(ROW), t(COLPTR), t(NODES))
    want = [ROW[COLPTR[n] : COLPTR[n + 1]] for n in NODES]
    assert everything.tolist() == np.concatenate(want).tolist()
    assert count.tolist() == [len(part) for part in want] and count.dtype == paddle.int32
    seen = set()
    for _ in range(40):
        found, count, ids = G.sample_neighbors(
            t(ROW), t(COLPTR), t(NODES), 1, paddle.arange(13), True
        )
        assert count.tolist() == [1, 1, 1, 0, 1]
        for node, value, place in zip([0, 8, 1, 5], found.tolist(), ids.tolist()):
            assert ROW[place] == value and COLPTR[node] <= place < COLPTR[node + 1]
        seen.add(found.tolist()[0])
    assert seen == {3, 7}
    for size in (3, 100):  # as many as there are: the order of row stays
        found, count, ids = G.sample_neighbors(
            t(ROW), t(COLPTR), t(NODES), size, paddle.arange(13), True
        )
        kept = [min(size, len(part)) for part in want]
        assert count.tolist() == kept
        for part, mine in zip(want, np.split(ids.numpy(), np.cumsum(kept)[:-1])):
            assert (np.diff(mine) > 0).all()
            assert len(mine) < len(part) or ROW[mine].tolist() == part.tolist()
        weighted = G.weighted_sample_neighbors(t(ROW), t(COLPTR), paddle.ones([13]), t(NODES), 100)
        assert weighted[0].tolist() == everything.tolist()


def test_weighted_sampling_follows_the_weights():
    paddle.seed(5)
    weight = np.ones(13, "float32")
    weight[0] = 9.0  # of node 0: edges 0 and 1
    nodes = t(np.zeros(2000, "int64"))
    found, _ = G.weighted_sample_neighbors(t(ROW), t(COLPTR), t(weight), nodes, 1)
    assert abs((found.numpy() == 3).mean() - 0.9) < 0.03


def test_errors():
    with pytest.raises(ValueError, match=r"\[send_u_recv\] reduce_op: expected one of"):
        G.send_u_recv(t(X), t(SRC), t(DST), "median")
    with pytest.raises(ValueError, match=r"\[send_uv\] message_op"):
        G.send_uv(t(X), t(X), t(SRC), t(DST), "pow")
    with pytest.raises(ValueError, match="needs the ids"):
        G.sample_neighbors(t(ROW), t(COLPTR), t(NODES), return_eids=True)


def test_segments_of_ids_that_a_captured_function_makes():
    def function(x):
        return G.segment_max(x, paddle.to_tensor(np.array([0, 0, 1, 2])))

    x = paddle.to_tensor(np.arange(8, dtype="float32").reshape(4, 2))
    captured = paddle.jit.to_static(function, full_graph=True)
    np.testing.assert_array_equal(captured(x).numpy(), function(x).numpy())


def test_means_of_integers_are_integers():
    rows = np.array([[7, 2], [2, 3], [5, 5], [-4, 1]])
    for sign in (1, -1):
        got = G.segment_mean(t(sign * rows), t(np.array([0, 0, 1, 1])))
        assert got.tolist() == [[4 * sign, 2 * sign], [0, 3 * sign]] and got.dtype == paddle.int64
    got = G.send_u_recv(t(rows), t(np.array([0, 1])), t(np.array([1, 1])), "mean", 2)
    assert got.tolist() == [[0, 0], [4, 2]] and got.dtype == paddle.int64


def test_segments_of_what_is_no_tensor():
    for wrong in ((3, t(np.array([0]))), (t(X), [0, 0, 1])):
        with pytest.raises(
            ValueError, match=r"\[segment_sum\] (data|segment_ids): expected a Tensor, got"
        ):
            G.segment_sum(*wrong)


GRAPH = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7], [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]


def test_graph_of_neighbours_of_neighbours():
    row, colptr = map(paddle.to_tensor, GRAPH)
    nodes = paddle.to_tensor([0, 8, 1, 2])
    sample = paddle.incubate.graph_khop_sampler
    source, target, met, at, edges = sample(row, colptr, nodes, [5], paddle.arange(13), True)
    assert source.tolist() == [[4], [5], [6], [5], [0], [6], [2]]
    assert target.tolist() == [[0], [0], [1], [1], [2], [2], [3]]
    assert met.tolist() == [0, 8, 1, 2, 3, 7, 9] and at.tolist() == [0, 1, 2, 3]
    assert edges.tolist() == [0, 1, 11, 12, 2, 3, 4]
    # Two rounds: edges that end in what the first round met come in, and only real ones.
    source, target, met, at = sample(row, colptr, paddle.to_tensor([0]), [-1, -1])
    found = {
        (met.tolist()[i], met.tolist()[j]) for (i,), (j,) in zip(source.tolist(), target.tolist())
    }
    assert found == {(3, 0), (7, 0), (4, 3)}
    some, *_ = sample(row, colptr, paddle.to_tensor([0, 1]), [1, 1])
    assert len(some) <= 4
    lonely = sample(row, colptr, paddle.to_tensor([9]), [2, 2])
    assert lonely[0].shape == [0, 1] and lonely[2].tolist() == [9]
    with pytest.raises(
        ValueError, match="sorted_eids: expected a Tensor with return_eids, got None"
    ):
        sample(row, colptr, nodes, [1], return_eids=True)
    with pytest.raises(ValueError, match=r"input_nodes: expected different nodes, got \[0, 0\]"):
        sample(row, colptr, paddle.to_tensor([0, 0]), [1])
