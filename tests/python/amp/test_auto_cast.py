"""auto_cast to bfloat16: which op runs in what, eager and captured, and what it computes."""

import os
import threading

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, amp, nn

BF16, F32 = paddle.bfloat16, paddle.float32
ON_GPU = os.environ.get("ARGOSY_TEST_DEVICE") == "gpu"


def bf16(**kw):
    return amp.auto_cast(dtype="bfloat16", **kw)


def numbers(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"))


def assert_same_loss(got, want):
    """To the same bits; on GPUs, whose cross entropy of 16-bit scores has another exponential and
    order of sums than that of float32, to 1e-6."""
    if ON_GPU:
        np.testing.assert_allclose(got, want, rtol=1e-6)
    else:
        np.testing.assert_array_equal(got, want)


def rounded(x):
    return x.astype("bfloat16").astype("float32").numpy()


# --- which op runs in what ------------------------------------------------------------------------

x4 = numbers(4, 4).abs() + 0.5
image, kernel = numbers(2, 3, 8, 8), numbers(4, 3, 3, 3)

LOWER = {
    "matmul": lambda: x4 @ x4,
    "linear": lambda: F.linear(x4, x4, x4[0]),
    "conv2d": lambda: F.conv2d(image, kernel),
    "conv1d": lambda: F.conv1d(image[:, :, 0], kernel[:, :, 0]),
    "attention": lambda: F.scaled_dot_product_attention(*[x4.reshape([1, 4, 2, 2])] * 3),
    "einsum": lambda: paddle.einsum("ij,jk->ik", x4, x4),
}
FULL = {
    "exp": lambda t: t.exp(),
    "log": lambda t: t.log(),
    "rsqrt": lambda t: t.rsqrt(),
    "pow": lambda t: t.pow(2.0),
    "square": lambda t: t.square(),
    "mean": lambda t: t.mean(),
    "sum": lambda t: t.sum(),
    "cumsum": lambda t: t.cumsum(0),
    "softmax": lambda t: F.softmax(t),
    "log_softmax": lambda t: F.log_softmax(t),
    "layer_norm": lambda t: F.layer_norm(t, [4]),
    "cross_entropy": lambda t: F.cross_entropy(t, paddle.to_tensor([0, 1, 2, 3])),
    "mse_loss": lambda t: F.mse_loss(t, t),
    "softplus": lambda t: F.softplus(t),
    "norm": lambda t: paddle.linalg.norm(t),
}
FOLLOW = {
    "relu": lambda t: F.relu(t),
    "add": lambda t: t + t,
    "tanh": lambda t: t.tanh(),
    "reshape": lambda t: t.reshape([16]),
    "concat": lambda t: paddle.concat([t, t]),
    "gelu": lambda t: F.gelu(t),
    "max": lambda t: t.max(),
}


@pytest.mark.parametrize("name", LOWER)
@pytest.mark.parametrize("level", ["OD", "O1", "O2"])
def test_products_run_in_16_bits(name, level):
    plain = LOWER[name]()
    with bf16(level=level):
        y = LOWER[name]()
    assert plain.dtype == F32 and y.dtype == BF16
    np.testing.assert_allclose(y.astype("float32").numpy(), plain.numpy(), rtol=0.03, atol=0.15)


@pytest.mark.parametrize("name", FULL)
def test_losses_and_sums_run_in_float32(name):
    t = x4.astype("bfloat16")
    with bf16(level="O1"):
        y = FULL[name](t)
    assert y.dtype == F32
    compare = assert_same_loss if name == "cross_entropy" else np.testing.assert_array_equal
    compare(y.numpy(), FULL[name](t.astype("float32")).numpy())
    with bf16(level="O2"):
        assert FULL[name](t).dtype == BF16
    with bf16(level="OD"):
        assert FULL[name](t).dtype == F32


@pytest.mark.parametrize("name", FOLLOW)
def test_others_follow_their_operands(name):
    t = x4.astype("bfloat16")
    with bf16():
        assert FOLLOW[name](t).dtype == BF16
        assert FOLLOW[name](x4).dtype == F32
        assert (t + x4).dtype == F32 and paddle.concat([t, x4]).dtype == F32
    with bf16(level="O2", use_promote=False):
        assert FOLLOW[name](x4).dtype == BF16
    with bf16(level="OD"):
        assert FOLLOW[name](t).dtype == F32


def test_batch_norm_keeps_float32_statistics():
    norm = nn.BatchNorm2D(3)
    with bf16():
        y = norm(image.astype("bfloat16"))
        assert norm(image).dtype == F32
    assert y.dtype == BF16 and norm._mean.dtype == F32
    np.testing.assert_allclose(
        y.astype("float32").numpy(), nn.BatchNorm2D(3)(image).numpy(), atol=0.03
    )


def test_embeddings_and_interpolation_stay_at_O2():
    table = x4.astype("bfloat16")
    with bf16(level="O2"):
        assert F.embedding(paddle.to_tensor([1, 2]), table).dtype == F32
        assert F.interpolate(image.astype("bfloat16"), scale_factor=2).dtype == F32


def test_float64_integers_and_in_place_stay():
    wide = x4.astype("float64")
    with bf16(level="O2"):
        assert (wide @ wide).dtype == paddle.float64
        assert (paddle.ones([2, 2], "int32") + 1).dtype == paddle.int32
        assert x4.astype("float32").add_(x4).dtype == F32
        assert x4.cast("float32").dtype == F32


# --- regions --------------------------------------------------------------------------------------


def test_regions_nest():
    with bf16():
        assert amp.is_autocast_enabled() and amp.get_autocast_dtype() == "bfloat16"
        with amp.auto_cast(enable=False):
            assert (x4 @ x4).dtype == F32 and not amp.is_autocast_enabled()
            with bf16(level="O2", custom_black_list={"matmul"}):
                assert (x4 @ x4).dtype == F32
        assert (x4 @ x4).dtype == BF16
    assert (x4 @ x4).dtype == F32 and not amp.is_autocast_enabled()
    with pytest.raises(ZeroDivisionError):
        with bf16():
            raise ZeroDivisionError
    assert (x4 @ x4).dtype == F32


def loss_and_gradient(wide, options, under=True):
    x = numbers(6, 40).astype("bfloat16")
    x.stop_gradient = False
    label = paddle.to_tensor([3, 39, 0, 7, 7, 12])
    if options.get("soft_label"):
        label = F.softmax(numbers(6, 40, seed=1))
    with bf16(enable=under):
        loss = F.cross_entropy(x.astype("float32") if wide else x, label, **options)
    loss.sum().backward()
    return loss, x.grad


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reduction": "none"},
        {"weight": paddle.linspace(0.5, 2, 40)},
        {"weight": paddle.linspace(0.5, 2, 40).astype("bfloat16")},
        {"ignore_index": 7},
        {"label_smoothing": 0.1},
        {"soft_label": True},
    ],
)
def test_cross_entropy_of_16_bits_is_that_of_float32(options):
    """Though hard labels make no float32 scores."""
    ours = loss_and_gradient(False, options)
    assert ours[0].dtype == F32 and ours[1].dtype == BF16
    wide = {k: v.astype("float32") if k == "weight" else v for k, v in options.items()}
    for a, b in zip(ours, loss_and_gradient(True, wide, False)):
        assert_same_loss(a.astype("float32").numpy(), b.astype("float32").numpy())


