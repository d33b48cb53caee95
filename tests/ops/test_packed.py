"""Products and convolutions with packed weights against NumPy and the plain ops."""

import math

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy.nn import functional as F

ops = _core.ops

COVERS = {
    "pack_linear": "test_packed_linear",
    "packed_linear": "test_packed_linear",
    "pack_conv2d": "test_packed_conv2d",
    "packed_conv2d": "test_packed_conv2d",
}

erf = np.vectorize(math.erf)
POSTS = {
    "": lambda x, a, b: x,
    "relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "clip": lambda x, a, b: np.clip(x, a, b),
    "elu": lambda x, a, b: np.where(x > 0, x, a * np.expm1(x)),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "tanh": lambda x, a, b: np.tanh(x),
    "silu": lambda x, a, b: x / (1 + np.exp(-x)),
    "gelu": lambda x, a, b: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x, a, b: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))),
    "hardswish": lambda x, a, b: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
}
# No activation, and no factor nor summand after it.
PLAIN = ("", 0.0, 0.0, 1.0, 0.0)
NUMBERS = {"clip": (-0.5, 0.75), "elu": (0.7, 0.0), "hardsigmoid": (0.2, 0.5)}


def values(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def optional(array):
    return None if array is None else argosy.to_tensor(array)


def linear(
    x, w, bias=None, residual=None, post="", a=0.0, b=0.0, scale=1.0, shift=0.0, transposed=False
):
    k, n = w.shape
    weight = argosy.to_tensor(w)
    if transposed:
        weight = argosy.to_tensor(np.ascontiguousarray(w.T)).t()
    packed = ops.pack_linear(weight, k, n, *PLAIN)
    out = ops.packed_linear(
        argosy.to_tensor(x), packed, optional(bias), optional(residual),
        k, n, post, a, b, scale, shift,
    )  # fmt: skip
    return out.numpy()


# One row, remainders of every register tile, many rows; widths of part of a vector, of a panel, of
# several; depths of one block and more.
@pytest.mark.parametrize("m", [1, 2, 5, 6, 7, 13, 49, 200])
@pytest.mark.parametrize(
    "k, n", [(1, 1), (3, 16), (64, 24), (65, 64), (32, 1000), (1025, 80), (2100, 70)]
)
def test_packed_linear(m, k, n):
    x, w, bias, residual = (
        values(m, k),
        values(k, n, seed=1),
        values(n, seed=2),
        values(m, n, seed=3),
    )
    product = x.astype("float64") @ w
    for transposed in (False, True):
        np.testing.assert_allclose(linear(x, w, transposed=transposed), product, 1e-4, 1e-4)
    wanted = np.maximum(product + bias + residual, 0)
    np.testing.assert_allclose(linear(x, w, bias, residual, "relu"), wanted, 1e-4, 1e-4)
    np.testing.assert_allclose(linear(x, w, None, residual), product + residual, 1e-4, 1e-4)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("m, n", [(9, 64), (9, 41), (1, 200)])
@pytest.mark.parametrize("after", [(1.0, 0.0), (-2.5, 0.75)])
def test_activations_after_products(post, m, n, after):
    a, b = NUMBERS.get(post, (0.0, 0.0))
    x, w, bias = values(m, 20) * 4, values(20, n, seed=1), values(n, seed=2)
    wanted = POSTS[post](x.astype("float64") @ w + bias, a, b) * after[0] + after[1]
    np.testing.assert_allclose(linear(x, w, bias, None, post, a, b, *after), wanted, 1e-5, 2e-5)


def test_products_of_nothing_and_of_many_dimensions():
    w = values(20, 64, seed=1)
    assert linear(values(0, 20), w).shape == (0, 64)
    x = values(2, 3, 4, 20)
    np.testing.assert_allclose(linear(x, w), x @ w, 1e-5, 1e-5)
    np.testing.assert_allclose(linear(values(20), w), values(20) @ w, 1e-5, 1e-5)


def test_products_pass_nan_and_infinity_on():
    x, w = np.ones((2, 8), "float32"), np.ones((8, 64), "float32")
    x[0, 0], x[1, 0] = np.nan, np.inf
    for post in ("", "relu", "clip"):
        y = linear(x, w, post=post, b=6.0)
        assert np.isnan(y[0]).all() and not np.isnan(y[1]).any()


def test_products_do_not_depend_on_threads():
    x, w = values(130, 700), values(700, 900, seed=1)
    before = _core.num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            _core.set_num_threads(threads)
            results.append(linear(x, w).tobytes())
    finally:
        _core.set_num_threads(before)
    assert len(set(results)) == 1


CONVS = [
    # in, out, groups, kernel, stride, padding, dilation, height, width
    (3, 32, 1, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1), 33, 30),
    (16, 24, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 14, 14),
    (64, 64, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 56, 56),
    (16, 48, 1, (1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 15, 12),
    (32, 32, 32, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 112, 112),
    (32, 32, 1, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 20, 9),
    (16, 16, 1, (3, 5), (1, 2), (0, 1, 2, 0), (1, 1), 19, 23),
    (64, 32, 2, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 10, 10),
    # Few channels: at the edges of the image, dilated, narrower than the kernel.
    (1, 5, 1, (5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 9, 8),
    (3, 16, 1, (3, 3), (1, 1), (2, 2, 2, 2), (1, 2), 12, 11),
    (4, 70, 1, (1, 7), (1, 1), (0, 0, 3, 3), (1, 1), 3, 2),
    (2, 16, 1, (2, 2), (3, 3), (1, 0, 1, 0), (1, 1), 17, 13),
    # Products of several blocks, and of more channels than one has.
    (512, 80, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 7, 7),
    (1100, 20, 1, (1, 2), (1, 1), (0, 0, 0, 1), (1, 1), 2, 5),
    (256, 96, 1, (5, 1), (1, 1), (0, 0, 0, 0), (1, 1), 40, 1),
    # Single channels: not whole vectors, all of the padding, strides, dilations, a large kernel.
    (24, 24, 24, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 14, 13),
    (7, 7, 7, (5, 5), (2, 2), (2, 2, 2, 2), (1, 1), 9, 30),
    (40, 40, 40, (3, 3), (1, 3), (4, 1, 3, 4), (2, 2), 8, 6),
    (16, 16, 16, (17, 3), (1, 1), (8, 8, 1, 1), (1, 1), 20, 4),
]


@pytest.mark.parametrize("case", CONVS, ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_packed_conv2d(case, batch):
    cin, cout, groups, kernel, stride, padding, dilation, h, w = case
    x = values(batch, cin, h, w)
    weight, bias = values(cout, cin // groups, *kernel, seed=1), values(cout, seed=2)
    plain = F.conv2d(
        argosy.to_tensor(x).astype("float64"), argosy.to_tensor(weight).astype("float64"),
        argosy.to_tensor(bias).astype("float64"), list(stride), list(padding), list(dilation), groups,
    ).numpy()  # fmt: skip
    residual = values(*plain.shape, seed=3)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    # Packed for the sizes that come, and for others.
    for form in ((h, w), (28, 28)):
        attrs = (
            cin,
            cout,
            groups,
            list(kernel),
            list(stride),
            list(padding),
            list(dilation),
            list(form),
        )
        packed = ops.pack_conv2d(argosy.to_tensor(weight), *attrs, *PLAIN)
        y = ops.packed_conv2d(
            argosy.to_tensor(last), packed, argosy.to_tensor(bias), None, *attrs, *PLAIN
        )
        np.testing.assert_allclose(y.numpy().transpose(0, 3, 1, 2), plain, 1e-4, 1e-4)
        y = ops.packed_conv2d(
            argosy.to_tensor(last), packed, argosy.to_tensor(bias),
            argosy.to_tensor(np.ascontiguousarray(residual.transpose(0, 2, 3, 1))),
            *attrs, "clip", 0.0, 6.0, 1.0, 0.0,
        )  # fmt: skip
        wanted = np.clip(plain + residual, 0, 6)
        np.testing.assert_allclose(y.numpy().transpose(0, 3, 1, 2), wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("groups", [1, 2, 16])
@pytest.mark.parametrize("after", [(1.0, 0.0), (-2.5, 0.75)])
def test_activations_after_convolutions(post, groups, after):
    a, b = NUMBERS.get(post, (0.0, 0.0))
    attrs = (16, 16, groups, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], [8, 8])
    x, weight = values(1, 8, 8, 16) * 4, values(16, 16 // groups, 3, 3, seed=1) / 4
    packed = ops.pack_conv2d(argosy.to_tensor(weight), *attrs, *PLAIN)
    plain = ops.packed_conv2d(argosy.to_tensor(x), packed, None, None, *attrs, *PLAIN).numpy()
    y = ops.packed_conv2d(
        argosy.to_tensor(x), packed, None, None, *attrs, post, a, b, *after
    ).numpy()
    wanted = POSTS[post](plain.astype("float64"), a, b) * after[0] + after[1]
    np.testing.assert_allclose(y, wanted, 1e-4, 1e-4)


def test_rows_of_one_dimension():
    x, weight = values(2, 9, 4), values(16, 4, 1, 3, seed=1)
    attrs = (4, 16, 1, [1, 3], [1, 2], [0, 0, 1, 0], [1, 1], [1, 9])
    packed = ops.pack_conv2d(argosy.to_tensor(weight), *attrs, *PLAIN)
    y = ops.packed_conv2d(argosy.to_tensor(x), packed, None, None, *attrs, *PLAIN)
    padded = np.pad(x.transpose(0, 2, 1), ((0, 0), (0, 0), (1, 0)))
    plain = F.conv1d(argosy.to_tensor(padded), argosy.to_tensor(weight[:, :, 0]), None, 2)
    np.testing.assert_allclose(y.numpy(), plain.numpy().transpose(0, 2, 1), 1e-5, 1e-5)
    tall = (4, 16, 1, [3, 1], [1, 1], [0, 0, 0, 0], [1, 1], [9, 1])
    packed = ops.pack_conv2d(argosy.to_tensor(values(16, 4, 3, 1)), *tall, *PLAIN)
    with pytest.raises(ValueError, match=r"expected x \[n, h, w, 4\], got \[2, 9, 4\]"):
        ops.packed_conv2d(argosy.to_tensor(x), packed, None, None, *tall, *PLAIN)


def test_errors():
    packed = ops.pack_linear(argosy.to_tensor(values(4, 8)), 4, 8, *PLAIN)
    x = argosy.to_tensor(values(2, 4))
    with pytest.raises(ValueError, match=r"\[packed_linear\] expected x \[.., 4\], got \[2, 3\]"):
        ops.packed_linear(argosy.to_tensor(values(2, 3)), packed, None, None, 4, 8, *PLAIN)
    with pytest.raises(ValueError, match="packed bytes, got uint8"):
        ops.packed_linear(x, packed[:4], None, None, 4, 8, *PLAIN)
    with pytest.raises(ValueError, match="there is no activation 'sin'"):
        ops.packed_linear(x, packed, None, None, 4, 8, "sin", 0.0, 0.0, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"\[packed_conv2d\] expected two kernel sizes"):
        ops.packed_conv2d(
            argosy.to_tensor(values(1, 4, 4, 4)), packed, None, None,
            4, 8, 1, [3], [1, 1], [0, 0, 0, 0], [1, 1], [4, 4], *PLAIN,
        )  # fmt: skip
