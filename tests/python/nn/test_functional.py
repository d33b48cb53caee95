"""Wrappers of nn.functional: the forms their arguments take, against NumPy."""

import nn_reference as ref
import numpy as np
import pytest
from tests.python.numeric import slopes

import argosy as paddle
import argosy.nn.functional as F


def t(array, **kwargs):
    return paddle.to_tensor(np.asarray(array), **kwargs)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def close(tensor, expected, tol=1e-5):
    assert list(tensor.shape) == list(np.shape(expected))
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tol, atol=tol)


# -- convolution ---------------------------------------------------------------------------------

PADDINGS = [
    (0, [(0, 0), (0, 0)]),
    (1, [(1, 1), (1, 1)]),
    ([1, 2], [(1, 1), (2, 2)]),
    ([1, 2, 0, 3], [(1, 2), (0, 3)]),
    ([[0, 0], [0, 0], [1, 2], [0, 3]], [(1, 2), (0, 3)]),
    ("valid", [(0, 0), (0, 0)]),
    ("SAME", [(1, 1), (1, 1)]),
]


@pytest.mark.parametrize("padding, pairs", PADDINGS)
def test_conv2d_paddings(rng, padding, pairs):
    x, w, b = normal(rng, 2, 4, 5, 6), normal(rng, 3, 4, 3, 3), normal(rng, 3)
    expected = ref.conv(x, w, b, padding=pairs)
    close(F.conv2d(t(x), t(w), t(b), padding=padding), expected, 1e-4)
    if not isinstance(padding, list) or len(padding) == 2:
        last = F.conv2d(t(x.transpose(0, 2, 3, 1)), t(w), t(b), padding=padding, data_format="NHWC")
        close(last, expected.transpose(0, 2, 3, 1), 1e-4)


def test_conv_strides_dilations_groups(rng):
    x, w = normal(rng, 1, 4, 9, 8), normal(rng, 6, 2, 3, 2)
    out = F.conv2d(input=t(x), weight=t(w), stride=[2, 1], dilation=(1, 2), groups=2)
    close(out, ref.conv(x, w, stride=[2, 1], dilation=[1, 2], groups=2), 1e-4)
    x, w = normal(rng, 1, 2, 9), normal(rng, 3, 2, 3)
    close(F.conv1d(t(x), t(w), padding=[1, 2]), ref.conv(x, w, padding=[(1, 2)]), 1e-4)
    x, w = normal(rng, 1, 2, 4, 5, 4), normal(rng, 3, 2, 2, 2, 2)
    close(F.conv3d(t(x), t(w), stride=2), ref.conv(x, w, stride=[2, 2, 2]), 1e-4)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"padding": [1]},
        {"padding": [1, 2, 3]},
        {"padding": "nonsense"},
        {"padding": -1},
        {"padding": 1.5},
        {"padding": [[1, 0], [0, 0], [1, 2], [3, 4]]},
        {"stride": [1, 2, 3]},
        {"data_format": "nonsense"},
    ],
)
def test_conv2d_refuses(rng, kwargs):
    with pytest.raises(ValueError):
        F.conv2d(t(normal(rng, 1, 1, 5, 5)), t(normal(rng, 1, 1, 3, 3)), **kwargs)


def test_convolutions_of_exported_programs(rng):
    from argosy.nn.functional.conv import _conv_nd

    x, w, b = rng.random((2, 4, 9, 8)), rng.random((6, 4, 3, 3)), rng.random(6)
    for algorithm, padding, pairs in (
        ("EXPLICIT", [1, 0, 2, 1], [(1, 0), (2, 1)]),
        ("VALID", [5, 5], [(0, 0), (0, 0)]),
    ):
        out = _conv_nd(
            t(x),
            t(w),
            bias=t(b),
            stride=[2, 1],
            padding=padding,
            padding_algorithm=algorithm,
            dilation=[1, 2],
            groups=1,
            data_format="NCHW",
            channel_dim=1,
            op_type="conv2d",
            use_cudnn=True,
        )
        close(out, ref.conv(x, w, b, stride=[2, 1], padding=pairs, dilation=[1, 2]), 1e-4)
    w = rng.random((4, 1, 3, 3))
    out = _conv_nd(t(x), t(w), padding=[0, 0], groups=4, op_type="depthwise_conv2d")
    close(out, ref.conv(x, w, groups=4), 1e-4)
    x, w = rng.random((1, 2, 4, 5, 6)), rng.random((3, 2, 2, 2, 2))
    out = _conv_nd(t(x), t(w), data_format="NCDHW", op_type="conv3d")
    close(out, ref.conv(x, w), 1e-4)
    with pytest.raises(ValueError, match="op_type"):
        _conv_nd(t(x), t(w), op_type="conv4d")