def test_cross_entropy_keeps_16_bits():
    """Scores and their gradient, two bytes an element each, and little more."""
    x = numbers(256, 4096).astype("bfloat16")
    x.stop_gradient = False
    held = paddle.device.memory_allocated("cpu")
    paddle.device.reset_max_memory_allocated("cpu")
    with bf16():
        F.cross_entropy(x, paddle.zeros([256], "int64")).backward()
    assert paddle.device.max_memory_allocated("cpu") - held < 2.1 * x.size


def test_custom_lists_take_names_of_both():
    with bf16(custom_black_list={"matmul_v2"}, custom_white_list={"elementwise_add", "exp"}):
        assert (x4 @ x4).dtype == F32
        assert (x4 + x4).dtype == BF16 and x4.exp().dtype == BF16
        assert (x4 * x4).dtype == F32
    with bf16(custom_white_list={"softmax_with_cross_entropy"}):
        assert F.cross_entropy(x4, paddle.to_tensor([0, 1, 2, 3])).dtype == BF16
    with pytest.warns(UserWarning, match="custom_white_list: no op is called 'no_such_op_here'"):
        with bf16(custom_white_list={"no_such_op_here"}):
            pass


def test_a_decorator():
    @bf16()
    def product():
        return x4 @ x4

    assert product().dtype == BF16 and product().dtype == BF16
    assert (x4 @ x4).dtype == F32


