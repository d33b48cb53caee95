"""Numbers as codes of 8 bits and products of codes, against NumPy in integers."""

import numpy as np
import pytest
from tests.ops.test_packed import NUMBERS, PLAIN, POSTS, optional

import argosy
from argosy import _core

ops = _core.ops
COVERS = {
    "quantize_affine": "test_codes",
    "dequantize_affine": "test_numbers_of_codes",
    "pack_integer_linear": "test_products",
    "integer_linear": "test_products",
}
LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}


def codes(*shape, dtype="uint8", seed=0):
    low, high = LIMITS[dtype]
    return np.random.RandomState(seed).randint(low, high + 1, shape).astype(dtype)


def t(x):
    return argosy.to_tensor(np.asarray(x))


def packed(w):
    try:
        return ops.pack_integer_linear(t(w), *w.shape, 0, *PLAIN)
    except NotImplementedError as error:
        assert "8-bit dot products" in str(error)
        pytest.skip("a machine without 8-bit dot products")


def product(x, w, factor, zero=0, bias=None, residual=None, post="", a=0.0, b=0.0, scale=1.0, shift=0.0):  # fmt: skip
    out = ops.integer_linear(
        t(x), packed(w), optional(bias), optional(residual), t(factor),
        None, *w.shape, zero, post, a, b, scale, shift,
    )  # fmt: skip
    return out.numpy()


def exact(x, w, zero):
    return (x.astype("int64") - zero) @ w.astype("int64")


# --- codes ---


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("form", ["one", "none", "columns", "rows"])
def test_codes(dtype, source, form):
    x = np.random.RandomState(0).uniform(-20, 20, (5, 7)).astype(source)
    x[0, :3] = [0.25, 0.75, -0.25]  # halves of a step
    low, high = LIMITS[dtype]
    shape = {"one": (), "none": (), "columns": (7,), "rows": (5, 1)}[form]
    scale = np.full(shape, 0.5, source) if form == "one" else np.random.RandomState(1).uniform(0.05, 0.2, shape).astype(source)  # fmt: skip
    zero = None if form == "none" else np.full(shape, 3, source)
    got = ops.quantize_affine(t(x), t(scale), optional(zero), float(low), float(high), dtype)
    wanted = np.clip(np.round(x / scale) + (0 if zero is None else 3), low, high)
    assert got.numpy().dtype == dtype
    np.testing.assert_array_equal(got.numpy(), wanted.astype(dtype))


