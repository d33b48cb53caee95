"""Tables of the parameter server in one process, against NumPy."""

import json
import os
import threading

import numpy as np
import pytest
from tests.python.ps.table_models import RULES, ClickModel, PlainModel

from argosy import _ps


def table(**config):
    return _ps.Table(json.dumps([config]))


def plain(rule, dim, dtype="float32", **optimizer):
    optimizer = {"rule": rule, "initial_range": 0.05, **optimizer}
    return table(accessor={"kind": "plain", "dim": dim, "dtype": dtype, "embedding": optimizer})


def click(dim, weight="adagrad", embedding="adagrad", **accessor):
    return table(
        accessor={
            "kind": "click",
            "dim": dim,
            "weight": {"rule": weight, "initial_range": 0, "minimum": -10, "maximum": 10},
            "embedding": {"rule": embedding, "minimum": -10, "maximum": 10},
            **accessor,
        }
    )


EDGE_KEYS = np.array([0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)


@pytest.mark.parametrize("dim", [1, 3, 8, 13, 16, 64])
@pytest.mark.parametrize("rule", RULES)
def test_rules_follow_their_formulas(rule, dim):
    options = {"initial_range": 0.05, "minimum": -0.4, "maximum": 0.4}
    t = plain(rule, dim, **options)
    keys = EDGE_KEYS
    start = t.pull(keys, True)
    assert np.abs(start).max() <= 0.05 and len(np.unique(start)) == start.size
    model = PlainModel(rule, start, **options)
    random = np.random.default_rng(dim)
    for step in range(30):
        g = random.normal(size=(len(keys), dim)).astype(np.float32)
        rate = -1.0 if step % 3 else 0.01 * (step + 1)
        t.push(keys, g, rate)
        model.push(g, rate)
    np.testing.assert_allclose(t.pull(keys, False), model.w, rtol=2e-5, atol=2e-6)
    if rule != "sum":
        assert np.abs(t.pull(keys, False)).max() <= 0.4


@pytest.mark.parametrize(
    "rule, options",
    [
        ("ftrl", {"l1": 0.3, "l2": 0.1}),
        ("ftrl", {"l1": 0.01, "lr_power": -0.7}),
        ("rmsprop", {"momentum": 0.9, "rho": 0.8, "epsilon": 1e-3}),
        ("momentum", {"momentum": 0.9}),
        ("momentum", {"momentum": 0.9, "nesterov": True}),
        ("adam", {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-2}),
        ("adam_lazy", {"beta2": 0.5, "epsilon": 1e-2, "decay": 0.7, "amsgrad": True}),
        ("adam_shared", {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-2}),
        ("adagrad", {"initial_g2sum": 0.1}),
        ("adagrad_elementwise", {"initial_g2sum": 0.1}),
    ],
)
def test_options_of_rules(rule, options):
    t = plain(rule, 5, **options)
    keys = EDGE_KEYS
    model = PlainModel(rule, t.pull(keys, True), **options)
    random = np.random.default_rng(1)
    for _ in range(20):
        g = random.normal(size=(len(keys), 5)).astype(np.float32)
        t.push(keys, g, 0.1)
        model.push(g, 0.1)
    np.testing.assert_allclose(t.pull(keys, False), model.w, rtol=1e-4, atol=1e-5)


def test_a_key_that_occurs_twice_is_pushed_twice():
    t = plain("adagrad", 4)
    keys = np.array([7, 7, 9, 7], np.uint64)
    model = PlainModel("adagrad", t.pull(np.array([7], np.uint64), True), initial_range=0.05)
    g = np.random.default_rng(2).normal(size=(4, 4)).astype(np.float32)
    t.push(keys, g, 0.1)
    for i in (0, 1, 3):
        model.push(g[i : i + 1], 0.1)
    np.testing.assert_allclose(t.pull(keys[:1], False), model.w, rtol=1e-5)


@pytest.mark.parametrize("dtype, error", [("float16", 5e-3), ("int8", 4e-2)])
@pytest.mark.parametrize("rule", ["sgd", "adagrad", "adam", "ftrl", "rmsprop"])
def test_packed_weights_follow_on_average(dtype, error, rule):
    t = plain(rule, 8, dtype)
    keys = np.arange(200, dtype=np.uint64)
    model = PlainModel(rule, t.pull(keys, True), initial_range=0.05)
    random = np.random.default_rng(3)
    for _ in range(50):
        g = random.normal(size=(len(keys), 8)).astype(np.float32) + 0.5
        t.push(keys, g, 0.01)
        model.push(g, 0.01)
    got = t.pull(keys, False)
    scale = np.abs(model.w).max()
    assert np.abs(got - model.w).mean() < error * scale
    # Right on average: without chance in rounding, small steps would be lost.
    assert abs((got - model.w).mean()) < error / 10 * scale


def test_small_steps_move_packed_weights():
    for dtype in ("float16", "int8"):
        t = plain("sgd", 8, dtype, initial_range=0)
        keys = np.arange(500, dtype=np.uint64)
        t.assign(keys, np.full((500, 8), 1.0, np.float32))
        for _ in range(40):
            t.push(keys, np.full((500, 8), 1.0, np.float32), 1e-4)
        assert t.pull(keys, False).mean() == pytest.approx(1 - 40e-4, abs=1e-3)


def test_packed_rows_are_small():
    keys = np.arange(10, dtype=np.uint64)
    for dtype, dim, size in [
        ("float32", 8, 36),
        ("float16", 8, 20),
        ("float16", 7, 20),
        ("int8", 8, 16),
        ("int8", 9, 20),
    ]:
        t = plain("adagrad", dim, dtype)
        values = np.linspace(-1, 1, 10 * dim, dtype=np.float32).reshape(10, dim)
        t.assign(keys, values)
        _, offsets, data, _ = t.rows("all", False)
        assert len(data) == 10 * size
        tolerance = {"float32": 0, "float16": 5e-4, "int8": 4e-3}[dtype]
        np.testing.assert_allclose(t.pull(keys, False), values, atol=tolerance)


@pytest.mark.parametrize(
    "weight, embedding", [("adagrad", "adagrad"), ("sgd", "adam"), ("adam_shared", "ftrl")]
)
def test_click_rows_follow_their_formulas(weight, embedding):
    options = {"embedding_threshold": 3.0, "delete_after_unseen_days": 3, "delete_threshold": 0.7}
    t = click(5, weight, embedding, **options)
    model = ClickModel(5, weight, embedding, lambda k: start_of(t, k), **options)
    random = np.random.default_rng(4)
    universe = random.integers(0, 2**64, 300, np.uint64)
    for step in range(60):
        n = int(random.integers(1, 200))
        keys = universe[(random.zipf(1.3, n) - 1) % 300]
        values = random.normal(size=(n, 9)).astype(np.float32)
        values[:, 0] = random.integers(1, 400, n)
        values[:, 1] = random.integers(1, 4, n)
        values[:, 2] = random.integers(0, 2, n)
        t.push(keys, values, -1.0)
        model.push(keys, values)
        if step % 10 == 9:
            before = t.stats()["rows"]
            gone = t.shrink()
            assert gone == model.shrink()
            assert t.stats()["rows"] == before - gone == len(model.rows)
            t.end_day()
            model.end_day()
        expected = np.stack([model.pull(k) for k in universe])
        np.testing.assert_allclose(t.pull(universe, False), expected, rtol=1e-4, atol=1e-5)
    assert gone > 0
    for selection, mode in (("delta", 1), ("delta", 1), ("base", 2)):
        chosen = {k for k in model.rows if model.selected(k, mode)}
        assert len(chosen) < len(model.rows) or mode == 2
        assert set(t.rows(selection, True)[0].tolist()) == chosen
        model.reset_delta(chosen)


def start_of(t, key):
    """The embedding that a new row of `key` starts with, from a table of equal configuration."""
    config = json.loads(t.config)[0]
    config["accessor"]["embedding_threshold"] = 0
    other = table(**config)
    value = np.zeros((1, t.push_width), np.float32)
    value[0, 1] = 1
    other.push(np.array([key], np.uint64), value, 0.0)
    return other.pull(np.array([key], np.uint64), False)[0, 3:]


def test_click_rows_are_small_until_they_have_an_embedding():
    t = click(8)
    value = np.zeros((1, 12), np.float32)
    value[0, :3] = 17, 2, 1
    t.push(np.array([5], np.uint64), value, -1.0)
    assert len(t.rows("all", False)[2]) == 28
    assert np.all(t.pull(np.array([5], np.uint64), False)[0, 3:] == 0)
    value[0, 2] = 2
    for _ in range(10):
        t.push(np.array([5], np.uint64), value, -1.0)
    keys, offsets, data, _ = t.rows("all", False)
    assert len(data) == 64
    assert np.frombuffer(data[:4], np.uint32)[0] == 17
    assert np.all(t.pull(keys, False)[0, 3:] != 0)
    assert t.pull(keys, False)[0, :2].tolist() == [22, 21]


def test_unseen_days_and_shows_are_in_the_text(tmp_path):
    t = click(2, embedding_threshold=100)
    value = np.array([[3, 1, 1, 0, 0, 0]], np.float32)
    t.push(np.array([2**64 - 1], np.uint64), value, -1.0)
    t.end_day()
    t.end_day()
    path = tmp_path / "rows.txt"
    assert t.text(str(path), "all") == 1
    key, slot, unseen, delta, show, clicks, w, g2sum = path.read_text().split("\t")
    assert (int(key), int(slot), int(unseen)) == (2**64 - 1, 3, 2)
    assert [float(x) for x in (delta, show, clicks, w, g2sum)] == [1, 1, 1, 0, 0]
    # A push ends the absence, a pull does not.
    t.pull(np.array([2**64 - 1], np.uint64), True)
    assert np.frombuffer(t.rows("all", False)[2][4:6], np.uint16)[0] == 2
    t.push(np.array([2**64 - 1], np.uint64), value, -1.0)
    assert np.frombuffer(t.rows("all", False)[2][4:6], np.uint16)[0] == 0


def test_admission_by_count():
    t = table(
        accessor={"dim": 2, "embedding": {"rule": "sum", "initial_range": 0}},
        admission={"kind": "count", "count": 3},
    )
    keys = np.array([1, 2, 1, 1, 1], np.uint64)
    ones = np.ones((5, 2), np.float32)
    assert not t.pull(keys, True).any() and t.stats()["rows"] == 0
    t.push(keys, ones, -1.0)
    assert t.pull(keys[:2], False).tolist() == [[2, 2], [0, 0]]
    # Candidates are rows of 4 bytes, and come through a copy.
    other = table(**json.loads(t.config)[0])
    k, offsets, data, _ = t.rows("all", False)
    assert sorted(np.diff(offsets).tolist()) == [4, 8]
    other.put_rows(k, offsets, data)
    other.push(np.array([2, 2], np.uint64), ones[:2], -1.0)
    assert other.pull(keys[:2], False).tolist() == [[2, 2], [1, 1]]


def test_admission_by_chance_is_of_a_key():
    configs = [{"kind": "probability", "probability": p} for p in (0.0, 0.3, 1.0)]
    keys = np.arange(20000, dtype=np.uint64)
    admitted = []
    for admission in configs:
        t = table(accessor={"dim": 1}, admission=admission)
        t.pull(keys, True)
        t.push(keys, np.ones((20000, 1), np.float32), -1.0)
        admitted.append(set(t.rows("all", False)[0].tolist()))
    assert len(admitted[0]) == 0 and len(admitted[2]) == 20000
    assert abs(len(admitted[1]) - 6000) < 300


def test_the_cap_forgets_the_lowest_scores():
    t = table(
        accessor={"kind": "click", "dim": 2, "embedding_threshold": 1e9},
        max_rows=60,
    )
    value = np.zeros((1, 6), np.float32)
    for i in range(60):
        value[0, 1:3] = 1 + i, 0
        t.push(np.array([i], np.uint64), value, -1.0)
    assert t.stats()["rows"] == 60
    value[0, 1] = 1000
    t.push(np.array([1000, 1001, 1002], np.uint64), np.repeat(value, 3, 0), -1.0)
    assert sorted(t.rows("all", False)[0].tolist()) == [*range(3, 60), 1000, 1001, 1002]


def test_the_cap_forgets_the_oldest_plain_rows():
    t = table(accessor={"dim": 1, "embedding": {"rule": "sum"}}, max_rows=5000)
    ones = np.ones((5000, 1), np.float32)
    keys = np.arange(5000, dtype=np.uint64)
    t.push(keys, ones, -1.0)
    t.pull(keys[:2500], False)  # used again
    t.push(keys + 10000, ones, -1.0)
    left = set(t.rows("all", False)[0].tolist())
    assert 4900 <= len(left) <= 5000
    assert all(k >= 10000 for k in left)
    t.push(keys[:60], ones[:60], -1.0)
    left = set(t.rows("all", False)[0].tolist())
    assert len(left) <= 5000 and set(range(60)) <= left


def test_copies_continue_as_the_original_does():
    for rule in RULES:
        t = plain(rule, 6)
        keys = np.arange(1000, dtype=np.uint64)
        random = np.random.default_rng(5)
        g = random.normal(size=(2, 1000, 6)).astype(np.float32)
        t.push(keys, g[0], 0.1)
        other = plain(rule, 6)
        other.put_rows(*t.rows("all", False)[:3])
        for each in (t, other):
            each.push(keys, g[1], 0.1)
        assert np.array_equal(t.pull(keys, False), other.pull(keys, False))
        assert t.layout == other.layout != plain(rule, 5).layout


def test_increments_rebuild_a_click_table():
    """Full copy, then changes with deletions, then all together in another table."""
    options = {"delete_threshold": 0.3, "embedding_threshold": 2}
    t, other = click(3, **options), click(3, **options)
    random = np.random.default_rng(6)
    for step in range(20):
        keys = random.integers(0, 400, 100).astype(np.uint64)
        values = random.random((100, 7)).astype(np.float32)
        t.push(keys, values, -1.0)
        if step % 3 == 0:
            t.erase(keys[:10])
        if step % 7 == 6:
            t.shrink()
            t.end_day()
        k, offsets, data, deleted = t.rows("changed", True)
        other.erase(deleted)
        other.put_rows(k, offsets, data)
        if step == 10:
            assert len(k) < t.stats()["rows"]
    assert rows_of(t) == rows_of(other)


def rows_of(t):
    keys, offsets, data, _ = t.rows("all", False)
    return {int(k): data[offsets[i] : offsets[i + 1]] for i, k in enumerate(keys)}


def test_threads_lose_nothing():
    t = plain("sum", 4, initial_range=0)
    keys = np.arange(2000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    ones = np.ones((2000, 4), np.float32)

    def work():
        for _ in range(25):
            t.push(keys, ones, -1.0)
            t.pull(keys, False)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(t.pull(keys, False) == 100)


def test_int64_keys_are_the_same_bits():
    t = plain("sum", 1, initial_range=0)
    t.push(np.array([-1, -(2**63)], np.int64), np.array([[1], [2]], np.float32), -1.0)
    assert t.pull(np.array([2**64 - 1, 2**63], np.uint64), False).tolist() == [[1], [2]]


def test_wrong_calls_say_what_is_wrong():
    t = plain("sgd", 3)
    keys = np.arange(2, dtype=np.uint64)
    with pytest.raises(ValueError, match=r"\[push\] values: expected 2 rows of 3 numbers, got 4"):
        t.push(keys, np.zeros((2, 2), np.float32), -1.0)
    with pytest.raises(ValueError, match=r"\[assign\] values"):
        t.assign(keys, np.zeros(1, np.float32))
    with pytest.raises(TypeError, match="format 'f', got 'd'"):
        t.push(keys, np.zeros((2, 3)), -1.0)
    with pytest.raises(TypeError, match="format 'q', got 'i'"):
        t.pull(keys.astype(np.int32), False)
    with pytest.raises(ValueError, match="selection: expected all, changed, base or delta"):
        t.rows("most", False)
    with pytest.raises(ValueError, match="did you mean 'adagrad'"):
        plain("adagrd", 2)
    with pytest.raises(ValueError, match="expected kind sparse, got dense"):
        table(kind="dense", size=3)
    with pytest.raises(TypeError, match="expected 2 arguments"):
        t.pull(keys)
    with pytest.raises(ValueError, match="offsets"):
        t.put_rows(keys, np.zeros(1, np.uint64), b"")


def test_a_forked_child_is_told_to_make_its_own():
    t = plain("sgd", 3)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            t.pull(np.arange(2, dtype=np.uint64), False)
            text = "no error"
        except RuntimeError as e:
            text = str(e)
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    text = os.read(read, 1000).decode()
    os.close(read)
    assert "was forked from the one that made the table" in text
