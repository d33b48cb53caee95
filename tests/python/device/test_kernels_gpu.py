"""Kernels of the GPU in the shapes that decide how they run, beside the CPU's float32. Run with
--device gpu."""

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, nn

pytestmark = pytest.mark.skipif(
    not paddle.is_compiled_with_cuda() or not paddle.device.cuda.device_count(),
    reason="needs a GPU",
)
BOUNDS = {"float32": 2e-4, "float16": 4e-3, "bfloat16": 3e-2}
NARROW = ["bfloat16", "float16"]


@pytest.fixture(autouse=True)
def on_gpu():
    paddle.device.set_device("gpu:0")
    yield
    paddle.device.set_device("cpu")


def rounded(array, dtype):
    """The numbers that the dtype has of these."""
    return paddle.to_tensor(array, place="cpu").astype(dtype).astype("float32").numpy()


def numbers(*shape, seed=0, dtype="float32"):
    return rounded(np.random.default_rng(seed).standard_normal(shape).astype("float32"), dtype)


def with_gradients(function, arrays, dtype, device):
    """function(*tensors) and its gradients, as float32 arrays; on the CPU all is float32."""
    paddle.device.set_device(device)
    wide = "float32" if device == "cpu" else dtype
    tensors = [paddle.to_tensor(a).astype(wide) for a in arrays]
    for t in tensors:
        t.stop_gradient = False
    y = function(*tensors)
    g = paddle.to_tensor(numbers(*y.shape, seed=9, dtype=dtype)).astype(wide)
    found = [y, *paddle.grad(y, tensors, g)]
    return [v.astype("float32").numpy() for v in found]


def check(function, arrays, dtype):
    want = with_gradients(function, arrays, dtype, "cpu")
    got = with_gradients(function, arrays, dtype, "gpu:0")
    for i, (a, b) in enumerate(zip(got, want)):
        assert a.shape == b.shape
        apart = np.abs(a - b).max() / (np.abs(b).max() + 1e-30)
        assert apart < BOUNDS[dtype], (i, apart)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("rows", [1, 9, 3000])
@pytest.mark.parametrize("n", [520, 768, 1032, 2048, 2056, 4096, 4104, 9000])
def test_layer_norm(n, rows, dtype):
    arrays = [3 + numbers(rows, n, dtype=dtype), numbers(n, seed=1), numbers(n, seed=2)]
    arrays = [rounded(a, dtype) for a in arrays]
    check(lambda x, w, b: F.layer_norm(x, n, w, b), arrays, dtype)
    if rows == 9:
        check(lambda x: F.layer_norm(x, n), arrays[:1], dtype)


@pytest.mark.parametrize("dtype", [*BOUNDS, "uint8", "float64"])
@pytest.mark.parametrize(
    "shape, order",
    [
        ([64, 64], [1, 0]),
        ([72, 200], [1, 0]),
        ([1000, 4096], [1, 0]),
        ([136, 61], [1, 0]),
        ([3, 40, 56], [0, 2, 1]),
        ([5, 24, 6, 72], [2, 3, 0, 1]),
        ([2, 64, 56, 56], [0, 2, 3, 1]),
    ],
)
def test_transposed_copies(shape, order, dtype):
    array = (np.arange(np.prod(shape)) * 37 % 251).reshape(shape)
    x = paddle.to_tensor(array.astype("float32")).astype(dtype)
    for view, part in ((x, array), (x[..., 8:], array[..., 8:]), (x[..., 1:], array[..., 1:])):
        got = view.transpose(order).contiguous().astype("float32").numpy()
        np.testing.assert_array_equal(got, part.transpose(order))


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize(
    "shape", [[2, 8, 3, 5], [4, 24, 17, 9], [8, 64, 28, 28], [3, 264, 7, 7], [64, 2048, 2, 2]]
)
@pytest.mark.parametrize("form", ["NCHW", "NHWC"])
def test_batch_norm(shape, form, dtype):
    channels = shape[1]
    if form == "NHWC":
        shape = [shape[0], *shape[2:], channels]
    x = rounded(5 + 2 * numbers(*shape), dtype)

    def normalized(x, w, b):
        mean, variance = paddle.zeros([channels]), paddle.ones([channels])
        return F.batch_norm(x, mean, variance, w.astype("float32"), b.astype("float32"),
                            training=True, data_format=form)  # fmt: skip

    arrays = [x, numbers(channels, seed=1, dtype=dtype), numbers(channels, seed=2, dtype=dtype)]
    check(normalized, arrays, dtype)


def test_statistics_of_numbers_far_from_zero():
    """Which sums of squares would lose."""
    x = (1000 + numbers(16, 64, 30, 30)).astype("float32")
    mean, variance = paddle.zeros([64]), paddle.zeros([64])
    F.batch_norm(paddle.to_tensor(x), mean, variance, training=True, momentum=0.0)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(variance.numpy(), x.astype("float64").var((0, 2, 3)), rtol=1e-3)
    y = paddle.to_tensor(x.transpose(0, 2, 3, 1).copy())
    mean, variance = paddle.zeros([64]), paddle.zeros([64])
    F.batch_norm(y, mean, variance, training=True, momentum=0.0, data_format="NHWC")
    np.testing.assert_allclose(variance.numpy(), x.astype("float64").var((0, 2, 3)), rtol=1e-3)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("groups", [1, 4, 32])
