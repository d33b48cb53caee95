"""Ops that read only the form of an operand, and constants."""

import numpy as np
from tests.ops.harness import ALL, COMPLEX, FLOAT, A, Case, table_tests

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
