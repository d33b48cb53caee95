"""Reductions."""

import numpy as np
import pytest
import scipy.special as sp
from tests.ops.harness import ALL, COMPLEX, FLOAT, INT, A, Case, table_tests

import argosy

X = [A(2, 3, 4)]
NUMERIC = tuple(t for t in ALL if t != "bool")
# What a sum of each dtype is.
SUMS = {**{t: t for t in NUMERIC}, "bool": "int64", "int32": "int64"}
SAME = {t: t for t in ALL}
AXES = [{}, {"axis": 1}, {"axis": [0, -1], "keepdim": True}, {"axis": []}]


def axes_of(axis):
    return None if axis is None or axis == [] else tuple(np.atleast_1d(axis))


def reference(function):
    """A NumPy reduction with Paddle's arguments."""

    def call(x, axis=None, keepdim=False, **attrs):
        return np.asarray(function(x, axis=axes_of(axis), keepdims=keepdim, **attrs))

    return call


def total(x, axis=None, keepdim=False, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    return x.sum(axes_of(axis), keepdims=keepdim).astype(SUMS[str(x.dtype)])


def arg(function):
    def call(x, axis=None, keepdim=False, dtype="int64"):
        found = np.asarray(function(x, axis, keepdims=keepdim))
        return found.astype(dtype)

    return call


def variance(x, axis=None, unbiased=None, keepdim=False, correction=1):
    ddof = correction if unbiased is None else int(unbiased)
    return np.var(x.astype("float64"), axes_of(axis), ddof=ddof, keepdims=keepdim)


def deviation(x, axis=None, unbiased=True, keepdim=False):
    return np.sqrt(variance(x, axis, unbiased, keepdim))


def log_sum(x, axis=None, keepdim=False):
    return np.asarray(sp.logsumexp(x.astype("float64"), axes_of(axis), keepdims=keepdim))


def quantile(function):
    def call(x, q, axis=None, keepdim=False, interpolation="linear"):
        q = np.asarray(q).reshape([]) if np.size(q) == 1 else np.asarray(q)  # one has no dimension
        return function(x, q, axes_of(axis), method=interpolation, keepdims=keepdim)

    return call


def median(function):
    def call(x, axis=None, keepdim=False):
        return np.asarray(function(x.astype("float64"), axes_of(axis), keepdims=keepdim))

    return call


def lower(x, axis=None, keepdim=False):
    order = np.argsort(x, axis, kind="stable")
    index = np.take(order, [(x.shape[axis] - 1) // 2], axis)
    value = np.take_along_axis(x, index, axis)
    return (value, index) if keepdim else (value.squeeze(axis), index.squeeze(axis))


# Numbers of [0.5, 2), every ninth is 0.
MANY_ROWS = np.where(np.arange(76) % 9, 0.5 + np.arange(76) * 7 % 13 / 9, 0.0).reshape(19, 4)
WITH_NAN = np.array([[1.0, np.nan, 5.0, 2.0], [2.0, 0.0, -1.0, np.nan], [1.0, 2.0, 3.0, 4.0]])
EMPTY = [A(0, 3)]

# fmt: off
CASES = [
    *[Case("sum", X, attrs, ref=total, out=SUMS, tol=8, shapes=[[(0, 2, 3)], [(70, 3, 5)]])
      for attrs in AXES],
    Case("sum", [A()], ref=total, out=SUMS),
    Case("sum", [A()], {"axis": -1}, ref=lambda x, axis: x, dtypes=("float64",),
         errors=[([A()], {"axis": 1}, ValueError, "out of range"),
                 (X, {"axis": 3}, ValueError, "axis 3 is out of range"),
                 (X, {"axis": [0, 0]}, ValueError, "given twice"),
                 (X, {"axis": "a"}, TypeError, "axis")]),
    Case("sum", X, {"dtype": "float64"}, ref=total, dtypes=("bool", *INT, *FLOAT), out="float64"),
    Case("sum", X, {"dtype": "int32"}, ref=total, dtypes=("float32", "int64"), out="int32",
         grad=False),
    Case("sum", [A(3, 4)], {"axis": np.array(1)}, ref=lambda x, axis: x.sum(1), dtypes=FLOAT, tol=4,
         grad=False, modes=False, note="tensor axis"),
    *[Case("mean", X, attrs, ref=reference(np.mean), dtypes=(*FLOAT, *COMPLEX), tol=4)
      for attrs in AXES],
    Case("mean", [A(7, low=0, high=90)], ref=lambda x: np.asarray(np.trunc(x.mean())), out="same",
         dtypes=INT, grad=False, note="integers"),
    Case("mean", X, {"dtype": "float64", "axis": 0}, ref=reference(np.mean), out="float64",
         dtypes=("bool", *INT, *FLOAT)),
    *[Case("sum_squares", X, attrs, ref=reference(lambda x, **k: (x * x).sum(**k)), dtypes=FLOAT, tol=8) for attrs in AXES],
    Case("sum_squares", X, {"axis": [1], "mean": True}, ref=lambda x, axis, mean: (x * x).mean(1), dtypes=FLOAT, tol=8),
    Case("mean", EMPTY, {"axis": 0}, ref=lambda x, axis: np.full(3, np.nan), dtypes=FLOAT,
         grad=False),
    *[Case("nansum", [WITH_NAN], attrs, ref=reference(np.nansum), dtypes=FLOAT, tol=4, grad=False)
      for attrs in ({}, {"axis": 1}, {"axis": [0], "keepdim": True})],
    Case("nansum", X, {"axis": 1}, ref=total, out=SUMS, tol=8),
    *[Case("nanmean", [WITH_NAN], attrs, ref=reference(np.nanmean), dtypes=FLOAT, tol=4, grad=False)
      for attrs in ({}, {"axis": 1}, {"axis": [0], "keepdim": True})],
    Case("nanmean", X, {"axis": [1, 2]}, ref=reference(np.mean), tol=8, covers=["zero_nan"]),
    Case("nanmean", EMPTY, ref=lambda x: np.asarray(np.nan), dtypes=FLOAT, grad=False),
    Case("zero_nan", [WITH_NAN], ref=lambda x: np.nan_to_num(x), dtypes=FLOAT, grad=False,
         note="nan"),
    Case("zero_nan", X, ref=lambda x: x, elementwise=True),
    *[Case("prod", [A(2, 3, 2, low=0.5, high=3)], attrs,
           ref=lambda x, axis=None, keepdim=False: np.asarray(
               np.prod(x, axes_of(axis), keepdims=keepdim)).astype(
                   "int64" if x.dtype == bool else x.dtype),
           out={**SAME, "bool": "int64"}, tol=20, shapes=[[(0, 2, 3)]], second=True)
      for attrs in AXES],
    Case("prod", [np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])], {"axis": 1},
         ref=reference(np.prod), dtypes=("float64",), covers=["product_of_others"], note="zeros",
         known={0: [1]}),
    Case("prod", [MANY_ROWS], {"axis": 1}, ref=reference(np.prod), dtypes=("float64",), known={0: [1]},
         covers=["product_of_others"], note="many rows"),
    Case("prod", X, {"axis": 0, "dtype": "float64"}, ref=reference(np.prod), out="float64",
         dtypes=("int32", "float32", "float64")),
    *[Case(name, [A(2, 3, 4, low=-50, high=50)], attrs, ref=reference(function),
           shapes=[[(1, 40, 2)]], out="same",
           errors=[(EMPTY, {}, ValueError, "nothing to choose from"),
                   (EMPTY, {"axis": 0}, ValueError, "axis 0")])
      for name, function in [("max", np.max), ("min", np.min), ("amax", np.max), ("amin", np.min)]
      for attrs in AXES],
    Case("max", EMPTY, {"axis": 1}, ref=lambda x, axis: np.zeros(0), dtypes=FLOAT, grad=False),
    Case("max", [WITH_NAN], ref=lambda x: np.asarray(np.nan), dtypes=FLOAT, grad=False),
    *[Case(name, [A(2, 3, 4, low=-50, high=50)], attrs, ref=arg(function), strided=True,
           shapes=[[(1, 40, 2)]],
           errors=[(EMPTY, {}, ValueError, "nothing to choose from"),
                   (X, {"axis": 5}, ValueError, "out of range"),
                   (X, {"dtype": "float32"}, ValueError, "expected int32 or int64")])
      for name, function in [("argmax", np.argmax), ("argmin", np.argmin)]
      for attrs in ({}, {"axis": 1}, {"axis": -1, "keepdim": True}, {"keepdim": True},
                    {"axis": 0, "dtype": "int32"})],
    Case("argmax", [A()], ref=lambda x: np.asarray(0), dtypes=("float32",), grad=False),
    *[Case(name, [A(2, 3, 4, low=-1, high=1.1)], attrs, ref=reference(function),
           shapes=[[(0, 2, 3)]])
      for name, function in [("any", np.any), ("all", np.all)] for attrs in AXES],
    *[Case("count_nonzero", X, attrs, ref=lambda x, axis=None, keepdim=False: np.asarray(
        (x != 0).sum(axes_of(axis), keepdims=keepdim))) for attrs in AXES],
    *[Case("var", X, attrs, ref=variance, tol=20) for attrs in (
        {}, {"axis": 1}, {"axis": [0, 2], "unbiased": False, "keepdim": True},
        {"axis": -1, "correction": 0}, {"axis": [], "correction": 2})],
    Case("var", [A(1)], ref=lambda x: np.asarray(np.nan), dtypes=FLOAT, grad=False),
    *[Case("std", X, attrs, ref=deviation, tol=20) for attrs in (
        {}, {"axis": 1}, {"axis": [0, 2], "unbiased": False, "keepdim": True})],
    *[Case("logsumexp", X, attrs, ref=log_sum, tol=8, shapes=[[(2, 50, 3)]]) for attrs in AXES],
    Case("logsumexp", [np.array([1000.0, 1000.0, -1000.0])], ref=log_sum, dtypes=("float64",)),
    Case("logsumexp", [A(0, 3)], {"axis": 0}, ref=lambda x, axis: np.full(3, -np.inf),
         dtypes=FLOAT, grad=False),
    Case("reduce_as", [A(2, 3, 4), A(3, 1, dtype="float32", grad=False)], tol=8, out=SUMS,
         ref=lambda x, t: x.sum(0).sum(1, keepdims=True).astype(SUMS[str(x.dtype)]),
         errors=[([A(2, 3), A(3, 2)], {}, ValueError, "does not broadcast")]),
    Case("size_of", [A(2, 3, 4)], {"axis": [0, 2], "dtype": "float64", "minus": 1.0}, out="float64",
         ref=lambda x, axis, dtype, minus: np.asarray(7.0), grad=False),
    # order statistics
    *[Case(name, [A(3, 4, 5)], attrs, ref=quantile(function), tol=4, dtypes=("float32", "float64"),
           covers=["quantile_positions"])
      for name, function in [(argosy.quantile, np.quantile), (argosy.nanquantile, np.nanquantile)]
      for attrs in ({"q": 0.3}, {"q": [0.0, 0.25, 1.0], "axis": 1},
                    {"q": [0.5], "axis": [0, 2], "keepdim": True},
                    *[{"q": 0.3, "axis": 1, "interpolation": way}
                      for way in ("lower", "higher", "nearest", "midpoint")])],
    Case("quantile", [WITH_NAN], {"q": [0.4], "axis": 1}, dtypes=FLOAT, grad=False,
         ref=lambda x, q, axis: np.quantile(x, 0.4, 1), tol=4,
         errors=[(X, {"q": [1.5]}, ValueError, "must be in [0, 1]"),
                 (X, {"q": []}, ValueError, "q is empty"),
                 (X, {"q": [0.5], "interpolation": "x"}, ValueError, "'linear', 'lower'"),
                 (X, {"q": [0.5], "axis": 3}, ValueError, "out of range")]),
    Case("nanquantile", [WITH_NAN], {"q": [0.4], "axis": 1}, dtypes=FLOAT, grad=False, tol=4,
         ref=lambda x, q, axis: np.nanquantile(x, 0.4, 1)),
    *[Case(name, [A(3, 4, 5)], attrs, ref=median(function), dtypes=("int32", "float32", "float64"),
           tol=4)
      for name, function in [("median", np.median), ("nanmedian", np.nanmedian)]
      for attrs in ({}, {"axis": 1}, {"axis": [0, 2], "keepdim": True})],
    Case("median", [WITH_NAN], {"axis": 1}, ref=median(np.median), dtypes=FLOAT, grad=False, tol=4,
         out={"float16": "float32", "bfloat16": "float32"}),
    Case("nanmedian", [WITH_NAN], {"axis": 0}, ref=median(np.nanmedian), dtypes=("float32",),
         grad=False, tol=4),
    Case("median", [A()], ref=lambda x: x, dtypes=("float64",)),
    Case("median", [A(0, 3)], ref=lambda x: np.asarray(np.nan), dtypes=("float32", "float64")),
    Case("median", [A(2, 0, 3)], {"axis": 1}, ref=lambda x, axis: np.full((2, 3), np.nan),
         dtypes=("float64",)),
    Case("rows_or_nan", [A(2, 3)], ref=lambda x: x, dtypes=FLOAT),
    Case("rows_or_nan", [A(2, 0)], ref=lambda x: np.full((2, 1), np.nan), dtypes=FLOAT,
         note="empty"),
    Case("median_lower", [A(3, 4, low=-99, high=99)], {"axis": 1}, ref=lower, out=("same", "int64"),
         dtypes=("int64", *FLOAT)),
    Case("nanmedian_lower", [WITH_NAN], {"axis": 1}, grad=False, dtypes=FLOAT,
         ref=lambda x, axis: (np.array([2.0, 0.0, 2.0]), np.array([3, 1, 1]))),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


def test_equal_extremes_share_the_gradient():
    x = argosy.to_tensor([[1.0, 5.0, 5.0], [2.0, 0.0, -1.0]])
    x.stop_gradient = False
    for reduce in (argosy.max, argosy.amax):
        (dx,) = argosy.grad(reduce(x), [x])
        np.testing.assert_array_equal(dx.numpy(), [[0, 0.5, 0.5], [0, 0, 0]])


def test_median_gives_the_index_for_one_axis_only():
    x = argosy.to_tensor([[1.0, 5.0, 5.0], [2.0, 0.0, -1.0]])
    assert float(argosy.median(x, mode="min")) == 1
    value, index = argosy.median(x, 1, mode="min")
    assert value.tolist() == [5, 0] and index.tolist() == [1, 1]
    assert argosy.nanmedian(x, [0, 1], mode="min").shape == []
    with pytest.raises(ValueError, match="mode: expected one of avg, min"):
        argosy.median(x, mode="max")


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "any", "argmax", "logsumexp", "var"])
def test_torch_style_names(name):
    x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    want = getattr(argosy, name)(x, axis=0)
    assert getattr(argosy, name)(input=x, dim=0).tolist() == want.tolist()
    assert getattr(x, name)(dim=0).tolist() == want.tolist()
