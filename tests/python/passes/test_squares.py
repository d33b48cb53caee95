"""squares: sums of squares without the squares, and the same bits."""

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, ops

import argosy

X = np.random.default_rng(0).standard_normal((37, 61, 5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [None, 0, [1, 2], -1])
@pytest.mark.parametrize("square", [argosy.square, lambda x: x**2, lambda x: x * x])
def test_bits(square, axis, dtype):
    with Recorded() as r:
        x = r.input(X.astype(dtype))
        x.stop_gradient = False
        y = square(x - 0.5)
        r.fetch(y.mean(axis), *r.gradients([y.mean(axis).sum()], [x]))
        r.fetch(square(x + 1).sum(axis, keepdim=True))
    clean = ["constant_folding", "algebraic", "cse", "dead_code"]
    found = ops(r.check([*clean, "squares", "dead_code"]))
    assert found.count("sum_squares") == 2 and "mean" not in found


def test_what_stays():
    """Another exponent, squares that are read, views, what is not float32 or float64."""
    with Recorded() as r:
        x = r.input(X.astype("float32"))
        y = (x + 1) ** 2
        r.fetch(y, y.mean())
        r.fetch(((x + 1) ** 3).mean(), argosy.square(argosy.transpose(x + 1, [2, 0, 1])).mean())
        r.fetch(argosy.square(argosy.cast(x, "bfloat16") + 1).mean(), argosy.square(x).sum())
    assert "sum_squares" not in ops(r.check("squares"))
