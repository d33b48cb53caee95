"""Tensors without dimensions or without elements, and sizes beyond any memory."""

import numpy as np
import pytest

import argosy as paddle

F = paddle.nn.functional
MANY = 1 << 62


@pytest.mark.parametrize(
    "call",
    [
        lambda x: paddle.concat([x, x]),
        lambda x: paddle.concat([x, x], -1),
        lambda x: paddle.unique_consecutive(x, axis=0),
        lambda x: paddle.unique(x, axis=-1),
        lambda x: F.glu(x),
        lambda x: F.maxout(x, 2, 0),
    ],
)
def test_a_scalar_has_no_axis(call):
    for grad in (False, True):
        with pytest.raises(ValueError, match="Do this"):
            call(paddle.to_tensor(1.0, stop_gradient=not grad))
    with pytest.raises((ValueError, IndexError)):
        paddle.unbind(paddle.to_tensor(1.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.zeros([2**63 - 1]),
        lambda: paddle.full([MANY], 1.0),
        lambda: paddle.linspace(0, 1, MANY),
        lambda: paddle.randperm(MANY),
        lambda: paddle.uniform([MANY]),
        lambda: paddle.tile(paddle.ones([2**20]), [2**44]),
        lambda: paddle.tile(paddle.ones([2]), [2**63 - 1]),
        lambda: paddle.repeat_interleave(paddle.ones([3]), MANY),
        lambda: paddle.bincount(paddle.to_tensor([1]), minlength=MANY),
        lambda: paddle.histogram(paddle.ones([3]), bins=MANY),
    ],
)
def test_more_than_any_memory_holds(call):
    with pytest.raises((MemoryError, ValueError)):
        call()


def test_numbers_beyond_sense():
    x = paddle.to_tensor([1.5, -2.25])
    np.testing.assert_array_equal(paddle.round(x, MANY).numpy(), x.numpy())
    np.testing.assert_array_equal(paddle.round(x, -MANY).numpy(), [0, 0])
    assert paddle.diff(x, MANY).shape == [0]
    with pytest.raises(ValueError, match="upscale_factor"):
        F.pixel_shuffle(paddle.ones([1, 4, 2, 2]), 2**32)


def test_nothing_in():
    assert paddle.unbind(paddle.zeros([0, 2])) == [] and paddle.unstack(paddle.zeros([0, 2])) == []
    values, places = paddle.mode(paddle.zeros([3, 0]))
    assert values.tolist() == [0, 0, 0] and places.tolist() == [0, 0, 0]
    assert paddle.increment(paddle.zeros([0])).shape == [0]
    assert paddle.linalg.pinv(paddle.zeros([0, 3])).shape == [3, 0]
    assert paddle.linalg.matrix_rank(paddle.zeros([2, 0, 3])).tolist() == [0, 0]
    assert paddle.linalg.cholesky_inverse(paddle.zeros([0, 0])).shape == [0, 0]
    assert paddle.diag(paddle.to_tensor(2.0)).tolist() == [[2]]


def test_results_keep_the_dtype():
    x = paddle.to_tensor([1, 2], dtype="int32")
    assert x.cumsum_() is x and x.dtype == paddle.int32 and x.tolist() == [1, 3]
    assert paddle.outer(paddle.to_tensor([True]), paddle.to_tensor([False])).tolist() == [[False]]
    assert F.square_error_cost(paddle.to_tensor([1, 2]), paddle.to_tensor([4, 2])).tolist() == [
        9,
        0,
    ]
    assert paddle.topk(paddle.to_tensor([1.0, 3.0]), 1).indices.tolist() == [1]
    assert paddle.swapaxes(paddle.ones([2, 3]), [1, 0]).shape == [3, 2]


@pytest.mark.parametrize(
    "name, test",
    [("less_than", "<"), ("less_equal", "<="), ("greater_than", ">"), ("greater_equal", ">=")],
)
def test_complex_numbers_in_order(name, test):
    rng = np.random.RandomState(0)
    x, y = (rng.randint(0, 3, 50) + 1j * rng.randint(0, 3, 50) for _ in range(2))
    pairs = zip(zip(x.real, x.imag), zip(y.real, y.imag))
    want = [eval(f"a {test} b", {"a": a, "b": b}) for a, b in pairs]
    found = getattr(paddle, name)(paddle.to_tensor(x), paddle.to_tensor(y))
    assert found.dtype == paddle.bool and found.tolist() == want


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_numbers_have_an_angle(dtype):
    x = np.array([np.inf, -np.inf, 0.0, -1.0, np.nan], dtype)
    found = paddle.angle(paddle.to_tensor(x)).numpy()
    np.testing.assert_allclose(found, np.angle(x), rtol=1e-6)


def test_logarithms_of_running_sums_are_not_whole():
    for x in (np.array([0.0, 1.0, 2.0], "float32"), np.array([0, 1, 2])):
        for dtype in ("int32", "int64", "float32"):
            found = paddle.logcumsumexp(paddle.to_tensor(x), dtype=dtype)
            assert found.dtype == paddle.float32
            np.testing.assert_allclose(
                found.numpy(), np.logaddexp.accumulate(x.astype("float64")), rtol=1e-6
            )
