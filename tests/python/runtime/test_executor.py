"""Plans give what the reference interpreter gives, bit for bit, and leave state as it does."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.python.runtime.programs import RandomProgram, same

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import cond, while_loop
from argosy.tensor.array import array_length, array_read, array_write, create_array

SERIAL, AUTOMATIC, PARALLEL = 0, 1, 2


def tensor(x, dtype="float32"):
    return argosy.to_tensor(np.asarray(x, dtype))


def state(values, name):
    t = tensor(values)
    t.persistable = True
    t.name = name
    return t


def sgd(param, grad, lr=1.0):
    _core.ops.sgd_([param], [grad], [], lr, [1.0], [0.0], [0.0])


class Runs:
    """Runs a recorded Program by one executor."""

    def __init__(self, recorder, fetches, capacity=8):
        self.program, self.fetches = recorder._program, fetches
        self.executor = _core.executor_new(capacity)

    def __call__(self, *feeds, scope=None):
        out = _core.executor_run(self.executor, self.program, list(feeds), self.fetches, scope)
        return [t.numpy() for t in out]

    def plan(self, *feeds):
        return _core.executor_plan(self.executor, self.program, list(feeds), self.fetches, None)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_random_programs(start):
    for seed in range(start, start + 20):
        program = RandomProgram(seed)
        expected = program.interpret()
        for mode in (SERIAL, PARALLEL):
            executor = _core.executor_new(4)
            _core.executor_parallel(executor, mode)
            for _ in range(2):  # a frame is used again
                try:
                    same(expected, program.execute(executor))
                except AssertionError as e:
                    raise AssertionError(f"seed {seed}, mode {mode}") from e


# --- writing in place ---


def test_updates_are_in_place_and_visible():
    p = state([1.0, 2.0], "p")
    with Recorder() as r, argosy.no_grad():
        x = r.input([2], "float32")
        sgd(p, x)
        y = p * 10.0
    run = Runs(r, [y])
    address, version = p.data_ptr(), p.inplace_version
    np.testing.assert_array_equal(run(tensor([1, 1]))[0], [0, 10])
    np.testing.assert_array_equal(p.numpy(), [0, 1])
    assert p.data_ptr() == address and p.inplace_version > version
    report, text = run.plan(tensor([1, 1]))
    assert report["copies"] == 0 and report["in_place"] >= 1, text


@pytest.mark.parametrize("viewed", [False, True])
def test_the_old_value_is_read_after_the_write(viewed):
    p = state([1.0, 2.0], "p")
    with Recorder() as r, argosy.no_grad():
        x = r.input([2], "float32")
        view = p.reshape([2, 1]) if viewed else None  # it sees the write, as in eager mode
        copy = argosy.assign(p)
        sgd(p, x)
        y = (view * 1.0).reshape([2]) if viewed else copy * 1.0
        z = p * 1.0
    run = Runs(r, [y, z])
    for first, second in (([1, 2], [0, 2]), ([0, 2], [-1, 2])):
        y, z = run(tensor([1, 0]))
        np.testing.assert_array_equal(y, second if viewed else first)
        np.testing.assert_array_equal(z, second)
        np.testing.assert_array_equal(p.numpy(), second)


def test_state_fetched_before_and_after():
    p = state([1.0, 2.0], "p")
    with Recorder() as r, argosy.no_grad():
        before = argosy.assign(p)
        sgd(p, r.input([2], "float32"))
        after = p.reshape([2])
    run = Runs(r, [before, after])
    before, after = run(tensor([1, 1]))
    np.testing.assert_array_equal(before, [1, 2])
    np.testing.assert_array_equal(after, [0, 1])
    argosy.assign(tensor([7, 7]), p)
    np.testing.assert_array_equal(after, [0, 1])  # in memory of its own


def test_the_same_state_written_twice():
    p = state([1.0], "p")
    with Recorder() as r, argosy.no_grad():
        x = r.input([1], "float32")
        sgd(p, x)
        middle = p * 2.0
        sgd(p, x)
    run = Runs(r, [middle])
    np.testing.assert_array_equal(run(tensor([1]))[0], [0])
    np.testing.assert_array_equal(p.numpy(), [-1])
    assert run.plan(tensor([1]))[0]["copies"] == 0


def test_states_swap():
    a, b = state([1.0], "a"), state([2.0], "b")
    with Recorder() as r, argosy.no_grad():
        x = r.input([1], "float32")
        old = argosy.assign(a)
        argosy.assign(b, a)
        argosy.assign(old, b)
        y = x + a
    run = Runs(r, [y])
    run(tensor([0]))
    assert (float(a), float(b)) == (2.0, 1.0)
    run(tensor([0]))
    assert (float(a), float(b)) == (1.0, 2.0)


def test_feeds_and_constants_stay_as_they_are():
    constant = tensor([5.0, 6.0])
    with Recorder() as r, argosy.no_grad():
        x = r.input([2], "float32")
        y = x.reshape([2])
        y.tanh_()
        z = constant.reshape([2]) + 0.0
        z.add_(y)
        sgd(y, z)
    fed = tensor([1.0, 2.0])
    run = Runs(r, [y, x])
    first = run(fed)
    np.testing.assert_array_equal(fed.numpy(), [1, 2])
    np.testing.assert_array_equal(constant.numpy(), [5, 6])
    np.testing.assert_array_equal(first[0], run(fed)[0])
    out = _core.executor_run(run.executor, run.program, [fed], [x], None)[0]
    assert out.data_ptr() != fed.data_ptr()


def test_batch_norm_statistics():
    def network():
        layer = argosy.nn.BatchNorm1D(3)
        for i, t in enumerate([layer._mean, layer._variance]):
            t.name = f"statistic_{i}"
        return layer

    values = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    eager, recorded = network(), network()
    with Recorder() as r, argosy.no_grad():
        y = recorded(r.input([4, 3], "float32"))
    run = Runs(r, [y])
    for _ in range(3):
        want = eager(tensor(values))
        np.testing.assert_array_equal(run(tensor(values))[0], want.numpy())
        np.testing.assert_array_equal(recorded._mean.numpy(), eager._mean.numpy())
        np.testing.assert_array_equal(recorded._variance.numpy(), eager._variance.numpy())


def test_optimizer_in_a_loop():
    p = state([8.0], "p")
    with Recorder() as r, argosy.no_grad():
        n = r.input([], "int64")

        def body(i):
            sgd(p, p * 0.5)
            return [i + 1]

        while_loop(lambda i: i < n, body, [argosy.full([], 0, "int64")])
        y = p + 0.0
    run = Runs(r, [y])
    assert run(tensor(2, "int64"))[0].item() == 2.0 == float(p)
    assert run(tensor(0, "int64"))[0].item() == 2.0 == float(p)
    assert run(tensor(1, "int64"))[0].item() == 1.0 == float(p)


# --- sizes that only a run knows ---


def test_data_dependent_sizes_are_planned_once():
    with Recorder() as r:
        x = r.input([-1], "float32")
        y = x[x > 0.0]
        z = argosy.nonzero(x)
        s = y.sum()
    run = Runs(r, [y, z, s])
    for values in ([1, -1, 2, 0], [-1, -2, -3, -4], [1, 2, 3, 4]):
        v = np.array(values, "float32")
        y, z, s = run(tensor(v))
        np.testing.assert_array_equal(y, v[v > 0])
        np.testing.assert_array_equal(z, np.stack(np.nonzero(v), 1))
        assert s == v[v > 0].sum()
    stats = _core.executor_stats(run.executor)
    assert stats == {"plans": 1, "hits": 2, "misses": 1}


def test_loop_whose_value_grows():
    with Recorder() as r:
        x, n = r.input([-1, 2], "float32"), r.input([], "int64")
        y = while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, argosy.concat([a, x], axis=0)),
            [argosy.full([], 0, "int64"), x],
        )[1]
    run = Runs(r, [y])
    v = np.arange(4, dtype="float32").reshape(2, 2)
    for rounds in (0, 3, 1):
        np.testing.assert_array_equal(
            run(tensor(v), tensor(rounds, "int64"))[0], np.tile(v, (rounds + 1, 1))
        )


def test_array_in_a_loop():
    with Recorder() as r:
        x, n = r.input([2], "float32"), r.input([], "int64")
        array = array_write(x, argosy.full([], 0, "int64"), create_array("float32"))

        def body(i, a, array):
            a = a + 1.0
            return i + 1, a, array_write(a, i, array)

        _, last, array = while_loop(
            lambda i, a, array: i < n, body, [argosy.full([], 1, "int64"), x, array]
        )
        every = [array_read(array, argosy.full([], i, "int64")) for i in range(3)]
        count = array_length(array)
    run = Runs(r, [last, count, *every])
    for rounds in (3, 5, 3):
        last, count, *every = run(tensor([0, 1]), tensor(rounds, "int64"))
        assert count == rounds
        np.testing.assert_array_equal(last, [rounds - 1, rounds])
        for i, element in enumerate(every):
            np.testing.assert_array_equal(element, [i, i + 1])


def test_sizes_become_known_when_fed():
    with Recorder() as r:
        x = r.input([-1, -1], "float32")
        n = argosy.shape(x)
        y = argosy.zeros([n[0], n[1]]) + argosy.mean(x)
        z = argosy.nn.functional.softmax(x.reshape([n[1], n[0]]))
    run = Runs(r, [y, z])
    v = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    report, text = run.plan(tensor(v))
    assert report["dispatched"] == report["unplanned"] == 0, text
    y, z = run(tensor(v))
    assert y.shape == (3, 4) and z.shape == (4, 3)


def test_zero_size():
    with Recorder() as r:
        x = r.input([-1, 3], "float32")
        y = argosy.tanh(x) + 1.0
        s = y.sum()
    run = Runs(r, [y, s])
    y, s = run(tensor(np.zeros((0, 3))))
    assert y.shape == (0, 3) and s == 0


# --- the cache ---


def test_cache_is_bounded():
    with Recorder() as r:
        x = r.input([-1], "float32")
        y = x + 1.0
    run = Runs(r, [y], capacity=3)
    for n in (1, 2, 3, 4, 5, 4):
        np.testing.assert_array_equal(run(tensor(np.zeros(n)))[0], np.ones(n))
    assert _core.executor_stats(run.executor) == {"plans": 3, "hits": 1, "misses": 5}
    with r:
        z = y * 2.0
    run.fetches = [z]
    np.testing.assert_array_equal(run(tensor(np.zeros(4)))[0], np.full(4, 2))
    assert _core.executor_stats(run.executor)["plans"] == 1  # those of the old version are gone


def test_what_is_not_needed_need_not_be_fed():
    with Recorder() as r:
        x, label = r.input([2], "float32"), r.input([2], "float32")
        y = x * 2.0
        loss = (y - label).sum()
    run = Runs(r, [y])
    np.testing.assert_array_equal(run(tensor([1, 2]), None)[0], [2, 4])
    run.fetches = [loss]
    with pytest.raises(ValueError, match="'x1'.*is needed for what is fetched, but it is not fed"):
        run(tensor([1, 2]), None)
    with pytest.raises(ValueError, match=r"'x0'.*expected float32\[2\], got float32\[3\]"):
        run(tensor([1, 2, 3]), tensor([1, 2]))


def test_state_of_a_scope():
    handle = _core.program_state("w", [2], "float32", True, True)
    with Recorder() as r, argosy.no_grad():
        y = handle * 2.0
        sgd(handle, r.input([2], "float32"))
    run = Runs(r, [y])
    scope = _core.scope_new(None)
    with pytest.raises(RuntimeError, match=r"'w' \(float32\[2\]\) has no value in this scope"):
        run(tensor([1, 1]), scope=scope)
    _core.scope_set(scope, "w", tensor([3, 4]))
    np.testing.assert_array_equal(run(tensor([1, 1]), scope=scope)[0], [6, 8])
    np.testing.assert_array_equal(_core.scope_get(scope, "w").numpy(), [2, 3])
    other = _core.scope_new(None)
    _core.scope_set(other, "w", tensor([0, 0]))
    np.testing.assert_array_equal(run(tensor([1, 1]), scope=other)[0], [0, 0])
    np.testing.assert_array_equal(_core.scope_get(scope, "w").numpy(), [2, 3])


# --- errors ---


def test_error_in_a_step():
    p = state([1.0], "p")
    with Recorder() as r, argosy.no_grad():
        x, i = r.input([3], "float32"), r.input([1], "int64")
        sgd(p, x[:1])
        picked = argosy.index_select(x, i)  # fails here
        sgd(p, picked)
    run = Runs(r, [picked])
    with pytest.raises((IndexError, ValueError)) as caught:
        run(tensor([1, 2, 3]), tensor([7], "int64"))
    text = str(caught.value)
    assert "In the Program: " in text and "float32[3]" in text and "test_executor.py:" in text
    assert text.count("In the Program") == 1
    np.testing.assert_array_equal(p.numpy(), [0])  # the write before it is there
    np.testing.assert_array_equal(run(tensor([1, 2, 3]), tensor([1], "int64"))[0], [2])
    np.testing.assert_array_equal(p.numpy(), [-3])


def test_error_in_a_branch_is_told_once():
    with Recorder() as r:
        x, i = r.input([3], "float32"), r.input([1], "int64")
        y = cond(x.sum() > 0, lambda: argosy.index_select(x, i), lambda: x[:1])
    run = Runs(r, [y])
    with pytest.raises((IndexError, ValueError)) as caught:
        run(tensor([1, 2, 3]), tensor([7], "int64"))
    assert str(caught.value).count("In the Program") == 1
    assert run(tensor([-1, -2, -3]), tensor([7], "int64"))[0] == -1


def test_nan_finder_names_the_op():
    with Recorder() as r:
        x = r.input([2], "float32")
        y = argosy.log(x)
        z = y + 1.0
    run = Runs(r, [z])
    argosy.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with pytest.raises(RuntimeError, match="log"):
            run(tensor([-1, 1]))
        run(tensor([1, 1]))
    finally:
        argosy.set_flags({"FLAGS_check_nan_inf": False})
    assert np.isnan(run(tensor([-1, 1]))[0][0])


# --- threads ---


def test_threads_share_a_plan():
    with Recorder() as r:
        x = r.input([64], "float32")
        y = x
        for _ in range(20):
            y = argosy.tanh(y) + x
    run = Runs(r, [y])
    inputs = [np.random.default_rng(i).standard_normal(64).astype("float32") for i in range(4)]
    expected = [run(tensor(v))[0] for v in inputs]
    wrong = []

    def work(i):
        for _ in range(50):
            if not np.array_equal(run(tensor(inputs[i]))[0], expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert _core.executor_stats(run.executor)["plans"] == 1


def test_interrupt_ends_a_run():
    """Ctrl-C ends an endless loop; the executor is usable after it."""
    code = """
