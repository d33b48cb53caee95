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
    "integer_conv2d": "test_convolutions",
    "pack_integer_depthwise": "test_convolutions_of_single_channels",
}
AS_NUMBERS = ("float32", 1.0, 0.0, 0.0, 255.0)  # the results: no codes
LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}


def codes(*shape, dtype="uint8", seed=0):
    low, high = LIMITS[dtype]
    return np.random.RandomState(seed).randint(low, high + 1, shape).astype(dtype)


def t(x):
    return argosy.to_tensor(np.asarray(x))


def packed(w):
    try:
        return ops.pack_integer_linear(t(w), *w.shape, 0, *PLAIN, *AS_NUMBERS)
    except NotImplementedError as error:
        assert "8-bit dot products" in str(error)
        pytest.skip("a machine without 8-bit dot products")


def product(x, w, factor, zero=0, bias=None, residual=None, post="", a=0.0, b=0.0, scale=1.0, shift=0.0, result=AS_NUMBERS):  # fmt: skip
    out = ops.integer_linear(
        t(x), packed(w), optional(bias), optional(residual), t(factor),
        None, *w.shape, zero, post, a, b, scale, shift, *result,
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


# Steps whose inverse is no number, or as good as none, and zero points that are no codes, among them.
@pytest.mark.parametrize("step", [1.0, 0.1, 0.75, 1 / 3, 0.0235294122, 1e-41, 1e-38, 1e-31, 1e31, 3e38, -0.5])  # fmt: skip
@pytest.mark.parametrize("zero", [0.0, 131.0, -128.0, 0.5, 3000.0])
def test_codes_are_those_of_a_division(step, zero):
    step, zero = np.float32(step), np.float32(zero)
    random = np.random.RandomState(0)
    with np.errstate(over="ignore"):
        x = np.concatenate([
            random.uniform(-400, 400, 20000).astype("float32") * step,
            (np.arange(-1300, 1300) + np.float32(0.5)) * step,  # halves
            np.nextafter((np.arange(-300, 300) + np.float32(0.5)) * step, np.float32(np.inf)),
            np.nextafter((np.arange(-300, 300) + np.float32(0.5)) * step, np.float32(-np.inf)),
            np.arange(-5000, 5000, 7).astype("float32") * step,
            np.array([0, -0.0, 1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf], "float32"),
        ]).astype("float32")  # fmt: skip
        for low, high, dtype in ((0, 255, "uint8"), (-128, 127, "int8"), (3, 100, "uint8")):
            wanted = np.clip(np.round(x / step) + zero, low, high).astype("int32")
            got = ops.quantize_affine(t(x), t(step), t(zero), float(low), float(high), dtype)
            np.testing.assert_array_equal(got.numpy().astype("int32"), wanted)


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
        ops.pack_integer_linear(t(np.ones((k + 1, 1), "int8")), k + 1, 1, 0, *PLAIN, *AS_NUMBERS)


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
    out = ops.integer_linear(
        t(x), packed(w), None, None, t(ones), zero, 40, 33, 28, *PLAIN, *AS_NUMBERS
    )
    np.testing.assert_array_equal(out.numpy(), exact(x, w, 128).astype("float32"))
    with pytest.raises(ValueError, match="expected a code of 8 bits, got 300"):
        ops.integer_linear(
            t(x), packed(w), None, None, t(ones), t(np.int32(300)), 40, 33, 0, *PLAIN, *AS_NUMBERS
        )


def test_wrong_operands():
    w, ones = codes(20, 64, dtype="int8"), np.ones(64, "float32")
    weights = packed(w)
    with pytest.raises(ValueError, match=r"\[integer_linear\] expected x \[.., 20\]"):
        ops.integer_linear(
            t(codes(3, 21)), weights, None, None, t(ones), None, 20, 64, 0, *PLAIN, *AS_NUMBERS
        )
    with pytest.raises(ValueError, match="expected a code of 8 bits, got 256"):
        ops.integer_linear(
            t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 256, *PLAIN, *AS_NUMBERS
        )
    with pytest.raises(ValueError, match="packed bytes"):
        ops.integer_linear(
            t(codes(3, 20)), weights[:-1], None, None, t(ones), None, 20, 64, 0, *PLAIN, *AS_NUMBERS
        )
    with pytest.raises(ValueError, match="no activation 'tan'"):
        ops.integer_linear(t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 0, "tan", *PLAIN[1:], *AS_NUMBERS)  # fmt: skip
    with pytest.raises(ValueError, match="dtype: expected float32, uint8 or int8, got int32"):
        ops.integer_linear(t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 0, *PLAIN, "int32", *AS_NUMBERS[1:])  # fmt: skip
    with pytest.raises(ValueError, match="a positive step"):
        ops.integer_linear(t(codes(3, 20)), weights, None, None, t(ones), None, 20, 64, 0, *PLAIN, "uint8", 0.0, *AS_NUMBERS[2:])  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("m, n", [(1, 7), (6, 64), (101, 90)])
def test_products_as_codes(dtype, m, n):
    """Those that quantize_affine makes of the numbers, bit for bit."""
    x, w = codes(m, 40), codes(40, n, dtype="int8", seed=1)
    factor = np.random.RandomState(2).uniform(1e-3, 2e-3, n).astype("float32")
    residual = np.random.RandomState(4).uniform(-9, 9, (m, n)).astype("float32")
    low, high = LIMITS[dtype]
    numbers = product(x, w, factor, 120, None, residual, "relu")
    wanted = ops.quantize_affine(t(numbers), t(np.float32(0.37)), t(np.float32(3)), float(low), float(high), dtype)  # fmt: skip
    got = product(x, w, factor, 120, None, residual, "relu", result=(dtype, 0.37, 3.0, low, high))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, wanted.numpy())


