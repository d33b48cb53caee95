"""Functions of argosy.compat: other signatures, and results in pairs."""

import numpy as np
import pytest

import argosy as paddle

compat = paddle.compat
X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], "float32")


def tensor(grad=False):
    return paddle.to_tensor(X, stop_gradient=not grad)


def test_split_takes_the_size_of_a_part():
    assert [p.shape for p in compat.split(tensor(), 2, 1)] == [[2, 2], [2, 1]]
    assert [p.shape for p in compat.split(tensor(), 5, -1)] == [[2, 3]]
    first, second = compat.split(tensor(), [1, 2], dim=paddle.to_tensor(1))
    np.testing.assert_array_equal(second.numpy(), X[:, 1:])
    assert first.shape == [2, 1] and compat.split(paddle.zeros([0, 2]), 1) == ()
    for sizes, error in (([1, 1], ValueError), ([1, -1], ValueError), (0, AssertionError)):
        with pytest.raises(error, match="Do this"):
            compat.split(tensor(), sizes, 1)
    with pytest.raises(ValueError, match=r"dim: expected one of -2 to 1, got 3"):
        compat.split(tensor(), 1, 3)


@pytest.mark.parametrize("descending", [False, True])
def test_sort_gives_values_and_places(descending):
    found = compat.sort(tensor(), dim=0, descending=descending)
    order = np.argsort(-X if descending else X, 0, kind="stable")
    np.testing.assert_array_equal(found.indices.numpy(), order)
    np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(X, order, 0))
    out = paddle.zeros([1]), paddle.zeros([1], "int64")
    compat.sort(tensor(), 0, descending, out=out)
    np.testing.assert_array_equal(out[1].numpy(), order)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes(name):
    extreme, of = getattr(compat, name), getattr(np, name)
    assert extreme(tensor()).item() == of(X)
    found = extreme(tensor(), 1)
    np.testing.assert_array_equal(found.values.numpy(), of(X, 1))
    np.testing.assert_array_equal(found.indices.numpy(), getattr(np, f"arg{name}")(X, 1))
    kept = extreme(tensor(), dim=0, keepdim=True)
    assert kept.values.shape == [1, 3] and kept[1].dtype == paddle.int64
    other = paddle.to_tensor(X[::-1].copy())
    both = getattr(np, f"{name}imum")(X, X[::-1])
    np.testing.assert_array_equal(extreme(tensor(), other).numpy(), both)
    np.testing.assert_array_equal(extreme(tensor(), other=other).numpy(), both)
    scalar = extreme(paddle.to_tensor(2.0), 0)
    assert scalar.values.item() == 2 and scalar.indices.item() == 0
    target = paddle.zeros([])
    assert extreme(tensor(), out=target) is target and target.item() == of(X)
    for args, options in (
        (([0, 1],), {}), ((1.5,), {}), ((1, 2, 3), {}), ((), {"keepdim": True}),
        ((1,), {"other": other}), ((True,), {}),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"\[compat.{name}\] expected"):
            extreme(tensor(), *args, **options)


def test_the_gradient_of_an_extreme_goes_to_its_place():
    x = paddle.to_tensor([[3.0, 3.0], [1.0, 3.0]], stop_gradient=False)
    compat.max(x, 1).values.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1, 0], [0, 1]])


def test_medians():
    odd = np.array([[4.0, 1, 2], [np.nan, 5, 7]], "float32")
    x = paddle.to_tensor(odd)
    values, indices = compat.median(x, 0)
    np.testing.assert_array_equal(values.numpy(), [np.nan, 1, 2])
    assert indices.tolist()[1:] == [0, 0] and np.isnan(compat.median(x).item())
    assert compat.nanmedian(x).item() == 4
    found = compat.nanmedian(x, dim=1, keepdim=True)
    np.testing.assert_array_equal(found.values.numpy(), [[2], [5]])


def test_unique_equal_slogdet_and_seed():
    x = paddle.to_tensor([3, 1, 1])
    values, counts = compat.unique(x, return_counts=True)
    assert values.tolist() == [1, 3] and counts.tolist() == [2, 1]
    assert compat.unique(paddle.to_tensor([[1, 2], [1, 2]]), dim=0).shape == [1, 2]
    assert compat.equal(tensor(), tensor()) is True
    assert compat.equal(tensor(), tensor().astype("int64")) is True
    assert compat.equal(tensor(), tensor()[0]) is False
    sign, logarithm = compat.slogdet(paddle.to_tensor(-np.eye(3, dtype="float32") * 2))
    assert sign.item() == -1 and abs(logarithm.item() - 3 * np.log(2)) < 1e-6
    seed = compat.seed()
    drawn = paddle.rand([4]).tolist()
    paddle.seed(seed)
    assert paddle.rand([4]).tolist() == drawn


@pytest.mark.parametrize(
    "name, keyword",
    [("split", "num_or_sections"), ("sort", "axis"), ("max", "axis"), ("median", "axis"),
     ("nanmedian", "x"), ("unique", "axis")],
)  # fmt: skip
def test_keywords_of_the_namesake(name, keyword):
    with pytest.raises(TypeError, match=rf"\[compat.{name}\] got the keyword {keyword}.*Do this"):
        getattr(compat, name)(tensor(), **{keyword: 1})


@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_of_the_package_take_no_dim(name):
    with pytest.raises(TypeError):
        getattr(paddle, name)(tensor(), dim=1)
