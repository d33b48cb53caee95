"""Functions that write into a tensor: where gradients go, and that leaves are refused."""

import numpy as np
import pytest

import argosy

START = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
ROWS = [0, 2]


def rows():
    return argosy.to_tensor(ROWS)


def some(*shape):
    return argosy.to_tensor(np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape), "float32")


# name -> (the call, what of x still has a gradient: 1, or 0)
WRITES = {
    "fill_": (lambda x: x.fill_(3.0), np.zeros((3, 2))),
    "zero_": (lambda x: x.zero_(), np.zeros((3, 2))),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(5.0), 1 - np.eye(3, 2)),
    "fill_diagonal_ offset": (lambda x: x.fill_diagonal_(5.0, 1), 1 - np.eye(3, 2, 1)),
    "fill_diagonal_tensor_": (lambda x: x.fill_diagonal_tensor_(some(2)), 1 - np.eye(3, 2)),
    "bernoulli_": (lambda x: x.bernoulli_(0.5), np.zeros((3, 2))),
    "log_normal_": (lambda x: x.log_normal_(), np.zeros((3, 2))),
    "geometric_": (lambda x: x.geometric_(0.5), np.zeros((3, 2))),
    "cauchy_": (lambda x: x.cauchy_(), np.zeros((3, 2))),
    "random_": (lambda x: x.random_(0, 5), np.zeros((3, 2))),
    "index_add_": (lambda x: x.index_add_(rows(), 0, some(2, 2)), np.ones((3, 2))),
    "scatter_add_": (
        lambda x: x.scatter_add_(0, argosy.zeros([1, 2], "int64"), some(1, 2)),
        np.ones((3, 2)),
    ),
    "masked_scatter_": (lambda x: x.masked_scatter_(x > 2, some(6)), np.array(START) <= 2),
    "where_": (lambda x: argosy.where_(x > 2, x, some(3, 2)), np.array(START) > 2),
    "put_along_axis_": (
        lambda x: x.put_along_axis_(argosy.to_tensor([[0, 1]]), 3.0, 0),
        1 - np.eye(3, 2),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_was_overwritten_has_no_gradient(name):
    write, kept = WRITES[name]
    leaf = argosy.to_tensor(START, stop_gradient=False)
    x = leaf * 1
    assert write(x) is x
    weights = np.arange(1.0, 7.0).reshape(3, 2)
    (x * argosy.to_tensor(weights, "float32")).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), weights * kept)


@pytest.mark.parametrize("name", WRITES)
def test_leaves_that_need_a_gradient_are_refused(name):
    write, _ = WRITES[name]
    leaf = argosy.to_tensor(START, stop_gradient=False)
    with pytest.raises(ValueError, match="leaf tensor that needs a grad"):
        write(leaf)
    with argosy.no_grad():
        assert write(leaf) is leaf
    assert leaf.is_leaf and not leaf.stop_gradient


@pytest.mark.parametrize(
    "write, factor",
    [
        (lambda x, v: x.index_add_(rows(), 0, v), 2),
        (lambda x, v: x.index_add_(index=rows(), axis=0, value=v), 2),
        (lambda x, v: x.scatter_add_(0, argosy.to_tensor([[0, 1], [2, 0]]), v), 2),
        (lambda x, v: x.masked_scatter_(argosy.to_tensor([[1, 1], [0, 0], [1, 1]], "bool"), v), 2),
        (lambda x, v: x.put_along_axis_(argosy.to_tensor([[0, 1], [2, 0]]), v, 0), 2),
        (lambda x, v: argosy.where_(x > 1, x, argosy.concat([v, v[:1]]))[:2], 2),
        (lambda x, v: x.fill_diagonal_tensor_(v[0]) + x.fill_diagonal_tensor_(v[1], -1), 4),
    ],
)
def test_values_get_the_gradient(write, factor):
    values = some(2, 2)
    values.stop_gradient = False
    out = write(argosy.zeros([3, 2]), values * 2)
    assert not out.stop_gradient
    out.sum().backward()
    np.testing.assert_array_equal(values.grad.numpy(), factor)


def test_writes_reach_the_memory_that_is_seen_elsewhere():
    base = argosy.zeros([4, 2])
    base[1:].index_add_(rows(), 0, argosy.ones([2, 2]))
    np.testing.assert_array_equal(base.numpy().sum(1), [0, 2, 0, 2])
    base[:1].fill_(7)
    assert base.numpy()[0].tolist() == [7, 7]


def test_forms_change_with_their_history():
    for change, shape in ((lambda x: x.t_(), [2, 3]), (lambda x: x.resize_([2, 2]), [2, 2])):
        leaf = argosy.to_tensor(START, stop_gradient=False)
        x = leaf * 1
        assert change(x) is x and x.shape == shape
        weights = argosy.arange(1, x.size + 1, dtype="float32").reshape(shape)
        (x * weights).sum().backward()
        expected = [[1, 4], [2, 5], [3, 6]] if x.size == 6 else [[1, 2], [3, 4], [0, 0]]
        np.testing.assert_array_equal(leaf.grad.numpy(), expected)
        with pytest.raises(ValueError, match="leaf tensor that needs a grad"):
            change(argosy.to_tensor(START, stop_gradient=False))