def test_each_thread_has_its_own():
    seen, inside, done = {}, threading.Event(), threading.Event()

    def other():
        inside.wait(100)
        seen["other"] = (x4 @ x4).dtype
        with bf16():
            done.set()
            seen["own"] = (x4 @ x4).dtype

    thread = threading.Thread(target=other)
    thread.start()
    with bf16():
        inside.set()
        done.wait(100)
        seen["this"] = (x4 @ x4).dtype
    thread.join()
    assert seen == {"other": F32, "own": BF16, "this": BF16}
    assert (x4 @ x4).dtype == F32


# --- gradients, parameters ------------------------------------------------------------------------


def test_gradients_have_the_dtypes_of_parameters():
    layer = nn.Linear(4, 4)
    with bf16():
        loss = F.relu(layer(x4)).mean()
    loss.backward()
    assert loss.dtype == F32
    assert layer.weight.grad.dtype == F32 and layer.bias.grad.dtype == F32
    low = layer.weight.grad.numpy()
    layer.clear_gradients()
    F.relu(layer(x4)).mean().backward()
    np.testing.assert_allclose(low, layer.weight.grad.numpy(), rtol=0.05, atol=0.02)


def test_backward_inside_a_region_runs_as_forward_did():
    layer = nn.Linear(4, 4)
    grads = []
    for inside in (True, False):
        layer.clear_gradients()
        with bf16():
            loss = layer(x4).exp().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append(layer.weight.grad.numpy())
    np.testing.assert_array_equal(*grads)


def casts(body):
    return _core.explain(body)[1].count("cast: ran")


def test_a_parameter_is_cast_once_in_a_region():
    layer = nn.Linear(4, 4, bias_attr=False)
    x = x4.astype("bfloat16")
    with bf16():
        assert casts(lambda: [layer(x) for _ in range(5)]) == 1
        with paddle.no_grad():
            layer.weight.set_value(layer.weight * 2)
        y = layer(x)
    want = rounded(x4) @ rounded(layer.weight)
    np.testing.assert_allclose(y.astype("float32").numpy(), want, rtol=0.02, atol=0.02)


def test_steps_inside_one_region():
    paddle.seed(0)
    layer = nn.Linear(4, 1)
    opt = paddle.optimizer.SGD(0.05, parameters=layer.parameters())
    losses = []
    with bf16():
        for step in range(20):
            for _ in range(2):  # gradients add up: the cast's history is used twice
                loss = ((layer(x4) - 1.0) ** 2).mean()
                loss.backward()
            losses.append(float(loss))
            opt.step()
            opt.clear_grad()
        with paddle.no_grad():
            layer(x4)
        loss = layer(x4).mean()
        loss.backward()
    assert layer.weight.grad is not None
    assert losses[-1] < 0.5 * losses[0]


# --- captured -------------------------------------------------------------------------------------


