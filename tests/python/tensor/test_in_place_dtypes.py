"""Which dtype a tensor has after a write in place with an operand of another dtype."""

import itertools

import numpy as np
import pytest

import argosy

T = argosy.to_tensor
REAL = ("float16", "float32", "float64")
ARITHMETIC = ("add_", "subtract_", "multiply_", "divide_")
METHODS = (*ARITHMETIC, "floor_divide_", "remainder_", "copysign_")


def _tensor(dtype, values=(1.0, 3.0)):
    return T(np.array(values)).astype(dtype)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("captured", [False, True])
def test_it_is_the_common_one(method, captured):
    dtypes = (*REAL, "complex64", "complex128") if method in ARITHMETIC else REAL

    def both(a, b):
        x = a + 0
        y = getattr(x, method)(b)
        assert y is x
        return x

    call = argosy.jit.to_static(both, full_graph=True) if captured else both
    for a, b in itertools.product(dtypes, repeat=2):
        x, y = _tensor(a), _tensor(b, (2.0, 4.0))
        want = getattr(argosy, method[:-1])(x, y)
        got = call(x, y)
        assert got.dtype == want.dtype, (a, b)
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("method", ARITHMETIC)
def test_numbers_and_whole_numbers_do_not_mix(method):
    for a, b in itertools.permutations(("int32", "int64", "float32"), 2):
        with pytest.raises(TypeError, match="do not mix"):
            getattr(_tensor(a), method)(_tensor(b))


def test_gradients_go_through_both():
    w, v = _tensor("float32"), _tensor("float64", (2.0, 5.0))
    w.stop_gradient = v.stop_gradient = False
    x = w * 1
    x.multiply_(v)
    assert x.dtype == argosy.float64 and not x.stop_gradient and not x.is_leaf
    x.add_(v)
    x.sum().backward()
    assert w.grad.dtype == argosy.float32 and w.grad.tolist() == [2.0, 5.0]
    assert v.grad.dtype == argosy.float64 and v.grad.tolist() == [2.0, 4.0]


def test_a_leaf_stays_one_where_no_gradient_is_wanted():
    w = _tensor("float32")
    w.stop_gradient = False
    with argosy.no_grad():
        w.add_(_tensor("float64"))
    assert w.dtype == argosy.float64 and w.is_leaf and not w.stop_gradient
    with pytest.raises(ValueError, match="cannot write in place into a leaf"):
        w.add_(_tensor("float32"))


def test_the_shape_stays():
    x = _tensor("float32")
    with pytest.raises(ValueError, match=r"\[add\] in place needs a result of x's shape"):
        x.add_(argosy.ones([3, 2], "float64"))
    assert x.dtype == argosy.float32 and x.tolist() == [1.0, 3.0]


def test_state_of_a_captured_function_keeps_its_dtype():
    x = _tensor("float32")
    x.persistable = True
    call = argosy.jit.to_static(lambda a: x.add_(a), full_graph=True)
    with pytest.raises(Exception, match="keeps its form"):
        call(_tensor("float64"))
    assert x.tolist() == [1.0, 3.0]
