"""Padding, resizing, sliding windows and sampling of images."""

import itertools

import numpy as np
import pytest
from tests.ops.harness import FLOAT, A, Case, table_tests

import argosy
from argosy import _core

# --- references ---


def pad(x, paddings, mode, value=0.0):
    pairs = np.reshape(paddings, (-1, 2))
    cuts = tuple(slice(-min(b, 0), n + min(a, 0)) for (b, a), n in zip(pairs, x.shape))
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    more = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x[cuts], np.maximum(pairs, 0), kind[mode], **more)


def cubic(t, a):
    t = abs(t)
    if t < 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return (((t - 5) * t + 8) * t - 4) * a if t < 2 else 0.0


def resize_matrix(n, m, mode, align_corners, align_mode, scale, antialias):
    """[m, n]: row k says what output k is made of."""
    w = np.zeros((m, n))
    ratio = (n - 1) / max(m - 1, 1) if align_corners else 1 / scale if scale else n / m
    if m == 1:
        ratio = 0
    for k in range(m):
        if antialias:
            wide = max(1, ratio)
            centre = ratio * (k + 0.5)
            reach = (2 if mode == "bicubic" else 1) * wide
            for j in range(max(0, int(centre - reach + 0.5)), min(n, int(centre + reach + 0.5))):
                t = (j - centre + 0.5) / wide
                w[k, j] = cubic(t, -0.5) if mode == "bicubic" else max(0, 1 - abs(t))
            w[k] /= w[k].sum()
            continue
        half = not align_corners and (mode == "bicubic" or align_mode == 0) and mode != "nearest"
        at = ratio * (k + 0.5) - 0.5 if half else ratio * k
        if mode == "nearest":
            w[k, min(int(at + 0.5 * align_corners), n - 1)] = 1
        elif mode == "bicubic":
            for j in range(-1, 3):
                place = int(np.floor(at)) + j
                w[k, np.clip(place, 0, n - 1)] += cubic(at - place, -0.75)
        else:
            at = max(at, 0)
            low = min(int(at), n - 1)
            w[k, low] += 1 - (at - low)
            w[k, min(low + 1, n - 1)] += at - low
    return w


def interpolate(
    x, size=(), scale=(), mode="nearest", align_corners=False, align_mode=0, cl=False,
    antialias=False,
):  # fmt: skip
    dims, dtype = x.ndim - 2, x.dtype
    scale = list(scale) * (dims if len(scale) == 1 else 1)
    for d in range(dims):
        axis = d + (1 if cl else 2)
        n = x.shape[axis]
        m = size[d] if size else int(np.floor(n * scale[d]))
        s = scale[d] if scale else 0
        w = resize_matrix(n, m, mode, align_corners, align_mode, s, antialias)
        x = np.moveaxis(np.tensordot(w, x, (1, axis)), 0, axis)
    return x.astype(dtype)


def unfold(x, kernel, stride, padding, dilation):
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, w = x.shape
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    rows = range(0, h - reach[0] + 1, stride[0])
    columns = range(0, w - reach[1] + 1, stride[1])
    out = [
        x[:, :, r : r + reach[0] : dilation[0], q : q + reach[1] : dilation[1]].reshape(
            n, c * kernel[0] * kernel[1]
        )
        for r, q in itertools.product(rows, columns)
    ]
    return np.stack(out, -1)


def fold(x, output_size, kernel, stride, padding, dilation):
    """The transpose of unfold, by unfolding the numbers of the elements."""
    n = x.shape[0]
    c = x.shape[1] // (kernel[0] * kernel[1])
    count = c * output_size[0] * output_size[1]
    numbers = np.arange(1, count + 1).reshape(1, c, *output_size)
    places = unfold(numbers, kernel, stride, padding, dilation)[0]
    out = np.zeros((n, count + 1), x.dtype)
    for i in range(n):
        np.add.at(out[i], places, x[i])
    return out[:, 1:].reshape(n, c, *output_size)