import _thread, threading, numpy as np, argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import while_loop
with Recorder() as r:
    n = r.input([], "int64")
    y = while_loop(lambda i: i < n, lambda i: [i + 1], [argosy.full([], 0, "int64")])[0]
executor = _core.executor_new(2)
def run(n):
    feeds = [argosy.to_tensor(np.asarray(n, "int64"))]
    return int(_core.executor_run(executor, r._program, feeds, [y], None)[0])
timer = threading.Timer(0.3, _thread.interrupt_main)
try:
    timer.start()
    run(10**15)
except KeyboardInterrupt:
    print("interrupted", run(3))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert done.stdout == "interrupted 3\n", done.stderr


def test_a_flag_makes_it_serial():
    with Recorder() as r:
        x = r.input([20000], "float32")
        y, z = x + 1.0, x + 2.0
        for _ in range(20):
            y, z = argosy.tanh(y), argosy.tanh(z)
        total = y + z
    run = Runs(r, [total])
    feed = tensor(np.linspace(-1, 1, 20000))
    usual = run(feed)[0]
    argosy.set_flags({"FLAGS_new_executor_serial_run": True})
    try:
        assert run.plan(feed)[0]["parallel"] == 0
        np.testing.assert_array_equal(run(feed)[0], usual)
    finally:
        argosy.set_flags({"FLAGS_new_executor_serial_run": False})


