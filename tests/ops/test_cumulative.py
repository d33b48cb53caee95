"""Running sums, products and extremes."""

import numpy as np
from tests.ops.harness import ALL, FLOAT, INT, A, Case, table_tests

X = [A(2, 3, 4)]
AXES = [{}, {"axis": 0}, {"axis": 1}, {"axis": -1}]
SHAPES = [[(1, 40, 3)], [(0, 2, 3)], [(2, 0, 3)]]
WIDE = {**{t: t for t in ALL}, **{t: "int64" for t in ALL if "int" in t or t == "bool"}}
WIDE["uint64"] = "uint64"


def running(function):
    def call(x, axis=None, dtype=None, dim=None):
        x = x if dtype is None else x.astype(dtype)
        return function(x, axis if dim is None else dim)

    return call


def running_sum(x, axis=None, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    return np.cumsum(x, axis, dtype=WIDE[str(x.dtype)])


def extreme(better):
    """Running extreme and where it was met last."""

    def call(x, axis=None, dtype="int64"):
        x = x.reshape(-1) if axis is None else x
        axis = 0 if axis is None else axis
        x = np.moveaxis(x, axis, 0)
        value, index = x.copy(), np.zeros(x.shape, dtype)
        for i in range(1, len(x)):
            new = better(x[i], value[i - 1]) | np.isnan(x[i])
            new &= ~np.isnan(value[i - 1]) | np.isnan(x[i])
            value[i] = np.where(new, x[i], value[i - 1])
            index[i] = np.where(new, i, index[i - 1])
        return np.moveaxis(value, 0, axis), np.moveaxis(index, 0, axis)

    return call


# fmt: off
CASES = [
    *[Case("cumsum", X, attrs, ref=running_sum, out=WIDE, tol=8, shapes=SHAPES) for attrs in AXES],
    Case("cumsum", X, {"axis": 0, "dtype": "float64"}, ref=running_sum, out="float64",
         dtypes=("bool", *INT, *FLOAT),
         errors=[(X, {"axis": 5}, IndexError, "out of range")]),
    Case("cumsum", [A()], ref=lambda x: x.reshape(1), dtypes=("float32", "float64")),
    Case("cumsum", [A()], {"axis": 0}, ref=lambda x, axis: x, dtypes=("float32", "float64")),
    *[Case("cumprod", X, attrs, ref=running(np.cumprod), out="same", tol=20, shapes=SHAPES)
      for attrs in ({}, {"dim": 0}, {"dim": 1}, {"dim": -1})],
    Case("cumprod", [A(2, 3)], {"dim": 1, "dtype": "float64"}, ref=running(np.cumprod),
         dtypes=("int32", "float32", "float64"), out="float64",
         errors=[(X, {"dim": 5}, IndexError, "out of range")]),
    Case("cumprod", [np.array([[1.0, 0.0, 3.0, 2.0], [0.0, 2.0, 0.0, 1.0], [2.0, 3.0, 1.0, 0.0]])],
         {"dim": 1}, ref=running(np.cumprod), dtypes=("float64",), known={0: [1]},
         covers=["cumprod_grad"], note="zeros"),
    *[Case("logcumsumexp", X, attrs, ref=running(np.logaddexp.accumulate) if attrs else
           lambda x: np.logaddexp.accumulate(x.reshape(-1)), dtypes=FLOAT, tol=8,
           shapes=SHAPES if attrs else (), covers=["logcumsumexp_grad"]) for attrs in AXES],
    Case("logcumsumexp", [A(3, low=-3, high=4)], grad=False, dtypes=INT, tol=8,
         ref=lambda x: np.logaddexp.accumulate(x.astype("float64")), note="integers"),
    Case("logcumsumexp", [np.array([-900.0, 0.0, 900.0, 899.0])], {"axis": 0},
         ref=running(np.logaddexp.accumulate), dtypes=("float64",), note="far apart"),
    *[Case(name, [A(2, 3, 4, low=-50, high=50)], attrs, ref=extreme(better), shapes=SHAPES,
           out=("same", attrs.get("dtype", "int64")),
           errors=[(X, {"dtype": "float32"}, ValueError, "expected int32 or int64"),
                   (X, {"axis": 5}, IndexError, "out of range")])
      for name, better in [("cummax", np.greater_equal), ("cummin", np.less_equal)]
      for attrs in (*AXES, {"axis": 1, "dtype": "int32"})],
    Case("cummax", [np.array([[1.0, np.nan, 5.0], [2.0, 0.0, -1.0]])], {"axis": 1}, grad=False,
         ref=extreme(np.greater_equal), dtypes=FLOAT, out=("same", "int64"), note="nan"),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)
