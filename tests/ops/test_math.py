"""Elementwise ops of the math family."""

import numpy as np
import pytest
import scipy.special as sp
from tests.ops.arrays import array, tensor
from tests.ops.harness import ALL, COMPLEX, FLOAT, INT, SIGNED, A, Case, table_tests

import argosy

XY = [A(2, 3), A(2, 3)]
X = [A(2, 3)]
POSITIVE = A(2, 3, low=0.5, high=3)
STEPS = [A(2, 3, low=-4, high=4, away=0.1)]
NUMERIC = tuple(t for t in ALL if t != "bool")
FUNCTION = (*INT, *FLOAT, *COMPLEX)
REAL = (*INT, *FLOAT)
UNLIKE = [A(2, 3), A(2, 3, low=-9, high=9)]  # operands that are hardly ever equal
WIDE = [A(2, 3, low=-20, high=20), A(2, 3, low=1, high=7)]


def widened(function):
    """function of float64 copies of integer operands, which NumPy would give narrow floats."""
    return lambda *args: function(
        *[x.astype("float64") if x.dtype.kind in "iu" else x for x in args]
    )


# fmt: off
ARITHMETIC = [
    Case("add", XY, ref=lambda x, y: x | y if x.dtype == bool else x + y, elementwise=True,
         errors=[([A(2, 3), A(2, 4)], {}, ValueError, "broadcast"),
                 ([A(2), A(2, dtype="int64")], {}, TypeError, "do not mix"),
                 ([A(2), "a"], {}, TypeError, "expected a Tensor")]),
    Case("add", XY, {"alpha": 3}, ref=lambda x, y, alpha: x + alpha * y, elementwise=True,
         dtypes=("int32", "int64", *FLOAT), tol=2,
         errors=[([A(2, dtype="int32"), A(2, dtype="int32")], {"alpha": 0.5}, TypeError, "whole")]),
    Case("subtract", XY, ref=lambda x, y: x - y, elementwise=True),
    Case("subtract", XY, {"alpha": 2}, ref=lambda x, y, alpha: x - alpha * y, dtypes=FLOAT, tol=2),
    Case("multiply", XY, ref=lambda x, y: x & y if x.dtype == bool else x * y, elementwise=True),
    Case("divide", [A(2, 3), POSITIVE], ref=lambda x, y: x / y, elementwise=True,
         dtypes=(*FLOAT, *COMPLEX)),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], {"rounding_mode": "floor"},
         ref=lambda x, y, rounding_mode: x // y, dtypes=("int32", "int64", *FLOAT), grad=False,
         errors=[(XY, {"rounding_mode": "up"}, ValueError, "expected None, 'floor' or 'trunc'")]),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], {"rounding_mode": "trunc"},
         ref=lambda x, y, rounding_mode: np.trunc(x / y).astype(x.dtype), grad=False,
         dtypes=("int32", "int64", *FLOAT)),
    Case("divide", [A(2, 3, high=9), A(2, 3, low=1, high=5)], ref=lambda x, y: x / y,
         dtypes=("bool", *INT), grad=False, inplace=False, note="integers"),
    Case("negative", X, ref=lambda x: -x, elementwise=True),
    Case("conj", X, ref=np.conj, elementwise=True),
    Case("cast", X, {"dtype": "float64"}, ref=lambda x, dtype: x.astype(dtype),
         out="float64", dtypes=("bool", *INT, *FLOAT), elementwise=True),
    Case("cast", X, {"dtype": "int64"}, ref=lambda x, dtype: x.astype(dtype), grad=False,
         dtypes=("bool", *INT, *FLOAT), elementwise=True),
    Case("scale", X, {"scale": 2.5, "bias": 0.5}, dtypes=(*FLOAT, *COMPLEX),
         ref=lambda x, scale, bias: x * scale + bias, elementwise=True),
    Case("scale", X, {"scale": 2.0, "bias": 1.0, "bias_after_scale": False}, dtypes=FLOAT,
         ref=lambda x, scale, bias, bias_after_scale: (x + bias) * scale, elementwise=True),
    Case("pow", [POSITIVE, A(2, 3)], ref=lambda x, y: x ** y, dtypes=(*FLOAT, *COMPLEX),
         elementwise=True, tol=4),
    Case("pow", [A(2, 3, low=-3, high=4), A(2, 3, low=0, high=4)], ref=lambda x, y: x ** y,
         dtypes=INT, elementwise=True, grad=False),
    *[Case("pow", [POSITIVE, e], ref=lambda x, y: x ** y, dtypes=FLOAT, tol=4, note=f"to {e}")
      for e in (2, 3, 4, 5, 6, 0.5, -0.5, -1, 0, 1, 2.5, -2, -3, -4)],
    Case("pow", [A(2, 3, low=-3), 2], ref=lambda x, y: x ** y, dtypes=SIGNED, grad=False,
         note="integers to 2"),
    *[Case("pow", [A(2, 3, low=-3, high=4), e], ref=lambda x, y: x ** y, dtypes=INT, grad=False,
           note=f"integers to {e}") for e in (3, 4, 5)],
    Case("maximum", UNLIKE, ref=np.maximum, elementwise=True),
    Case("minimum", UNLIKE, ref=np.minimum, elementwise=True),
    Case("fmax", UNLIKE, ref=np.fmax, elementwise=True),
    Case("fmin", UNLIKE, ref=np.fmin, elementwise=True),
    Case("fmax", [np.array([1.0, np.nan, np.nan]), np.array([np.nan, 2.0, np.nan])], ref=np.fmax,
         dtypes=FLOAT, grad=False, note="nan"),
    Case("maximum", [np.array([1.0, np.nan, np.nan]), np.array([np.nan, 2.0, np.nan])],
         ref=np.maximum, dtypes=FLOAT, grad=False, note="nan"),
    Case("floor_divide", WIDE, ref=lambda x, y: x // y, elementwise=True,
         errors=[([np.array([1]), np.array([0])], {}, ValueError, "division by zero")]),
    Case("floor_divide", [np.array([1.0, -1.0, 0.0]), np.zeros(3)], grad=False, dtypes=FLOAT,
         ref=lambda x, y: np.array([np.inf, -np.inf, np.nan]), note="by zero"),
    Case("remainder", WIDE, ref=lambda x, y: x % y, elementwise=True, tol=8,
         errors=[([np.array([1]), np.array([0])], {}, ValueError, "division by zero")]),
    Case("remainder", [np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])],
         ref=lambda x, y: x % y, dtypes=("int64",), grad=False, note="signs"),
    Case("gcd", [A(2, 3, low=-30, high=30), A(2, 3, low=-30, high=30)], ref=np.gcd,
         elementwise=True),
    Case("lcm", [A(2, 3, low=-9, high=9), A(2, 3, low=-9, high=9)], ref=np.lcm, elementwise=True),
    Case("atan2", XY, ref=widened(np.arctan2), elementwise=True, tol=4,
         out={t: "float64" for t in INT}),
    Case("hypot", XY, ref=widened(np.hypot), elementwise=True, tol=4),
    Case("logaddexp", XY, ref=widened(np.logaddexp), elementwise=True, tol=4),
    Case("copysign", [A(2, 3, low=0.5), A(2, 3, low=-3, high=-1)], ref=np.copysign,
         elementwise=True, dtypes=FLOAT),
    Case("copysign", XY, ref=lambda x, y: np.copysign(x, y).astype(x.dtype), dtypes=SIGNED,
         grad=False),
    Case("nextafter", XY, grad=False, elementwise=True,
         ref=lambda x, y: np.nextafter(x, y)),
    Case("heaviside", [A(2, 3, low=-3, high=3), A(2, 3)], elementwise=True,
         ref=lambda x, y: np.heaviside(x, y).astype(x.dtype)),
    Case("heaviside", [np.array([-1.0, 0.0, 2.0]), A(3)], dtypes=FLOAT, ref=np.heaviside,
         grad=False, note="at 0"),
    Case("ldexp", [A(2, 3), A(2, 3, low=-3, high=4, dtype="int32")], ref=np.ldexp, dtypes=FLOAT,
         out={"float16": "float32", "bfloat16": "float32"}, inplace=False),
    Case("ldexp", [A(2, 3), A(2, 3)], ref=lambda x, y: x * 2.0 ** y, dtypes=("float64",),
         elementwise=True, tol=4),
    Case("lerp", [A(2, 3), A(2, 3), A(2, 3)], ref=lambda x, y, w: x + w * (y - x),
         elementwise=True, tol=2),
    Case("lerp", [A(2, 3), A(2, 3), 0.25], ref=lambda x, y, w: x + w * (y - x), tol=2,
         note="number"),
]