def test_what_is_no_number_as_code():
    x, w = codes(1, 4), codes(4, 3, dtype="int8")
    factor = np.array([np.nan, np.inf, 1.0], "float32")
    got = product(x, w, factor, 0, result=("uint8", 1.0, 9.0, 2.0, 250.0))
    assert got[0, 0] == 2 and got[0, 1] in (2, 250)


# --- convolutions ---


def convolution(x, w, factor, zero, stride, padding, dilation, bias=None, residual=None, post="", result=AS_NUMBERS):  # fmt: skip
    """x [n, h, w, in], w [out, in, kernel..]."""
    cout, cin, *kernel = w.shape
    matrix = np.ascontiguousarray(w.transpose(2, 3, 1, 0)).reshape(-1, cout)
    out = ops.integer_conv2d(
        t(x), packed(matrix), optional(bias), optional(residual), t(factor),
        cin, cout, zero, kernel, [stride] * 2, padding, [dilation] * 2,
        post, 0.0, 0.0, 1.0, 0.0, *result, 1,
    )  # fmt: skip
    return out.numpy()


def packed_depthwise(w):
    try:
        return ops.pack_integer_depthwise(t(w))
    except NotImplementedError as error:
        assert "no convolution of codes by weights" in str(error)
        pytest.skip("a machine without 8-bit dot products")


def depthwise(x, w, factor, zero, stride, padding, dilation, bias=None, residual=None, post="", result=AS_NUMBERS):  # fmt: skip
    """x [n, h, w, channels], w [channels, 1, kernel..]."""
    channels, _, *kernel = w.shape
    out = ops.integer_conv2d(
        t(x), packed_depthwise(w), optional(bias), optional(residual), t(factor),
        channels, channels, zero, kernel, [stride] * 2, padding, [dilation] * 2,
        post, 0.0, 0.0, 1.0, 0.0, *result, channels,
    )  # fmt: skip
    return out.numpy()