def test_group_norm_with_channels_last(groups, dtype):
    arrays = [rounded(2 + numbers(3, 20, 12, 64), dtype), numbers(64, seed=1, dtype=dtype),
              numbers(64, seed=2, dtype=dtype)]  # fmt: skip
    check(
        lambda x, w, b: F.group_norm(x, groups, weight=w, bias=b, data_format="NHWC"), arrays, dtype
    )


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize(
    "kernel, stride, padding, size",
    [(3, 2, 1, 32), (3, 1, 1, 24), (2, 2, 0, 16), (5, 3, 2, 40), (3, 2, 1, 27), (7, 5, 3, 64)],
)
def test_max_pools(kernel, stride, padding, size, dtype):
    x = numbers(3, 5, size + 3, size, dtype=dtype)
    check(lambda x: F.max_pool2d(x, kernel, stride, padding), [x], dtype)
    check(lambda x: F.max_pool3d(x, kernel, stride, padding), [x[None]], dtype)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("form", ["NCHW", "NHWC"])
def test_averages_of_whole_images(form, dtype):
    x = numbers(3, 9, 7, 5, dtype=dtype)
    check(lambda x: F.adaptive_avg_pool2d(x, 1, data_format=form), [x], dtype)
    size = x.shape[2:] if form == "NCHW" else x.shape[1:3]
    check(lambda x: F.avg_pool2d(x, size, data_format=form), [x], dtype)
    check(lambda x: F.avg_pool2d(x, size, divisor_override=3, data_format=form), [x], dtype)


@pytest.mark.parametrize(
    "channels, kernel, stride, bias, dtype",
    [
        (3, 7, 2, False, "bfloat16"),
        (3, 3, 1, True, "float16"),
        (1, 3, 1, True, "bfloat16"),
        (7, 1, 1, False, "bfloat16"),
    ],
)
def test_convolutions_of_few_channels(channels, kernel, stride, bias, dtype):
    """Large enough that routes are timed, one of which makes eight channels of these."""
    arrays = [numbers(8, channels, 128, 128, dtype=dtype),
              numbers(32, channels, kernel, kernel, seed=1, dtype=dtype) / 8]  # fmt: skip
    if bias:
        arrays.append(numbers(32, seed=2, dtype=dtype))

    def convolved(x, w, b=None):
        return F.conv2d(x, w, b, stride=stride, padding=kernel // 2)

    check(convolved, arrays, dtype)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("form", [(24, 16, 3), (512, 8, 3), (8, 520, 2), (16, 300, 4), (16, 16, 5)])
def test_weights_that_are_turned(form, dtype):
    out, channels, kernel = form
    x = numbers(2, channels, 9, 9, dtype=dtype)
    w = numbers(out, channels, kernel, kernel, seed=1, dtype=dtype) / 16
    check(lambda x, w: F.conv2d(x, w, padding=1), [x, rounded(w, dtype)], dtype)


def test_operands_of_many_dimensions():
    x, y = numbers(2, 1, 3, 1, 2, 8), numbers(1, 4, 1, 5, 1, 8, seed=1)
    got = paddle.to_tensor(x) + paddle.to_tensor(y)
    np.testing.assert_array_equal(got.numpy(), x + y)
    z = numbers(3, 4, 5, 6, 7, 8)
    view = paddle.to_tensor(z).transpose([4, 2, 0, 3, 1, 5])[:, ::2, :, ::3]
    want = z.transpose(4, 2, 0, 3, 1, 5)[:, ::2, :, ::3]
    np.testing.assert_array_equal((view * 2).numpy(), want * 2)
    np.testing.assert_array_equal(view.astype("float64").numpy(), want)


def test_steps_whose_kernels_take_scratch_run_as_graphs():
    """Also where the memory that they use meanwhile has to be taken while they are recorded: of a
    stream that had no graphs."""
    x, y = paddle.to_tensor(numbers(4, 8, 12, 12)), paddle.to_tensor(np.arange(4))

    def step_of(capture):
        paddle.seed(1)
        net = nn.Sequential(nn.Conv2D(8, 64, 3, padding=1), nn.BatchNorm2D(64), nn.ReLU(),
                            nn.Conv2D(64, 64, 3), nn.Flatten(), nn.Linear(64 * 100, 10))  # fmt: skip
        optimizer = paddle.optimizer.Momentum(0.01, parameters=net.parameters())

        def loss_of(x, y):
            with paddle.amp.auto_cast(dtype="bfloat16"):
                return F.cross_entropy(net(x), y)

        def eager():
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        step = paddle.jit.compile_step(loss_of, None, optimizer)
        return (lambda: step(x, y)) if capture else eager

    stream = paddle.device.Stream()
    stream.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(stream):
        step = step_of(True)
        losses = [float(step()) for _ in range(4)]
        before, waits = _core.graph_launches(), _core.host_waits()
        step()
        # Before the update of the one large parameter; what follows may be too short for one.
        assert _core.graph_launches() > before
        assert _core.host_waits() == waits
        losses += [float(step()) for _ in range(4)]
    stream.synchronize()
    eager = step_of(False)
    want = [float(eager()) for _ in range(9)]
    np.testing.assert_allclose(losses, want[:4] + want[5:], rtol=3e-2, atol=3e-2)
    assert losses[-1] < losses[0]
