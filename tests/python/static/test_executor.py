"""Executor.run: feeds, fetches, scopes, several Programs."""

import numpy as np
import pytest

import argosy
from argosy import nn, static

X = np.arange(6, dtype="float32").reshape(2, 3)


def line():
    """y = x w + b, sum of y."""
    x = static.data("x", [None, 3], "float32")
    y = static.nn.fc(x, 2, bias_attr=argosy.ParamAttr(name="b"), weight_attr="w")
    return x, y, y.sum()


def test_feeds_of_all_kinds(start):
    x, y, total = line()
    i = static.data("i", [1], "int64")
    z = x.sum() * i.astype("float32")
    exe = start()
    want = X.sum() * 2
    for feed in (
        X,
        X.tolist(),
        argosy.tensor.creation._core.to_tensor(X, None, True),
        X[::1].copy("F"),
    ):
        assert exe.run(feed={"x": feed, "i": [2]}, fetch_list=[z])[0] == want
    # What nothing fetched needs may be missing.
    assert exe.run(feed={"x": X}, fetch_list=[total])[0].shape == ()
    with pytest.warns(UserWarning, match="nothing_of_the_kind is not found"):
        extra = {"x": X, "i": [2], "nothing_of_the_kind": object()}
        assert exe.run(feed=extra, fetch_list=[z])[0] == want
    assert exe.run(feed=[{"x": X, "i": np.array([2])}], fetch_list=z)[0] == want
    assert y.shape == [-1, 2]


def test_feed_errors(start):
    x, y, total = line()
    exe = start()
    with pytest.raises(ValueError, match=r"'x' must be 'float32', but received 'float64'"):
        exe.run(feed={"x": X.astype("float64")}, fetch_list=[total])
    with pytest.raises(ValueError, match=r"'x' should have .* \(-1, 3\), but received .*\[2, 4\]"):
        exe.run(feed={"x": np.ones((2, 4), "float32")}, fetch_list=[total])
    with pytest.raises(ValueError, match=r"'x' should have dimensions = 2"):
        exe.run(feed={"x": X[None]}, fetch_list=[total])
    for kind in (KeyError, ValueError):
        with pytest.raises(kind, match=r"'x' is not fed: expected float32 of shape \[-1, 3\]"):
            exe.run(feed={}, fetch_list=[total])
    with pytest.raises(TypeError, match="feed requires dict"):
        exe.run(feed=3, fetch_list=[total])
    with pytest.raises(TypeError, match="'x' cannot be fed object"):
        exe.run(feed={"x": object()}, fetch_list=[total])
    with pytest.raises(TypeError, match="fed a variable"):
        exe.run(feed={"x": x}, fetch_list=[total])
    with pytest.raises(RuntimeError, match="nope is no variable"):
        exe.run(feed={"x": X}, fetch_list=["nope"])
    with pytest.raises(TypeError, match=r"fetch_list\[0\]"):
        exe.run(feed={"x": X}, fetch_list=[3])
    with pytest.raises(AttributeError, match="expected static.Program"):
        exe.run(3)
    # None of these left anything behind.
    assert exe.run(feed={"x": X}, fetch_list=[y])[0].shape == (2, 2)


def test_startup_did_not_run():
    _, _, total = line()
    with pytest.raises(RuntimeError, match=r"'w' .*no value.*startup"):
        static.Executor().run(feed={"x": X}, fetch_list=[total])


def test_fetches(start):
    x, y, total = line()
    exe = start()
    values = exe.run(
        feed={"x": X},
        fetch_list=[total.name, "x", "w", static.default_main_program().all_parameters()[1]],
    )
    np.testing.assert_array_equal(values[1], X)
    assert values[2].shape == (3, 2) and values[3].tolist() == [0, 0]
    np.testing.assert_allclose(values[0], (X @ values[2]).sum(), rtol=1e-5)
    (tensor,) = exe.run(feed={"x": X}, fetch_list=[y], return_numpy=False)
    assert isinstance(tensor, static.DenseTensor) and tensor.shape() == [2, 2]
    assert exe.run(feed={"x": tensor.numpy() @ np.ones((2, 3), "float32")}) == []
    values[2][:] = 7  # a copy
    assert exe.run(feed={"x": X}, fetch_list=["w"])[0][0, 0] != 7