def test_conv2d_transpose_sizes(rng):
    x, w = normal(rng, 1, 2, 4, 4), normal(rng, 2, 3, 3, 3)
    close(F.conv2d_transpose(t(x), t(w), stride=2), ref.conv_transpose(x, w, 2, 0), 1e-4)
    padded = F.conv2d_transpose(t(x), t(w), stride=2, padding=1, output_padding=1)
    close(padded, ref.conv_transpose(x, w, 2, 1, 1), 1e-4)
    for size in (10, [10, 10]):
        out = F.conv2d_transpose(t(x), t(w), stride=2, output_size=size)
        close(out, ref.conv_transpose(x, w, 2, 0, 1), 1e-4)
    with pytest.raises(ValueError, match="excludes output_padding"):
        F.conv2d_transpose(t(x), t(w), stride=2, output_size=10, output_padding=1)
    with pytest.raises(ValueError, match="expected an int"):
        F.conv2d_transpose(t(x), t(w), output_size="10")


# -- pooling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding, pairs", PADDINGS[:5])
def test_pool2d_paddings(rng, padding, pairs):
    x = normal(rng, 2, 3, 7, 8)
    if max(max(p) for p in pairs) > 2:
        kernel = [4, 4]
    else:
        kernel = [3, 3]
    top = ref.pool(x, kernel, [2, 1], pairs, lambda p: p.max(-1), -np.inf)
    close(F.max_pool2d(t(x), kernel, [2, 1], padding), top)
    ones = ref.pool(np.ones_like(x), kernel, [2, 1], pairs, lambda p: p.sum(-1), 0)
    total = ref.pool(x, kernel, [2, 1], pairs, lambda p: p.sum(-1), 0)
    close(F.avg_pool2d(t(x), kernel, [2, 1], padding), total / ones)
    if all(before == after for before, after in pairs):
        inclusive = F.avg_pool2d(t(x), kernel, [2, 1], padding, exclusive=False)
        close(inclusive, total / (kernel[0] * kernel[1]))


def test_divisor_override_divides_means_times_the_whole_window():
    """Padding that does not count leaves the means as they are, so the border's results are larger."""
    ones = paddle.ones([1, 1, 3, 3])
    excluded = F.avg_pool2d(ones, 2, 2, 1, divisor_override=2)
    close(excluded, np.full((1, 1, 2, 2), 2.0))
    included = F.avg_pool2d(ones, 2, 2, 1, exclusive=False, divisor_override=2)
    close(included, np.array([[[[0.5, 1.0], [1.0, 2.0]]]]))
    close(
        F.avg_pool3d(paddle.ones([1, 1, 2, 2, 2]), 2, divisor_override=4),
        np.full((1, 1, 1, 1, 1), 2.0),
    )
    with pytest.raises(
        ValueError, match=r"\[avg_pool2d\] divisor_override: expected a number, got str"
    ):
        F.avg_pool2d(ones, 2, divisor_override="2")


def test_pool_other_forms(rng):
    x = normal(rng, 2, 3, 6)
    close(F.max_pool1d(t(x), 2), x.reshape(2, 3, 3, 2).max(-1))
    close(F.avg_pool1d(t(x), [2], [2]), x.reshape(2, 3, 3, 2).mean(-1))
    x = normal(rng, 1, 2, 4, 6)
    windows = x.reshape(1, 2, 2, 2, 3, 2)
    close(F.avg_pool2d(t(x), 2, divisor_override=2.5), windows.sum((3, 5)) / 2.5)
    last = F.max_pool2d(t(x.transpose(0, 2, 3, 1)), 2, data_format="NHWC")
    close(last, windows.max((3, 5)).transpose(0, 2, 3, 1))
    norm = F.lp_pool2d(t(x), 2, 2)
    close(norm, np.sqrt((windows**2).sum((3, 5))))
    out = F.max_pool2d(t(normal(rng, 1, 1, 5, 5)), 2, 2, ceil_mode=True)
    assert list(out.shape) == [1, 1, 3, 3]
    x = normal(rng, 1, 2, 4, 4, 4)
    close(F.max_pool3d(t(x), 4), x.max((2, 3, 4), keepdims=True))


def test_masks_lead_back(rng):
    x = normal(rng, 2, 3, 4, 6)
    top, index = F.max_pool2d(t(x), 2, return_mask=True)
    flat = np.take_along_axis(x.reshape(2, 3, -1), index.numpy().reshape(2, 3, -1).astype(int), -1)
    np.testing.assert_array_equal(flat.reshape(top.shape), top.numpy())
    back = F.max_unpool2d(top, index, 2).numpy()
    assert back.shape == x.shape and np.count_nonzero(back) == top.numpy().size
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert list(F.max_unpool2d(top, index, 2, output_size=[5, 7]).shape) == [2, 3, 5, 7]
    with pytest.raises(ValueError, match="does not fit"):
        F.max_unpool2d(top, index, 2, output_size=[9, 7])


