"""Batches of sequences of different lengths."""

import numpy as np
import pytest

import argosy
from argosy import static

X = np.random.default_rng(8).random((6, 3)).astype("float32")
LENGTHS = [2, 0, 3, 1]
PARTS = np.split(X, np.cumsum(LENGTHS)[:-1])


def batch(data=X):
    return argosy.base.create_lod_tensor(data, [LENGTHS], argosy.CPUPlace())


def sequences(name="x"):
    x = static.data(name, [None, 3], "float32", lod_level=1)
    x.stop_gradient = False
    return x


def test_pools(start):
    x = sequences()
    kinds = {
        "sum": lambda p: p.sum(0),
        "average": lambda p: p.mean(0),
        "sqrt": lambda p: p.sum(0) / np.sqrt(len(p)),
        "max": lambda p: p.max(0),
        "first": lambda p: p[0],
        "LAST": lambda p: p[-1],
    }
    outs = [static.nn.sequence_pool(x * 2, kind, pad_value=7.0) for kind in kinds]
    outs += [static.nn.sequence_first_step(x), static.nn.sequence_last_step(x)]
    (g,) = static.gradients(outs[1].sum(), x)
    got = start().run(feed={"x": batch()}, fetch_list=[*outs, g])
    for value, f in zip(got, kinds.values()):
        want = [2 * f(p) if len(p) else np.full(3, 7) for p in PARTS]
        np.testing.assert_allclose(value, want, rtol=1e-5)
    np.testing.assert_array_equal(got[6][0], X[0])
    np.testing.assert_array_equal(got[7][0], X[1])
    want = np.repeat([2 / n for n in LENGTHS if n], [n for n in LENGTHS if n])
    np.testing.assert_allclose(got[-1], np.repeat(want[:, None], 3, 1), rtol=1e-5)


def test_softmax_expand_and_conv(start):
    x, v = sequences(), static.data("v", [None, 2], "float32")
    soft = static.nn.sequence_softmax(x[:, :1])
    wide = static.nn.sequence_expand(v, x)
    conv = static.nn.sequence_conv(x, 4, 3, param_attr="w", bias_attr="b", act="relu")
    pooled = static.nn.sequence_pool(conv, "sum")
    rows = X[:4, :2].copy()
    exe = start()
    got = exe.run(feed={"x": batch(), "v": rows}, fetch_list=[soft, wide, conv, pooled, "w"])
    e = [np.exp(p[:, :1]) for p in PARTS]
    np.testing.assert_allclose(got[0], np.concatenate([p / p.sum() for p in e]), rtol=1e-5)
    np.testing.assert_array_equal(got[1], np.repeat(rows, LENGTHS, 0))
    windows = []
    for p in PARTS:
        q = np.pad(p, ((1, 1), (0, 0)))
        windows += [q[i : i + 3].reshape(-1) for i in range(len(p))]
    want = (np.array(windows) @ got[4]).clip(0)
    np.testing.assert_allclose(got[2], want, rtol=1e-4, atol=1e-5)
    sums = [p.sum(0) for p in np.split(want, np.cumsum(LENGTHS)[:-1])]
    np.testing.assert_allclose(got[3], sums, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="'v' is no batch of sequences"):
        static.nn.sequence_pool(v, "sum")
    with pytest.raises(ValueError, match="pool_type"):
        static.nn.sequence_pool(x, "middle")
    with pytest.raises(NotImplementedError, match="pool it first"):
        static.nn.sequence_expand(conv, x)


def test_text_classification_trains(start):
    words = static.data("words", [None, 1], "int64", lod_level=1)
    label = static.data("label", [None, 1], "int64")
    table = static.nn.embedding(words, [10, 8])
    pooled = static.nn.sequence_pool(argosy.reshape(table, [-1, 8]), "average")
    loss = argosy.nn.functional.cross_entropy(static.nn.fc(pooled, 2), label)
    argosy.optimizer.Adam(0.1).minimize(loss)
    exe = start()
    text = [[1, 2, 3], [4, 5], [1, 3], [5, 4, 4]]
    feed = {
        "words": argosy.base.create_lod_tensor(text, [[len(t) for t in text]], None),
        "label": np.array([[0], [1], [0], [1]]),
    }
    losses = [exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(30)]
    assert losses[-1] < 0.1 * losses[0]
    with pytest.raises(ValueError, match="'words' is a batch of sequences, fed without"):
        exe.run(feed={"words": np.ones((3, 1), "int64"), "label": feed["label"]})


def test_a_saved_model_takes_sequences(start, tmp_path):
    x = sequences()
    unused = static.data("unused", [None, 1], "int64", lod_level=1)
    out = static.nn.fc(static.nn.sequence_pool(x, "sum"), 2)
    exe = start()
    want = exe.run(feed={"x": batch()}, fetch_list=[out])[0]
    path = str(tmp_path / "model")
    static.save_inference_model(path, [unused, x], [out], exe)
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(path, exe)
        assert feeds == ["unused", "x"]
        got = exe.run(program, feed={"x": batch()}, fetch_list=fetches)[0]
        np.testing.assert_array_equal(got, want)
        with pytest.raises(ValueError, match="'x' is a batch of sequences, fed without"):
            exe.run(program, feed={"x": X}, fetch_list=fetches)


def test_lengths_of_a_tensor():
    t = batch()
    assert t.recursive_sequence_lengths() == [LENGTHS] and t.lod() == [[0, 2, 2, 5, 6]]
    t.set_lod([[0, 6]])
    assert t.recursive_sequence_lengths() == [[6]]
    t.set_recursive_sequence_lengths([])
    assert t.lod() == []
    with pytest.raises(ValueError, match="expected 6, got 3"):
        t.set_recursive_sequence_lengths([[1, 2]])
    with pytest.raises(NotImplementedError, match="lod_level"):
        static.data("z", [None, 1], lod_level=2)


def test_fetched_rows_know_their_sequences(start):
    x = sequences()
    rows, last = static.nn.fc(x, 2), static.nn.sequence_last_step(x)
    conv = static.nn.sequence_conv(x, 4, 3)
    exe = start()
    fetched = [rows, x, last, conv, conv.mean()]
    for _ in range(2):
        got = exe.run(feed={"x": batch()}, fetch_list=fetched, return_numpy=False)
        assert len(got) == 5 and got[0].shape() == [6, 2]
        assert [v.recursive_sequence_lengths() for v in got] == [[LENGTHS]] * 2 + [
            [],
            [LENGTHS],
            [],
        ]
    np.testing.assert_array_equal(np.array(got[1]), X)
    again = exe.run(feed={"x": got[1]}, fetch_list=[rows])  # fed as it was fetched
    np.testing.assert_allclose(again[0], np.array(got[0]))