def test_two_programs_share_a_scope(start):
    with argosy.utils.unique_name.guard():
        _, y, total = line()
        argosy.optimizer.SGD(0.1).minimize(total)
    other = static.Program()
    with static.program_guard(other, static.Program()), argosy.utils.unique_name.guard():
        _, evaluated, _ = line()
    exe = start()
    for _ in range(2):
        (value,) = exe.run(feed={"x": X}, fetch_list=["w"])
        (got,) = exe.run(other, feed={"x": X}, fetch_list=[evaluated])
        b = np.array(static.global_scope().find_var("b").get_tensor())
        np.testing.assert_allclose(got, X @ value + b, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="one Program is used in another"):
        with static.program_guard(other):
            evaluated + y


def test_scopes(start):
    _, _, total = line()
    exe = static.Executor()
    a, b = static.Scope(), static.Scope()
    for scope in (a, b):
        exe.run(static.default_startup_program(), scope=scope)
    va, vb = (s.find_var("w").get_tensor() for s in (a, b))
    assert not np.array_equal(va, vb)
    vb.set(np.array(va), argosy.CPUPlace())
    ones = {"feed": {"x": X}, "fetch_list": [total]}
    assert exe.run(scope=a, **ones) == exe.run(scope=b, **ones)
    with static.scope_guard(a):
        assert static.global_scope() is a
        assert exe.run(**ones) == exe.run(scope=b, **ones)
    child = a.new_scope()
    assert child.find_var("w") is not None and child.local_var_names() == []
    assert a.find_var("nobody") is None
    v = a.var("new")
    assert not v.get_tensor()._is_initialized()
    with pytest.raises(ValueError, match="'new' has no value"):
        v.get_tensor().shape()
    v.get_tensor().set(np.ones(3), None)
    assert v.get_tensor().shape() == [3] and "new" in a.local_var_names()
    a.erase(["new"])
    assert a.find_var("new") is None
    with pytest.raises(TypeError, match="expected a Scope"):
        with static.scope_guard(3):
            pass


def test_a_closed_executor():
    exe = static.Executor(argosy.CPUPlace())
    exe.close()
    with pytest.raises(RuntimeError, match="closed"):
        exe.run(static.default_startup_program())
    with pytest.raises(ValueError, match="place"):
        static.Executor(3)