TESTS_OF_VALUES = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan])
COMPARISON = [
    *[Case(name, [A(2, 3, high=3), A(2, 3, high=3)], ref=function, elementwise=True, grad=False,
           inplace=False)
      for name, function in [
          ("equal", np.equal), ("not_equal", np.not_equal), ("less_than", np.less),
          ("less_equal", np.less_equal), ("greater_than", np.greater),
          ("greater_equal", np.greater_equal), ("logical_and", np.logical_and),
          ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)]],
    Case("equal", [np.array([1, 2]), 1.5], ref=np.equal, grad=False, note="number",
         dtypes=("int64",), inplace=False),
    Case("logical_not", X, ref=np.logical_not, elementwise=True, grad=False, inplace=False),
    *[Case(name, [TESTS_OF_VALUES], ref=function, dtypes=FLOAT, grad=False)
      for name, function in [
          ("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite),
          ("isposinf", np.isposinf), ("isneginf", np.isneginf), ("signbit", np.signbit)]],
    *[Case(name, X, ref=function, elementwise=True, grad=False)
      for name, function in [
          ("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite),
          ("signbit", np.signbit), ("isreal", np.isreal)]],
    Case("isposinf", X, ref=np.isposinf, grad=False, elementwise=True),
    Case("isneginf", X, ref=np.isneginf, grad=False, elementwise=True),
    Case("isclose", XY, ref=np.isclose, grad=False, elementwise=True),
    Case("isclose", [np.array([np.inf, 1.0, np.nan, 1.0]), np.array([np.inf, 1.5, np.nan, np.inf])],
         {"rtol": 0.4, "equal_nan": True}, ref=np.isclose, grad=False, dtypes=("float32",)),
    Case("allclose", [A(2, 3), A(2, 3)], ref=lambda x, y: np.asarray(np.allclose(x, y)),
         grad=False, shapes=[[(), ()], [(0,), (0,)], [(2, 1), (3,)]]),
    Case("equal_all", [A(2, 3), A(2, 3)], ref=lambda x, y: np.asarray(np.array_equal(x, y)),
         grad=False, shapes=[[(), ()], [(0,), (0,)], [(2,), (3,)], [(1,), (1, 1)]]),
    Case("equal_all", [np.arange(4.0), np.arange(4.0)],
         ref=lambda x, y: np.asarray(True), grad=False, dtypes=("float32",), note="same"),
    *[Case(name, [A(2, 3, low=-9, high=9), A(2, 3, low=-9, high=9)], ref=function, grad=False,
           elementwise=True)
      for name, function in [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                             ("bitwise_xor", np.bitwise_xor)]],
    Case("bitwise_and", XY, dtypes=(), grad=False, note="errors",
         errors=[(XY, {}, TypeError, "unsupported dtype")]),
    Case("bitwise_not", [A(2, 3, low=-9, high=9)], ref=np.invert, elementwise=True, grad=False),
    Case("bitwise_left_shift", [A(2, 3, low=-9, high=9), A(2, 3, low=0, high=4)],
         ref=lambda x, y: np.left_shift(x, y), elementwise=True, grad=False),
    Case("bitwise_right_shift", [A(2, 3, low=-99, high=99), A(2, 3, low=0, high=4)],
         ref=lambda x, y: np.right_shift(x, y), elementwise=True, grad=False),
    Case("bitwise_right_shift", [np.array([-8, 8], "int32"), np.array([1, 1], "int32")],
         {"is_arithmetic": False}, grad=False, dtypes=("int32",),
         ref=lambda x, y, is_arithmetic: (x.view("uint32") >> y.view("uint32")).view("int32")),
    Case("bitwise_left_shift", [np.array([1, 1]), np.array([64, 70])], dtypes=("int64",),
         ref=lambda x, y: np.zeros_like(x), grad=False, note="beyond the width"),
]

UNIT = A(2, 3, low=-0.9, high=0.9)
FUNCTIONS = [
    *[Case(name, [operand], ref=function, elementwise=True, tol=tol, dtypes=(*FLOAT, *COMPLEX),
           covers=covers)
      for name, operand, function, tol, covers in [
          ("sqrt", POSITIVE, np.sqrt, 2, ["sqrt_grad"]),
          ("rsqrt", POSITIVE, lambda x: 1 / np.sqrt(x), 4, ["rsqrt_grad"]),
          ("reciprocal", POSITIVE, lambda x: 1 / x, 2, ["reciprocal_grad"]),
          ("exp", X[0], np.exp, 2, []), ("expm1", X[0], np.expm1, 4, []),
          ("log", POSITIVE, np.log, 2, ["log_grad"]), ("log2", POSITIVE, np.log2, 2, []),
          ("log10", POSITIVE, np.log10, 2, []), ("log1p", POSITIVE, np.log1p, 4, []),
          ("sin", X[0], np.sin, 2, []), ("cos", X[0], np.cos, 2, []),
          ("tan", UNIT, np.tan, 4, []), ("asin", UNIT, np.arcsin, 4, []),
          ("acos", UNIT, np.arccos, 4, []), ("atan", X[0], np.arctan, 4, []),
          ("sinh", X[0], np.sinh, 4, []), ("cosh", X[0], np.cosh, 4, []),
          ("tanh", X[0], np.tanh, 4, ["tanh_grad"]), ("asinh", X[0], np.arcsinh, 8, []),
          ("atanh", UNIT, np.arctanh, 8, []),
          ("sigmoid", X[0], lambda x: 1 / (1 + np.exp(-x)), 2, ["sigmoid_grad"])]],
    Case("acosh", [A(2, 3, low=1.2, high=4)], ref=np.arccosh, elementwise=True, tol=8,
         dtypes=(*FLOAT, *COMPLEX)),
    *[Case(name, [A(2, 3, low=low, high=high)], ref=lambda x, f=function: f(x.astype("float64")),
           elementwise=True, dtypes=INT, grad=False, inplace=False, tol=4, note="integers")
      for name, low, high, function in [
          ("sqrt", 1, 9, np.sqrt), ("exp", -2, 3, np.exp), ("log", 1, 9, np.log),
          ("sin", -3, 3, np.sin), ("tanh", -2, 3, np.tanh), ("erf", -2, 3, sp.erf),
          ("lgamma", 1, 9, sp.gammaln), ("atan", -3, 3, np.arctan), ("i0", 0, 3, sp.i0),
          ("rsqrt", 1, 9, lambda x: x ** -0.5), ("log1p", 0, 9, np.log1p),
          ("reciprocal", 1, 9, lambda x: 1 / x), ("stanh", -2, 3, lambda x:
                                                   1.7159 * np.tanh(0.67 * x))]],
    Case("square", X, ref=np.square, elementwise=True, covers=["square_grad"], tol=2),
    Case("deg2rad", [A(2, 3, low=-180, high=180)], ref=np.deg2rad, elementwise=True, dtypes=FLOAT),
    Case("rad2deg", X, ref=np.rad2deg, elementwise=True, dtypes=FLOAT, tol=2),
    Case("stanh", X, {"scale_a": 0.5, "scale_b": 2.0}, elementwise=True, dtypes=FLOAT, tol=4,
         ref=lambda x, scale_a, scale_b: scale_b * np.tanh(scale_a * x)),
    Case("ceil", STEPS, ref=np.ceil, elementwise=True),
    Case("floor", STEPS, ref=np.floor, elementwise=True),
    Case("trunc", STEPS, ref=np.trunc, elementwise=True),
    Case("round", STEPS, ref=np.round, elementwise=True, dtypes=REAL),
    Case("round", [np.array([0.5, 1.5, 2.5, -0.5])], ref=np.round, dtypes=FLOAT, grad=False),
    Case("round", [A(2, 3, low=-9, high=9)], {"decimals": 1}, ref=np.round, grad=False,
         dtypes=("float32", "float64")),
    Case("round", [np.array([125.0, 135.0, -4.0])], {"decimals": -1}, ref=np.round, grad=False,
         dtypes=("float32", "float64")),
    Case("frac", STEPS, elementwise=True, tol=8,
         ref=lambda x: (x - np.trunc(x)).astype(x.dtype)),
    Case("sign", STEPS, ref=np.sign, elementwise=True),
    Case("sgn", STEPS, ref=np.sign, elementwise=True),
    Case("abs", STEPS, ref=np.abs, elementwise=True, covers=["abs_grad"], inplace=False),
    Case("abs", STEPS, ref=np.abs, dtypes=FLOAT, note="in place"),
    Case("erf", X, ref=sp.erf, elementwise=True, dtypes=FLOAT, tol=4),
    Case("erfinv", [UNIT], ref=sp.erfinv, elementwise=True, dtypes=FLOAT, tol=4),
    Case("lgamma", [POSITIVE], ref=sp.gammaln, elementwise=True, dtypes=FLOAT, tol=4),
    Case("digamma", [POSITIVE], ref=sp.digamma, elementwise=True, dtypes=FLOAT, tol=8),
    *[Case("polygamma", [A(2, 3, low=0.5, high=9)], {"n": n}, elementwise=True, dtypes=FLOAT,
           ref=lambda x, n: sp.polygamma(n, x), tol=20) for n in (0, 1, 2, 5)],
    Case("polygamma", [np.array([-1.5, 2.5, -2.5])], {"n": 1}, dtypes=("float64",),
         ref=lambda x, n: (sp.digamma(x + 1e-5) - sp.digamma(x - 1e-5)) / 2e-5, tol=1e4,
         errors=[(X, {"n": -1}, ValueError, "must not be negative")]),
    Case("multigammaln", [A(2, 3, low=3, high=6)], {"p": 3}, elementwise=True, dtypes=FLOAT,
         ref=lambda x, p: np.vectorize(lambda v: sp.multigammaln(v, p), otypes=[float])(x), tol=8,
         errors=[(X, {"p": 0}, ValueError, "at least 1")]),
    Case("gammainc", [A(2, 3, low=0.5, high=5, grad=False), A(2, 3, low=0.2, high=9)],
         ref=sp.gammainc, elementwise=True, tol=20),
    Case("gammaincc", [A(2, 3, low=0.5, high=5, grad=False), A(2, 3, low=0.2, high=9)],
         ref=sp.gammaincc, elementwise=True, tol=20),
    Case("i0", X, ref=sp.i0, elementwise=True, dtypes=FLOAT, tol=8),
    Case("i0e", X, ref=sp.i0e, elementwise=True, dtypes=FLOAT, tol=8),
    Case("i1", X, ref=sp.i1, elementwise=True, dtypes=FLOAT, tol=8),
    Case("i1e", X, ref=sp.i1e, elementwise=True, dtypes=FLOAT, tol=8),
    Case("i1", [np.zeros(2)], ref=sp.i1, dtypes=("float64",), note="at 0"),
    Case("logit", [A(2, 3, low=0.1, high=0.9)], ref=sp.logit, elementwise=True, dtypes=FLOAT, tol=8),
    Case("logit", [A(2, 3, low=-1, high=2)], {"eps": 0.2}, dtypes=FLOAT, tol=8,
         ref=lambda x, eps: sp.logit(np.clip(x, eps, 1 - eps))),
    Case("sinc", X, ref=np.sinc, elementwise=True, tol=8),
    Case("sinc", X, ref=np.sinc, tol=8, dtypes=COMPLEX, note="complex"),
    Case("sinc", [np.array([0.0, 1.0])], ref=np.sinc, dtypes=("float64",), tol=1000,
         note="at 0"),
]

LIMITS = [
    Case("clip", [A(2, 3)], {"min": -0.5, "max": 0.75}, elementwise=True, dtypes=FLOAT,
         ref=lambda x, min, max: np.clip(x, min, max), covers=["clip_grad"],
         errors=[(X, {"min": 2, "max": 1}, ValueError, "min must not be above max")]),
    Case("clip", [A(2, 3, low=-5, high=5)], {"min": -1, "max": 2}, dtypes=SIGNED,
         ref=lambda x, min, max: np.clip(x, min, max), grad=False),
    Case("clip", [A(2, 3, low=-5, high=5)], {"min": -1.5}, dtypes=INT, inplace=False,
         ref=lambda x, min: np.maximum(x, min), grad=False),
    Case("clip", [A(2, 3)], {"max": 0.5}, dtypes=FLOAT, ref=lambda x, max: np.minimum(x, max)),
    Case("nan_to_num", [A(2, 3)], ref=np.nan_to_num, elementwise=True),
    Case("nan_to_num", [np.array([np.nan, np.inf, -np.inf, 1.0])],
         {"nan": 1.0, "posinf": 2.0, "neginf": -3.0}, ref=np.nan_to_num, dtypes=FLOAT, grad=False),
    Case("nan_to_num", [np.array([np.inf, -np.inf])], dtypes=("float32",), grad=False,
         ref=lambda x: np.array([1, -1]) * float(np.finfo("float32").max)),
    Case("frexp", [A(2, 3, low=0.3, high=9)], ref=lambda x: (np.frexp(x)[0], np.frexp(x)[1] * 1.0),
         elementwise=True),
    Case("frexp", [np.array([0.0, 8.0, -3.0])], dtypes=("float32",), grad=False,
         ref=lambda x: (np.array([0, 0.5, -0.75]), np.array([0.0, 4, 2]))),
]

COMPLEX_PARTS = [
    Case("real", X, ref=np.real, elementwise=True),
    Case("imag", X, ref=np.imag, elementwise=True),
    Case("angle", [A(2, 3, low=0.2, high=3)], ref=np.angle, elementwise=True, tol=4),
    Case("angle", [np.array([-1.0, 0.0, 2.0])], ref=np.angle, dtypes=FLOAT, grad=False, tol=4),
    Case("complex", XY, ref=lambda x, y: x + 1j * y, elementwise=True),
    Case("polar", [POSITIVE, A(2, 3)], ref=lambda r, a: r * np.exp(1j * a), elementwise=True, tol=4),
    Case("as_complex", [A(2, 3, 2)], ref=lambda x: x[..., 0] + 1j * x[..., 1],
         shapes=[[(2,)], [(0, 2)]],
         errors=[([A(2, 3)], {}, ValueError, "expected size 2")]),
    Case("as_real", X, ref=lambda x: np.stack([x.real, x.imag], -1), shapes=[[()], [(0, 3)]],
         dtypes=COMPLEX),
]


def trapezoid(y, x=None, dx=None, axis=-1):
    return np.trapezoid(y, x, 1.0 if dx is None else dx, axis)


def cumulative(y, x=None, dx=None, axis=-1):
    from scipy.integrate import cumulative_trapezoid

    return cumulative_trapezoid(y, x, 1.0 if dx is None else dx, axis)


def renorm(x, p, axis, max_norm):
    others = tuple(d for d in range(x.ndim) if d != axis % x.ndim)
    norm = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return x * np.where(norm > max_norm, max_norm / norm, 1)


COMBINED = [
    Case("add_n", [[A(2, 3), A(2, 3), A(2, 3)]], ref=lambda xs: xs[0] + xs[1] + xs[2], tol=2,
         shapes=[[()] * 3, [(0, 2)] * 3],
         errors=[([[]], {}, ValueError, "nothing to add"),
                 ([[A(2), A(3)]], {}, ValueError, "one shape and dtype"),
                 ([[A(2), A()]], {}, ValueError, "one shape and dtype")]),
    Case("add_n", [[A(), A(1), A()]], ref=lambda xs: xs[0] + xs[1] + xs[2], tol=2),
    Case("multiplex", [[A(3, 2), A(3, 2)], np.array([[1], [0], [1]], "int32")],
         ref=lambda xs, i: np.stack([xs[k][r] for r, k in enumerate(i[:, 0])]),
         errors=[([[A(3, 2)], np.zeros((3, 1), "int32")], {}, ValueError, "at least two"),
                 ([[A(1, 2), A(1, 2)], np.full((1, 1), 5)], {}, ValueError, "out of range"),
                 ([[A(3, 2), A(3, 2)], np.zeros(3, "int32")], {}, ValueError, "[rows, 1]")]),
    Case("diff", [A(2, 5)], ref=lambda x: np.diff(x), dtypes=("bool", *FUNCTION), tol=2),
    Case("diff", [A(2, 5, 2)], {"n": 2, "axis": 1}, ref=lambda x, n, axis: np.diff(x, n, axis),
         dtypes=FLOAT, tol=4, errors=[([A()], {}, ValueError, "at least 1 dimension")]),
    Case("diff", [A(2, 3), A(2, 1), A(2, 2)], dtypes=FLOAT, tol=2,
         ref=lambda x, before, after: np.diff(x, prepend=before, append=after), note="edges"),
    Case("trapezoid", [A(2, 5)], {"dx": 0.5}, ref=trapezoid, tol=4),
    Case("trapezoid", [A(2, 5, 3), A(5, low=0, high=9)], {"axis": 1}, ref=trapezoid, tol=8,
         dtypes=("float32", "float64"),
         errors=[([A(5), A(5)], {"dx": 1.0}, ValueError, "both x and dx")]),
    Case("trapezoid", [A(2, 5), A(2, 5)], ref=trapezoid, tol=8, dtypes=("float32", "float64"),
         note="positions"),
    Case("cumulative_trapezoid", [A(2, 5)], ref=cumulative, tol=4),
    Case("cumulative_trapezoid", [A(5, 2), A(5)], {"axis": 0}, ref=cumulative, tol=8,
         dtypes=("float32", "float64")),
    Case("vander", [A(4)], ref=np.vander, tol=4, out="same"),
    Case("vander", [A(4)], {"n": 3, "increasing": True}, dtypes=("int64", "float64"),
         ref=lambda x, n, increasing: np.vander(x, n, increasing),
         errors=[([A(2, 2)], {}, ValueError, "1 dimension"),
                 ([A(2)], {"n": -1}, ValueError, "must not be negative")]),
    Case("vander", [A(4)], {"n": 0}, ref=lambda x, n: np.zeros((4, 0)), dtypes=("float32",),
         grad=False),
    Case("renorm", [A(3, 4, low=0.2)], {"p": 2.0, "axis": 0, "max_norm": 1.5}, ref=renorm, tol=8),
    Case("renorm", [A(2, 3, 4)], {"p": 3.0, "axis": -1, "max_norm": 1.0}, ref=renorm, tol=8,
         dtypes=("float32", "float64"),
         errors=[(X, {"p": 2.0, "axis": 5, "max_norm": 1.0}, ValueError, "out of range")]),
]
# fmt: on


CASES = [*ARITHMETIC, *COMPARISON, *FUNCTIONS, *LIMITS, *COMPLEX_PARTS, *COMBINED]

test_values, test_gradients, test_errors = table_tests(CASES)


@pytest.mark.parametrize("dtype", INT)
def test_divisions_of_integers_are_exact_for_all_sizes(dtype):
    rng = np.random.RandomState(1)
    info = np.iinfo(dtype)
    special = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
    if info.bits == 64:
        special += [2**52, 2**52 - 1, 2**52 + 1, 2**53 + 1, 3 * 2**50, 2**62 + 1]
        special += [-(2**52), -(2**52) - 1] if info.min else []
    special = np.array(special + ([-1, -2, -3] if info.min else []), dtype)
    bits = rng.randint(1, info.bits, 3000)
    random = (rng.randint(0, 2**62, 3000) >> (62 - np.minimum(bits, 61))) & int(info.max >> 1)
    random = random.astype(dtype) * rng.choice([1, -1] if info.min else [1], 3000).astype(dtype)
    a = np.concatenate([np.repeat(special, len(special)), random])
    b = np.concatenate([np.tile(special, len(special)), rng.permutation(random)])
    # One number that needs care sends its block another way: blocks with and without such.
    plain = (np.abs(a.astype("float64")) < 2**51) & (np.abs(b.astype("float64")) < 2**51) & (b != 0)
    plain &= b != -1 if info.min else plain
    for chosen in (b != 0, plain):
        p, d = [int(v) for v in a[chosen]], [int(v) for v in b[chosen]]
        x, y = tensor(a[chosen]), tensor(b[chosen])

        def wrapped(values):
            values = [(v - info.min) % 2**info.bits + info.min for v in values]
            return np.array(values, object).astype(dtype)

        def rest(n, m):
            return abs(n) % abs(m) * (-1 if n < 0 else 1)

        for op, want in (
            (argosy.floor_divide, [n // m for n, m in zip(p, d)]),
            (argosy.remainder, [n % m for n, m in zip(p, d)]),
            (
                lambda x, y: argosy.divide(x, y, rounding_mode="trunc"),
                [(n - rest(n, m)) // m for n, m in zip(p, d)],
            ),
        ):
            np.testing.assert_array_equal(array(op(x, y)), wrapped(want), err_msg=str(op))
    with pytest.raises(ValueError, match="integer division by zero"):
        argosy.floor_divide(tensor(np.ones(600, dtype)), tensor(np.arange(600).astype(dtype)))
    with pytest.raises(
        ValueError, match="integer division by zero"
    ):  # by blocks, as elements lie apart
        divisors = tensor(np.arange(1200).reshape(600, 2).astype(dtype))
        argosy.floor_divide(tensor(np.ones((600, 2), dtype))[:, 0], divisors[:, 0])


def test_remainders_of_float32_are_exact():
    rng = np.random.RandomState(0)
    a, b = (
        (rng.uniform(-1, 1, 4000) * 2.0 ** rng.randint(-30, 31, 4000)).astype("float32")
        for _ in range(2)
    )
    a[:50] = b[:50] * np.arange(1, 51, dtype="float32")  # whole quotients
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 1e-45, 3e38], "float32")
    a = np.concatenate([a, np.repeat(special, len(special))])
    b = np.concatenate([b, np.tile(special, len(special))])
    x, y = argosy.to_tensor(a), argosy.to_tensor(b)
    wide = a.astype("float64"), b.astype("float64")
    with np.errstate(all="ignore"):
        fmod = np.fmod(*wide).astype("float32")
        turned = (fmod != 0) & ((b < 0) != (fmod < 0))
        want = np.where(turned, fmod + b, fmod)
    np.testing.assert_array_equal(argosy.remainder(x, y).numpy(), want)


def test_erfinv_up_to_one():
    x = np.concatenate([np.linspace(-1, 1, 2001), 1 - 2.0 ** -np.arange(1, 25)]).astype("float32")
    got = argosy.erfinv(argosy.to_tensor(x)).numpy()
    inside = np.abs(x) < 1
    back = sp.erf(got[inside].astype("float64"))
    np.testing.assert_allclose(back, x[inside], rtol=3e-7, atol=1e-9)
    want = argosy.erfinv(argosy.to_tensor(x.astype("float64"))).numpy()
    np.testing.assert_allclose(got, want.astype("float32"), rtol=3e-7)
    assert np.isnan(argosy.erfinv(argosy.to_tensor([2.0, float("nan")])).numpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_of_borders(dtype):
    info, bits = np.finfo(dtype), np.random.RandomState(3).bytes(1 << 12)
    some = [0, info.smallest_subnormal, info.tiny, 1, 2, info.max, np.inf]
    some = np.array([*some, *np.negative(some), np.nan], dtype)
    x, y = (v.ravel() for v in np.meshgrid(some, some))
    with np.errstate(all="ignore"):  # any bits at all, too
        drawn = np.frombuffer(bits, dtype)
        for a, b in ((x, y), (drawn, drawn[::-1])):
            a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
            expected = np.nextafter(a, b)
            ours = argosy.nextafter(argosy.to_tensor(a), argosy.to_tensor(b))
            apart = argosy.nextafter(argosy.to_tensor(a)[::2], argosy.to_tensor(b)[::2]).numpy()
            assert ours.numpy().dtype == expected.dtype
            np.testing.assert_array_equal(ours.numpy(), expected)
            np.testing.assert_array_equal(apart, expected[::2])
            number = ~np.isnan(expected)
            np.testing.assert_array_equal(
                np.signbit(ours.numpy())[number], np.signbit(expected)[number]
            )


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "dtype, tol", [("float32", 2e-7), ("float64", 3e-15), ("float16", 6e-4), ("bfloat16", 5e-3)]
)
def test_polygamma_of_all_sizes(n, dtype, tol):
    x = np.exp(np.random.RandomState(n).uniform(-2, 5, 1000))  # not a whole number of blocks
    x = argosy.to_tensor(x).astype(dtype)
    exact = sp.polygamma(n, x.astype("float64").numpy())
    ours = argosy.polygamma(x, n).astype("float64").numpy()
    fits = (np.abs(exact) < 6e4) & (np.abs(exact) > 1e-4)
    assert fits.sum() > 300
    np.testing.assert_allclose(ours[fits], exact[fits], rtol=tol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_at_the_borders_of_blocks(dtype):
    """Numbers that are computed one by one, in the midst of those that are not."""
    x = np.full(600, 0.75, dtype)
    odd = {0: np.nan, 1: -0.5, 255: 0.0, 256: -2.0, 511: np.inf, 599: -1.25}
    for at, value in odd.items():
        x[at] = value
    ours = argosy.polygamma(argosy.to_tensor(x), 1).numpy()
    assert np.isnan(ours[0]) and np.isinf(ours[255]) and np.isinf(ours[256]) and ours[511] == 0
    mirrored = [np.pi**2 / np.sin(np.pi * v) ** 2 - sp.polygamma(1, 1 - v) for v in (-0.5, -1.25)]
    np.testing.assert_allclose(ours[[1, 599]], mirrored, rtol=1e-6)
    usual = np.delete(ours, list(odd))
    np.testing.assert_allclose(usual, sp.polygamma(1, 0.75), rtol=2e-7)
    tiny = np.array([1e-30, 1e-18, 1e18, 1e30], "float32")
    ours = argosy.polygamma(argosy.to_tensor(tiny), 1).numpy()
    np.testing.assert_allclose(ours, [np.inf, 1e36, 1e-18, 1e-30], rtol=1e-6)


@pytest.mark.parametrize("source", ["bool", "uint8", "int8"])
@pytest.mark.parametrize("target", NUMERIC)
def test_casts_of_bytes_in_all_lengths(source, target):
    whole = np.random.RandomState(6).randint(0, 256, 3000).astype(source)
    whole[:256] = np.arange(256).astype(source)
    wide = argosy.to_tensor(whole)
    for first in (0, 1, 5):
        for count in (0, 1, 7, 8, 9, 15, 16, 17, 33, 1000, 2990):
            part = whole[first : first + count]
            made = array(wide[first : first + count].astype(target))
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(made, part.astype(made.dtype))
    np.testing.assert_array_equal(
        array(wide[::3].astype(target)), whole[::3].astype(array(wide.astype(target)).dtype)
    )


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
@pytest.mark.parametrize("dtype, tol", [("float32", 3e-7), ("float64", 3e-15), ("bfloat16", 5e-3)])
def test_bessel_functions_of_all_sizes(name, dtype, tol):
    """Both sides of 25, where the series ends, zeros, and infinities."""
    x = np.concatenate([np.linspace(-80, 80, 2001), 10.0 ** np.arange(-9, 2)])
    x = np.append(x, [24.9999, 25.0, 25.0001, 0.0, -0.0, np.inf, -np.inf, np.nan])
    x = argosy.to_tensor(x).astype(dtype)
    expected = getattr(sp, name)(array(x).astype("float64"))
    if name[-1] != "e":  # SciPy says nan
        expected[-3:-1] = np.inf, np.inf if name == "i0" else -np.inf
    made = array(getattr(argosy, name)(x))
    np.testing.assert_allclose(made, expected, rtol=tol, atol=0)