def sums_of_windows(x, w, zero, stride, padding, dilation):
    wide = x.astype("int64") - zero
    top, bottom, left, right = padding
    wide = np.pad(wide, ((0, 0), (top, bottom), (left, right), (0, 0)))
    kh, kw = w.shape[2:]
    h = (wide.shape[1] - dilation * (kh - 1) - 1) // stride + 1
    width = (wide.shape[2] - dilation * (kw - 1) - 1) // stride + 1
    total = np.zeros((x.shape[0], h, width, w.shape[0]), "int64")
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dilation, i * dilation + (h - 1) * stride + 1, stride)
            columns = slice(j * dilation, j * dilation + (width - 1) * stride + 1, stride)
            pixels, tap = wide[:, rows, columns], w[:, :, i, j].astype("int64")
            total += pixels @ tap.T if w.shape[1] == x.shape[3] else pixels * tap[:, 0]
    return total


@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 131), ("int8", 0), ("int8", -7)])
@pytest.mark.parametrize(
    "shape, cout, kernel, stride, padding, dilation",
    [
        ((1, 5, 6, 3), 4, (1, 1), 1, (0, 0, 0, 0), 1),
        ((2, 9, 8, 16), 70, (1, 1), 1, (0, 0, 0, 0), 1),
        ((2, 9, 8, 16), 70, (1, 1), 2, (0, 0, 0, 0), 1),
        ((1, 7, 7, 5), 8, (3, 3), 1, (1, 1, 1, 1), 1),
        ((2, 13, 14, 8), 130, (3, 3), 2, (1, 0, 0, 2), 1),
        ((1, 15, 16, 4), 65, (3, 2), 1, (2, 2, 3, 0), 2),
        ((1, 30, 31, 3), 64, (7, 7), 2, (3, 3, 3, 3), 1),
        ((0, 4, 4, 4), 8, (3, 3), 1, (1, 1, 1, 1), 1),
    ],
)
def test_convolutions(shape, cout, kernel, stride, padding, dilation, dtype, zero):
    x, w = codes(*shape, dtype=dtype), codes(cout, shape[3], *kernel, dtype="int8", seed=1)
    where = (stride, list(padding), dilation)
    sums = sums_of_windows(x, w, zero, *where)
    ones = np.ones(cout, "float32")
    np.testing.assert_array_equal(convolution(x, w, ones, zero, *where), sums.astype("float32"))
    factor = np.random.RandomState(2).uniform(0.01, 0.1, cout).astype("float32")
    bias = np.random.RandomState(3).uniform(-9, 9, cout).astype("float32")
    residual = np.random.RandomState(4).uniform(-9, 9, sums.shape).astype("float32")
    got = convolution(x, w, factor, zero, *where, bias, residual, "relu")
    wanted = np.maximum(sums * factor.astype("float64") + bias + residual, 0)
    np.testing.assert_allclose(got, wanted, 1e-5, 1e-5 * max(1, np.abs(wanted).max(initial=0)))
    narrow = convolution(x, w, factor, zero, *where, bias, residual, "relu", ("uint8", 2.5, 7.0, 0.0, 255.0))  # fmt: skip
    codes_of_it = ops.quantize_affine(t(got), t(np.float32(2.5)), t(np.float32(7)), 0.0, 255.0, "uint8")  # fmt: skip
    np.testing.assert_array_equal(narrow, codes_of_it.numpy())


