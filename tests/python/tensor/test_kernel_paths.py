"""Ops whose kernels take a shorter way for some operands: the same results on both sides of the border."""

import itertools

import numpy as np
import pytest

import argosy as paddle

F = paddle.nn.functional
RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "low, high",
    [(0, 1), (-7, 7), (-(2**31), 2**31 - 1), (-(2**31), 2**31 + 5), (-(2**63), 2**63 - 1)],
)
@pytest.mark.parametrize(
    "shape, axis", [((511,), 0), ((512,), 0), ((3000,), 0), ((700, 3), 0), ((3, 700), 1)]
)
def test_whole_numbers_near_each_other_and_far(low, high, shape, axis, descending):
    generator = np.random.default_rng(1)
    x = generator.integers(low, high, shape, np.int64, endpoint=True)
    x.flat[:2] = low, high
    order = np.argsort(-x.astype(object) if descending else x, axis=axis, kind="stable")
    t = paddle.to_tensor(x)
    found = paddle.argsort(t, axis=axis, descending=descending, stable=True)
    np.testing.assert_array_equal(found.numpy(), order.astype(np.int64))
    np.testing.assert_array_equal(
        paddle.sort(t, axis=axis, descending=descending).numpy(), np.take_along_axis(x, order, axis)
    )


def combined(x, index, values, axis, reduce, include_self):
    out, count = x.copy(), np.full(x.shape, int(include_self))
    for at in np.ndindex(index.shape):
        place = (*at[:axis], index[at], *at[axis + 1 :])
        v = values[at]
        if count[place] == 0:
            out[place] = v
        elif reduce in ("add", "mean"):
            out[place] += v
        elif reduce == "multiply":
            out[place] *= v
        elif reduce == "amax":
            out[place] = np.maximum(out[place], v)
        else:
            out[place] = np.minimum(out[place], v)
        count[place] += 1
    return (
        np.where(count > 1, out / np.maximum(count, 1), out).astype(x.dtype)
        if reduce == "mean"
        else out
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize("reduce", ["add", "multiply", "amax", "amin", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_put_along_axis_combines(dtype, reduce, include_self, axis):
    shape = (3, 4, 5)
    x = RANDOM.randint(1, 5, shape).astype(dtype)
    index = RANDOM.randint(-shape[axis], shape[axis], shape)
    values = RANDOM.randint(-2, 3, shape).astype(dtype)
    if dtype.startswith("float") and reduce != "mean":
        values[0, 0, 0] = np.nan
    found = paddle.put_along_axis(
        paddle.to_tensor(x),
        paddle.to_tensor(index),
        paddle.to_tensor(values),
        axis,
        reduce,
        include_self,
    )
    if reduce == "mean" and not dtype.startswith("float"):
        return  # whole numbers are divided as C does
    expected = combined(x, index, values, axis, reduce, include_self)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("reduce", ["multiply", "amax", "mean"])
def test_put_along_axis_names_a_wrong_index(reduce):
    x, index = paddle.ones([2, 3]), paddle.to_tensor([[0, 1, 5], [0, 0, 0]])
    text = r"\[put_along_axis\] index 5 is out of range for dimension 0 of size 2"
    with pytest.raises(IndexError, match=text):
        paddle.put_along_axis(x, index, paddle.ones([2, 3]), 0, reduce).numpy()


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 300, 2100])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 64, 65])
def test_sums_of_few_columns(rows, width):
    x = RANDOM.randint(-9, 9, (3, rows, width)).astype("float64")
    for op in ("sum", "max", "min", "prod"):
        found = getattr(paddle, op)(paddle.to_tensor(x), 1).numpy()
        np.testing.assert_allclose(found, getattr(np, op)(x, 1), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1]])