@pytest.mark.parametrize("size, shape", [(3, (3, 3)), ([2, None], (2, 8)), ((None, 1), (7, 1))])
def test_adaptive_pool2d(rng, size, shape):
    x = normal(rng, 2, 3, 7, 8)

    def windows(reduce):
        rows, cols = (
            [(i * n // s, -(-(i + 1) * n // s)) for i in range(s)] for n, s in zip((7, 8), shape)
        )
        return np.stack(
            [np.stack([reduce(x[:, :, a:b, c:d]) for c, d in cols], -1) for a, b in rows], -2
        )

    close(F.adaptive_avg_pool2d(t(x), size), windows(lambda p: p.mean((2, 3))))
    close(F.adaptive_max_pool2d(t(x), size), windows(lambda p: p.max((2, 3))))


def fractional_bounds(length, size, kernel, u):
    """Starts and ends of the windows of an axis."""
    if kernel:
        step = (length - kernel) / max(size - 1, 1)
        starts = [int((i + u) * step) - int(u * step) for i in range(size)]
        return [(a, min(a + kernel, length)) for a in starts]
    step = length / size
    base = length // size
    u *= min((base + 2) / step - 1, (length + 1 - base) / step - (size - 1))
    ends = [int((i + u) * step) - int(u * step) for i in range(size + 1)]
    return list(zip(ends, ends[1:]))


@pytest.mark.parametrize("kernel", [None, 2, [3, 2]])
@pytest.mark.parametrize("u", [0.1, 0.45, 0.9])
def test_fractional_max_pools(rng, kernel, u):
    x = rng.permutation(2 * 9 * 7).reshape(1, 2, 9, 7).astype("float32")
    sizes = [3, 4] if kernel is None else [4, 5]
    kernels = [kernel] * 2 if not isinstance(kernel, list) else kernel
    rows, columns = (fractional_bounds(x.shape[2 + d], sizes[d], kernels[d], u) for d in (0, 1))
    want = np.array([[[[c[a:b, e:f].max() for e, f in columns] for a, b in rows] for c in x[0]]])
    leaf = t(x, stop_gradient=False)
    out, mask = F.fractional_max_pool2d(leaf, sizes, kernel, u, return_mask=True)
    close(out, want)
    assert mask.dtype == paddle.int32
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(1, 2, -1), mask.numpy().reshape(1, 2, -1), 2).ravel(),
        want.ravel(),
    )
    out.sum().backward()
    counts = np.zeros(x.size)
    np.add.at(counts, [np.flatnonzero(x.ravel() == v)[0] for v in want.ravel()], 1)
    close(leaf.grad, counts.reshape(x.shape))
    volume = t(np.broadcast_to(x[:, :, None], (1, 2, 4, 9, 7)).copy())
    close(
        F.fractional_max_pool3d(
            volume, [None, *sizes], None if kernel is None else [1, *kernels], u
        )[:, :, 0],
        want,
    )
    paddle.seed(1)
    drawn = {float(F.fractional_max_pool2d(t(x), 3).sum()) for _ in range(20)}
    assert len(drawn) > 1


def test_pools_refuse(rng):
    x = t(normal(rng, 1, 1, 4, 4))
    for call in (
        lambda: F.max_pool2d(x, [2]),
        lambda: F.max_pool2d(x, 2, data_format="nonsense"),
        lambda: F.max_pool2d(x, 2, padding="VALID", ceil_mode=True),
        lambda: F.max_pool2d(x, 2, return_mask=True, data_format="NHWC"),
        lambda: F.adaptive_avg_pool2d(x, [1, 2, 3]),
        lambda: F.lp_pool2d(x, 0, 2),
        lambda: F.fractional_max_pool2d(x, 2, random_u=1.5),
        lambda: F.fractional_max_pool2d(x, 3, 3, 0.5),
    ):
        with pytest.raises(ValueError):
            call()


# -- padding and resizing ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pads, widths",
    [
        ([1, 2], [(0, 0), (0, 0), (0, 0), (1, 2)]),
        ([1, 2, 3, 4], [(0, 0), (0, 0), (3, 4), (1, 2)]),
        ([1, 2, 3, 4, 5, 6], [(0, 0), (5, 6), (3, 4), (1, 2)]),
        ([1, 2, 3, 4, 5, 6, 7, 8], [(1, 2), (3, 4), (5, 6), (7, 8)]),
        ([1], [(0, 0), (0, 0), (0, 0), (1, 0)]),
        ([], [(0, 0)] * 4),
    ],
)
def test_constant_pad(rng, pads, widths):
    x = normal(rng, 1, 2, 4, 6)
    close(F.pad(t(x), pads, value=2.5), np.pad(x, widths, constant_values=2.5))


def test_pad_orders_and_formats(rng):
    x = normal(rng, 2, 3, 5)
    pads = [0, 0, 1, 2, 3, 4]
    close(F.pad(t(x), pads, pad_from_left_axis=False), np.pad(x, [(3, 4), (1, 2), (0, 0)]))
    close(F.pad(t(x), t([1, 2, 3, 4])), np.pad(x, [(0, 0), (3, 4), (1, 2)]))
    close(F.pad(input=t(x), pad=[-1, 2]), np.pad(x, [(0, 0), (0, 0), (0, 2)])[:, :, 1:])
    x = normal(rng, 1, 4, 5, 2)
    out = F.pad(t(x), [1, 2, 3, 1], data_format="NHWC")
    close(out, np.pad(x, [(0, 0), (3, 1), (1, 2), (0, 0)]))
    close(F.zeropad2d(t(x), [1, 0, 0, 2]), np.pad(x, [(0, 0), (0, 0), (0, 2), (1, 0)]))