@pytest.mark.parametrize("kind", ["while", "if"])
def test_blocks_run_in_parallel(kind):
    """Two chains in a block: the same bits as in order."""

    def two(y, z):
        for _ in range(12):
            y, z = argosy.tanh(y * 1.5), argosy.sin(z + 0.5)
        return y, z

    with Recorder() as r:
        x, n = r.input([3, 4000], "float32"), r.input([], "int64")
        if kind == "while":
            start = [argosy.zeros([], "int64"), x + 1.0, x * 2.0]
            ends = while_loop(lambda i, y, z: i < n, lambda i, y, z: [i + 1, *two(y, z)], start)[1:]
        else:
            ends = cond(n > 2, lambda: two(x, x * 2.0), lambda: two(x * 2.0, x))
    feeds = [tensor(np.linspace(-1, 1, 12000).reshape(3, 4000)), argosy.to_tensor(5, "int64")]
    results = []
    for mode in (SERIAL, AUTOMATIC, PARALLEL):
        run = Runs(r, list(ends))
        _core.executor_parallel(run.executor, mode)
        assert (run.plan(*feeds)[0]["parallel"] > 0) == (mode != SERIAL)
        results += [run(*feeds), run(*feeds)]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_blocks_within_blocks_run_in_parallel():
    """Two loops side by side, and in each an if with two chains: the same bits as in order."""

    def two(y, z):
        for _ in range(12):
            y, z = argosy.tanh(y * 1.5), argosy.sin(z + 0.5)
        return y, z

    def body(i, y, z):
        return [i + 1, *cond(i % 2 == 0, lambda: two(y, z), lambda: two(z, y))]

    with Recorder() as r:
        x, n = r.input([3, 4000], "float32"), r.input([], "int64")
        ends = []
        for factor in (1.0, 2.0):
            start = [argosy.zeros([], "int64"), x + factor, x * factor]
            ends += while_loop(lambda i, y, z: i < n, body, start)[1:]
    feeds = [tensor(np.linspace(-1, 1, 12000).reshape(3, 4000)), argosy.to_tensor(5, "int64")]
    results = []
    for mode in (SERIAL, AUTOMATIC, PARALLEL):
        run = Runs(r, list(ends))
        _core.executor_parallel(run.executor, mode)
        assert (run.plan(*feeds)[0]["parallel"] > 0) == (mode != SERIAL)
        results += [run(*feeds), run(*feeds)]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("positive", [True, False])
def test_a_branch_whose_sizes_do_not_fit(positive):
    with Recorder() as r:
        x, y = r.input([-1], "float32"), r.input([-1], "float32")
        z = cond(x.sum() > 0, lambda: (x + y).sum(), lambda: x.sum())
    run = Runs(r, [z])
    a, b = (tensor(np.full(n, 1.0 if positive else -1.0)) for n in (3, 4))
    if positive:
        with pytest.raises(ValueError, match="add"):
            run(a, b)
    else:
        assert run(a, b)[0] == -3
    assert run(a, a)[0] == (6 if positive else -3)
