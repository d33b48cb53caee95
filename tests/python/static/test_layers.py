"""Functions of static.nn against NumPy and eager layers; metrics; averages; Python functions."""

import numpy as np
import pytest

import argosy
from argosy import nn, static

rng = np.random.default_rng(5)
X = rng.random((4, 3, 8, 8)).astype("float32")
V = rng.standard_normal((4, 6)).astype("float32")
HALF = nn.initializer.Constant(0.5)


def run(start, outputs, **feed):
    exe = start()
    return exe.run(feed=feed, fetch_list=outputs)


def eager(function, *arrays):
    argosy.disable_static()
    try:
        return function(*[argosy.to_tensor(a) for a in arrays]).numpy()
    finally:
        argosy.enable_static()


def parameters():
    return {p.name: np.array(p.get_value()) for p in static.default_main_program().all_parameters()}


def image():
    return static.data("x", [None, 3, 8, 8], "float32")


def test_convolutions(start):
    F = nn.functional
    x = image()
    plain = static.nn.conv2d(x, 6, 3, stride=2, padding=1, groups=3, act="relu")
    back = static.nn.conv2d_transpose(x, 4, output_size=[10, 10], bias_attr=False)
    volume = static.data("v", [None, 1, 4, 4, 4], "float32")
    deep = static.nn.conv3d(volume, 2, 3, param_attr="deep.w", bias_attr="deep.b")
    wide = static.nn.conv3d_transpose(volume, 2, filter_size=2, stride=2)
    v = X[:, :1, :4, :4, None].repeat(4, -1)
    got = run(start, [plain, back, deep, wide], x=X, v=v)
    p = parameters()
    assert list(p) == [
        "conv2d_0.w_0", "conv2d_0.b_0", "conv2d_transpose_0.w_0", "deep.w", "deep.b",
        "conv3d_transpose_0.w_0", "conv3d_transpose_0.b_0",
    ]  # fmt: skip
    want = [
        eager(
            lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 1, groups=3)),
            X,
            p["conv2d_0.w_0"],
            p["conv2d_0.b_0"],
        ),
        eager(F.conv2d_transpose, X, p["conv2d_transpose_0.w_0"]),
        eager(F.conv3d, v, p["deep.w"], p["deep.b"]),
        eager(lambda x, w, b: F.conv3d_transpose(x, w, b, 2), v, *list(p.values())[-2:]),
    ]
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="groups must divide"):
        static.nn.conv2d(x, 4, 3, groups=2)
    with pytest.raises(ValueError, match="neither"):
        static.nn.conv2d_transpose(x, 4)
    with pytest.raises(ValueError, match="must be known"):
        static.nn.conv2d(static.data("u", [1, None, 8, 8]), 4, 3)
    with pytest.raises(ValueError, match="no activation 'fantasy'"):
        static.nn.conv2d(x, 4, 3, act="fantasy")


@pytest.mark.parametrize(
    "act, reference",
    [
        ("brelu", lambda x: np.clip(x, 0, 24)),
        ("hard_shrink", lambda x: np.where(np.abs(x) > 0.5, x, 0)),
        ("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("hard_swish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
        ("leaky_relu", lambda x: np.where(x > 0, x, 0.02 * x)),
        ("soft_relu", lambda x: np.log1p(np.exp(np.clip(x, -40, 40)))),
        ("tanh_shrink", lambda x: x - np.tanh(x)),
    ],
)
def test_activations_that_are_named_by_their_ops_have_the_defaults_of_ops(start, act, reference):
    values = np.array([[-50, -3, -0.7, -0.4, 0, 0.3, 0.6, 2.7, 30]], "float32")
    one = nn.initializer.Assign(np.eye(9, dtype="float32"))
    y = static.nn.fc(static.data("x", [1, 9]), 9, weight_attr=one, bias_attr=False, activation=act)
    (got,) = run(start, [y], x=values)
    np.testing.assert_allclose(got, reference(values.astype("float64")), rtol=1e-5, atol=1e-6)


def test_normalizations(start):
    x = image()
    named = {"moving_mean_name": "m", "moving_variance_name": "v"}
    outputs = [
        static.nn.batch_norm(x, act="relu", **named),
        static.nn.layer_norm(x, begin_norm_axis=2, scale=False),
        static.nn.group_norm(x, 3, param_attr=HALF, bias_attr=HALF),
        static.nn.instance_norm(x, param_attr=HALF, bias_attr=HALF),
        static.nn.instance_norm(x),
    ]
    got = run(start, outputs, x=X)

    def normal(axes):
        return (X - X.mean(axes, keepdims=True)) / np.sqrt(X.var(axes, keepdims=True) + 1e-5)

    each = normal((2, 3))
    want = [normal((0, 2, 3)).clip(0), each, each * 0.5 + 0.5, each * 0.5 + 0.5, each]
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parameters()["m"], 0.1 * X.mean((0, 2, 3)), rtol=1e-5)
    with pytest.raises(AssertionError, match="same time"):
        static.nn.instance_norm(x, param_attr=False)