@pytest.mark.parametrize(
    "mode, name", [("reflect", 0), ("replicate", "edge"), ("circular", "wrap")]
)
def test_other_pad_modes(rng, mode, name):
    x = normal(rng, 1, 2, 4, 5)
    name = name or mode
    expected = np.pad(x, [(0, 0), (0, 0), (3, 1), (1, 2)], mode=name)
    close(F.pad(t(x), [1, 2, 3, 1], mode=mode), expected)
    last = F.pad(t(x.transpose(0, 2, 3, 1)), [1, 2, 3, 1], mode=mode, data_format="NHWC")
    close(last, expected.transpose(0, 2, 3, 1))
    with pytest.raises(ValueError, match="expected 4 numbers"):
        F.pad(t(x), [1, 2], mode=mode)
    with pytest.raises(AssertionError, match="expected 3, 4 or 5 dimensions"):
        F.pad(t(x[0, 0]), [1, 2], mode=mode)


def test_pad_refuses(rng):
    x = t(normal(rng, 1, 2, 4, 5))
    with pytest.raises(AssertionError, match="mode: expected"):
        F.pad(x, [1, 2], mode="nonsense")
    with pytest.raises(AssertionError, match="data_format: expected"):
        F.pad(x, [1, 2, 3, 4], data_format="nonsense")
    with pytest.raises(ValueError):
        F.pad(x, [9, 9, 0, 0], mode="reflect")


def test_interpolate_nearest_and_linear(rng):
    x = normal(rng, 1, 2, 3, 4)
    twice = x.repeat(2, 2).repeat(2, 3)
    for kwargs in ({"scale_factor": 2}, {"size": [6, 8]}, {"size": t([6, 8])},
                   {"scale_factor": [2.0, 2]}):  # fmt: skip
        close(F.interpolate(t(x), **kwargs), twice)
    last = F.interpolate(t(x.transpose(0, 2, 3, 1)), size=[6, 8], data_format="NHWC")
    close(last, twice.transpose(0, 2, 3, 1))
    row = normal(rng, 1, 1, 5)
    at = np.linspace(0, 4, 9)
    line = np.interp(at, np.arange(5), row[0, 0])[None, None]
    close(F.interpolate(t(row), size=[9], mode="linear", align_corners=True), line)
    at = np.clip((np.arange(10) + 0.5) / 2 - 0.5, 0, 4)
    line = np.interp(at, np.arange(5), row[0, 0])[None, None]
    close(F.interpolate(t(row), scale_factor=2, mode="linear"), line)
    close(F.interpolate(t(x), size=[3, 2], mode="area"), x.reshape(1, 2, 3, 2, 2).mean(-1))
    assert list(F.upsample(t(x), scale_factor=1.7, mode="bilinear").shape) == [1, 2, 5, 6]


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({}, ValueError),
        ({"size": [3, 3], "scale_factor": 2}, ValueError),
        ({"size": [3]}, ValueError),
        ({"size": 8}, TypeError),
        ({"size": [0, 3]}, AssertionError),
        ({"size": [3, 3], "mode": "nonsense"}, ValueError),
        ({"size": [3, 3], "mode": "linear"}, ValueError),
        ({"size": [3, 3], "align_corners": True}, ValueError),
        ({"size": [3, 3], "align_mode": 2}, ValueError),
        ({"size": [3, 3], "data_format": "NCW"}, ValueError),
        ({"scale_factor": -1}, ValueError),
        ({"scale_factor": [2]}, ValueError),
        ({"scale_factor": "2"}, TypeError),
        ({"scale_factor": 2, "mode": "area"}, ValueError),
    ],
)
def test_interpolate_refuses(rng, kwargs, error):
    with pytest.raises(error):
        F.interpolate(t(normal(rng, 1, 2, 3, 4)), **kwargs)


def test_unfold_and_fold(rng):
    x = normal(rng, 1, 2, 4, 5)
    columns = F.unfold(t(x), [2, 3], strides=1, paddings=[1, 0])
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    expected = np.stack(
        [padded[0, :, i : i + 2, j : j + 3].ravel() for i in range(5) for j in range(3)], -1
    )
    close(columns, expected[None])
    ones = F.fold(F.unfold(t(np.ones((1, 1, 3, 3), "float32")), 2), output_size=3, kernel_size=2)
    close(ones, [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]])
    with pytest.raises(AssertionError, match="N, C, H, W"):
        F.unfold(t(x[0]), 2)
    with pytest.raises(ValueError, match="2 or 4"):
        F.unfold(t(x), 2, 1, [1, 2, 3])