def test_random_seed():
    x = argosy.rand([4])
    main = static.default_main_program()
    main.random_seed = 5
    exe = static.Executor()
    first, again = (exe.run(fetch_list=[x])[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    main.random_seed = 0
    first, again = (exe.run(fetch_list=[x])[0] for _ in range(2))
    assert not np.array_equal(first, again)


@pytest.mark.parametrize(
    "kind, drawn",
    [
        ("Uniform", lambda: argosy.uniform([4, 2], min=-1.0, max=1.0, seed=7)),
        ("Normal", lambda: argosy.tensor.random.gaussian([4, 2], mean=0.0, std=1.0, seed=7)),
        ("XavierUniform", lambda: argosy.uniform([4, 2], min=-1.0, max=1.0, seed=7)),
        ("KaimingNormal", lambda: argosy.tensor.random.gaussian([4, 2], std=0.5**0.5, seed=7)),
        ("Orthogonal", None),
    ],
)
def test_first_values_come_from_the_seed_of_the_startup_program(kind, drawn):
    main, startup = static.Program(), static.Program()
    startup.random_seed = 7
    with static.program_guard(main, startup):
        initializer = getattr(argosy.nn.initializer, kind)()
        made = [
            static.create_parameter([4, 2], "float32", default_initializer=initializer)
            for _ in range(2)
        ]
    exe = static.Executor()
    exe.run(startup)
    first, second = exe.run(main, fetch_list=made)
    np.testing.assert_array_equal(first, second)
    if drawn is not None:
        argosy.disable_static()
        np.testing.assert_allclose(first, drawn().numpy(), rtol=1e-6)


def test_tensors_made_while_building_are_anew_in_each_run():
    count = argosy.to_tensor([1.0])
    count += 1
    exe = static.Executor()
    assert [exe.run(fetch_list=[count])[0].item() for _ in range(3)] == [2, 2, 2]


def test_counting_across_runs(start):
    count = static.create_global_var([1], 1.0, "float32", persistable=True, name="count")
    argosy.assign(count + 1, output=count)
    exe = start()
    assert [exe.run(fetch_list=[count])[0].item() for _ in range(3)] == [2, 3, 4]
    count.set_value(np.array([10.0], "float32"))
    assert exe.run(fetch_list=["count"])[0].item() == 11
    assert np.array(count.get_value()).item() == 11


def test_eager_layers_in_a_program():
    argosy.disable_static()
    layer = nn.Linear(3, 2)
    want = layer(argosy.to_tensor(X)).numpy()
    argosy.enable_static()
    y = layer(static.data("x", [2, 3], "float32"))
    np.testing.assert_allclose(static.Executor().run(feed={"x": X}, fetch_list=[y])[0], want)


def test_modes():
    assert not argosy.in_dynamic_mode()
    argosy.disable_static()
    assert argosy.in_dynamic_mode()
    assert (argosy.ones([2]) + 1).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="enable_static"):
        static.data("x", [1])
    argosy.enable_static()
    assert isinstance(argosy.ones([2]), static.Variable)
    with argosy.base.dygraph.guard():
        assert argosy.ones([2]).tolist() == [1, 1]
    assert not argosy.in_dynamic_mode()
    with pytest.raises(TypeError, match="main_program"):
        with static.program_guard(3):
            pass


def test_train_from_dataset(capsys, start):
    _, _, total = line()
    exe = start()
    exe.train_from_dataset(
        dataset=[{"x": X}] * 4, fetch_list=[total], fetch_info=["loss"], print_period=2
    )
    assert capsys.readouterr().out.count("loss:") == 2
    with pytest.raises(RuntimeError, match="dataset"):
        exe.train_from_dataset()


def test_printing_where_an_input_is_missing(start, capfd):
    x, label = static.data("x", [1], "float32"), static.data("label", [1], "float32")
    static.Print(x, message="given")
    static.Print(x - label, message="unknown")
    exe = start()
    assert exe.run(feed={"x": np.ones(1, "float32")}, fetch_list=[x * 2]) == [2]
    out = capfd.readouterr().out
    assert "given" in out and "unknown" not in out


def test_pruned_runs(start):
    x, y, total = line()
    argosy.optimizer.SGD(0.1).minimize(total)
    exe = start()
    scope = static.global_scope()
    w = np.array(scope.find_var("w").get_tensor())
    (got,) = exe.run(feed={"x": X}, fetch_list=[total], use_prune=True)
    np.testing.assert_allclose(got, (X @ w).sum(), rtol=1e-5)
    np.testing.assert_array_equal(np.array(scope.find_var("w").get_tensor()), w)
    # What operations make may be fed.
    fed = {y.name: np.ones((3, 2), "float32")}
    assert exe.run(feed=fed, fetch_list=[total], use_prune=True) == [6]
    with pytest.raises(ValueError, match="'x' is not fed"):
        exe.run(feed={}, fetch_list=[total], use_prune=True)
    exe.run(feed={"x": X}, fetch_list=[total])
    assert not np.array_equal(np.array(scope.find_var("w").get_tensor()), w)


@pytest.mark.parametrize(
    "declared, given, taken",
    [
        ([-1, 1], (8,), True),
        ([-1, 1], (0,), True),
        ([8, 1], (8,), True),
        ([-1, 1, 1], (8,), True),
        ([-1, 1, 1], (8, 1), True),
        ([-1, -1], (8,), True),
        ([-1, 4], (8,), True),
        ([-1, 3, 4], (5, 3), True),
        ([4, -1], (4,), True),
        ([3, -1, 4], (3, 4), True),
        ([4, -1], (5,), False),
        ([3, -1, 4], (2, 4), False),
        ([-1, 3, 4], (5, 7), False),
        ([4, 3], (12,), False),
        ([1, 8], (8,), False),
        ([-1], (8, 1), False),
        ([-1, 1], (4, 2), False),
        ([-1, 1], (8, 1, 1), False),
        ([-1, 1], (), False),
        ([1], (), False),
    ],
)
def test_dimensions_may_be_missing_at_the_end(declared, given, taken):
    # What Paddle 2.6.2 takes, and the shape of what it computes.
    x = static.data("x", declared)
    exe = static.Executor()
    value = np.arange(np.prod(given), dtype="float32").reshape(given)
    if not taken:
        with pytest.raises(ValueError, match="The fed Variable 'x' should have dimensions"):
            exe.run(feed={"x": value}, fetch_list=[x * 2])
        return
    for _ in range(2):
        np.testing.assert_array_equal(exe.run(feed={"x": value}, fetch_list=[x * 2])[0], value * 2)
    whole = np.ones([3 if n == -1 else n for n in declared], "float32")
    np.testing.assert_array_equal(exe.run(feed={"x": whole}, fetch_list=[x * 2])[0], whole * 2)


IDS = np.arange(8)


@pytest.mark.parametrize(
    "compute, want",
    [
        (lambda x: x + argosy.ones([8, 1], "int64"), (IDS + np.ones((8, 1)))),  # [8, 8]
        (lambda x: argosy.reshape(x, [-1, 1]), IDS[:, None]),
        (lambda x: argosy.reshape(x, [0, 1]), IDS[:, None]),
        (lambda x: argosy.cast(x, "float32"), IDS.astype("float32")),
        (lambda x: argosy.unsqueeze(x, -1), IDS[:, None]),
        (lambda x: argosy.nn.functional.one_hot(x, 10), np.eye(10)[:8]),
        (lambda x: argosy.shape(x), [8]),
        (lambda x: argosy.mean(argosy.cast(x, "float32")), 3.5),
        # Of these 2.6.2 refuses [8]: [8, 1] is taken.
        (lambda x: argosy.concat([x, x], axis=1), np.stack([IDS, IDS], 1)),
        (lambda x: argosy.sum(x, axis=1), IDS),
        (lambda x: argosy.squeeze(x, axis=1), IDS),
    ],
)
def test_programs_compute_with_the_dimensions_that_are_fed(compute, want):
    x = static.data("x", [-1, 1], "int64")
    got = static.Executor().run(feed={"x": IDS}, fetch_list=[compute(x)])[0]
    np.testing.assert_array_equal(got, want)
    assert got.shape == np.shape(want)


def test_training_with_feeds_of_fewer_dimensions():
    def losses(dims):
        argosy.seed(3)
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            ids = static.data("ids", [-1, 1], "int64")
            y = static.data("y", [-1, 1])
            rows = argosy.reshape(static.nn.embedding(ids, [10, 4]), [-1, 4])
            loss = argosy.mean((static.nn.fc(rows, 1) - argosy.reshape(y, [-1, 1])) ** 2)
            argosy.optimizer.SGD(0.1).minimize(loss)
        exe, scope = static.Executor(), static.Scope()
        exe.run(startup, scope=scope)
        feed = {"ids": IDS.reshape(dims), "y": (IDS * 0.1).astype("float32").reshape(dims)}
        return [exe.run(main, feed, [loss], scope=scope)[0] for _ in range(5)]

    np.testing.assert_allclose(losses([8]), losses([8, 1]), rtol=1e-6)
    assert losses([8])[-1] < losses([8])[0]


def test_a_line_alone_is_taken_where_operations_take_it(start):
    x, y, total = line()
    exe = start()
    one, whole = (exe.run(feed={"x": v}, fetch_list=[y])[0] for v in (X[0], X))
    assert one.shape == (2,)
    np.testing.assert_allclose(one, whole[0], rtol=1e-6)
    z = static.nn.fc(static.data("z", [None, 3, 4]), 2, num_flatten_dims=2)
    exe = start()
    with pytest.raises(ValueError, match="'z' should have dimensions = 3"):
        exe.run(feed={"z": X}, fetch_list=[z])


def test_as_numpy():
    held = static.global_scope().var("held").get_tensor()
    assert argosy.base.executor.as_numpy(held) is None
    held.set(np.float32([[1], [2]]), argosy.CPUPlace())
    found = argosy.base.executor.as_numpy([held, [held]], copy=True)
    assert found[0].tolist() == found[1][0].tolist() == [[1.0], [2.0]]
    held.set_recursive_sequence_lengths([[1, 1]])
    with pytest.raises(RuntimeError, match="expected rows of one length"):
        argosy.base.executor.as_numpy(held)
    with pytest.raises(AssertionError, match="expected DenseTensor, got int"):
        argosy.base.executor.as_numpy(3)