def test_others(start):
    x, v = image(), static.data("v", [None, 6], "float32")
    w = static.create_parameter([3, 4], "float32", name="w")
    signed = x - 0.5
    i = static.data("i", [None, 1], "int64")
    outputs = [
        *(static.nn.prelu(signed, mode) for mode in ("all", "channel", "element")),
        static.nn.spectral_norm(w, power_iters=50),
        static.nn.bilinear_tensor_product(v, v, 5, act="tanh"),
        static.nn.row_conv(static.data("s", [None, 3, 8], "float32"), 2),
        static.nn.embedding(i, [5, 3], padding_idx=-1, param_attr="table"),
        static.nn.sparse_embedding(i, [5, 3], param_attr="rows"),
        static.nn.fc([v, v], 2, weight_attr=HALF, bias_attr=False),
        static.nn.fc(x, 2, num_flatten_dims=-1, weight_attr=HALF),
    ]
    rows = np.array([[1], [4], [0], [3]])
    S = X[:, :, :, 0].copy()
    got = run(start, outputs, x=X, v=V, i=rows, s=S)
    p = parameters()
    leaky = np.where(X > 0.5, X - 0.5, 0.25 * (X - 0.5))
    for a in got[:3]:
        np.testing.assert_allclose(a, leaky, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(got[3], 2), 1, rtol=1e-4)
    product = np.einsum("ni,kij,nj->nk", V, p["bilinear_tensor_product_0.w_0"], V)
    np.testing.assert_allclose(got[4], np.tanh(product), rtol=1e-3, atol=1e-5)
    later = np.pad(S, ((0, 0), (0, 2), (0, 0)))
    want = sum(later[:, k : k + 3] * p["row_conv_0.w_0"][k] for k in range(3))
    np.testing.assert_allclose(got[5], want, rtol=1e-4, atol=1e-5)
    table = p["table"].copy()
    table[-1] = 0
    np.testing.assert_array_equal(got[6], table[rows])
    np.testing.assert_array_equal(got[7], p["rows"][rows[:, 0]])
    np.testing.assert_allclose(
        got[8], np.repeat(V.sum(1, keepdims=True), 2, 1), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(got[9], np.repeat(X.sum(-1, keepdims=True) / 2, 2, -1), rtol=1e-5)
    with pytest.raises(ValueError, match="mode"):
        static.nn.prelu(x, "none")
    with pytest.raises(ValueError, match="num_flatten_dims"):
        static.nn.fc(x, 2, num_flatten_dims=4)


def test_weight_normalization_trains(start):
    v = static.data("v", [None, 6], "float32")
    y = static.nn.fc(v, 2, weight_attr=static.WeightNormParamAttr(dim=1, name="w"), bias_attr=False)
    loss = (y * y).mean()
    argosy.optimizer.SGD(0.1).minimize(loss)
    exe = start()
    p = parameters()
    assert list(p) == ["fc_0.weight_norm_v_0", "fc_0.weight_norm_g_0"]
    direction, length = p.values()
    np.testing.assert_allclose(length, np.linalg.norm(direction, axis=0), rtol=1e-5)
    first, got = exe.run(feed={"v": V}, fetch_list=[loss, y])
    np.testing.assert_allclose(got, V @ direction, rtol=1e-4, atol=1e-5)
    assert exe.run(feed={"v": V}, fetch_list=[loss])[0] < first


@pytest.mark.parametrize("sampler", ["uniform", "log_uniform", "custom_dist"])
def test_nce_learns(start, sampler):
    argosy.seed(3)
    v, label = static.data("v", [None, 6], "float32"), static.data("label", [None, 1], "int64")
    distribution = [0.05] * 20 if sampler == "custom_dist" else None
    cost = static.nn.nce(v, label, 20, sampler=sampler, custom_dist=distribution, num_neg_samples=5)
    assert cost.shape == [-1, 1]
    loss = cost.mean()
    argosy.optimizer.Adam(0.1).minimize(loss)
    exe = start()
    feed = {"v": V, "label": np.array([[1], [2], [3], [4]])}
    losses = [exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(40)]
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])