def test_sampling_grid(rng):
    x = normal(rng, 1, 2, 3, 4)
    same = t(np.array([[[1, 0, 0], [0, 1, 0]]], "float32"))
    for align in (True, False):
        grid = F.affine_grid(same, [1, 2, 3, 4], align_corners=align)
        close(F.grid_sample(t(x), grid, align_corners=align), x)
    flipped = t(np.array([[[-1, 0, 0], [0, 1, 0]]], "float32"))
    grid = F.affine_grid(flipped, t([1, 2, 3, 4]))
    close(F.grid_sample(t(x), grid, mode="nearest"), x[..., ::-1])
    with pytest.raises(ValueError, match="mode: expected one of bilinear"):
        F.grid_sample(t(x), grid, mode="nonsense")
    with pytest.raises(TypeError):
        F.affine_grid(3, [1, 2, 3, 4])


# -- normalization -------------------------------------------------------------------------------


def test_batch_norm_statistics(rng):
    x = normal(rng, 4, 3, 5)
    mean, var = t(np.zeros(3, "float32")), t(np.ones(3, "float32"))
    out = F.batch_norm(t(x), mean, var, training=True, momentum=0.8, data_format="NCL")
    m, v = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    close(out, (x - m) / np.sqrt(v + 1e-5), 1e-4)
    close(mean, 0.2 * m.ravel())
    close(var, 0.8 + 0.2 * v.ravel())
    before = mean.numpy(), var.numpy()
    b, c = before
    w, s = normal(rng, 3), normal(rng, 3)
    out = F.batch_norm(t(x.transpose(0, 2, 1)), mean, var, t(w), t(s), data_format="NLC")
    expected = (x.transpose(0, 2, 1) - b) / np.sqrt(c + 1e-5) * w + s
    close(out, expected, 1e-4)
    F.batch_norm(t(x), mean, var, training=True, use_global_stats=True, data_format="NCL")
    np.testing.assert_array_equal(mean.numpy(), before[0])
    with pytest.raises(ValueError, match="data_format"):
        F.batch_norm(t(x), mean, var, data_format="nonsense")
    with pytest.raises(AssertionError):
        F.batch_norm(t(x[0, 0]), mean, var)


def test_layer_group_instance_norm(rng):
    x, w, b = normal(rng, 2, 4, 6), normal(rng, 4), normal(rng, 4)

    def standard(a, axes):
        return (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)

    close(F.layer_norm(t(x), 6), standard(x, -1), 1e-4)
    close(F.layer_norm(input=t(x), normalized_shape=[4, 6]), standard(x, (1, 2)), 1e-4)
    scale, shift = w[:, None], b[:, None]
    close(F.instance_norm(t(x), weight=t(w), bias=t(b)), standard(x, 2) * scale + shift, 1e-4)
    grouped = standard(x.reshape(2, 2, 12), 2).reshape(2, 4, 6)
    close(F.group_norm(t(x), 2, weight=t(w), bias=t(b)), grouped * scale + shift, 1e-4)
    rms = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    close(F.rms_norm(t(x), [6]), rms, 1e-4)
    with pytest.raises(ValueError, match="must end with normalized_shape"):
        F.layer_norm(t(x), [5])
    with pytest.raises(ValueError):
        F.layer_norm(t(x), "a")
    with pytest.raises(ValueError, match="data_format: expected one of"):
        F.group_norm(t(x), 2, data_format="nonsense")


def test_normalize_and_distances(rng):
    x, y = normal(rng, 3, 4), normal(rng, 3, 4)
    close(F.normalize(t(x)), x / np.linalg.norm(x, axis=1, keepdims=True))
    close(F.normalize(input=t(x), p=1, dim=0), x / np.abs(x).sum(0))
    close(F.pairwise_distance(t(x), t(y)), np.linalg.norm(x - y + 1e-6, axis=-1), 1e-4)
    dot = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    close(F.cosine_similarity(t(x), t(y)), dot, 1e-4)


def test_local_response_norm(rng):
    x = normal(rng, 2, 5, 3)
    squares = np.pad(x**2, [(0, 0), (1, 1), (0, 0)])
    mean = sum(squares[:, i : i + 5] for i in range(3)) / 3
    close(F.local_response_norm(t(x), 3, data_format="NCL"), x / (1 + 1e-4 * mean) ** 0.75)
    with pytest.raises(ValueError, match="3 dimensions or more"):
        F.local_response_norm(t(x[0]), 3)


# -- dropout -------------------------------------------------------------------------------------


def test_dropout_modes():
    x = t(np.ones((40, 50), "float32"))
    out = F.dropout(x, 0.25).numpy()
    assert set(np.unique(out)) == {0, np.float32(1 / 0.75)} and abs((out == 0).mean() - 0.25) < 0.05
    assert F.dropout(x, 0) is x
    np.testing.assert_array_equal(F.dropout(x, 0.25, training=False).numpy(), x.numpy())
    down = F.dropout(x, 0.25, training=False, mode="downscale_in_infer")
    np.testing.assert_allclose(down.numpy(), 0.75, rtol=1e-6)
    assert not F.dropout(x, 1.0).numpy().any()
    rows = F.dropout(x, 0.5, axis=0).numpy()
    assert (rows == rows[:, :1]).all() and len(np.unique(rows)) == 2
    images = F.dropout2d(t(np.ones((8, 8, 2, 2), "float32")), 0.5).numpy()
    assert (images == images[:, :, :1, :1]).all() and len(np.unique(images)) == 2