@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 131), ("int8", 0), ("int8", -7)])
@pytest.mark.parametrize(
    "shape, kernel, stride, padding, dilation",
    [
        ((1, 9, 30, 16), (3, 3), 1, (1, 1, 1, 1), 1),
        ((2, 9, 8, 70), (3, 3), 2, (1, 1, 1, 1), 1),
        ((1, 7, 7, 5), (5, 5), 1, (2, 2, 2, 2), 1),
        ((2, 13, 14, 33), (3, 2), 2, (1, 0, 0, 2), 1),
        ((1, 15, 16, 24), (3, 3), 1, (4, 2, 3, 0), 2),
        ((1, 22, 3, 17), (20, 1), 1, (3, 3, 0, 0), 1),
        ((0, 4, 4, 8), (3, 3), 1, (1, 1, 1, 1), 1),
    ],
)
def test_convolutions_of_single_channels(shape, kernel, stride, padding, dilation, dtype, zero):
    channels = shape[3]
    x, w = codes(*shape, dtype=dtype), codes(channels, 1, *kernel, dtype="int8", seed=1)
    where = (stride, list(padding), dilation)
    sums = sums_of_windows(x, w, zero, *where)
    ones = np.ones(channels, "float32")
    np.testing.assert_array_equal(depthwise(x, w, ones, zero, *where), sums.astype("float32"))
    factor = np.random.RandomState(2).uniform(0.01, 0.1, channels).astype("float32")
    bias = np.random.RandomState(3).uniform(-9, 9, channels).astype("float32")
    residual = np.random.RandomState(4).uniform(-9, 9, sums.shape).astype("float32")
    for post, apply in (("relu", lambda y: np.maximum(y, 0)), ("tanh", np.tanh)):
        got = depthwise(x, w, factor, zero, *where, bias, residual, post)
        wanted = apply(sums * factor.astype("float64") + bias + residual)
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-5 * max(1, np.abs(wanted).max(initial=0)))
        step = 2.5 if post == "relu" else 0.01
        narrow = depthwise(x, w, factor, zero, *where, bias, residual, post, ("uint8", step, 7.0, 0.0, 255.0))  # fmt: skip
        codes_of_it = ops.quantize_affine(t(got), t(np.float32(step)), t(np.float32(7)), 0.0, 255.0, "uint8")  # fmt: skip
        np.testing.assert_array_equal(narrow, codes_of_it.numpy())


def test_wrong_convolutions_of_single_channels():
    w, ones = codes(8, 1, 3, 3, dtype="int8"), t(np.ones(8, "float32"))
    weights = packed_depthwise(w)
    window = [0, [3, 3], [1, 1], [0, 0, 0, 0], [1, 1]]
    x = t(codes(1, 5, 5, 8))
    with pytest.raises(
        ValueError, match="groups: expected 1, or as many as there are channels, got 4"
    ):
        ops.integer_conv2d(x, weights, None, None, ones, 8, 8, *window, *PLAIN, *AS_NUMBERS, 4)
    with pytest.raises(ValueError, match="weight: expected .* packed bytes"):
        ops.integer_conv2d(x, weights, None, None, ones, 8, 8, *window, *PLAIN, *AS_NUMBERS, 1)
    with pytest.raises(NotImplementedError, match="no convolution of codes by weights"):
        ops.pack_integer_depthwise(t(codes(8, 2, 3, 3, dtype="int8")))
    # Sums that float32 does not have.
    with pytest.raises(NotImplementedError, match="no convolution of codes by weights"):
        ops.pack_integer_depthwise(t(codes(8, 1, 23, 23, dtype="int8")))


def test_convolutions_do_not_depend_on_threads():
    x, w = codes(2, 20, 21, 24), codes(200, 24, 3, 3, dtype="int8", seed=1)
    factor = np.random.RandomState(2).uniform(0.01, 0.1, 200).astype("float32")
    before, results = _core.num_threads(), []
    try:
        for threads in (1, 2, 3):
            _core.set_num_threads(threads)
            results.append(convolution(x, w, factor, 100, 1, [1, 1, 1, 1], 1))
    finally:
        _core.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


def test_wrong_operands_of_convolutions():
    w, ones = codes(8, 4, 3, 3, dtype="int8"), np.ones(8, "float32")
    with pytest.raises(ValueError, match=r"expected x \[n, h, w, 4\]"):
        convolution(codes(1, 5, 5, 3), w, ones, 0, 1, [0] * 4, 1)
    with pytest.raises(ValueError, match="the kernel does not fit"):
        convolution(codes(1, 2, 5, 4), w, ones, 0, 1, [0] * 4, 1)
    with pytest.raises(ValueError, match="check the attributes"):
        convolution(codes(1, 5, 5, 4), w, ones, 0, 0, [0] * 4, 1)
    with pytest.raises(ValueError, match="expected a code of int8, got 200"):
        convolution(codes(1, 5, 5, 4, dtype="int8"), w, ones, 200, 1, [0] * 4, 1)