def test_nce_of_one_noise_class(start):
    """All draws are class 2; the numbers are those of Paddle 3.3.1."""
    table = argosy.nn.initializer.Assign((np.arange(24).reshape(6, 4) / 24).astype("float32"))
    v, label = static.data("v", [None, 4], "float32"), static.data("label", [None, 2], "int64")
    weight = static.data("weight", [None, 1], "float32")
    cost = static.nn.nce(
        v, label, 6, weight, argosy.ParamAttr("t", table),
        argosy.ParamAttr("b", argosy.nn.initializer.Constant(0.1)), 3, sampler="custom_dist",
        custom_dist=[0, 0, 1, 0, 0, 0],
    )  # fmt: skip
    feed = {
        "v": np.linspace(-1, 1, 12).reshape(3, 4).astype("float32"),
        "label": np.array([[0, 1], [2, 2], [5, 3]]),
        "weight": np.array([[1.0], [2.0], [0.5]], "float32"),
    }
    (got,) = start().run(feed=feed, fetch_list=[cost])
    np.testing.assert_allclose(got, [[0.06377701], [2.1350336], [0.08706795]], rtol=1e-5)


def test_nce_with_a_seed_repeats_its_draws(start):
    v, label = static.data("v", [None, 4], "float32"), static.data("label", [None, 1], "int64")
    named = {"param_attr": argosy.ParamAttr("t"), "bias_attr": False}
    costs = [static.nn.nce(v, label, 50, seed=s, **named) for s in (7, 7, 8, 0)]
    exe = start()
    feed = {"v": np.ones([3, 4], "float32"), "label": np.array([[1], [2], [3]])}
    first, second = (exe.run(feed=feed, fetch_list=costs) for _ in range(2))
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[:3], second[:3])
    assert not np.array_equal(first[0], first[2]) and not np.array_equal(first[3], second[3])


def test_accuracy_and_auc(start):
    scores = static.data("scores", [None, 2], "float32")
    label = static.data("label", [None, 1], "int64")
    correct = static.create_global_var([1], 0, "int64", persistable=True)
    total = static.create_global_var([1], 0, "int64", persistable=True)
    share = static.accuracy(scores, label, correct=correct, total=total)
    area, last, _ = static.auc(scores, label)
    curve, _, _ = static.auc(scores, label, curve="PR")
    sums = static.ctr_metric_bundle(scores[:, 1:], label)
    exe = start()
    all_p, all_y = [], []
    for _ in range(3):
        p = rng.random(50).astype("float32")
        y = (rng.random(50) < p).astype("int64")
        all_p, all_y = np.append(all_p, p), np.append(all_y, y)
        feed = {"scores": np.stack([1 - p, p], 1), "label": y[:, None]}
        got = exe.run(feed=feed, fetch_list=[share, area, last, correct, total, curve, *sums])

        def ranked(p, y):
            higher = p[y == 1][:, None] - p[y == 0][None]
            return (higher > 0).mean() + 0.5 * (higher == 0).mean()

        assert got[0] == ((p > 0.5) == y).mean().astype("float32")
        np.testing.assert_allclose(got[1], ranked(all_p, all_y), atol=2e-3)
        np.testing.assert_allclose(got[2], ranked(p, y), atol=2e-3)
        assert got[3] == ((p > 0.5) == y).sum() and got[4] == 50
        order = np.argsort(-all_p)
        precision = np.cumsum(all_y[order]) / np.arange(1, len(all_y) + 1)
        np.testing.assert_allclose(got[5], precision[all_y[order] == 1].mean(), atol=0.02)
        np.testing.assert_allclose(got[6], ((all_p - all_y) ** 2).sum(), rtol=1e-4)
        np.testing.assert_allclose(
            [got[8], got[10], got[11]], [[all_p.sum()], [all_y.sum()], [len(all_y)]], rtol=1e-4
        )
    with pytest.raises(ValueError, match="curve"):
        static.auc(scores, label, curve="L")