@pytest.mark.cpu_only("is about the values of the CPU's generator")
def test_dropout_for_a_seed():
    paddle.seed(1)
    out = F.dropout(t(np.ones(10, "float32")), 0.3).numpy()
    assert (out == 0).tolist() == [True, False, False, True, *[False] * 5, True]
    paddle.seed(1)
    out = F.alpha_dropout(t(np.ones(6, "float32")), 0.3).numpy()
    low, high = -1.0595481, 1.3150446
    np.testing.assert_allclose(out, [low, high, high, low, high, high], rtol=1e-5)


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({"p": 1.5}, ValueError),
        ({"p": "a"}, TypeError),
        ({"mode": "nonsense"}, ValueError),
        ({"axis": "a"}, TypeError),
        ({"axis": 7}, ValueError),
        ({"axis": [-1]}, ValueError),
    ],
)
def test_dropout_refuses(kwargs, error):
    with pytest.raises(error):
        F.dropout(t(np.ones((2, 3), "float32")), **kwargs)


# -- indices -------------------------------------------------------------------------------------


def test_one_hot_and_sequence_mask():
    close(F.one_hot(t([1, 0]), 3), np.eye(3, dtype="float32")[[1, 0]])
    assert list(F.one_hot(t([[2], [0]])).shape) == [2, 1, 3]
    mask = F.sequence_mask(t([1, 3]))
    assert mask.numpy().tolist() == [[1, 0, 0], [1, 1, 1]] and mask.dtype == paddle.int64
    wide = F.sequence_mask(t([1, 3]), maxlen=4, dtype="float32")
    assert wide.numpy().tolist() == [[1, 0, 0, 0], [1, 1, 1, 0]] and wide.dtype == paddle.float32


def test_what_indices_are_refused(rng):
    """By the call, or on a GPU where its result is read."""
    for bad in ([1, 3], [-1, 0]):
        with pytest.raises(ValueError):
            F.one_hot(t(bad), 3).numpy()
    with pytest.raises(ValueError):
        F.embedding(t([9]), t(normal(rng, 5, 3))).numpy()
    with pytest.raises(IndexError):
        F.cross_entropy(t(normal(rng, 3, 4)), t([9, 1, 2])).numpy()


def test_embedding(rng):
    w = normal(rng, 5, 3)
    close(F.embedding(t([[1, 4]]), t(w)), w[[[1, 4]]])
    out = F.embedding(t([1, 4]), t(w), padding_idx=-1)
    close(out, np.stack([w[1], 0 * w[4]]))
    weight = t(w)
    for none in (0.0, False, None):
        before = weight.numpy()
        F.embedding(t([0, 2]), weight, max_norm=none)
        np.testing.assert_array_equal(weight.numpy(), before)
    F.embedding(t([0, 2]), weight, max_norm=0.5)
    norms = np.linalg.norm(weight.numpy(), axis=1)
    np.testing.assert_allclose(norms[[0, 2]], np.minimum(np.linalg.norm(w, axis=1), 0.5)[[0, 2]],
                               rtol=1e-4)  # fmt: skip
    np.testing.assert_array_equal(weight.numpy()[[1, 3, 4]], w[[1, 3, 4]])
    with pytest.raises(ValueError, match="padding_idx"):
        F.embedding(t([1]), t(w), padding_idx=5)


# -- losses --------------------------------------------------------------------------------------


def test_cross_entropy_forms(rng):
    x, label = normal(rng, 4, 5), np.array([0, 2, 4, 2])
    logp = np.log(ref.softmax(x))
    nll = -logp[np.arange(4), label]
    close(F.cross_entropy(t(x), t(label)), nll.mean())
    close(F.cross_entropy(t(x), t(label[:, None]), reduction="none"), nll[:, None])
    w = np.abs(normal(rng, 5))
    close(F.cross_entropy(t(x), t(label), t(w)), (nll * w[label]).sum() / w[label].sum())
    keep = label != 2
    close(F.cross_entropy(t(x), t(label), ignore_index=2), nll[keep].mean())
    soft = ref.softmax(normal(rng, 4, 5))
    close(F.cross_entropy(t(x), target=t(soft), soft_label=True, reduction="sum"),
          -(soft * logp).sum(), 1e-4)  # fmt: skip
    smooth = np.eye(5)[label] * 0.9 + 0.1 / 5
    close(F.cross_entropy(t(x), t(label), label_smoothing=0.1), -(smooth * logp).sum(1).mean())
    image = normal(rng, 2, 3, 4, 4)
    zero = np.zeros((2, 4, 4), "int64")
    out = F.cross_entropy(t(image), t(zero), axis=1, reduction="none")
    close(out, -np.log(ref.softmax(image, 1))[:, 0])
    close(F.cross_entropy(t(ref.softmax(x)), t(label), use_softmax=False), nll.mean())


