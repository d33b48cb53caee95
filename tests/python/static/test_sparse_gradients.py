"""Row-sparse gradients in static Programs, and what click models are made of."""

import numpy as np
import pytest

import argosy
from argosy import device, static

O = argosy.optimizer  # noqa: E741
clips = argosy.nn
RULES = {
    "sgd": lambda: O.SGD(0.1),
    "momentum": lambda: O.Momentum(0.1),
    "adagrad": lambda: O.Adagrad(0.1),
    "adam": lambda: O.Adam(0.1),
    "adamw": lambda: O.AdamW(0.1),
    "rmsprop": lambda: O.RMSProp(0.1),
    "decay": lambda: O.SGD(0.1, weight_decay=0.01),
    "l1": lambda: O.Adam(0.1, weight_decay=argosy.regularizer.L1Decay(0.01)),
    "global norm": lambda: O.SGD(0.1, grad_clip=clips.ClipGradByGlobalNorm(0.1)),
    "norm": lambda: O.SGD(0.1, grad_clip=clips.ClipGradByNorm(0.1)),
    "value": lambda: O.SGD(0.1, grad_clip=clips.ClipGradByValue(0.001)),
}
# With row-sparse gradients these are a step ahead in their powers of beta.
AHEAD = ("adam", "adamw", "l1")
ROWS = 60


def table(value=None):
    value = np.random.default_rng(5).normal(size=(ROWS, 4)) if value is None else value
    return argosy.ParamAttr("table", argosy.nn.initializer.Assign(value.astype("float32")))


def build(rule, sparse, lod=False, attr=None, rows=ROWS):
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup):
        y = static.data("y", [-1, 1], "float32")
        parts = []
        for i in range(3):
            x = static.data(f"x{i}", [-1, 1], "int64", lod_level=int(lod))
            e = static.nn.embedding(x, [rows, 4], is_sparse=sparse, param_attr=attr or table())
            e = argosy.reshape(e, [-1, 4])
            parts.append(static.nn.sequence_pool(e, "sum") if lod else e)
        h = static.nn.fc(argosy.concat(parts, 1), 5, activation="relu")
        loss = argosy.mean((static.nn.fc(h, 1) - y) ** 2)
        rule().minimize(loss)
    return main, startup, loss


def step_ahead(main, scope):
    """Advances the powers of beta that Adam keeps for the table."""
    for beta, power in (("beta1", 0.9), ("beta2", 0.999)):
        (name,) = [v.name for v in main.list_vars() if f"table_{beta}_pow" in v.name]
        tensor = scope.find_var(name).get_tensor()
        tensor.set(np.array(tensor) * np.float32(power), argosy.CPUPlace())


def train(rule, sparse, steps=4, lod=False, ahead=False):
    main, startup, loss = build(rule, sparse, lod)
    scope = static.Scope()
    rng = np.random.default_rng(0)
    losses = []
    with static.scope_guard(scope):
        exe = static.Executor()
        exe.run(startup)
        if ahead:
            step_ahead(main, scope)
        for _ in range(steps):
            feed = {"y": rng.normal(size=(16, 1)).astype("float32")}
            for i in range(3):
                lengths = rng.integers(0, 4, 16) if lod else np.ones(16, int)
                ids = rng.integers(0, ROWS // 2, (lengths.sum(), 1))
                feed[f"x{i}"] = (
                    argosy.base.create_lod_tensor(ids, [lengths.tolist()], argosy.CPUPlace())
                    if lod
                    else ids
                )
            losses.append(float(exe.run(main, feed, [loss])[0]))
        return losses, np.array(scope.find_var("table").get_tensor())


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_as_with_dense_gradients(rule):
    got, want = train(RULES[rule], True), train(RULES[rule], False, ahead=rule in AHEAD)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    # Powers that step_ahead wrote are rounded to float32, where 1 - beta2^2 is 0.002.
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=4e-6 if rule in AHEAD else 1e-6)


