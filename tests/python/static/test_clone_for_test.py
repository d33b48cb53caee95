"""clone(for_test=True) after minimize is what it is before, in branches and loops too."""

import numpy as np
import pytest

import argosy
from argosy import nn, static

X = np.random.default_rng(0).normal(3, 2, (6, 8)).astype("float32")


def normalized():
    layer = nn.BatchNorm1D(8)
    return lambda h: layer(h)


def dropped(**how):
    return lambda: lambda h: nn.functional.dropout(h, **how)


def attended():
    def call(h):
        q = argosy.reshape(h, [1, 6, 2, 4])
        y = nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
        return argosy.reshape(y, [6, 8])

    return call


LAYERS = {
    "batch_norm": normalized,
    "dropout": dropped(p=0.5),
    "dropout_downscale": dropped(p=0.25, mode="downscale_in_infer"),
    "dropout_all": dropped(p=1.0),
    "dropout_all_downscale": dropped(p=1.0, mode="downscale_in_infer"),
    "dropout_axis": dropped(p=0.5, axis=1),
    "attention": attended,
}


def placed(where, call, h):
    if where == "flat":
        return call(h)
    if where == "cond":
        return static.nn.cond(argosy.mean(h) < 1e6, lambda: call(h), lambda: h * 0)
    i = argosy.full([1], 0, "int64")
    return static.nn.while_loop(lambda i, v: i < 2, lambda i, v: [i + 1, call(v)], [i, h])[1]


@pytest.mark.parametrize("where", ["flat", "cond", "while"])
@pytest.mark.parametrize("layer", LAYERS)
def test_after_minimize(layer, where):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [6, 8])
        weight = static.create_parameter(
            [8], "float32", default_initializer=nn.initializer.Constant(1.0)
        )
        y = placed(where, LAYERS[layer](), x * weight)
        before = main.clone(for_test=True)
        argosy.optimizer.SGD(0.0).minimize(argosy.mean(y * y))
        after = main.clone(for_test=True)
    exe = static.Executor()
    exe.run(startup)
    state = {k: np.array(v) for k, v in main.state_dict().items()}
    runs = [exe.run(p, {"x": X}, [y.name])[0] for p in (before, after, after)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[1], runs[2])
    for name, value in main.state_dict().items():
        np.testing.assert_array_equal(state[name], value, err_msg=name)
    rounds = 2 if where == "while" else 1
    expected = {
        "dropout": X,
        "dropout_downscale": X * 0.75**rounds,
        "dropout_all": X,
        "dropout_all_downscale": X * 0,
        "dropout_axis": X,
        "batch_norm": X,  # by the first running statistics
    }.get(layer)
    if expected is not None:
        np.testing.assert_allclose(runs[1], expected, rtol=1e-4)


def test_an_element_of_an_array_with_dense_and_sparse_gradients():
    def train(sparse):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            ids = static.data("ids", [3], "int64")
            table = static.create_parameter(
                [4, 2], "float32", default_initializer=nn.initializer.Constant(1.0)
            )
            i = argosy.full([1], 0, "int64")
            array = argosy.tensor.array_write(table * 1.0, i)
            rows = nn.functional.embedding(ids, argosy.tensor.array_read(array, i), sparse=sparse)
            loss = argosy.sum(rows) + argosy.sum(argosy.tensor.array_read(array, i) * 3)
            argosy.optimizer.SGD(1.0).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        exe.run(main, {"ids": np.array([1, 1, 2])})
        return np.array(static.global_scope().find_var(table.name).get_tensor())

    np.testing.assert_array_equal(train(True), [[-2, -2], [-4, -4], [-3, -3], [-2, -2]])
    np.testing.assert_array_equal(train(True), train(False))


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_dropout_by_a_value_of_the_program_is_refused(mode):
    x, p = static.data("x", [2, 3]), static.data("p", [1])
    nn.functional.dropout(x, p, mode=mode)
    with pytest.raises(NotImplementedError, match=r"\[dropout.*\] draws by a value of the Program"):
        static.default_main_program().clone(for_test=True)