def test_cross_entropy_refuses(rng):
    x, label = t(normal(rng, 3, 4)), t([0, 1, 2])
    with pytest.raises(ValueError, match="reduction"):
        F.cross_entropy(x, label, reduction="nonsense")
    with pytest.raises(ValueError, match="ignore_index"):
        F.cross_entropy(x, x, soft_label=True, ignore_index=3)
    with pytest.raises(ValueError):
        F.cross_entropy(x, t(normal(rng, 3, 4, 5)))
    with pytest.raises(ValueError):
        F.cross_entropy(x, label, weight=t(np.ones(3, "float32")))


def test_softmax_with_cross_entropy(rng):
    x, label = normal(rng, 4, 5), np.array([[0], [2], [4], [2]])
    loss, soft = F.softmax_with_cross_entropy(t(x), t(label), return_softmax=True)
    close(soft, ref.softmax(x))
    close(loss, -np.log(np.take_along_axis(ref.softmax(x), label, 1)))


def test_ctc_loss_against_all_paths(rng):
    import itertools

    x = normal(rng, 4, 1, 3)
    p = ref.softmax(x)[:, 0]
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        merged = [s for i, s in enumerate(path) if i == 0 or path[i - 1] != s]
        if [s for s in merged if s != 0] == [1, 2]:
            total += np.prod([p[i, s] for i, s in enumerate(path)])
    args = t(x), t(np.array([[1, 2]], "int32")), t([4]), t([2])
    close(F.ctc_loss(*args, reduction="none"), [-np.log(total)], 1e-4)
    close(F.ctc_loss(*args), -np.log(total) / 2, 1e-4)
    with pytest.raises(AssertionError):
        F.ctc_loss(*args, reduction="nonsense")


def test_triplet_loss_with_own_distance(rng):
    a, p, n = (normal(rng, 3, 4) for _ in range(3))

    def distance(x, y):
        return paddle.abs(x - y).sum(-1)

    expected = np.maximum(np.abs(a - p).sum(-1) - np.abs(a - n).sum(-1) + 1, 0)
    out = F.triplet_margin_with_distance_loss(
        t(a), t(p), t(n), distance_function=distance, reduction="none"
    )
    close(out, expected)
    with pytest.raises(ValueError, match="margin"):
        F.triplet_margin_with_distance_loss(t(a), t(p), t(n), margin=-1)


# -- attention and others ------------------------------------------------------------------------


def test_scaled_dot_product_attention(rng):
    q, k, v = normal(rng, 2, 3, 4, 8), normal(rng, 2, 5, 4, 8), normal(rng, 2, 5, 4, 8)
    sdpa = F.scaled_dot_product_attention
    close(sdpa(t(q), t(k), t(v)), ref.attention(q, k, v)[0], 1e-4)
    close(sdpa(t(q), t(k), t(v), scale=0.5), ref.attention(q, k, v, scale=0.5)[0], 1e-4)
    added = normal(rng, 3, 5)
    close(sdpa(t(q), t(k), t(v), t(added)), ref.attention(q, k, v, added)[0], 1e-4)
    causal = np.where(np.tril(np.ones((3, 5), bool)), 0, -1e9)
    expected = ref.attention(q, k, v, causal)[0]
    close(sdpa(t(q), t(k), t(v), is_causal=True), expected, 1e-4)
    close(sdpa(t(q), t(k), t(v), t(causal == 0)), expected, 1e-4)
    close(sdpa(t(q[0]), t(k[0]), t(v[0])), ref.attention(q, k, v)[0][0], 1e-4)
    shared = k[:, :, :2].repeat(2, 2)
    close(sdpa(t(q), t(k[:, :, :2]), t(k[:, :, :2])), ref.attention(q, shared, shared)[0], 1e-4)
    out, weights = F.flash_attention.flash_attention(t(q), t(k), t(v), return_softmax=True)
    close(weights, ref.attention(q, k, v)[1], 1e-4)


def test_attention_in_packed_sequences(rng):
    q, starts = normal(rng, 7, 4, 8), t(np.array([0, 3, 7], "int32"))
    causal = [np.where(np.tril(np.ones((n, n), bool)), 0, -1e9) for n in (3, 4)]
    parts = zip((q[:3], q[3:]), causal)
    expected = np.concatenate([ref.attention(*[p[None]] * 3, m, scale=0.3)[0][0] for p, m in parts])
    unpadded = F.flash_attention.flash_attn_unpadded
    out, weights = unpadded(t(q), t(q), t(q), starts, starts, 4, 4, 0.3, causal=True)
    assert weights is None
    close(out, expected, 1e-4)
    packed = t(np.stack([q] * 3, 1))
    out, _ = F.flash_attn_varlen_qkvpacked(packed, starts, starts, 4, 4, 0.3, causal=True)
    close(out, expected, 1e-4)


