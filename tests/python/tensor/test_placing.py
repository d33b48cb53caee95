"""Keywords of functions that create tensors, and `out=`."""

import inspect

import numpy as np
import pytest

import argosy as paddle

CREATE = [
    lambda **k: paddle.ones([2, 3], **k),
    lambda **k: paddle.zeros([2, 3], **k),
    lambda **k: paddle.empty([2, 3], **k),
    lambda **k: paddle.full([2, 3], 1.5, **k),
    lambda **k: paddle.arange(0.0, 3.0, **k),
    lambda **k: paddle.linspace(0.0, 1.0, 3, **k),
    lambda **k: paddle.eye(3, **k),
    lambda **k: paddle.rand([2, 3], **k),
    lambda **k: paddle.randn([2, 3], **k),
    lambda **k: paddle.uniform([2, 3], **k),
    lambda **k: paddle.range(0, 3, **k),
]
LIKE = [paddle.ones_like, paddle.zeros_like, paddle.empty_like, paddle.rand_like, paddle.randn_like]


@pytest.mark.parametrize("make", CREATE)
def test_created_tensors_follow_their_keywords(make):
    assert make().stop_gradient
    x = make(requires_grad=True, device="cpu")
    assert not x.stop_gradient and x.is_leaf
    out = paddle.zeros([1])
    assert make(out=out) is out and out.shape == x.shape


@pytest.mark.parametrize("make", LIKE)
def test_likes(make):
    x = make(paddle.ones([2]), dtype="float64", requires_grad=True, device="cpu")
    assert x.dtype == paddle.float64 and not x.stop_gradient


@pytest.mark.parametrize("make", ["ones", "zeros", "empty", "rand", "randn"])
def test_sizes_one_by_one(make):
    function = getattr(paddle, make)
    assert function(2, 3, dtype="float64").shape == [2, 3]
    assert function(size=(2, 3)).shape == [2, 3]
    assert function(2).shape == [2]
    assert function([2], "float64").dtype == paddle.float64
    with pytest.raises(TypeError, match="needs a shape"):
        function()
    assert list(inspect.signature(function).parameters)[:3] == ["shape", "dtype", "name"]


def test_out_carries_the_gradient():
    x = paddle.ones([2, 2], requires_grad=True)
    for call, gradient in (
        (lambda out: paddle.matmul(x, x, out=out), [[4, 4], [4, 4]]),
        (lambda out: paddle.concat([x, x], out=out), [[2, 2], [2, 2]]),
        (lambda out: paddle.stack([x, x], out=out), [[2, 2], [2, 2]]),
        (lambda out: paddle.triu(x, out=out), [[1, 1], [0, 1]]),
        (lambda out: paddle.add(x, x, out=out), [[2, 2], [2, 2]]),
    ):
        x.clear_gradient(False)
        out = paddle.zeros([1])
        assert call(out) is out
        assert not out.stop_gradient
        out.sum().backward()
        assert x.grad.tolist() == gradient
    with paddle.no_grad():
        out = paddle.zeros([1])
        paddle.matmul(x, x, out=out)
    assert out.stop_gradient
    with pytest.raises(TypeError, match=r"\[out\].*expected paddle.int64, got paddle.float32"):
        paddle.ones([2], "int64", out=paddle.zeros([2]))


def test_searchsorted_keywords():
    a = np.array([3.0, 1.0, 2.0, 2.0], "float32")
    order = np.argsort(a, kind="stable")
    for side in ("left", "right"):
        found = paddle.searchsorted(
            paddle.to_tensor(a), paddle.to_tensor([2.0, 5.0]), side=side,
            sorter=paddle.to_tensor(order),
        )  # fmt: skip
        want = np.searchsorted(a, [2.0, 5.0], side=side, sorter=order)
        np.testing.assert_array_equal(found.numpy(), want)
    with pytest.raises(ValueError, match="side must be"):
        paddle.searchsorted(paddle.ones([1]), paddle.ones([1]), side="middle")


def test_range_includes_its_end():
    np.testing.assert_allclose(paddle.range(5).numpy(), np.arange(6.0))
    np.testing.assert_allclose(paddle.range(0, 3, 0.5).numpy(), np.arange(0, 3.5, 0.5))
    assert paddle.range(0, 3, dtype="int64").tolist() == [0, 1, 2, 3]
    assert paddle.range(1, 5, 2).tolist() == [1.0, 3.0, 5.0]
    assert paddle.range(3, 0, -1).tolist() == [3.0, 2.0, 1.0, 0.0]


def test_the_module_tensor_is_a_function():
    x = paddle.tensor([1, 2], dtype="float64", requires_grad=True)
    assert x.dtype == paddle.float64 and not x.stop_gradient
    assert paddle.tensor.matmul is paddle.matmul
