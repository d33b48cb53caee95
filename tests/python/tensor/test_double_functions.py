"""float64 and special functions over vectors: units in the last place, special values, every instruction set."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.special as special

import argosy as paddle

F = paddle.nn.functional
RANDOM = np.random.RandomState(0)
NEAR = np.concatenate([RANDOM.uniform(-1, 1, 999), RANDOM.uniform(-20, 20, 999)])
TINY = 10.0 ** RANDOM.uniform(-300, 0, 999) * RANDOM.choice([-1, 1], 999)
BIG = 10.0 ** RANDOM.uniform(0, 300, 999) * RANDOM.choice([-1, 1], 999)
UNIT = np.concatenate([RANDOM.uniform(-1, 1, 999), TINY, 1 - 10.0 ** RANDOM.uniform(-15, -1, 999)])
ANGLES = np.concatenate(
    [NEAR, TINY, RANDOM.uniform(-1e6, 1e6, 999), np.pi / 2 * np.arange(1, 999), BIG]
)
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 2, -2]
    + [709.7, 710.0, 711.0, -708.5, -745.1, -746, 1e22, 0.5, -0.5, 1048576, 1048575.5]
)
# name: reference, elements, units in the last place (the reference has some of its own)
FUNCTIONS = {
    "exp": (np.exp, [NEAR, TINY, RANDOM.uniform(-745, 709.7, 999)], 2),
    "expm1": (np.expm1, [NEAR, TINY, RANDOM.uniform(-100, 709.7, 999)], 4),
    "log": (np.log, [abs(NEAR), abs(TINY), abs(BIG), 1 + TINY], 2),
    "log2": (np.log2, [abs(NEAR), abs(TINY), abs(BIG), 2.0 ** np.arange(-1074, 1024)], 2),
    "log10": (np.log10, [abs(NEAR), abs(TINY), abs(BIG), 10.0 ** np.arange(-300, 300)], 3),
    "log1p": (np.log1p, [NEAR[NEAR > -1], TINY[TINY > -1], abs(BIG)], 3),
    "sin": (np.sin, [ANGLES], 2),
    "cos": (np.cos, [ANGLES], 2),
    "tan": (np.tan, [ANGLES], 4),
    "asin": (np.arcsin, [UNIT], 4),
    "acos": (np.arccos, [UNIT], 4),
    "atan": (np.arctan, [NEAR, TINY, BIG], 3),
    "sinh": (np.sinh, [NEAR, TINY, RANDOM.uniform(-710.4, 710.4, 999)], 4),
    "cosh": (np.cosh, [NEAR, TINY, RANDOM.uniform(-710.4, 710.4, 999)], 4),
    "tanh": (np.tanh, [NEAR, TINY, BIG], 4),
    "asinh": (np.arcsinh, [NEAR, TINY, BIG], 4),
    "acosh": (np.arccosh, [1 + abs(NEAR), 1 + abs(TINY), abs(BIG)], 4),
    "atanh": (np.arctanh, [UNIT], 4),
    "erf": (special.erf, [NEAR, TINY, BIG], 3),
    "erfinv": (special.erfinv, [UNIT], 8),
}


def agree(found, expected, units, signs=True):
    """Within so many units in the last place; zeros have the same sign, if `signs`."""
    signs = np.bool_(signs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close = np.abs(found - expected) <= units * np.spacing(np.abs(expected))
        same = (found == expected) & (~signs | (np.signbit(found) == np.signbit(expected)))
    good = np.where(expected == 0, same, close) | same | (np.isnan(found) & np.isnan(expected))
    bad = np.flatnonzero(~good)
    assert good.all(), (bad[:5], found[bad[:5]], expected[bad[:5]])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_units_in_the_last_place(name):
    reference, parts, units = FUNCTIONS[name]
    x = np.concatenate(parts)
    agree(getattr(paddle, name)(paddle.to_tensor(x)).numpy(), reference(x), units)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    reference, _, units = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        found = getattr(paddle, name)(paddle.to_tensor(SPECIAL)).numpy()
        agree(found, reference(SPECIAL), units, signs=name != "erfinv")  # SciPy's of -0 is 0


@pytest.mark.parametrize("name", ["atan2", "hypot", "logaddexp"])
def test_pairs(name):
    reference = {"atan2": np.arctan2}.get(name) or getattr(np, name)
    x = np.concatenate([NEAR, BIG, TINY, np.repeat(SPECIAL, len(SPECIAL))])
    y = np.concatenate([NEAR[::-1], BIG, BIG, np.tile(SPECIAL, len(SPECIAL))])
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    found = getattr(paddle, name)(paddle.to_tensor(x), paddle.to_tensor(y)).numpy()
    if name == "logaddexp":  # next to a result of 0, its parts cancel
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=4e-16)
    else:
        agree(found, expected, 4)


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_remainders_are_exact(name, dtype):
    big = np.where(np.isfinite(BIG.astype(dtype)), BIG, 3.0)
    x = np.concatenate(
        [NEAR, NEAR * 1e9, big, RANDOM.randint(-99, 99, 999), np.repeat(SPECIAL, len(SPECIAL))]
    )
    y = np.concatenate(
        [NEAR[::-1], NEAR, NEAR[:999], RANDOM.randint(1, 9, 999), np.tile(SPECIAL, len(SPECIAL))]
    )
    with np.errstate(all="ignore"):
        x, y = x.astype(dtype), y.astype(dtype)
        expected = getattr(np, name)(x, y)
        close = np.isfinite(x) & np.isfinite(y) & (y != 0)  # others are as the C library has them
        close &= np.abs(x / y) < 2.0**50 if name == "floor_divide" else True
    found = getattr(paddle, name)(paddle.to_tensor(x), paddle.to_tensor(y)).numpy()
    np.testing.assert_array_equal(found[close], expected[close])


@pytest.mark.parametrize("step", [2, 3])
def test_a_strided_element_has_the_bits_of_a_contiguous_one(step):
    x = paddle.to_tensor(RANDOM.uniform(-2, 2, 1000))
    for name in ("exp", "sin", "tanh", "erf", "log1p"):
        whole = getattr(paddle, name)(x).numpy()[::step]
        np.testing.assert_array_equal(getattr(paddle, name)(x[::step]).numpy(), whole)


ACTIVATIONS = {
    "silu": lambda x: x * special.expit(x),
    "gelu": lambda x: x * special.ndtr(x),
    "softplus": lambda x: np.where(x > 20, x, np.logaddexp(0, x)),
    "log_sigmoid": special.log_expit,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "tanhshrink": lambda x: x - np.tanh(x),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_slopes(name):
    values = np.concatenate([NEAR, [0.0, 800, -800]])
    x = paddle.to_tensor(values, stop_gradient=False)
    y = getattr(F, name)(x)
    np.testing.assert_allclose(y.numpy(), ACTIVATIONS[name](values), rtol=1e-13, atol=1e-15)
    y.sum().backward()
    h = 1e-6
    slope = (ACTIVATIONS[name](values + h) - ACTIVATIONS[name](values - h)) / (2 * h)
    smooth = abs(values - 20) > 2 * h
    np.testing.assert_allclose(x.grad.numpy()[smooth], slope[smooth], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 33, 1500])
def test_softmax(n):
    values = RANDOM.uniform(-30, 30, (3, n))
    values[1, 0] = -np.inf if n > 1 else 0
    x = paddle.to_tensor(values)
    np.testing.assert_allclose(F.softmax(x, -1).numpy(), special.softmax(values, -1), rtol=1e-13)
    np.testing.assert_allclose(
        F.log_softmax(x, -1).numpy(), special.log_softmax(values, -1), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("dtype, units", [("float32", 3), ("float16", 1)])
@pytest.mark.parametrize("name", ["lgamma", "i0", "i0e", "i1", "i1e"])
def test_special_functions_of_small_floats(name, dtype, units):
    reference = special.gammaln if name == "lgamma" else getattr(special, name)
    limits = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, 2, -1, -0.5, -2.5, 1e30, 91, 92, 120, -120, 8]
    x = np.concatenate([NEAR, 1 + TINY, 2 + TINY, abs(NEAR) * 5, [7.9999995, 8.0000005], limits])
    x = x.astype(dtype) if dtype == "float32" else x.clip(-6e4, 6e4).astype(dtype)
    found = getattr(paddle, name)(paddle.to_tensor(x)).numpy()
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64))
        if name == "lgamma":  # SciPy has -inf for -inf
            expected = np.where(np.isinf(x), np.inf, expected)
        if name in ("i0", "i1"):  # and nan for infinity
            expected = np.where(np.isinf(x), np.inf if name == "i0" else x, expected)
        agree(found, expected.astype(dtype), units, signs=False)


def test_avx2_has_the_bits_of_what_this_machine_chooses():
    code = (
        "import hashlib, numpy as np, argosy as p\n"
        "x = p.to_tensor(np.random.RandomState(3).uniform(-3, 3, 1003))\n"
        "fs = [p.exp, p.sin, p.tan, p.tanh, p.erf, p.atan, p.nn.functional.gelu, p.nn.functional.mish]\n"
        "print([hashlib.md5(f(x).numpy().tobytes()).hexdigest() for f in fs])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ARGOSY_ISA": isa},
            capture_output=True,
            check=True,
        ).stdout
        for isa in ("", "avx2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_angles(dtype):
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -3e20]
    z = np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
    z = np.concatenate([z, (NEAR + 1j * NEAR[::-1]).astype(dtype)])
    found = paddle.angle(paddle.to_tensor(z)).numpy()
    agree(found, np.angle(z), 2)


@pytest.mark.parametrize("name", ["abs", "neg"])
def test_signs_of_float16(name):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    found = getattr(paddle, name)(paddle.to_tensor(x)).numpy()
    expected = {"abs": np.abs, "neg": np.negative}[name](x)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(found.view(np.uint16)[numbers], expected.view(np.uint16)[numbers])
    assert np.isnan(found[~numbers]).all()