def test_codes_of_what_is_no_number():
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30], "float32")
    got = ops.quantize_affine(t(x), t(np.float32(1)), None, 0.0, 255.0, "uint8").numpy()
    assert got.tolist() == [255, 0, 0, 255, 0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("form", ["one", "none", "columns"])
def test_numbers_of_codes(dtype, form):
    x = np.arange(-6, 8).astype(dtype).reshape(2, 7)
    shape = (7,) if form == "columns" else ()
    scale = np.random.RandomState(1).uniform(0.5, 2, shape).astype("float32")
    zero = None if form == "none" else np.full(shape, 3, "float32")
    got = ops.dequantize_affine(t(x), t(scale), optional(zero)).numpy()
    wanted = (x.astype("float32") - np.float32(0 if zero is None else 3)) * scale
    assert got.dtype == "float32"
    np.testing.assert_array_equal(got, wanted)


def test_nothing_as_codes():
    empty = ops.quantize_affine(t(np.zeros((0, 3), "float32")), t(np.float32(1)), None, 0.0, 255.0, "uint8")  # fmt: skip
    assert empty.shape == [0, 3]
    assert ops.dequantize_affine(empty, t(np.float32(1)), None).shape == [0, 3]


def test_codes_of_a_wrong_kind():
    with pytest.raises(ValueError, match=r"\[quantize_affine\] expected an integer dtype"):
        ops.quantize_affine(t(np.ones(3, "float32")), t(np.float32(1)), None, 0.0, 1.0, "float32")
    with pytest.raises(ValueError, match="low <= high"):
        ops.quantize_affine(t(np.ones(3, "float32")), t(np.float32(1)), None, 2.0, 1.0, "uint8")


# --- products ---


# One row, remainders of every tile, more than one chunk; depths that are no whole quads, widths of a
# part of a vector, of a panel and of several.
@pytest.mark.parametrize("m", [1, 2, 5, 6, 7, 13, 97, 200])
@pytest.mark.parametrize("k, n", [(1, 1), (3, 16), (64, 24), (65, 64), (32, 300), (1026, 80)])
@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 131), ("int8", 0), ("int8", -7)])
def test_products(m, k, n, dtype, zero):
    x, w = codes(m, k, dtype=dtype), codes(k, n, dtype="int8", seed=1)
    ones = np.ones(n, "float32")
    sums = exact(x, w, zero)
    np.testing.assert_array_equal(product(x, w, ones, zero), sums.astype("float32"))
    factor = np.random.RandomState(2).uniform(0.01, 0.1, n).astype("float32")
    bias = np.random.RandomState(3).uniform(-9, 9, n).astype("float32")
    residual = np.random.RandomState(4).uniform(-9, 9, (m, n)).astype("float32")
    got = product(x, w, factor, zero, bias, residual, "relu")
    wanted = np.maximum(sums * factor.astype("float64") + bias + residual, 0)
    np.testing.assert_allclose(got, wanted, 1e-5, 1e-5 * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("after", [(1.0, 0.0), (-2.5, 0.75)])
def test_activations_after_products(post, after):
    a, b = NUMBERS.get(post, (0.0, 0.0))
    x, w = codes(9, 20), codes(20, 41, dtype="int8", seed=1)
    factor = np.full(41, 1e-4, "float32")
    wanted = POSTS[post](exact(x, w, 128) * 1e-4, a, b) * after[0] + after[1]
    got = product(x, w, factor, 128, None, None, post, a, b, *after)
    np.testing.assert_allclose(got, wanted, 1e-5, 3e-5)


def test_extremes_do_not_overflow():
    k = 32768
    x, w = np.full((1, k), 255, "uint8"), np.full((k, 1), -128, "int8")
    ones = np.ones(1, "float32")
    assert product(x, w, ones, 0)[0, 0] == -255.0 * 128 * k
    assert product(x, w, ones, 255)[0, 0] == 0
    with pytest.raises(NotImplementedError, match="8-bit dot products"):
        ops.pack_integer_linear(t(np.ones((k + 1, 1), "int8")), k + 1, 1, 0, *PLAIN)


def test_products_of_nothing_and_of_many_dimensions():
    w, ones = codes(20, 64, dtype="int8"), np.ones(64, "float32")
    assert product(codes(0, 20), w, ones).shape == (0, 64)
    x = codes(2, 3, 20)
    np.testing.assert_array_equal(product(x, w, ones), exact(x, w, 0).astype("float32"))
    np.testing.assert_array_equal(product(x[0, 0], w, ones), exact(x[0, 0], w, 0).astype("float32"))


def test_products_do_not_depend_on_threads():
    x, w = codes(200, 300), codes(300, 500, dtype="int8", seed=1)
    factor = np.random.RandomState(2).uniform(0.01, 0.1, 500).astype("float32")
    before, results = _core.num_threads(), []
    try:
        for threads in (1, 2, 3):
            _core.set_num_threads(threads)
            results.append(product(x, w, factor, 100))
    finally:
        _core.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


def test_a_zero_point_that_is_an_operand():
    x, w = codes(9, 40), codes(40, 33, dtype="int8", seed=1)
    ones = np.ones(33, "float32")
    zero = t(np.array([100], "int32"))
    out = ops.integer_linear(t(x), packed(w), None, None, t(ones), zero, 40, 33, 28, *PLAIN)
    np.testing.assert_array_equal(out.numpy(), exact(x, w, 128).astype("float32"))
    with pytest.raises(ValueError, match="expected a code of 8 bits, got 300"):
        ops.integer_linear(
            t(x), packed(w), None, None, t(ones), t(np.int32(300)), 40, 33, 0, *PLAIN
        )


def test_wrong_operands():
    w, ones = codes(20, 64, dtype="int8"), np.ones(64, "float32")
    weights = packed(w)
    with pytest.raises(ValueError, match=r"\[integer_linear\] expected x \[.., 20\]"):
        ops.integer_linear(t(codes(3, 21)), weights, None, None, t(ones), None, 20, 64, 0, *PLAIN)
    with pytest.raises(ValueError, match="expected a code of 8 bits, got 256"):
        ops.integer_linear(t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 256, *PLAIN)
    with pytest.raises(ValueError, match="packed bytes"):
        ops.integer_linear(
            t(codes(3, 20)), weights[:-1], None, None, t(ones), None, 20, 64, 0, *PLAIN
        )
    with pytest.raises(ValueError, match="no activation 'tan'"):
        ops.integer_linear(t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 0, "tan", *PLAIN[1:])  # fmt: skip
