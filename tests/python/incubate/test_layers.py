"""Layers of recommenders: shuffled rows, columns of many tensors, trees of items."""

import numpy as np
import pytest

import argosy
from argosy import static
from argosy.incubate import layers

# Node: item, layer, parent, two children. Items 1 to 4 are the leaves 3 to 6.
TREE = np.array(
    [[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6]]
    + [[item + 1, 2, 1 + item // 2, 0, 0] for item in range(4)]
)
WAYS = np.array([[1, 3], [1, 4], [2, 5], [2, 6]])
NODES = np.arange(1, 7).reshape(6, 1)


def holding(values):
    return argosy.ParamAttr(initializer=argosy.nn.initializer.Assign(values))


def ran(build, feed):
    """What a Program that `build` makes gives, and eager calls besides must give."""
    argosy.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            fetched = build(
                {k: static.data(k, [-1, *v.shape[1:]], v.dtype) for k, v in feed.items()}
            )
            exe = static.Executor()
            exe.run(startup)
            return exe.run(main, feed=feed, fetch_list=list(fetched))
    finally:
        argosy.disable_static()


def both(build, feed):
    eager = build({k: argosy.to_tensor(v) for k, v in feed.items()})
    for a, b in zip(eager, ran(build, feed), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    return [v.numpy() for v in eager]


def test_shuffled_rows_are_all_there():
    x = np.arange(24.0, dtype="float32").reshape(2, 6, 2)
    (out,) = both(lambda t: [layers.shuffle_batch(t["x"], seed=5)], {"x": x})
    assert out.shape == x.shape
    assert sorted(out.reshape(12, 2).tolist()) == x.reshape(12, 2).tolist()
    assert out.tolist() != x.tolist()
    argosy.seed(1)
    assert layers.shuffle_batch(argosy.to_tensor(x)).tolist() != out.tolist()


def test_gradient_of_shuffled_rows():
    x = argosy.to_tensor(np.arange(8.0).reshape(4, 2), stop_gradient=False)
    out = layers.shuffle_batch(x)
    (out * out.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), x.numpy())


@pytest.mark.parametrize("start, length", [(0, 2), (1, -1), (-2, 1), (0, -1), (2, 1)])
def test_columns(start, length):
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0, 12.0).reshape(2, 3)
    first = start % 3
    cut = slice(first, 3 if length < 0 else first + length)
    joined, added = both(
        lambda t: [
            layers.partial_concat([t["x"], t["y"]], start, length),
            layers.partial_sum([t["x"], t["y"]], start, length),
        ],
        {"x": x, "y": y},
    )
    np.testing.assert_array_equal(joined, np.concatenate([x[:, cut], y[:, cut]], 1))
    np.testing.assert_array_equal(added, x[:, cut] + y[:, cut])


@pytest.mark.parametrize("function", [layers.partial_concat, layers.partial_sum])
def test_bad_columns(function):
    x = argosy.ones([2, 3])
    with pytest.raises(IndexError, match="expected columns within 0 and 3"):
        function([x], 2, 2)
    with pytest.raises(IndexError, match="start_index -4"):
        function([x], -4)
    with pytest.raises(ValueError, match=r"\[rows, width\] tensors, got \[3\]"):
        function([argosy.ones([3])])
    with pytest.raises(TypeError, match="expected a Tensor, got int"):
        function([3])
    with pytest.raises(ValueError, match="got none"):
        function([])


def test_children():
    x = np.array([[2], [3], [0]], "int32")
    child, leaf = both(lambda t: layers.tdm_child(t["x"], 7, 2, holding(TREE)), {"x": x})
    assert child.tolist() == [[[5, 6]], [[0, 0]], [[0, 0]]]  # node 0 stands for none
    assert leaf.tolist() == [[[1, 1]], [[0, 0]], [[0, 0]]]
    child, leaf = layers.tdm_child(argosy.to_tensor([1, 0]), 7, 2, holding(TREE), "int64")
    assert child.tolist() == [[3, 4], [0, 0]]
    assert child.dtype == argosy.int64
    with pytest.raises(TypeError, match=r"\[tdm_child\] dtype: expected one of int32, int64"):
        layers.tdm_child(argosy.to_tensor([1]), 7, 2, holding(TREE), "float32")


@pytest.mark.parametrize("positive", [False, True])
def test_samples(positive):
    x = np.repeat([[0], [1], [2], [3]], 50, axis=0)
    out, label, mask = both(
        lambda t: layers.tdm_sampler(
            t["x"], [1, 2], [2, 4], 4, holding(WAYS), holding(NODES), positive, False, seed=3
        ),
        {"x": x},
    )
    first = out[:, : 1 + positive]
    second = out[:, 1 + positive :]
    for layer, nodes, way in ((first, {1, 2}, 0), (second, {3, 4, 5, 6}, 1)):
        for row, item in zip(layer, x[:, 0]):
            assert len(set(row)) == len(row)
            assert set(row) <= nodes
            drawn = row[1:] if positive else row
            assert WAYS[item, way] not in drawn
            assert not positive or row[0] == WAYS[item, way]
    assert {tuple(r[positive:]) for r in second[:50]} == {
        (a, b) for a in (4, 5, 6) for b in (4, 5, 6) if a != b
    }
    assert (mask == 1).all()
    assert label.tolist() == [[1, 0, 1, 0, 0] if positive else [0, 0, 0]] * 200


def test_samples_of_a_way_that_ends_early():
    ways = np.array([[1, 0], [2, 5]])
    out, label, mask = layers.tdm_sampler(
        argosy.to_tensor([[0], [1]]),
        [1, 1],
        [2, 4],
        2,
        holding(ways),
        holding(NODES),
        dtype="int64",
    )
    assert [list(v.shape) for v in out] == [[2, 2, 1], [2, 2, 1]]
    assert out[1][0].tolist() == label[1][0].tolist() == mask[1][0].tolist() == [[0], [0]]
    assert mask[1][1].tolist() == [[1], [1]]
    assert out[0].dtype == argosy.int64


def test_bad_samples():
    x = argosy.to_tensor([[0]])
    with pytest.raises(ValueError, match="one number for each of 2 layers, got 1"):
        layers.tdm_sampler(x, [1], [2, 4], 4)
    with pytest.raises(ValueError, match="less than the 2 nodes of layer 0, got 2"):
        layers.tdm_sampler(x, [2, 1], [2, 4], 4)
    with pytest.raises(AssertionError, match="less than the 6 nodes"):
        layers.tdm_sampler(x, [1, 1], [2, 4], 6)
    with pytest.raises(TypeError, match="tree_dtype"):
        layers.tdm_sampler(x, [1, 1], [2, 4], 4, tree_dtype="float32")


def test_states_of_all_generators():
    states = argosy.incubate.get_rng_state()
    drawn = argosy.rand([3]).tolist()
    argosy.incubate.set_rng_state(states)
    assert argosy.rand([3]).tolist() == drawn
    with pytest.raises(NotImplementedError, match="use_index"):
        argosy.incubate.get_rng_state(use_index=True)
    with pytest.raises(ValueError, match="expected one state, got 2"):
        argosy.incubate.set_rng_state(states * 2)