@pytest.mark.parametrize("shape", [(5, 7), (300, 40), (1, 1)])
def test_means_of_complex_numbers(dtype, axis, shape):
    x = (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)
    rtol = 1e-5 if dtype == "complex64" else 1e-12
    axes = tuple(axis) if isinstance(axis, list) else axis
    for op in ("sum", "mean"):
        found = getattr(paddle, op)(paddle.to_tensor(x), axis).numpy()
        np.testing.assert_allclose(found, getattr(np, op)(x, axes), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("n", [0, 1, 3, 4000, 4099])
@pytest.mark.parametrize("most", [1, 9, 1000, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_bincount(n, most, dtype):
    x = RANDOM.randint(0, most, n).astype(dtype)
    np.testing.assert_array_equal(paddle.bincount(paddle.to_tensor(x)).numpy(), np.bincount(x))
    np.testing.assert_array_equal(
        paddle.bincount(paddle.to_tensor(x), minlength=1500).numpy(), np.bincount(x, minlength=1500)
    )


def test_bincount_names_the_first_negative_element():
    with pytest.raises(ValueError, match="must not be negative, got -3 at 2"):
        paddle.bincount(paddle.to_tensor([5, 0, -3, -1]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "m, k, n", [(1, 70, 90), (70, 90, 1), (80, 1, 90), (1, 1, 5000), (5000, 1, 1), (2, 1, 3)]
)
@pytest.mark.parametrize("tx", [False, True])
@pytest.mark.parametrize("ty", [False, True])
def test_products_with_one_row_or_column(dtype, m, k, n, tx, ty):
    x, y = (
        RANDOM.standard_normal((m, k)).astype(dtype),
        RANDOM.standard_normal((k, n)).astype(dtype),
    )
    found = paddle.matmul(
        paddle.to_tensor(np.ascontiguousarray(x.T) if tx else x),
        paddle.to_tensor(np.ascontiguousarray(y.T) if ty else y),
        tx,
        ty,
    )
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found.numpy(), x @ y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "m, k, n", [(1, 63, 1), (1, 64, 1), (1, 1000, 1), (1, 1, 90), (90, 1, 1), (20, 1, 30)]
)
@pytest.mark.parametrize("tx", [False, True])
@pytest.mark.parametrize("ty", [False, True])
def test_stacks_of_products_with_one_row_or_column(dtype, m, k, n, tx, ty):
    x, y = (
        RANDOM.standard_normal((7, m, k)).astype(dtype),
        RANDOM.standard_normal((3, 7, k, n)).astype(dtype),
    )
    found = paddle.matmul(
        paddle.to_tensor(np.ascontiguousarray(x.swapaxes(1, 2)) if tx else x),
        paddle.to_tensor(np.ascontiguousarray(y.swapaxes(2, 3)) if ty else y),
        tx,
        ty,
    )
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found.numpy(), x @ y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("output", [1, 3, (2, 5), (9, 11)])
def test_adaptive_max_pools_place_equals_and_nan_as_one_by_one(dtype, output):
    x = RANDOM.randint(0, 3, (2, 3, 9, 11)).astype(dtype)
    x[0, 1, 4, 5] = x[0, 1, 8, 10] = np.nan
    x[1, 0] = -np.inf
    found, places = F.adaptive_max_pool2d(paddle.to_tensor(x), output, return_mask=True)
    rows, columns = (output, output) if isinstance(output, int) else output
    for n, c, i, j in np.ndindex(*found.shape):
        r0, r1 = i * 9 // rows, -(-(i + 1) * 9 // rows)
        c0, c1 = j * 11 // columns, -(-(j + 1) * 11 // columns)
        best, place = -np.inf, r0 * 11 + c0
        for r in range(r0, r1):
            for q in range(c0, c1):
                v = x[n, c, r, q]
                if v > best or v != v:
                    best, place = v, r * 11 + q
        np.testing.assert_equal(found.numpy()[n, c, i, j], best)
        assert places.numpy()[n, c, i, j] == place


@pytest.mark.parametrize(
    "kernel, stride, padding", [(7, 7, 0), (3, 1, 1), (5, 2, 2), (4, 3, 1), (3, 2, 0)]
)
@pytest.mark.parametrize("exclusive", [True, False])
def test_averages_of_windows(kernel, stride, padding, exclusive):
    x = RANDOM.standard_normal((2, 2, 15, 17))
    found = F.avg_pool2d(paddle.to_tensor(x), kernel, stride, padding, exclusive=exclusive).numpy()
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    inside = np.pad(np.ones_like(x), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    for n, c, i, j in np.ndindex(*found.shape):
        window = np.s_[n, c, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
        by = inside[window].sum() if exclusive else kernel * kernel
        # Sums of terms of about 1 in another order, which may cancel.
        np.testing.assert_allclose(
            found[n, c, i, j], padded[window].sum() / by, rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("batch", [1, 5])
def test_images_are_sampled_as_volumes_of_one_layer(mode, padding_mode, align_corners, batch):
    """Volumes take points one by one, images in arrays."""
    x = RANDOM.standard_normal((batch, 3, 6, 7))
    grid = RANDOM.uniform(-2.5, 2.5, (batch, 20, 15, 2))
    grid[0, 0, :4] = [[np.nan, 0], [np.inf, 0], [-1, 1], [0, -np.inf]]
    keywords = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    results = []
    for volume in (False, True):
        at = np.concatenate([grid, np.full((*grid.shape[:-1], 1), 0.0)], -1) if volume else grid
        images = paddle.to_tensor(x[:, :, None] if volume else x, stop_gradient=False)
        points = paddle.to_tensor(at[:, None] if volume else at, stop_gradient=False)
        if volume and align_corners:
            images = paddle.concat([images, images], 2).detach()  # one layer has no extent
            images.stop_gradient = False
            points = paddle.to_tensor(
                np.where(np.arange(3) == 2, -1.0, at[:, None]), stop_gradient=False
            )
        y = F.grid_sample(images, points, **keywords)
        (y * y).sum().backward()
        found = [y, images.grad, points.grad]
        if volume:
            found = [found[0].squeeze(2), found[1].sum(2), found[2].squeeze(1)[..., :2]]
        results.append([t.numpy() for t in found])
    for image, layer in zip(*results):
        np.testing.assert_allclose(image, layer, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_points_do_not_see_what_they_are_far_from(mode, bad):
    """What is outside has a weight of 0, but no element to multiply it with."""
    x = np.ones((2, 1, 5, 5), "float32")
    x[:, :, 0, 0] = bad
    grid = np.full((2, 3, 3, 2), 0.5, "float32")
    grid[:, 0] = 1.9  # partly or all outside
    images = paddle.to_tensor(x, stop_gradient=False)
    points = paddle.to_tensor(grid, stop_gradient=False)
    y = F.grid_sample(images, points, mode=mode, align_corners=True)
    y.sum().backward()
    for t in (y, images.grad, points.grad):
        assert np.isfinite(t.numpy()).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_grids_of_16_bits_are_sampled_in_float32(dtype):
    x = paddle.to_tensor(RANDOM.standard_normal((2, 3, 6, 7)).astype("float32")).astype(dtype)
    grid = paddle.to_tensor(RANDOM.uniform(-1, 1, (2, 4, 5, 2)).astype("float32")).astype(dtype)
    wide = F.grid_sample(x.astype("float32"), grid.astype("float32"))
    found = F.grid_sample(x, grid)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(
        found.astype("float32").numpy(), wide.astype(dtype).astype("float32").numpy()
    )


@pytest.mark.parametrize("n", [1, 2, 8, 60, 97, 1024])
@pytest.mark.parametrize("lines", [1, 3, 8, 9, 21])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_of_lines_side_by_side(n, lines, norm):
    x = RANDOM.standard_normal((lines, n)) + 1j * RANDOM.standard_normal((lines, n))
    for dtype, tolerance in (("complex64", 1e-4), ("complex128", 1e-11)):
        t = paddle.to_tensor(x.astype(dtype))
        for op in ("fft", "ifft"):
            expected = getattr(np.fft, op)(x, norm=norm)
            np.testing.assert_allclose(
                getattr(paddle.fft, op)(t, norm=norm).numpy(),
                expected,
                atol=tolerance * max(1, n**0.5),
            )
            alone = np.concatenate(
                [getattr(paddle.fft, op)(t[k], norm=norm).numpy() for k in range(lines)]
            )
            np.testing.assert_array_equal(
                getattr(paddle.fft, op)(t, norm=norm).numpy().ravel(), alone
            )


@pytest.mark.parametrize("times, labels", [(1, 0), (1, 1), (3, 2), (4, 3), (5, 2), (5, 3), (2, 3)])
def test_ctc_is_the_sum_over_all_paths(times, labels):
    scores = RANDOM.standard_normal((times, 1, 4)) * 30
    wanted = RANDOM.randint(1, 4, (1, max(labels, 1))).astype("int32")
    logs = scores[:, 0] - np.logaddexp.reduce(scores[:, 0], -1, keepdims=True)
    total = -np.inf
    for path in itertools.product(range(4), repeat=times):
        if [k for k, _ in itertools.groupby(path) if k] == list(wanted[0, :labels]):
            total = np.logaddexp(total, sum(logs[t, k] for t, k in enumerate(path)))
    lengths = [paddle.to_tensor(np.array([n])) for n in (times, labels)]
    loss = F.ctc_loss(
        paddle.to_tensor(scores), paddle.to_tensor(wanted), *lengths, reduction="none"
    )
    np.testing.assert_allclose(loss.numpy().ravel(), [-total], rtol=1e-12, atol=1e-12)