@pytest.mark.parametrize("lod", [False, True])
def test_lazy_adam_leaves_other_rows(lod):
    start = np.random.default_rng(5).normal(size=(ROWS, 4)).astype("float32")
    one = train(lambda: O.Adam(0.1, lazy_mode=True), True, 1, lod)[1]
    moved = (one != start).any(1)
    assert 5 < moved.sum() < ROWS // 2 and not moved[ROWS // 2 :].any()
    # The first step is that of Adam, whose second one it is in its powers of beta.
    dense = train(lambda: O.Adam(0.1), False, 1, lod, ahead=True)[1]
    np.testing.assert_allclose(one, dense, rtol=1e-5, atol=4e-6)
    later = train(lambda: O.Adam(0.1, lazy_mode=True), True, 4, lod)[1]
    assert (later[ROWS // 2 :] == start[ROWS // 2 :]).all()


@pytest.mark.cpu_only("is about sums of row-sparse gradients, which GPUs have dense for a while")
def test_a_large_table_never_has_a_dense_gradient():
    rows = 1000001
    main, startup, loss = build(
        lambda: O.Adam(0.1, lazy_mode=True), True, attr=argosy.ParamAttr("big"), rows=rows
    )
    (gradient,) = [v for v in main.list_vars() if v.name == "big@GRAD"]
    assert gradient._layout == "row_sparse"
    scope = static.Scope()
    with static.scope_guard(scope):
        exe = static.Executor()
        exe.run(startup)
        feed = {f"x{i}": np.array([[7], [rows - 1], [7]]) for i in range(3)}
        feed["y"] = np.ones((3, 1), "float32")
        exe.run(main, feed, [loss])
        device.reset_max_memory_allocated()
        before = device.memory_allocated()
        exe.run(main, feed, [loss])
        assert device.max_memory_allocated() - before < 1e6


def test_a_gradient_that_is_fetched(start):
    x = static.data("x", [-1, 1], "int64")
    e = static.nn.embedding(x, [ROWS, 4], is_sparse=True, param_attr=table())
    O.SGD(0.0).minimize(e.sum())
    exe = start()
    feed = {"x": np.array([[3], [1], [3]])}
    (got,) = exe.run(feed=feed, fetch_list=["table@GRAD"])
    want = np.zeros((ROWS, 4))
    np.add.at(want, [3, 1, 3], 1)
    np.testing.assert_array_equal(got, want)
    (rows,) = exe.run(feed=feed, fetch_list=["table@GRAD"], return_numpy=False)
    assert "row_sparse" in repr(rows)


def test_batches_of_sequences_share_one_plan():
    from argosy import _core

    main, startup, loss = build(lambda: O.SGD(0.1), True, lod=True)
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        exe.run(startup)
        for total in (5, 9, 2):
            lengths = [total - 1, 0, 1]
            ids = np.arange(total)[:, None]
            batch = argosy.base.create_lod_tensor(ids, [lengths], argosy.CPUPlace())
            feed = {f"x{i}": batch for i in range(3)} | {"y": np.zeros((3, 1), "float32")}
            exe.run(main, feed, [loss])
        stats = _core.executor_stats(exe._executor)
    assert stats["misses"] == 2  # startup, and the step


def test_sparse_gradient_inside_of_a_branch():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, flag = static.data("x", [-1, 1], "int64"), static.data("flag", [1], "bool")
        w = static.create_parameter([ROWS, 4], "float32", attr=table())
        look = argosy.nn.functional.embedding
        out = static.nn.cond(
            flag, lambda: look(x, w, sparse=True).sum(), lambda: look(x + 1, w).sum() * 2
        )
        O.SGD(1.0).minimize(out)
    start = np.random.default_rng(5).normal(size=(ROWS, 4)).astype("float32")
    for flag in (True, False):
        scope = static.Scope()
        with static.scope_guard(scope):
            exe = static.Executor()
            exe.run(startup)
            exe.run(main, {"x": np.array([[3], [3]]), "flag": np.array([flag])}, [out])
            got = np.array(scope.find_var("table").get_tensor())
        want = start.copy()
        want[3 if flag else 4] -= 2 if flag else 4
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_table_inside_of_a_loop():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [-1, 1], "int64")
        w = static.create_parameter([ROWS, 4], "float32", attr=table())
        look = argosy.nn.functional.embedding

        def body(i, total):
            return i + 1, total + look(x + i, w, sparse=True).sum()

        i = argosy.zeros([], "int64")
        _, total = static.nn.while_loop(lambda i, t: i < 3, body, [i, argosy.zeros([])])
        O.SGD(1.0).minimize(total)
    scope = static.Scope()
    with static.scope_guard(scope):
        exe = static.Executor()
        exe.run(startup)
        exe.run(main, {"x": np.array([[3]])}, [total])
        got = np.array(scope.find_var("table").get_tensor())
    want = np.random.default_rng(5).normal(size=(ROWS, 4)).astype("float32")
    want[3:6] -= 1
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("slot_dim", [-1, 2])
def test_data_norm_keeps_sums(slot_dim):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [-1, 4], "float32")
        y = static.nn.data_norm(x, name="dn", slot_dim=slot_dim, summary_decay_rate=0.5)
        test = main.clone(for_test=True)
        w = static.create_parameter([4], "float32")
        O.Adam(0.1, grad_clip=clips.ClipGradByGlobalNorm(1e-9)).minimize(argosy.mean(y * w))
    X = np.array([[0, 2, 1, 2], [1, 2, 3, 4], [2, 1, 0, -1]], "float32")
    names = ["dn.batch_size", "dn.batch_sum", "dn.batch_square_sum"]
    scope = static.Scope()
    with static.scope_guard(scope):
        exe = static.Executor()
        exe.run(startup)
        first = exe.run(main, {"x": X}, [y])[0]
        sums = [np.array(scope.find_var(n).get_tensor()) for n in names]
        second = exe.run(test, {"x": X}, [y])[0]
        after = [np.array(scope.find_var(n).get_tensor()) for n in names]
    shown = X[:, [0, 0, 2, 2]] != 0 if slot_dim > 0 else np.ones_like(X, bool)
    n = shown.sum(0)
    per = n if slot_dim > 0 else 1
    np.testing.assert_allclose(first, X * shown)
    np.testing.assert_allclose(sums[0], 5000 + n / per)
    np.testing.assert_allclose(sums[1], (X * shown).sum(0) / per)
    np.testing.assert_allclose(sums[2], 5000 + (X**2 * shown).sum(0) / per + n * 1e-5)
    want = (X - sums[1] / sums[0]) * np.sqrt(sums[0] / sums[2]) * shown
    np.testing.assert_allclose(second, want, rtol=1e-5, atol=1e-7)
    for a, b in zip(sums, after):
        np.testing.assert_array_equal(a, b)


def test_continuous_value_model(start):
    x = static.data("x", [-1, 5], "float32")
    x.stop_gradient = False
    cvm = static.data("cvm", [-1, 2], "float32")
    outs = [static.nn.continuous_value_model(x, cvm, use) for use in (True, False)]
    grads = [static.gradients((o * o).sum(), x)[0] for o in outs]
    X = np.array([[3, 1, 1, 2, 5], [1, 0, 3, 4, 6]], "float32")
    C = np.array([[1, 0], [1, 1]], "float32")
    got = start().run(feed={"x": X, "cvm": C}, fetch_list=[*outs, *grads])
    show = np.log(X[:, :1] + 1)
    want = np.concatenate([show, np.log(X[:, 1:2] + 1) - show, X[:, 2:]], 1)
    np.testing.assert_allclose(got[0], want, rtol=1e-6)
    np.testing.assert_array_equal(got[1], X[:, 2:])
    for g in got[2:]:
        np.testing.assert_array_equal(g, np.concatenate([C, 2 * X[:, 2:]], 1))
