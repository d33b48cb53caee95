"""Convolutions and pools of 1 to 3 dimensions against loops over windows in NumPy."""

import itertools

import numpy as np
import pytest
from tests.ops.harness import A, Case, table_tests

import argosy
import argosy as paddle

DENSE = ("float32", "float64")
F = argosy.nn.functional


def pairs(padding, dims):
    return [tuple(padding[2 * d : 2 * d + 2]) for d in range(dims)] if padding else [(0, 0)] * dims


def windows(x, kernel, stride, padding=(), dilation=None, value=0.0, ceil_mode=False):
    """Yields (output index, window of the padded x [.., kernel]) over the last dimensions."""
    dims = len(kernel)
    dilation = dilation or [1] * dims
    pads = pairs(padding, dims)
    sizes = []
    for d in range(dims):
        room = x.shape[-dims + d] + sum(pads[d]) - dilation[d] * (kernel[d] - 1) - 1
        n = (-(-room // stride[d]) if ceil_mode else room // stride[d]) + 1
        if ceil_mode and (n - 1) * stride[d] >= x.shape[-dims + d] + pads[d][0]:
            n -= 1  # a window that starts in the padding after x
        sizes.append(n)
        pads[d] = (pads[d][0], pads[d][1] + stride[d] * kernel[d])
    x = np.pad(x, [(0, 0)] * (x.ndim - dims) + pads, constant_values=value)
    for at in itertools.product(*map(range, sizes)):
        cut = tuple(
            slice(i * s, i * s + k * r, r) for i, s, k, r in zip(at, stride, kernel, dilation)
        )
        yield at, x[(..., *cut)]


def collect(found):
    found = list(found)
    shape = [1 + max(at[d] for at, _ in found) for d in range(len(found[0][0]))]
    first = np.asarray(found[0][1])
    out = np.zeros((*first.shape, *shape), first.dtype)
    for at, value in found:
        out[(..., *at)] = value
    return out


def conv(x, w, b=None, stride=(), padding=(), dilation=(), groups=1, cl=False):
    dims = w.ndim - 2
    x = np.moveaxis(x, -1, 1) if cl else x
    axes = tuple(range(-dims - 1, 0))

    def one(window):
        parts = np.split(window, groups, 1)
        filters = np.split(w, groups, 0)
        return np.concatenate([(p[:, None] * f).sum(axes) for p, f in zip(parts, filters)], 1)

    kernel = w.shape[2:]
    found = windows(x, kernel, stride or [1] * dims, padding, list(dilation) or None)
    y = collect((at, one(window)) for at, window in found)
    y = y if b is None else y + b.reshape(-1, *[1] * dims)
    return np.moveaxis(y, 1, -1) if cl else y


def conv_transposed(x, w, b=None, stride=(), padding=(), output_padding=(), dilation=(), groups=1,
                    output_size=(), cl=False):  # fmt: skip
    dims = w.ndim - 2
    x = np.moveaxis(x, -1, 1) if cl else x
    stride, dilation = stride or [1] * dims, list(dilation) or [1] * dims
    pads, extra = pairs(padding, dims), list(output_padding) or [0] * dims
    full = [(n - 1) * s + r * (k - 1) + 1 + e
            for n, s, r, k, e in zip(x.shape[2:], stride, dilation, w.shape[2:], extra)]  # fmt: skip
    out = np.zeros((x.shape[0], w.shape[1] * groups, *full), x.dtype)
    for at in itertools.product(*map(range, x.shape[2:])):
        cut = tuple(slice(i * s, i * s + r * (k - 1) + 1, r)
                    for i, s, k, r in zip(at, stride, w.shape[2:], dilation))  # fmt: skip
        parts = np.split(x[(..., *at)], groups, 1)
        filters = np.split(w, groups, 0)
        spread = [np.tensordot(p, f, 1) for p, f in zip(parts, filters)]
        out[(..., *cut)] += np.concatenate(spread, 1)
    keep = tuple(slice(a, n - b) for (a, b), n in zip(pads, full))
    out = out[(..., *keep)]
    out = out if b is None else out + b.reshape(-1, *[1] * dims)
    return np.moveaxis(out, 1, -1) if cl else out


def max_pool(x, kernel, stride, padding=(), ceil_mode=False):
    axes = tuple(range(-len(kernel), 0))
    found = windows(x, kernel, stride, padding, None, -np.inf, ceil_mode)
    return collect((at, window.max(axes)) for at, window in found)


def max_pool_places(x, kernel, stride, padding=()):
    """Maxima and their flat places in each plane."""
    dims = len(kernel)
    places = np.broadcast_to(np.arange(np.prod(x.shape[-dims:])).reshape(x.shape[-dims:]), x.shape)
    values = windows(x, kernel, stride, padding, None, -np.inf)
    found = windows(places, kernel, stride, padding, None, -1)

    def pick(window, place):
        flat = window.reshape(*window.shape[:-dims], -1)
        best = flat.argmax(-1)[..., None]
        return np.take_along_axis(place.reshape(flat.shape), best, -1)[..., 0]

    at = collect((i, pick(v, p)) for (i, v), (_, p) in zip(values, found))
    return max_pool(x, kernel, stride, padding), at.astype("int32")


def avg_pool(x, kernel, stride, padding=(), ceil_mode=False, exclusive=True, divisor_override=0.0):
    axes = tuple(range(-len(kernel), 0))
    sums = windows(x, kernel, stride, padding, None, 0, ceil_mode)
    inside = windows(np.ones(x.shape), kernel, stride, padding, None, 0, ceil_mode)

    def one(window, ones):
        n = ones.sum(axes) if exclusive else np.prod(kernel)
        return window.sum(axes) / (divisor_override or n)

    return collect((at, one(v, n)) for (at, v), (_, n) in zip(sums, inside))


def adaptive(reduce):
    def pool(x, output_size):
        dims = len(output_size)
        axes = tuple(range(-dims, 0))
        out = []
        for at in itertools.product(*map(range, output_size)):
            cut = tuple(
                slice(i * n // m, -(-(i + 1) * n // m))
                for i, n, m in zip(at, x.shape[-dims:], output_size)
            )
            out.append((at, reduce(x[(..., *cut)], axes)))
        return collect(out)

    return pool


def lp_pool(x, norm_type, kernel, stride):
    axes = tuple(range(-len(kernel), 0))
    if np.isinf(norm_type):
        return collect((at, w.max(axes)) for at, w in windows(x, kernel, stride))
    return collect(
        (at, (w**norm_type).sum(axes) ** (1 / norm_type)) for at, w in windows(x, kernel, stride)
    )


def attrs(dims, stride=1, padding=(), dilation=1, groups=1):
    return {"stride": [stride] * dims, "padding": list(padding) or [0] * (2 * dims),
            "dilation": [dilation] * dims, "groups": groups}  # fmt: skip


def window(dims, kernel=2, stride=2, padding=()):
    return {"kernel": [kernel] * dims, "stride": [stride] * dims,
            "padding": list(padding) or [0] * (2 * dims)}  # fmt: skip


def transposed(dims, stride=1, padding=(), dilation=1, groups=1, extra=0):
    given = attrs(dims, stride, padding, dilation, groups)
    return {**given, "output_padding": [extra] * dims}


def spaced(*shape):
    """Numbers apart from each other by more than the step of differences."""
    n = int(np.prod(shape))
    return (np.random.default_rng(0).permutation(n) / n).reshape(shape) + 0.1


def fractional_ranges(size, n, kernel, u):
    """Graham, arXiv:1412.6071: windows begin at floor((i + u) step) - floor(u step)."""
    f = np.float32
    step = f(size - kernel) / f(n - 1) if kernel else f(size) / f(n)
    u = f(u)
    if not kernel:
        base = size // n
        u *= min(f(base + 2) / step - f(1), f(size + 1 - base) / step - f(n - 1))
    places = [int((f(i) + u) * step) - int(u * step) for i in range(n + 1)]
    return [(p, p + kernel if kernel else q) for p, q in zip(places, places[1:])]


def fractional_max(x, output_size, kernel, u):
    places = np.arange(x[0, 0].size).reshape(x.shape[2:])
    axes = [fractional_ranges(*a, u) for a in zip(x.shape[2:], output_size, kernel)]
    out, where = (
        np.empty((*x.shape[:2], *output_size)),
        np.empty((*x.shape[:2], *output_size), "int32"),
    )
    for at in np.ndindex(*out.shape):
        window = tuple(slice(*r[i]) for r, i in zip(axes, at[2:]))
        values = x[at[:2]][window]
        out[at] = values.max()
        where[at] = places[window].reshape(-1)[values.argmax()]
    return out, where


# fmt: off
CASES = [
    Case("conv1d", [A(2, 3, 7), A(4, 3, 3), A(4)], attrs(1, 2, [1, 2]), ref=conv, dtypes=DENSE,
         tol=20, covers=["conv_data", "conv_weight"]),
    Case("conv2d", [A(2, 3, 5, 6), A(4, 3, 3, 2), A(4)], attrs(2, 1, [1, 1, 0, 1]), ref=conv,
         tol=20, dtypes=("float32", "float64", "float16", "bfloat16"),
         errors=[([A(1, 3, 4, 4), A(4, 2, 3, 3)], attrs(2), ValueError, ""),
                 ([A(1, 3, 2, 2), A(4, 3, 3, 3)], attrs(2), ValueError, "the kernel does not fit"),
                 ([A(3, 4, 4), A(4, 3, 3, 3)], attrs(2), ValueError, "")]),
    Case("conv2d", [A(2, 4, 6, 6), A(6, 2, 3, 3)], attrs(2, 2, [1, 1, 1, 1], 2, 2), ref=conv,
         dtypes=DENSE, tol=20, note="groups, dilation"),
    Case("conv2d", [A(1, 4, 5, 5), A(4, 1, 3, 3)], attrs(2, 1, [1, 1, 1, 1], 1, 4), ref=conv,
         dtypes=DENSE, tol=20, note="depthwise"),
    Case("conv2d", [A(2, 5, 5, 3), A(4, 3, 3, 3), A(4)], {**attrs(2), "cl": True}, ref=conv,
         dtypes=DENSE, tol=20),
    Case("conv2d", [A(2, 3, 5, 6), A(4, 3, 1, 1), A(4)], attrs(2, 2), ref=conv, dtypes=DENSE, tol=20, note="thinned"),
    Case("conv3d", [A(2, 3, 4, 5, 3), A(4, 3, 1, 1, 1), A(4)], attrs(3, 3), ref=conv, dtypes=DENSE, tol=20, note="thinned"),
    Case("conv2d", [A(3, 40, 2, 2), A(60, 40, 1, 1)], attrs(2), ref=conv, dtypes=DENSE, tol=50, note="large weights"),
    Case("conv2d", [A(2, 3, 4, 4), A(5, 3, 1, 1)], attrs(2), ref=conv, dtypes=DENSE, tol=20,
         note="1x1"),
    Case("conv3d", [A(1, 2, 4, 4, 3), A(3, 2, 2, 2, 2), A(3)], attrs(3, 1, [0, 1, 1, 0, 1, 1]),
         ref=conv, dtypes=DENSE, tol=20),
    Case("conv1d_transpose", [A(2, 3, 4), A(3, 2, 3), A(2)], transposed(1, 2, [1, 0], extra=1),
         ref=conv_transposed, dtypes=DENSE, tol=20),
    Case("conv2d_transpose", [A(2, 4, 3, 3), A(4, 2, 3, 2), A(4)],
         transposed(2, 2, [1, 1, 0, 1], 2, 2), ref=conv_transposed, dtypes=DENSE, tol=20),
    Case("conv2d_transpose", grad=False, note="errors",
         errors=[([A(1, 2, 3, 3), A(2, 3, 2, 2), A(n)], transposed(2), ValueError, "one element for each of 3 output") for n in (1, 2, 4)]),
    Case("conv2d_transpose", [A(1, 3, 3, 2), A(2, 3, 2, 2)], {**transposed(2), "cl": True},
         ref=conv_transposed, dtypes=DENSE, tol=20),
    Case("conv3d_transpose", [A(1, 2, 2, 3, 2), A(2, 2, 2, 2, 2)], transposed(3, 2),
         ref=conv_transposed, dtypes=DENSE, tol=20),
    Case("conv3d_transpose", [A(1, 2, 1, 2, 2), A(2, 2, 2, 2, 2), A(2)], transposed(3),
         ref=conv_transposed, dtypes=DENSE, tol=20),

    *[Case("fractional_max_pool2d", [spaced(2, 2, 7, 6)], {"output_size": [3, 4], "kernel": k, "u": u},
           ref=fractional_max, dtypes=DENSE) for k, u in (([0, 0], 0.3), ([0, 0], 0.9), ([3, 2], 0.6))],
    Case("fractional_max_pool3d", [spaced(1, 2, 4, 5, 3)], {"output_size": [2, 3, 3], "kernel": [2, 0, 1], "u": 0.4},
         ref=fractional_max, dtypes=DENSE,
         errors=[([A(1, 2, 4, 5, 3)], {"output_size": [2, 6, 3], "kernel": [0, 0, 0]}, ValueError, "from 1 to the size"),
                 ([A(2, 4, 5)], {"output_size": [2, 2], "kernel": [0, 0]}, ValueError, "spatial dimensions")]),
    Case("max_pool1d", [spaced(2, 3, 7)], window(1, 3, 2, [1, 1]), ref=max_pool, dtypes=DENSE,
         covers=["max_pool_grad"]),
    Case("max_pool2d", [spaced(2, 2, 5, 6)], window(2), ref=max_pool, dtypes=DENSE),
    Case("max_pool2d", [spaced(2, 2, 5, 5)], {**window(2), "ceil_mode": True}, ref=max_pool,
         dtypes=DENSE),
    Case("max_pool3d", [spaced(1, 2, 4, 5, 4)], window(3), ref=max_pool, dtypes=DENSE),
    Case("max_pool1d_with_index", [spaced(2, 3, 7)], window(1, 3, 2), ref=max_pool_places,
         dtypes=DENSE),
    Case("max_pool2d_with_index", [spaced(2, 2, 5, 6)], window(2, 3, 2, [1, 1, 1, 1]),
         ref=max_pool_places, dtypes=DENSE),
    Case("max_pool3d_with_index", [spaced(1, 2, 4, 4, 4)], window(3), ref=max_pool_places,
         dtypes=DENSE),
    Case("avg_pool1d", [A(2, 3, 7)], window(1, 3, 2, [1, 1]), ref=avg_pool, dtypes=DENSE, tol=4,
         covers=["avg_pool_grad"]),
    Case("avg_pool_like", [A(2, 3, 7), A(2, 3, 4, grad=False)], window(1, 3, 2, [1, 1]), tol=4,
         ref=lambda x, like, **a: avg_pool(x, **a), dtypes=DENSE),
    Case("avg_pool2d", [A(2, 2, 5, 6)], {**window(2, 3, 2, [1, 1, 1, 1]), "exclusive": False},
         ref=avg_pool, dtypes=DENSE, tol=4),
    Case("avg_pool2d", [A(1, 2, 5, 5)], {**window(2), "ceil_mode": True}, ref=avg_pool, tol=4,
         dtypes=DENSE),
    Case("avg_pool2d", [A(1, 2, 4, 4)], {**window(2), "divisor_override": 3.0}, ref=avg_pool,
         dtypes=DENSE, tol=4),
    Case("avg_pool3d", [A(1, 2, 4, 5, 4)], window(3), ref=avg_pool, dtypes=DENSE, tol=4),
    Case("adaptive_avg_pool1d", [A(2, 3, 7)], {"output_size": [3]}, ref=adaptive(np.mean),
         dtypes=DENSE, tol=4),
    Case("adaptive_avg_pool2d", [A(2, 2, 5, 7)], {"output_size": [2, 3]}, ref=adaptive(np.mean),
         dtypes=DENSE, tol=4),
    Case("adaptive_avg_pool3d", [A(1, 2, 4, 3, 5)], {"output_size": [2, 2, 2]}, dtypes=DENSE,
         ref=adaptive(np.mean), tol=4),
    *[Case(f"adaptive_max_pool{d}d" + suffix, [spaced(2, 2, *[5, 4, 3][:d])],
           {"output_size": [2] * d}, ref=adaptive(np.max), dtypes=DENSE)
      for d in (1, 2, 3) for suffix in ("", "_with_index")],
    Case("lp_pool1d", [spaced(2, 3, 6)], {"norm_type": 3.0, "kernel": [2], "stride": [2],
                                          "padding": [0, 0]},
         ref=lambda x, padding, **a: lp_pool(x, **a), dtypes=DENSE, tol=8,
         covers=["lp_pool_grad"]),
    Case("lp_pool2d", [spaced(2, 3, 4, 6)], {"norm_type": 2.0, "kernel": [2, 3], "stride": [2, 3],
                                             "padding": [0, 0, 0, 0]},
         ref=lambda x, padding, **a: lp_pool(x, **a), dtypes=DENSE, tol=8),
    Case("lp_pool2d", [spaced(2, 3, 4, 6)], {"norm_type": np.inf, "kernel": [2, 3], "stride": [2, 3],
                                             "padding": [0, 0, 0, 0]},
         ref=lambda x, padding, **a: lp_pool(x, **a), dtypes=DENSE, covers=["max_indices"]),
    Case("max_unpool1d", [A(1, 1, 2), np.array([[[0, 3]]], "int32")], {"output_size": [4]},
         ref=lambda x, i, output_size: np.array([[[x[0, 0, 0], 0, 0, x[0, 0, 1]]]]), dtypes=DENSE,
         errors=[([A(1, 1, 1), np.array([[[9]]], "int32")], {"output_size": [4]}, ValueError,
                  "outside a plane")]),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)

COVERS = {"max_unpool2d": "test_unpool_undoes_pool", "max_unpool3d": "test_unpool_undoes_pool"}


@pytest.mark.parametrize("dims", [2, 3])
def test_unpool_undoes_pool(dims):
    x = spaced(1, 2, *[4] * dims)
    pool, unpool = getattr(F, f"max_pool{dims}d"), getattr(F, f"max_unpool{dims}d")
    t = argosy.to_tensor(x, stop_gradient=False)
    y, index = pool(t, 2, 2, return_mask=True)
    back = unpool(y, index, 2, 2)
    want = np.where(np.isin(x, y.numpy()), x, 0)
    np.testing.assert_array_equal(back.numpy(), want)
    back.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), want != 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: F.conv1d(x, w, paddle.zeros([3]), padding=1),
        lambda x, w: F.conv1d(x, w[..., :1]),
        lambda x, w: F.max_pool1d(x, 1) + 0 * w.sum(),
        lambda x, w: F.avg_pool1d(x, 3, 1, 1) + 0 * w.sum(),
    ],
)
def test_empty_sequences_pass(call):
    x = paddle.zeros([2, 3, 0])
    w = paddle.ones([3, 3, 3])
    x.stop_gradient = w.stop_gradient = False
    y = call(x, w)
    assert y.shape == [2, 3, 0]
    y.sum().backward()
    assert x.grad.shape == [2, 3, 0] and not w.grad.numpy().any()


def test_shorter_than_the_kernel_is_an_error():
    for length, padding in ((0, 0), (2, 0)):
        with pytest.raises(ValueError, match="kernel does not fit.*Do this"):
            F.conv1d(paddle.zeros([2, 3, length]), paddle.ones([3, 3, 3]), padding=padding)