def test_counts_of_auc_are_cleared_by_name(start):
    scores = static.data("scores", [None, 2], "float32")
    label = static.data("label", [None, 1], "int64")
    area, _, counts = static.auc(scores, label, num_thresholds=15)
    names = [f"_generated_var_{i}" for i in range(4)]
    assert [v.name for v in counts] == names
    exe = start()
    good, bad = (np.array(p, "float32") for p in ([[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9]] * 2))
    feed = {"scores": bad, "label": np.array([[0], [1]])}
    assert exe.run(feed=feed, fetch_list=[area])[0] == 0.5
    for name in names:
        value = static.global_scope().find_var(name).get_tensor()
        assert value._get_dims() == value.shape()
        value.set(np.zeros(value._get_dims(), "int64"), argosy.CPUPlace())
    assert exe.run(feed=dict(feed, scores=good), fetch_list=[area])[0] == 1.0


def test_moving_average(start):
    v = static.data("v", [None, 6], "float32")
    loss = static.nn.fc(v, 1, weight_attr="w", bias_attr=False).mean()
    test = static.default_main_program().clone(for_test=True)
    argosy.optimizer.SGD(0.1).minimize(loss)
    average = static.ExponentialMovingAverage(0.9)
    average.update()
    exe = start()
    held, mean = [], 0
    for _ in range(4):
        exe.run(feed={"v": V})
        held.append(parameters()["w"])
        mean = 0.9 * mean + 0.1 * held[-1]
    with average.apply(exe):
        np.testing.assert_allclose(parameters()["w"], mean / (1 - 0.9**4), rtol=1e-5, atol=1e-6)
        assert exe.run(test, feed={"v": V}, fetch_list=[loss])[0].shape == ()
    np.testing.assert_array_equal(parameters()["w"], held[-1])
    with average.apply(exe, need_restore=False):
        pass
    assert not np.array_equal(parameters()["w"], held[-1])
    average.restore(exe)
    np.testing.assert_array_equal(parameters()["w"], held[-1])


def test_py_func(start):
    v = static.data("v", [None, 6], "float32")
    v.stop_gradient = False
    block = static.default_main_program().current_block()
    out = block.create_var(name="out", dtype="float32", shape=[-1, 6])
    seen = []

    def forward(x):
        return np.tanh(np.array(x))

    def backward(y, dy):
        seen.append(y.shape())
        return np.array(dy) * (1 - np.square(np.array(y)))

    static.py_func(forward, v, out, backward_func=backward, skip_vars_in_backward_input=[v])
    (g,) = static.gradients(out.sum(), v)
    calls = []
    static.py_func(lambda x: calls.append(np.array(x).sum()), x=out, out=None)
    got = run(start, [out, g, "out"], v=V)
    np.testing.assert_allclose(got[0], np.tanh(V), rtol=1e-6)
    np.testing.assert_allclose(got[1], 1 - np.tanh(V) ** 2, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got[0], got[2])
    assert seen == [[4, 6]] and len(calls) == 1
    with pytest.raises(TypeError, match="callable"):
        static.py_func(3, v, out)
    with pytest.raises(ValueError, match="neither in x nor in out"):
        static.py_func(forward, v, out, backward, skip_vars_in_backward_input=[g])


def test_print_and_assert(start, capfd):
    v = static.data("v", [None, 6], "float32")
    y = static.Print(v, message="values:", summarize=2) * 1
    static.nn.Assert((v > -100).all(), [v])
    exe = start()
    assert exe.run(feed={"v": V}, fetch_list=[y])[0].shape == (4, 6)
    assert "values:" in capfd.readouterr().out
    with pytest.raises(ValueError, match="Assert"):
        exe.run(feed={"v": V - 200}, fetch_list=[y])


def test_scales_of_interpolation_are_numbers():
    x, scale = static.data("x", [1, 2, 4, 4]), static.data("scale", [1])
    for value in (scale, [2.0, scale]):
        with pytest.raises(
            NotImplementedError, match=r"\[interpolate\] scale_factor is a value of"
        ):
            argosy.nn.functional.interpolate(x, scale_factor=value)
