"""Ops that read only the form of an operand, and constants."""

import numpy as np
import pytest
from tests.ops.arrays import array, tensor
from tests.ops.harness import ALL, COMPLEX, FLOAT, A, Case, table_tests

import argosy

NUMERIC = tuple(t for t in ALL if t != "bool")


def repeat_sum(x, like):
    extra = tuple(range(x.ndim - like.ndim))
    x = x.sum(extra)
    ones = tuple(d for d, n in enumerate(like.shape) if n == 1 and x.shape[d] != 1)
    return x.sum(ones, keepdims=True).astype(x.dtype)


LIKE = A(3, 1, dtype="float32", grad=False)

# fmt: off
CASES = [
    Case("expand_like", [A(3, 1), A(2, 3, 4, dtype="float32", grad=False)],
         ref=lambda x, like: np.broadcast_to(x, like.shape), dtypes=ALL,
         shapes=[[(), (2,)], [(1,), (0,)], [(2, 1), (2, 0)]]),
    Case("reshape_like", [A(3, 4), A(2, 6, dtype="float32", grad=False)],
         ref=lambda x, like: x.reshape(like.shape), dtypes=ALL, shapes=[[(), (1, 1)], [(0, 3), (0,)]],
         errors=[([A(2, 3), A(2, 2)], {}, ValueError, "numbers of elements differ")]),
    # Its gradient is not that of its values: tests/python/jit/test_data_in_captures.py.
    Case("with_values", [A(3, 4, grad=False), A(3, 4, grad=False)], dtypes=ALL,
         ref=lambda x, values: values, shapes=[[(), ()], [(0, 3), (0, 3)]],
         errors=[([A(2, 3), A(3)], {}, ValueError, "dtype and dimensions")], grad=False),
    Case("sum_like", [A(2, 3, 4), LIKE], ref=repeat_sum, dtypes=("int32", "int64", *FLOAT, *COMPLEX),
         out="same", shapes=[[(2,), ()], [(0, 3), (3,)], [(2, 0), (1, 1)]], tol=4),
    Case("full", [], {"shape": [2, 3], "fill_value": 1.5},
         ref=lambda shape, fill_value: np.full(shape, fill_value)),
    Case("full", [], {"shape": [0, 3], "fill_value": 7},
         ref=lambda shape, fill_value: np.full(shape, fill_value, "float32")),
    Case("full_like", [A(2, 3)], {"fill_value": 2}, dtypes=ALL, grad=False,
         ref=lambda x, fill_value: np.full_like(x, fill_value), shapes=[[()], [(0, 2)]]),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


@pytest.mark.parametrize(
    "value", [0, -1, 7, 2.7, 0.1, True, 300, 2**60 + 1, np.nan, np.inf, 1 + 2j]
)
@pytest.mark.parametrize("dtype", ALL)
def test_fills_in_place_are_full_like(dtype, value):
    """Numbers of all kinds, in whole tensors, in views that lie apart, and in none at all."""
    for shape in ((), (0,), (3, 4)):
        x = tensor(np.ones(shape), dtype)
        if isinstance(value, complex) and not dtype.startswith("complex"):
            with pytest.raises(TypeError, match="complex number cannot be written"):
                x.fill_(value)
            continue
        try:
            expected = array(argosy.full_like(x, value))
        except (ValueError, TypeError, OverflowError) as error:
            with pytest.raises(type(error)):
                x.fill_(value)
            continue
        where = x.data_ptr()
        assert x.fill_(value) is x and x.data_ptr() == where and list(x.shape) == list(shape)
        np.testing.assert_array_equal(array(x), expected)
        np.testing.assert_array_equal(array(x.zero_()), np.zeros_like(expected))
    rows = tensor(np.ones((3, 4)), dtype)
    rows[1].fill_(0)
    rows.t()[2].zero_()
    left = np.ones((3, 4))
    left[1] = left[:, 2] = 0
    np.testing.assert_array_equal(array(rows), left.astype(array(rows).dtype))


def test_fills_with_what_is_no_number():
    x = argosy.ones([3])
    assert x.fill_(argosy.to_tensor(2.5)).tolist() == [2.5] * 3
    assert x.fill_(np.float32(0.5)).tolist() == [0.5] * 3
    for wrong in ("a", None, argosy.ones([3])):
        with pytest.raises((TypeError, ValueError)):
            x.fill_(wrong)
    assert x.tolist() == [0.5] * 3