def correlation(x, y, pad_size, kernel_size, max_displacement, stride1, stride2):
    k, d = kernel_size, max_displacement
    sides = ((0, 0), (0, 0), (pad_size, pad_size), (pad_size, pad_size))
    x, y = np.pad(x, sides), np.pad(y, sides)
    shifts = np.arange(-(d // stride2), d // stride2 + 1) * stride2
    tops, lefts = (range(d, size - d - k + 1, stride1) for size in x.shape[2:])
    out = np.zeros((len(x), len(shifts) ** 2, len(tops), len(lefts)))
    for s, (down, across) in enumerate(itertools.product(shifts, shifts)):
        for r, top in enumerate(tops):
            for q, left in enumerate(lefts):
                window = x[:, :, top : top + k, left : left + k]
                top_y, left_y = top + down, left + across
                other = y[:, :, top_y : top_y + k, left_y : left_y + k]
                out[:, s, r, q] = (window * other).mean((1, 2, 3))
    return out


def mirrored(p, low, high):
    while not low <= p <= high:
        p = 2 * low - p if p < low else 2 * high - p
    return p


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True):
    dims = x.ndim - 2
    sizes = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *where in np.ndindex(grid.shape[:-1]):
        taps = []
        for g, size in zip(grid[(n, *where)][::-1], sizes):
            p = (g + 1) / 2 * (size - 1) if align_corners else ((g + 1) * size - 1) / 2
            if padding_mode == "reflection":
                p = mirrored(p, *((0, size - 1) if align_corners else (-0.5, size - 0.5)))
            if padding_mode != "zeros":
                p = np.clip(p, 0, size - 1)
            if mode == "nearest":
                taps.append([(int(np.rint(p)), 1.0)])
            else:
                low = int(np.floor(p))
                taps.append([(low, 1 - (p - low)), (low + 1, p - low)])
        for tap in itertools.product(*taps):
            if all(0 <= k < size for (k, _), size in zip(tap, sizes)):
                at = tuple(k for k, _ in tap)
                out[(n, slice(None), *where)] += (
                    np.prod([w for _, w in tap]) * x[(n, slice(None), *at)]
                )
    assert len(sizes) == dims
    return out


def affine_grid(theta, out_shape, align_corners):
    axes = [
        np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1
        for n in out_shape[2:]
    ]
    points = np.stack([*np.meshgrid(*axes, indexing="ij")][::-1], -1)
    points = np.concatenate([points, np.ones((*points.shape[:-1], 1))], -1)
    return np.einsum("...k,nik->n...i", points, theta)


# --- tables ---

SMALL = [A(2, 3, 4)]
IMAGE = [A(2, 3, 5, 6)]
CORRELATION = ("pad_size", "kernel_size", "max_displacement", "stride1", "stride2")
WINDOW = {"kernel": [2, 3], "stride": [2, 1], "padding": [1, 2, 0, 1], "dilation": [1, 2]}
SIDE = ("float16", "float32", "float64", "int64", "bool")
# Points away from the elements, where the gradient has steps.
NEAR = np.random.default_rng(3).choice([-0.83, -0.41, 0.13, 0.37, 0.91], (2, 2, 3, 2))
FAR = NEAR * 1.7
SPACE = np.random.default_rng(4).choice([-1.27, -0.41, 0.13, 0.57, 1.11], (1, 2, 2, 3, 3))
SOLO = ("float32", "float64")

# The kernels find positions in float32, whatever the dtype.
RESIZED = {
    "float16": (4e-3, 4e-3),
    "bfloat16": (3e-2, 3e-2),
    "float32": (1e-5, 1e-5),
    "float64": (3e-6, 3e-6),
}

# fmt: off
CASES = [
    *(Case("pad", SMALL, {"paddings": [0, 0, 1, 2, 3, 0], "mode": mode}, ref=pad, dtypes=SIDE,
           covers=["pad_grad"]) for mode in ("constant", "reflect", "replicate", "circular")),
    Case("pad", SMALL, {"paddings": [1, 0, 0, 2, 0, 0], "mode": "constant", "value": 1.5}, ref=pad,
         dtypes=FLOAT, shapes=[[(2, 0, 3)], [(0, 2, 3)]]),
    Case("pad", SMALL, {"paddings": [0, 0, -1, 2, 1, -2], "mode": "constant"}, ref=pad, dtypes=FLOAT),
    Case("pad", SMALL, {"paddings": [0, 0, 0, 0, 9, 6], "mode": "circular"}, ref=pad, dtypes=FLOAT,
         errors=[(SMALL, {"paddings": [1, 1]}, ValueError, "two paddings for each"),
                 (SMALL, {"paddings": [0, 0, 0, 0, 4, 0], "mode": "reflect"}, ValueError, "less than the size"),
                 (SMALL, {"paddings": [0, 0, 0, 0, -3, -2], "mode": "constant"}, ValueError, "cut more"),
                 (SMALL, {"paddings": [0] * 6, "mode": "mirror"}, ValueError, "mode must be")]),
    *(Case("interpolate", IMAGE, {"size": size, "mode": mode, "align_corners": corners}, ref=interpolate,
           dtypes=FLOAT, covers=["interpolate_grad"], tol=RESIZED)
      for size, mode, corners in (([8, 3], "nearest", False), ([8, 3], "bilinear", False),
                                  ([3, 9], "bilinear", True), ([7, 4], "bicubic", False),
                                  ([7, 4], "bicubic", True), ([1, 1], "bilinear", True))),
    Case("interpolate", IMAGE, {"scale": [1.5, 0.5], "mode": "bilinear", "align_mode": 1, "cl": True},
         ref=interpolate, dtypes=FLOAT, tol=RESIZED),
    Case("interpolate", IMAGE, {"scale": [1.25], "mode": "nearest"}, ref=interpolate, dtypes=("int32",),
         grad=False),
    Case("interpolate", [A(2, 3, 5)], {"size": [8], "mode": "linear"}, ref=interpolate, dtypes=FLOAT, tol=RESIZED),
    Case("interpolate", [A(1, 2, 3, 2, 4)], {"size": [2, 5, 3], "mode": "trilinear"}, ref=interpolate,
         dtypes=FLOAT, tol=RESIZED),
    *(Case("interpolate", [A(1, 2, 9, 7)], {"size": [4, 10], "mode": mode, "antialias": True},
           ref=interpolate, dtypes=FLOAT, tol=RESIZED,
           errors=[(IMAGE, {"size": [4], "mode": mode}, ValueError, "expected 2 sizes"),
                   (IMAGE, {"size": [0, 3], "mode": mode}, ValueError, "must be positive"),
                   (IMAGE, {"scale": [0.1], "mode": mode}, ValueError, "leaves nothing"),
                   ([A(2, 3, dtype="int32")], {"size": [4], "mode": mode}, ValueError, "3 to 5 dimensions"),
                   ([A(2, 3, 4, 4, dtype="int32")], {"size": [4, 4], "mode": mode}, TypeError, "floating")])
      for mode in ("bilinear", "bicubic")),
    Case("unfold", IMAGE, WINDOW, ref=unfold, dtypes=(*FLOAT, "int64"), covers=["unfold_grad"],
         shapes=[[(0, 3, 5, 6)]],
         errors=[([A(3, 5, 6)], WINDOW, ValueError, "[batch, channels, height, width]"),
                 ([A(1, 1, 1, 1)], WINDOW, ValueError, "window does not fit"),
                 (IMAGE, {**WINDOW, "stride": [0, 1]}, ValueError, "1 or more")]),
    Case("fold", [A(2, 12, 9)], {"output_size": [5, 6], **WINDOW, "stride": [2, 2]}, ref=fold,
         dtypes=(*FLOAT, "int64"), tol=2,
         errors=[([A(2, 12, 8)], {"output_size": [5, 6], **WINDOW, "stride": [2, 2]}, ValueError, "has 9 windows"),
                 ([A(2, 11, 9)], {"output_size": [5, 6], **WINDOW, "stride": [2, 2]}, ValueError, "multiple")]),
    *(Case("grid_sample", [A(2, 3, 4, 5), FAR],
           {"mode": mode, "padding_mode": padding, "align_corners": corners}, ref=grid_sample,
           dtypes=SOLO, tol=8, covers=["grid_sample_grad", "grid_slope", "grid_slope_spread"])
      for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection")
      for corners in (True, False)),
    Case("grid_sample", [A(1, 2, 3, 4, 5), SPACE], ref=grid_sample, dtypes=SOLO, tol=8,
         errors=[([A(2, 3, 4, 5), A(2, 3, 3, 3)], {}, ValueError, "with grid [N, H', W', 2]"),
                 ([A(2, 3, 4, 5), FAR], {"mode": "cubic"}, ValueError, "mode must be"),
                 ([A(2, 3, 4, 5), FAR], {"padding_mode": "wrap"}, ValueError, "padding_mode must be")]),
    *(Case("correlation", [A(2, 3, 5, 6), A(2, 3, 5, 6)],
           dict(zip(CORRELATION, values)), ref=correlation, dtypes=SOLO, tol=4, covers=["correlation_grad"],
           shapes=[[(0, 3, 5, 6)] * 2, [(1, 1, 7, 4)] * 2])
      for values in [(2, 1, 2, 1, 1), (3, 3, 2, 1, 1), (2, 1, 3, 2, 2), (4, 3, 3, 2, 3), (0, 1, 0, 3, 1)]),
    Case("correlation", [A(1, 2, 4, 4), A(1, 2, 4, 4)], dict(zip(CORRELATION, (1, 1, 1, 1, 1))), ref=correlation,
         dtypes=SOLO, tol=4,
         errors=[([A(1, 2, 4, 4), A(1, 2, 4, 5)], dict(zip(CORRELATION, (1, 1, 1, 1, 1))), ValueError, "must have one shape"),
                 ([A(2, 4, 4), A(2, 4, 4)], dict(zip(CORRELATION, (1, 1, 1, 1, 1))), ValueError, "must be [N, C, H, W]"),
                 ([A(1, 2, 4, 4, dtype="float64"), A(1, 2, 4, 4, dtype="float32")], dict(zip(CORRELATION, (1, 1, 1, 1, 1))), TypeError, "must have one dtype"),
                 ([A(1, 2, 4, 4)] * 2, dict(zip(CORRELATION, (1, 2, 1, 1, 1))), ValueError, "kernel_size: expected an odd number, got 2"),
                 ([A(1, 2, 4, 4)] * 2, dict(zip(CORRELATION, (1, 1, 1, 0, 1))), ValueError, "stride1: expected 1 to 32768, got 0"),
                 ([A(1, 2, 4, 4)] * 2, dict(zip(CORRELATION, (0, 1, 4, 1, 1))), ValueError, "no window is left"),
                 ([A(1, 2, 4, 4)] * 2, dict(zip(CORRELATION, (1, 1, 1, 1, 1)), corr_type_multiply=0), ValueError,
                  "corr_type_multiply: expected 1")]),
    *(Case("affine_grid", [A(2, 2, 3)], {"out_shape": [2, 3, 4, 5], "align_corners": corners},
           ref=affine_grid, dtypes=SOLO, covers=["affine_base_grid"], tol=4) for corners in (True, False)),
    Case("affine_grid", [A(1, 3, 4)], {"out_shape": [1, 3, 2, 3, 4], "align_corners": True}, ref=affine_grid,
         dtypes=SOLO, tol=4,
         errors=[([A(2, 2, 4)], {"out_shape": [2, 3, 4, 5]}, ValueError, "theta must be")]),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "complex128"])
