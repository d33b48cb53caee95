"""einsum plans its ops once for an equation and shapes; a plan is of those shapes alone."""

import importlib

import numpy as np
import pytest

import argosy as paddle

plans = importlib.import_module("argosy.tensor.einsum")  # the name of the package is the function

EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)], [(5, 1), (1, 2)]),
    ("ij,ij->ij", [(2, 3), (2, 3)], [(1, 3), (4, 3)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)], [(2, 3, 1), (2, 1, 1)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)], [(3, 4), (7, 4, 5)]),
    ("ii->i", [(3, 3)], [(4, 4)]),
    ("ij->ji", [(2, 3)], [(3, 2)]),
    ("i,j,k->kij", [(2,), (3,), (4,)], [(1,), (1,), (2,)]),
    ("ij,kl->", [(2, 3), (4, 5)], [(1, 1), (0, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 4)], [(0, 3), (3, 2)]),
]


@pytest.mark.parametrize("equation, first, second", EQUATIONS)
def test_shapes_one_after_the_other(equation, first, second):
    random = np.random.RandomState(0)
    for shapes in (first, second, first, second):
        arrays = [random.standard_normal(shape) for shape in shapes]
        found = paddle.einsum(equation, *[paddle.to_tensor(a) for a in arrays])
        np.testing.assert_allclose(
            found.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12
        )


def test_a_plan_has_gradients():
    for _ in range(2):
        x = paddle.to_tensor(np.arange(6.0).reshape(2, 3), stop_gradient=False)
        y = paddle.to_tensor(np.ones((3, 2)), stop_gradient=False)
        paddle.einsum("ij,jk->", x, y).backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 2.0))
        np.testing.assert_array_equal(y.grad.numpy(), [[3.0, 3.0], [5.0, 5.0], [7.0, 7.0]])


def test_a_plan_keeps_the_dtype_of_its_call():
    for dtype in ("float32", "float64", "complex64", "float32"):
        x = paddle.ones([2, 2], dtype=dtype)
        assert paddle.einsum("ij,jk->ik", x, x).dtype == x.dtype


def test_errors_come_again():
    x, y = paddle.ones([2, 3]), paddle.ones([4, 5])
    for _ in range(2):
        with pytest.raises(ValueError, match="sizes of a dimension must be equal"):
            paddle.einsum("ij,jk->ik", x, y)
        with pytest.raises(AssertionError, match="has 1 operands, got 2"):
            paddle.einsum("ij", x, y)


def test_plans_do_not_pile_up():
    for n in range(1, plans._MOST_PLANS + 3):
        paddle.einsum("i->", paddle.ones([n]))
    assert len(plans._plans) <= plans._MOST_PLANS
