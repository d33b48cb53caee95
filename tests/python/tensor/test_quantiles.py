"""Quantiles that are numbers, and those that only a run of a Program knows."""

import numpy as np
import pytest

import argosy as paddle

RNG = np.random.RandomState(0)
X = RNG.randn(3, 5, 4)
X[0, 1, 2] = X[1, 0, 0] = X[1, 1, 0] = np.nan
X[1, 2:, 0] = np.nan
NUMPY = {"quantile": np.quantile, "nanquantile": np.nanquantile}
INTERPOLATIONS = ["linear", "lower", "higher", "nearest", "midpoint"]


def in_program(name, q, data=X, **attributes):
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [-1, 5, -1], "float64")
            y = getattr(paddle, name)(x, paddle.static.data("q", q.shape, "float64"), **attributes)
            return paddle.static.Executor().run(main, feed={"x": data, "q": q}, fetch_list=[y])[0]
    finally:
        paddle.disable_static()


@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:invalid value")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 2], [1, 0]])
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_values_of_a_program_are_quantiles(name, interpolation, axis, keepdim):
    for q in (np.array(0.3), np.array([0.5]), np.array([0.0, 0.25, 0.5, 0.9, 1.0])):
        got = in_program(name, q, axis=axis, keepdim=keepdim, interpolation=interpolation)
        axes = tuple(axis) if isinstance(axis, list) else axis
        q = q.reshape([]) if q.shape == (1,) else q
        want = NUMPY[name](X, q, axes, method=interpolation, keepdims=keepdim)
        np.testing.assert_allclose(got, want, 1e-12)


def test_an_infinity_is_not_blended_with_itself_or_where_it_weighs_nothing():
    data = np.zeros([1, 5, 1])
    data[0, 3:, 0] = np.inf
    for q in (np.array(1.0), np.array(0.5), np.array(0.9)):
        got = in_program("quantile", q, data)
        assert got == paddle.quantile(paddle.to_tensor(data), float(q)).item()


def test_one_quantile_has_no_dimension():
    x = paddle.to_tensor(np.arange(12.0).reshape(3, 4))
    for q in (0.5, [0.5], (0.5,), paddle.to_tensor(0.5), paddle.to_tensor([0.5])):
        assert paddle.quantile(x, q, axis=1).tolist() == [1.5, 5.5, 9.5]
        assert paddle.quantile(x, q, axis=1, keepdim=True).shape == [3, 1]
    assert paddle.quantile(x, [0.0, paddle.to_tensor(1.0)], axis=1).tolist() == [
        [0, 4, 8],
        [3, 7, 11],
    ]


def test_quantiles_of_a_program_have_gradients():
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [4], "float64")
            x.stop_gradient = False
            y = paddle.quantile(x, paddle.static.data("q", [], "float64"))
            (dx,) = paddle.static.gradients([y], [x])
            feed = {"x": np.array([3.0, 1.0, 2.0, 7.0]), "q": np.array(0.5)}
            assert paddle.static.Executor().run(main, feed=feed, fetch_list=[dx])[0].tolist() == [
                0.5, 0, 0.5, 0,
            ]  # fmt: skip
    finally:
        paddle.disable_static()


def test_other_frameworks_names_of_arguments_mean_the_lower_median():
    x = paddle.to_tensor([[5.0, 1.0, 2.0, 4.0]])
    assert paddle.median(x, 1).tolist() == [3.0]
    for found in (paddle.median(x, dim=1), paddle.median(input=x, dim=1), x.median(dim=1)):
        assert [part.tolist() for part in found] == [[2.0], [2]]
    assert paddle.median(input=x).item() == 2.0
    assert paddle.median(x, dim=1, mode="avg").tolist() == [3.0]
