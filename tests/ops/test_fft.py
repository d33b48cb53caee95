"""Discrete Fourier transforms of complex numbers."""

import numpy as np
from tests.ops.harness import COMPLEX, A, Case, table_tests


def transform(x, axes, forward=True, scale=1.0):
    x = np.asarray(x)
    y = np.fft.fftn(x, axes=axes) if forward else np.fft.ifftn(x, axes=axes, norm="forward")
    return (y * scale).astype(x.dtype)


# fmt: off
CASES = [
    Case("fft_c2c", [A(2, 3, 4)], {"axes": [-1]}, ref=transform, dtypes=COMPLEX, tol=30,
         shapes=[[(0, 2, 3)], [(1, 2, 1)], [(2, 2, 37)], [(5, 5, 60)], [(3, 3, 101)], [(1, 1, 49)]],
         errors=[([A(2, 3, dtype="complex64")], {"axes": [2]}, IndexError, "out of range")]),
    Case("fft_c2c", [A(2, 3, 4)], {"axes": [0, 2], "forward": False, "scale": 0.5}, ref=transform,
         dtypes=COMPLEX, tol=30, shapes=[[(17, 5, 16)], [(6, 3, 30)]]),
]
# fmt: on
test_values, test_gradients, test_errors = table_tests(CASES)