def test_random_activations(rng):
    x = normal(rng, 50)
    out = F.rrelu(t(x), 0.1, 0.3).numpy()
    slope = out[x < 0] / x[x < 0]
    assert (slope >= 0.1 - 1e-6).all() and (slope <= 0.3 + 1e-6).all() and slope.std() > 0
    close(F.rrelu(t(x), 0.1, 0.3, training=False), np.where(x < 0, 0.2 * x, x))
    with pytest.raises(TypeError):
        F.rrelu(t(x), 0, 1)
    hard = F.gumbel_softmax(t(normal(rng, 6, 5)), hard=True).numpy()
    np.testing.assert_array_equal(np.sort(hard, -1), [[0, 0, 0, 0, 1]] * 6)


def test_silu_in_place(rng):
    x = normal(rng, 5)
    tensor = t(x)
    close(F.silu(input=t(x)), x * ref.sigmoid(x))
    assert F.silu(tensor, inplace=True) is tensor
    close(tensor, x * ref.sigmoid(x))


def test_class_center_sample():
    label, sampled = F.class_center_sample(t([11, 5, 11, 2]), 20, 6)
    classes = sampled.numpy()
    assert len(set(classes)) == 6 and classes[:3].tolist() == [2, 5, 11]
    assert classes[label.numpy()].tolist() == [11, 5, 11, 2]
    with pytest.raises(ValueError, match="num_samples"):
        F.class_center_sample(t([0]), 2, 6)


def test_both_names_of_an_argument_are_refused(rng):
    x = t(normal(rng, 2, 3))
    with pytest.raises(ValueError, match="both"):
        F.normalize(x=x, input=x)


@pytest.mark.parametrize(
    "loss",
    [
        F.binary_cross_entropy,
        F.binary_cross_entropy_with_logits,
        F.kl_div,
        F.log_loss,
        lambda x, y: F.cross_entropy(x, y, soft_label=True),
        lambda x, y: F.softmax_with_cross_entropy(x, y, soft_label=True),
    ],
)
def test_no_gradient_goes_back_to_labels(loss):
    x = paddle.to_tensor([[0.2, 0.8], [0.6, 0.4]], "float64", stop_gradient=False)
    y = paddle.to_tensor([[0.5, 0.5], [0.1, 0.9]], "float64", stop_gradient=False)
    (loss(x, y).sum() + (2 * y).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), slopes(lambda x: loss(x, y).sum(), x), rtol=1e-6)
    np.testing.assert_array_equal(y.grad.numpy(), 2.0)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_bias_of_one_element_is_that_of_all_channels(rng, n, channels_last):
    formats = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
    x = paddle.to_tensor(rng.normal(size=(2, *[4] * (n + 1))).astype("float32"))
    w = paddle.to_tensor(rng.normal(size=(4, 2, *[3] * n)).astype("float32"))
    for name in (f"conv{n}d", f"conv{n}d_transpose"):
        function = getattr(F, name)
        options = {"groups": 2, "data_format": formats[channels_last]}
        for shape in ([1], [1, 1, 1]):
            bias = paddle.full(shape, 0.5)
            bias.stop_gradient = False
            y = function(x, w, bias, **options)
            plain = function(x, w, **options)
            np.testing.assert_allclose(y.numpy(), plain.numpy() + 0.5, rtol=1e-5, atol=1e-5)
            y.sum().backward()
            assert bias.grad.shape == shape and float(bias.grad.sum()) == y.size


@pytest.mark.parametrize(
    ("pad", "expected"),
    [([1, 2], [2, 3, 4, 8]), ([1, 2, 3, 4], [2, 10, 7, 5]), ([1, 2, 3, 4, 5, 6], [2, 14, 11, 8])],
)
def test_pairs_for_other_than_the_spatial_axes_count_from_the_last(pad, expected):
    x = paddle.zeros([2, 3, 4, 5])
    assert paddle.nn.functional.pad(x, pad, data_format="NHWC").shape == expected


def test_what_was_taken_though_it_does_not_fit():
    x = paddle.ones([2, 3])
    for label in (paddle.to_tensor([0, 2]), paddle.ones([3])):
        with pytest.raises(
            ValueError, match="soft labels have a probability for each class.*Do this"
        ):
            F.cross_entropy(x, label, soft_label=True)
    image = paddle.ones([2, 4, 6, 6])
    with pytest.raises(
        AssertionError, match="data_format: expected NCHW or NHWC for 4 dimensions, got NCL"
    ):
        F.pad(image, [1, 1, 1, 1], data_format="NCL")
    assert F.pad(image, [1, 1], data_format="NCL").shape == [2, 4, 6, 8]
    with pytest.raises(
        ValueError, match="margin_cross_entropy. group: expected a group, False or None"
    ):
        F.margin_cross_entropy(x * 0.1, paddle.to_tensor([0, 2]), group="a")