@pytest.mark.parametrize("shape", [(5, 7, 33, 61), (90000,), (3, 30001), (41, 3, 5, 3, 61)])
def test_pads_in_many_parts(shape, dtype, mode):
    """Parts that begin anywhere in an axis."""
    x = np.random.RandomState(5).randint(0, 200, shape).astype(dtype)
    for axes in range(1, len(shape) + 1):
        paddings = [0, 0] * (len(shape) - axes) + [1, 2, 2, 1, 0, 2, 1, 0, 2, 2][-2 * axes :]
        y = _core.ops.pad(argosy.to_tensor(x), paddings, mode, 3)
        value = {"value": 3} if mode == "constant" else {}
        np.testing.assert_array_equal(y.numpy(), pad(x, paddings, mode, **value))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_pads_of_rows_of_any_length(dtype):
    """How a row is copied depends on how long it is: by pieces of 8 or 32 bytes, or by a call."""
    paddings = [1, 0, 1, 2]
    for n in (*range(1, 70), 127, 128, 129, 255, 256, 257, 511, 512, 513, 520):
        x = np.arange(3 * n).reshape(3, n).astype(dtype)
        y = _core.ops.pad(argosy.to_tensor(x), paddings, "constant", 3)
        np.testing.assert_array_equal(y.numpy(), pad(x, paddings, "constant", 3), err_msg=str(n))