def test_captured_functions_are_told_apart():
    layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    f = paddle.jit.to_static(layer)
    plain = f(x4)
    with bf16():
        low = f(x4)
        eager = layer.forward(x4)
    assert plain.dtype == F32 and low.dtype == BF16 and f(x4).dtype == F32
    np.testing.assert_array_equal(low.astype("float32").numpy(), eager.astype("float32").numpy())
    low.sum().backward()
    assert layer[0].weight.grad.dtype == F32


def test_regions_inside_captured_functions():
    w = nn.Linear(4, 4)

    @paddle.jit.to_static
    def f(x):
        with amp.auto_cast(dtype="bfloat16"):
            y = w(x)
        return y, y.astype("float32") + x @ x

    y, z = f(x4)
    assert y.dtype == BF16 and z.dtype == F32
    np.testing.assert_array_equal(
        (z - y.astype("float32")).numpy().round(3), (x4 @ x4).numpy().round(3)
    )


def test_compiled_steps():
    def trained(low):
        paddle.seed(3)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
        opt = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(), opt)
        label = paddle.to_tensor([0, 1, 2, 3])
        losses = []
        for _ in range(30):
            with amp.auto_cast(enable=low, dtype="bfloat16"):
                losses.append(float(step(x4, label)))
        assert len(step.program_cache) == 1
        return np.array(losses), model

    full, _ = trained(False)
    low, model = trained(True)
    assert np.abs(low - full).max() > 0
    np.testing.assert_allclose(low, full, rtol=0.05)
    assert all(p.dtype == F32 for p in model.parameters())


def test_repeated_casts_are_folded():
    w = nn.Linear(4, 4, bias_attr=False)

    def f(x):
        with amp.auto_cast(dtype="bfloat16"):
            return w(x) + w(x + 1)

    f = paddle.jit.to_static(f)
    f(x4)
    (program,) = [c.program for c in f._cache.values()]
    from argosy import passes

    text = str(passes.rewrite(program, list(f._cache.values())[0].outputs, "inference"))
    assert text.count(" cast(") <= 3, text  # of the weight once, of each operand


# --- float16 by the flag --------------------------------------------------------------------------


def test_the_flag_forces_float16(tmp_path):
    import os
    import subprocess
    import sys

    code = (
        "import argosy as paddle\n"
        "x = paddle.ones([8, 8])\n"
        "with paddle.amp.auto_cast():\n"
        "    assert (x @ x).dtype == paddle.float16\n"
        "assert paddle.amp.GradScaler().is_enable()\n"
    )
    env = {**os.environ, "ARGOSY_AMP_FLOAT16": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env)


# --- who watches calls ----------------------------------------------------------------------------


def test_operator_stats_count_what_ran(capsys):
    with amp.debugging.collect_operator_stats(), bf16():
        (x4 @ x4).exp()
    rows = {
        line.split("|")[0].strip(): [int(n) for n in line.split("|")[1:]]
        for line in capsys.readouterr().out.splitlines()
        if "|" in line and "Calls" not in line
    }
    assert rows["matmul"] == [0, 1, 0, 0] and rows["exp"] == [0, 0, 1, 0]


def test_infinities_are_found_in_regions():
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with bf16(), pytest.raises(RuntimeError, match=r"\[matmul\] NaN or Inf"):
            (x4 * 1e38) @ (x4 * 1e38)
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})


def test_recomputation_casts_again():
    from argosy.distributed.fleet.utils import recompute

    layer = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    grads = []
    for run in (layer, lambda x: recompute(layer, x)):
        layer.clear_gradients()
        x = x4.detach()
        x.stop_gradient = False
        with bf16():
            loss = run(x).sum()
        loss.backward()
        grads.append([x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters())])
    for a, b in zip(*grads):
        np.testing.assert_array_equal(a, b)
    with bf16():
        loss = recompute(layer, x).sum()
        loss.backward()  # gradients after a repeated part run as they are called
        np.testing.assert_array_equal(layer[0].weight.grad.numpy(), 2 * grads[0][1])
