"""Normalization ops against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import A, Case, array, table_tests, tensor

import argosy
from argosy import _core

HALF_LOOSE = {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2), "float32": (2e-5, 2e-5), "float64": (1e-10, 1e-11)}  # fmt: skip


def standard(x, axes, epsilon, centered=True):
    mean = x.mean(axes, keepdims=True) if centered else 0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def affine(y, weight, bias, shape):
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def layer_norm(x, weight, bias, begin_norm_axis, epsilon=1e-5, centered=True):
    axes = tuple(range(begin_norm_axis, x.ndim))
    return affine(standard(x, axes, epsilon, centered), weight, bias, x.shape[begin_norm_axis:])


def rms_norm(x, weight, bias, begin_norm_axis, epsilon=1e-5):
    return layer_norm(x, weight, bias, begin_norm_axis, epsilon, centered=False)


def group_norm(x, weight, bias, num_groups, epsilon=1e-5, channel_last=False):
    if channel_last:
        return np.moveaxis(
            group_norm(np.moveaxis(x, -1, 1), weight, bias, num_groups, epsilon), 1, -1
        )
    y = standard(x.reshape(x.shape[0], num_groups, -1), (2,), epsilon).reshape(x.shape)
    return affine(y, weight, bias, [-1] + [1] * (x.ndim - 2))


def instance_norm(x, weight, bias, epsilon=1e-5, channel_last=False):
    return group_norm(x, weight, bias, x.shape[-1 if channel_last else 1], epsilon, channel_last)


def batch_norm(x, mean, variance, weight, bias, batch_stats=False, momentum=0.9, epsilon=1e-5,
               channel_last=False):  # fmt: skip
    if channel_last:
        x = np.moveaxis(x, -1, 1)
    shape = [-1] + [1] * (x.ndim - 2)
    if batch_stats and x.size == x.shape[1]:
        return np.moveaxis(x, 1, -1) if channel_last else x
    if batch_stats:
        y = standard(x, (0, *range(2, x.ndim)), epsilon)
    else:
        y = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    y = affine(y, weight, bias, shape)
    return np.moveaxis(y, 1, -1) if channel_last else y


def local_response_norm(x, size, alpha, beta, k, channel_last=False):
    x = np.moveaxis(x, -1, 1) if channel_last else x
    c = x.shape[1]
    sums = np.stack([
        (x[:, max(0, i - size // 2) : i + (size - 1) // 2 + 1] ** 2).sum(1) for i in range(c)
    ], 1)  # fmt: skip
    y = x / (k + alpha * sums / size) ** beta
    return np.moveaxis(y, 1, -1) if channel_last else y


def normalize(x, p=2.0, axis=1, epsilon=1e-12):
    axis = 0 if x.ndim == 1 else axis
    return x / np.maximum(np.linalg.norm(x, p, axis, keepdims=True), epsilon)


def weight_norm(v, g, dim):
    axes = tuple(range(v.ndim)) if dim == -1 else tuple(i for i in range(v.ndim) if i != dim)
    norm = np.sqrt((v**2).sum(axes, keepdims=True))
    return v * g.reshape(norm.shape) / norm


def power_iteration(weight, u, v, dim=0, power_iters=1, eps=1e-12):
    w = np.moveaxis(weight, dim, 0).reshape(weight.shape[dim], -1)
    for _ in range(power_iters):
        v = w.T @ u
        v = v / (np.linalg.norm(v) + eps)
        u = w @ v
        u = u / (np.linalg.norm(u) + eps)
    return u, v


def spectral_norm(weight, u, v, dim=0, power_iters=1, eps=1e-12):
    u, v = power_iteration(weight, u, v, dim, power_iters, eps)
    w = np.moveaxis(weight, dim, 0).reshape(weight.shape[dim], -1)
    return weight / (u @ w @ v)


UV = [A(3, grad=False), A(8, grad=False)]
STATS = [A(3, low=-0.2, high=0.2, grad=False), A(3, low=0.5, high=2, grad=False)]

# fmt: off
CASES = [
    Case("layer_norm", [A(4, 2, 3), A(6), A(6)], {"begin_norm_axis": 1}, ref=layer_norm, tol=HALF_LOOSE, covers=["layer_norm_grad"],
         shapes=[[(0, 2, 3), (6,), (6,)]],
         errors=[([A(4, 3), A(4), None], {"begin_norm_axis": 1}, ValueError, "weight must have 3 elements"),
                 ([A(4, 3), None, None], {"begin_norm_axis": 2}, ValueError, "begin_norm_axis")]),
    Case("layer_norm", [A(4, 2, 3), A(2, 3), None], {"begin_norm_axis": 1, "epsilon": 1e-3}, ref=layer_norm, tol=HALF_LOOSE, note="weight"),
    Case("layer_norm", [A(4, 2, 3), None, A(3)], {"begin_norm_axis": 2}, ref=layer_norm, tol=HALF_LOOSE, note="bias"),
    Case("layer_norm", [A(4, 37), None, None], {"begin_norm_axis": 1}, ref=layer_norm, tol=HALF_LOOSE, note="plain"),
    Case("layer_norm", [A(4, 5), A(5, dtype="float32"), A(5, dtype="float32")], {"begin_norm_axis": 1}, ref=layer_norm,
         dtypes=("float16", "bfloat16"), tol=HALF_LOOSE, grad=False, note="float32 weights"),
    Case("rms_norm", [A(4, 2, 3), A(6), A(6)], {"begin_norm_axis": 1}, ref=rms_norm, tol=HALF_LOOSE),
    Case("rms_norm", [A(4, 37), None, None], {"begin_norm_axis": 1}, ref=rms_norm, tol=HALF_LOOSE, note="plain"),
    Case("group_norm", [A(2, 6, 3), A(6), A(6)], {"num_groups": 2}, ref=group_norm, tol=HALF_LOOSE, covers=["group_norm_grad"],
         errors=[([A(2, 6, 3), None, None], {"num_groups": 4}, ValueError, "must divide")]),
    Case("group_norm", [A(2, 3, 2, 6), A(6), None], {"num_groups": 3, "channel_last": True}, ref=group_norm, tol=HALF_LOOSE),
    Case("group_norm", [A(2, 6), None, None], {"num_groups": 3}, ref=group_norm, tol=HALF_LOOSE, note="plain"),
    Case("instance_norm", [A(2, 3, 5), A(3), A(3)], ref=instance_norm, tol=HALF_LOOSE),
    Case("instance_norm", [A(2, 4, 2, 3), A(3), None], {"channel_last": True}, ref=instance_norm, tol=HALF_LOOSE,
         errors=[([A(2), None, None], {}, ValueError, "2 to 5 dimensions")]),
    Case("batch_norm", [A(4, 3, 2), *STATS, A(3), A(3)], {"batch_stats": True}, ref=batch_norm, tol=HALF_LOOSE, covers=["batch_norm_grad"],
         errors=[([A(4, 3), A(2), A(3), None, None], {}, ValueError, "running_mean must have 3 elements")]),
    Case("batch_norm", [A(4, 2, 3), *STATS, A(3), None], {"batch_stats": True, "channel_last": True}, ref=batch_norm, tol=HALF_LOOSE),
    Case("batch_norm", [A(1, 3), *STATS, A(3), A(3)], {"batch_stats": True}, ref=batch_norm, note="one value"),
    Case("batch_norm", [A(1, 1, 3), *STATS, None, None], {"batch_stats": True, "channel_last": True}, ref=batch_norm, note="one value"),
    Case("batch_norm", [A(1, 3), *STATS, A(3), A(3)], ref=batch_norm, tol=HALF_LOOSE, note="running, one value"),
    Case("batch_norm", [A(4, 3, 2), *STATS, A(3), A(3)], ref=batch_norm, tol=HALF_LOOSE, note="running"),
    Case("batch_norm", [A(4, 3), *STATS, None, None], {"epsilon": 0.1}, ref=batch_norm, tol=HALF_LOOSE, note="plain"),
    Case("local_response_norm", [A(2, 5, 3)], {"size": 3, "alpha": 0.5, "beta": 0.75, "k": 1.0}, ref=local_response_norm, tol=3.0, covers=["channel_window_sum"],
         errors=[([A(2, 3)], {}, ValueError, "at least 3 dimensions")]),
    Case("local_response_norm", [A(2, 3, 2, 6)], {"size": 4, "alpha": 0.5, "beta": 0.5, "k": 2.0, "channel_last": True}, ref=local_response_norm, tol=3.0),
    Case("normalize", [A(2, 3, 4)], ref=normalize, tol=3.0, covers=["norm_along"], shapes=[[(5,)]],
         errors=[([A(2, 3)], {"axis": 2}, ValueError, "axis must be in")]),
    Case("normalize", [A(2, 3)], {"p": 3.0, "axis": -1}, ref=normalize, tol=3.0),
    Case("normalize", [A(2, 3)], {"p": 1.0, "axis": 0}, ref=normalize, tol=3.0),
    Case("normalize", [A(2, 5)], {"p": np.inf}, ref=normalize, tol=3.0),
    Case("pairwise_distance", [A(3, 4), A(3, 4)], ref=lambda x, y: np.linalg.norm(x - y + 1e-6, 2, -1), tol=3.0,
         dtypes=("float32", "float64"), shapes=[[(4,), (4,)]]),
    Case("pairwise_distance", [A(3, 4), A(3, 4)], {"p": 1.0, "epsilon": 0.0, "keepdim": True},
         ref=lambda x, y, **_: np.abs(x - y).sum(-1, keepdims=True), tol=3.0, dtypes=("float32", "float64")),
    Case("weight_norm", [A(3, 2, 4), A(3)], {"dim": 0}, ref=weight_norm, tol=3.0),
    Case("weight_norm", [A(3, 2, 4), A(1)], {"dim": -1}, ref=weight_norm, tol=3.0),
    Case("weight_norm", [np.zeros((3, 2)), A(3)], {"dim": 0}, ref=lambda v, g, dim: v, grad=False,
         dtypes=("float32", "float64", "bfloat16")),
    Case("norm_except_dim", [A(3, 2, 4)], {"dim": 1}, ref=lambda v, dim: np.sqrt((v**2).sum((0, 2))), tol=3.0,
         errors=[([A(3, 2)], {"dim": 2}, ValueError, "dim must be")]),
    Case("norm_except_dim", [A(3, 2)], {"dim": -1}, ref=lambda v, dim: np.sqrt((v**2).sum()), tol=3.0),
    Case("spectral_norm", [A(3, 2, 4), *UV], {"power_iters": 2}, ref=spectral_norm, dtypes=("float32", "float64"),
         tol=10.0, grad=False, covers=["power_iteration"],
         errors=[([A(3, 8), A(2), A(8)], {}, ValueError, "u must have 3 elements")]),
    # Without iterations u and v are constants, and so differences see what the gradient is of.
    Case("spectral_norm", [A(2, 3, 4), *UV], {"dim": 1, "power_iters": 0}, ref=spectral_norm, dtypes=("float64",), tol=10.0),
    Case("power_iteration", [A(2, 3, 4), *UV], {"dim": 1, "power_iters": 3}, ref=power_iteration, dtypes=("float32", "float64"), tol=10.0),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_batch_norm_updates_running_statistics(dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(2, 3, (8, 3, 5)).astype(dtype)
    mean, variance = tensor(np.zeros(3, "float32")), tensor(np.ones(3, "float32"))
    _core.ops.batch_norm(tensor(x), mean, variance, None, None, True, 0.75, 1e-5, False)
    wide = x.astype("float64")
    np.testing.assert_allclose(array(mean), 0.25 * wide.mean((0, 2)), rtol=1e-3)
    np.testing.assert_allclose(array(variance), 0.75 + 0.25 * wide.var((0, 2)), rtol=1e-3)
    assert mean.inplace_version == 1
    before = array(mean).copy()
    _core.ops.batch_norm(tensor(x), mean, variance, None, None, False, 0.75, 1e-5, False)
    assert (array(mean) == before).all()


def test_batch_norm_of_one_value_for_each_channel_changes_no_statistics():
    mean, variance = tensor(np.ones(3, "float32")), tensor(np.full(3, 2, "float32"))
    x, weight, bias = (tensor(np.full(s, 5, "float32")) for s in ((1, 3, 1), 3, 3))
    for t in (x, weight, bias):
        t.stop_gradient = False
    y = _core.ops.batch_norm(x, mean, variance, weight, bias, True, 0.5, 1e-5, False)
    (y * 7).sum().backward()
    assert (array(y) == 5).all() and (array(x.grad) == 7).all()
    assert (array(weight.grad) == 0).all() and (array(bias.grad) == 0).all()
    assert (array(mean) == 1).all() and (array(variance) == 2).all()


def test_batch_norm_of_stepped_running_statistics():
    storage = tensor(np.zeros((3, 2), "float32"))
    mean, variance = storage[:, 0], tensor(np.ones(3, "float32"))
    x = np.arange(12, dtype="float32").reshape(4, 3)
    _core.ops.batch_norm(tensor(x), mean, variance, None, None, True, 0.0, 1e-5, False)
    np.testing.assert_allclose(array(mean), x.mean(0))
    np.testing.assert_allclose(array(storage)[:, 1], 0)


def test_norm_of_a_zero_vector_has_gradient_zero():
    x = tensor(np.zeros((2, 3)))
    x.stop_gradient = False
    y = _core.ops.normalize(x, 2.0, 1, 1e-12)
    (grad,) = argosy.grad([y], [x])
    assert np.isfinite(grad.numpy()).all()


def test_layer_norm_of_a_constant_row():
    x = np.full((2, 5), 3.25, "float32")
    y = _core.ops.layer_norm(tensor(x), None, None, 1, 1e-5)
    assert (y.numpy() == 0).all()


def test_gradient_of_mixed_dtypes_keeps_the_weights_dtype():
    x, w = tensor(np.ones((2, 3), "float16")), tensor(np.ones(3, "float32"))
    x.stop_gradient = w.stop_gradient = False
    y = _core.ops.layer_norm(x, w, None, 1, 1e-5)
    dx, dw = argosy.grad([y], [x, w])
    assert str(dx.dtype).endswith("float16") and str(dw.dtype).endswith("float32")


@pytest.mark.parametrize(
    "groups,statistics,text",
    [(2**31 - 1, 4, "num_groups must divide"), (2, 3, "statistics: expected 2 x 2"), (-1, 4, "num_groups must divide")],
)  # fmt: skip
def test_gradient_of_group_norm_checks_its_groups(groups, statistics, text):
    x, stat = tensor(np.ones((2, 4, 3), "float32")), tensor(np.ones(statistics, "float32"))
    with pytest.raises(ValueError, match=text):
        _core.ops.group_norm_grad(x, None, stat, stat, x, groups, 1e-5, False, False)
