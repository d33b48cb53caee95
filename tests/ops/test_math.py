"""Elementwise ops of the math family."""

import numpy as np
from tests.ops.harness import COMPLEX, FLOAT, INT, A, Case, table_tests

XY = [A(2, 3), A(2, 3)]
POSITIVE = A(2, 3, low=0.5, high=3)

# fmt: off
CASES = [
    Case("add", XY, ref=lambda x, y: x | y if x.dtype == bool else x + y, elementwise=True),
    Case("subtract", XY, ref=lambda x, y: x - y, elementwise=True),
    Case("multiply", XY, ref=lambda x, y: x & y if x.dtype == bool else x * y, elementwise=True),
    Case("divide", [A(2, 3), POSITIVE], ref=lambda x, y: x / y, elementwise=True, dtypes=(*FLOAT, *COMPLEX)),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], {"rounding_mode": "floor"},
         ref=lambda x, y, rounding_mode: x // y, dtypes=("int32", "int64", *FLOAT), grad=False,
         errors=[(XY, {"rounding_mode": "up"}, ValueError, "expected None, 'floor' or 'trunc'")]),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], {"rounding_mode": "trunc"},
         ref=lambda x, y, rounding_mode: np.trunc(x / y).astype(x.dtype), grad=False,
         dtypes=("int32", "int64", *FLOAT)),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], ref=lambda x, y: x / y,
         dtypes=("bool", *INT), grad=False, inplace=False, note="integers"),
    Case("negative", [A(2, 3)], ref=lambda x: -x, elementwise=True),
    Case("conj", [A(2, 3)], ref=np.conj, elementwise=True),
    Case("cast", [A(2, 3)], {"dtype": "float64"}, ref=lambda x, dtype: x.astype(dtype),
         out="float64", dtypes=("bool", *INT, *FLOAT), elementwise=True),
    Case("cast", [A(2, 3)], {"dtype": "int64"}, ref=lambda x, dtype: x.astype(dtype), grad=False,
         dtypes=("bool", *INT, *FLOAT), elementwise=True),
    Case("scale", [A(2, 3)], {"scale": 2.5, "bias": 0.5}, dtypes=(*FLOAT, *COMPLEX),
         ref=lambda x, scale, bias: x * scale + bias, elementwise=True),
    Case("scale", [A(2, 3)], {"scale": 2.0, "bias": 1.0, "bias_after_scale": False},
         ref=lambda x, scale, bias, bias_after_scale: (x + bias) * scale, elementwise=True,
         dtypes=FLOAT),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)
