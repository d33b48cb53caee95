"""Elementwise steps of captured functions run as chains: one kernel on a GPU, which computes the same bits.
The streamed test device runs their steps one by one and spoils what a GPU would not write. Run with
--device gpu, and without."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, nn

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]
on_a_gpu = pytest.mark.skipif(STREAMED, reason="is about a GPU's kernels")


def tensor(shape, dtype, seed, low=-2.0, high=2.0):
    values = np.random.default_rng(seed).uniform(low, high, shape).astype("float32")
    if dtype == "bool":
        return paddle.to_tensor(values > 0)
    return paddle.to_tensor(values).astype(dtype)


def bits(t):
    t = t.detach()
    if t.dtype in (paddle.bfloat16, paddle.float16):
        t = t.astype("float32")  # which is exact
    return t.contiguous().numpy().tobytes()


def same(a, b):
    a, b = ([v] if isinstance(v, paddle.Tensor) else list(v) for v in (a, b))
    assert len(a) == len(b)
    for i, (x, y) in enumerate(zip(a, b)):
        assert x.dtype == y.dtype and x.shape == y.shape, (i, x, y)
        if bits(x) != bits(y):
            x, y = (v.astype("float64").numpy() for v in (x, y))
            worst = np.unravel_index(np.nanargmax(np.abs(x - y)), x.shape)
            raise AssertionError(f"result {i} at {worst}: {x[worst]!r} and {y[worst]!r}")


def one_by_one(function, *arguments):
    """What a captured function gives whose steps run one by one: who looks for NaN wants each by itself."""
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        return function(*arguments)
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})


def fused(function, *arguments, times=4):
    """The results of several runs (the later ones may be graphs), and how many kernels of chains there were."""
    before = _core.chain_launches()
    results = [function(*arguments) for _ in range(times)]
    assert _core.chain_launches() > before
    return results


def check(function, *arguments, exact=True, fuses=True):
    captured = paddle.jit.to_static(function)
    want = one_by_one(captured, *arguments)
    run = fused if fuses else lambda *a: [captured(*arguments) for _ in range(4)]
    for found in run(captured, *arguments):
        same(found, want)
    if exact:
        same(function(*arguments), want)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [[64, 4096], [33, 7], [5], [1 << 17, 3]])
def test_the_chain_of_the_benchmark(dtype, shape):
    x, y = tensor(shape, dtype, 0), tensor(shape, dtype, 1)
    check(lambda x, y: F.silu(x * 1.5 + y) * x, x, y)


@on_a_gpu
def test_it_is_one_kernel():
    x, y = tensor([512, 512], "bfloat16", 0), tensor([512, 512], "bfloat16", 1)
    captured = paddle.jit.to_static(lambda x, y: F.silu(x * 1.5 + y) * x)
    captured(x, y)
    before = _core.chain_launches()
    captured(x, y)
    assert _core.chain_launches() == before + 1


def test_products_and_sums_of_two_steps_are_rounded_apart():
    """Joined to one fused multiply-add they would be rounded once."""
    shape = [1 << 20]
    for dtype in ("float32", "float64"):
        x, y, z = (tensor(shape, dtype, i, 0.5, 1.5) for i in range(3))
        check(lambda x, y, z: (x * y - z) * x + z, x, y, z)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_operands_are_broadcast(dtype):
    x, bias = tensor([32, 48, 64], dtype, 0), tensor([64], dtype, 1)
    column, one, residual = (
        tensor([48, 1], dtype, 2),
        tensor([], dtype, 3),
        tensor([32, 48, 64], dtype, 4),
    )
    check(lambda x, b, c, o, r: F.gelu(x + b) * c + (r - o) * b, x, bias, column, one, residual)
    check(lambda x, b: F.gelu(x + b) * b, x, tensor([48, 1], dtype, 5))
    check(lambda x, b: F.relu(x[:, 1:, :5] + b[:5]) * 2 - x[:, :47, 59:], x, bias)


def test_views_that_are_not_contiguous():
    x, y = tensor([64, 96], "bfloat16", 0), tensor([96, 64], "bfloat16", 1)
    check(lambda x, y: F.silu(x.t() * 1.5 + y) * x.t(), x, y)
    check(lambda x, y: paddle.tanh(x[::2, 1::3] + y.t()[::2, ::3]) * 0.5 + 1, x, y)
    check(lambda x, y: F.relu(paddle.flip(x, [1]) * 2 + 1) - x, x, y)


def test_dtypes_change_on_the_way():
    x, y = tensor([128, 256], "bfloat16", 0), tensor([128, 256], "float32", 1)
    check(lambda x, y: (F.sigmoid(x.astype("float32") + y) * 3).astype("bfloat16") + x, x, y)
    check(lambda x, y: paddle.where(x > 0, x * 2, x - 1).astype("float32") * y, x, y)
    check(lambda x, y: ((y * 10).astype("int32") % 7 == 3).astype("float32") - y, x, y)
    check(
        lambda x, y: paddle.logical_and(x > 0, y.astype("bfloat16") < x).astype("int64") + 1, x, y
    )


def test_kernels_of_their_own_between_the_steps():
    """They read what was held back for a chain, whoever else reads it."""
    x, y = tensor([64, 96], "float32", 0), tensor([64, 96], "float32", 1)
    check(lambda x, y: paddle.sin(x * 2 + 1) * y - 0.5, x, y)
    check(lambda x, y: paddle.pow(paddle.abs(x) * 1.5 + 2, y * 2 - 1) * x + y, x, y)
    check(lambda x, y: paddle.erfinv(paddle.tanh(x * 0.5 + y * 0.25)) * y - x, x, y)
    n, m = (x * 10).astype("int32"), (y * 10).astype("int32")
    check(lambda n, m: (n * 2 + 1) % 7 * m + n, n, m)
    check(lambda n, m: paddle.copysign(n * 2 + 1, m - 3) * 2 + m, n, m)
    check(lambda n, m: paddle.tanh(n * 2 + m) * 2 - paddle.tanh(m - 1), n, m)
    check(lambda n, m: paddle.atan2(n * 2 + 1, m - 3) * 2 + paddle.atan2(m + 1, n - 2), n, m)
    z, w = paddle.complex(x, y), paddle.complex(y, x)
    check(lambda z, w: paddle.real(z * w + z) * 2 + paddle.abs(w - z), z, w)
    check(lambda z, w: paddle.logical_not(paddle.less_than(z * w + z, w * 2)), z, w, fuses=False)


def test_sums_between_the_steps():
    one, two = tensor([], "float32", 0), tensor([], "float32", 1)
    check(lambda a, b: paddle.logical_not(paddle.equal_all(a * 2 + 1, a * 2 + 1)), one, two)
    check(lambda a, b: paddle.equal_all(a * 2 + b, b * 2 + a).astype("float32") * a - b, one, two)


def test_numbers_of_ops():
    x, y = tensor([4096], "float32", 0), tensor([4096], "float32", 1)
    for value in (0.5, 1.5, 2.5):
        check(lambda x, y: F.leaky_relu(x * value + y, value) * paddle.clip(y, -value, value), x, y)


def test_what_stands_between_does_not_part_a_chain(monkeypatch):
    plans, run = [], _core.executor_run

    def watched(*call):
        plans.append(_core.executor_plan(*call)[1])
        return run(*call)

    monkeypatch.setattr(_core, "executor_run", watched)

    def function(x, y, w):
        h = x + y
        other = w.astype("bfloat16")
        h = F.relu(h)
        return h * x, other, other @ other

    x, y, w = (tensor([16, 16], "float32", i) for i in range(3))
    check(function, x, y, tensor([8, 8], "float32", 2))
    ops = [line.split()[2] for line in plans[0].splitlines() if line[1:2] in ("|", "=")]
    assert ops == ["add:", "relu:", "multiply:"], plans[0]
    # A value that others read, too, stays where it is made.
    plans.clear()
    check(lambda x, y, w: (F.relu((h := x + y)) + (h @ w), w.exp() - h), x, y, w)
    assert plans


def test_in_place():
    def function(x, y):
        z = x * 2
        z += y
        z.multiply_(y)
        w = z + x
        F.relu_(z)
        return w, z

    x, y = tensor([64, 64], "float32", 0), tensor([64, 64], "float32", 1)
    check(function, x, y)


def test_state_in_place():
    """A buffer that a captured layer updates."""

    class Mean(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", paddle.zeros([256]))

        def forward(self, x):
            self.mean.set_value(self.mean * 0.9 + x * 0.1)
            return F.silu(self.mean + x) * x

    x = tensor([256], "float32", 0)
    eager, captured = Mean(), Mean()
    step = paddle.jit.to_static(captured)
    for _ in range(5):
        same(step(x), eager(x))
        same(captured.mean, eager.mean)


UNARY = [
    F.relu, F.silu, F.gelu, F.sigmoid, paddle.tanh, paddle.exp, F.softsign, F.hardswish, F.mish, F.softplus,
    paddle.abs, paddle.square, F.leaky_relu, F.elu, paddle.floor, lambda x: x * 1.25, lambda x: x - 0.5,
    lambda x: F.gelu(x, approximate=True), lambda x: paddle.clip(x, -1, 1), lambda x: -x, lambda x: 2.0 / (x * x + 1),
]  # fmt: skip
BINARY = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1), paddle.maximum,
    paddle.minimum, lambda a, b: paddle.where(a > b, a, b * 0.5), lambda a, b: paddle.lerp(a, b, 0.25),
]  # fmt: skip


def random_function(seed):
    """A chain of random ops over three operands, the last of which may be broadcast, with one or two results."""
    rng = random.Random(seed)
    steps = []
    for i in range(rng.randint(3, 12)):
        if rng.random() < 0.5:
            steps.append((rng.choice(UNARY), [rng.randrange(3 + i)]))
        else:
            steps.append(
                (rng.choice(BINARY), [rng.randrange(3 + i), rng.randrange(max(0, i), 3 + i)])
            )
    kept = [len(steps) + 2] + ([rng.randrange(3, len(steps) + 3)] if rng.random() < 0.5 else [])

    def function(x, y, z):
        values = [x, y, z]
        for op, of in steps:
            values.append(op(*(values[k] for k in of)))
        return [values[k] + x for k in kept]  # of the full shape

    return function


@pytest.mark.parametrize("seed", range(30))
def test_random_chains(seed):
    rng = random.Random(seed)
    dtype = rng.choice(["bfloat16", "bfloat16", "float16", "float32", "float32", "float64"])
    shape = rng.choice([[48, 64], [17, 31], [4, 8, 40], [1000], [16, 1, 24], [2, 3, 8, 16]])
    small = [1 if rng.random() < 0.5 else n for n in shape] if rng.random() < 0.6 else shape
    x, y, z = (
        tensor(shape, dtype, seed),
        tensor(shape, dtype, seed + 100),
        tensor(small, dtype, seed + 200),
    )
    if rng.random() < 0.3 and len(shape) == 2:
        y = tensor(shape[::-1], dtype, seed + 100).t()
    check(random_function(seed), x, y, z, exact=False)
    eager = random_function(seed)(x, y, z)
    captured = paddle.jit.to_static(random_function(seed))(x, y, z)
    bound = {"bfloat16": 5e-2, "float16": 1e-2}.get(dtype, 1e-4)
    for a, b in zip(eager, captured):
        a, b = (v.astype("float64").numpy() for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound)


@pytest.mark.parametrize("seed", range(10))
def test_gradients_of_random_chains(seed):
    dtype = ["bfloat16", "float32"][seed % 2]
    arguments = [
        tensor([32, 48], dtype, seed),
        tensor([32, 48], dtype, seed + 1),
        tensor([48], dtype, seed + 2),
    ]
    function = random_function(seed + 50)
    captured = paddle.jit.to_static(function)

    def gradients():
        leaves = [a.detach() for a in arguments]
        for t in leaves:
            t.stop_gradient = False
        results = captured(*leaves)
        paddle.autograd.backward(results, [paddle.ones_like(r) for r in results])
        return [*results, *(t.grad for t in leaves if t.grad is not None)]

    want = one_by_one(gradients)
    for found in fused(gradients):
        same(found, want)


def test_a_static_program():
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [64, 32], "float32")
            y = F.silu(x * 1.5 + 0.25) * x
        executor = paddle.static.Executor()
        fed = np.random.default_rng(0).standard_normal((64, 32)).astype("float32")
        before = _core.chain_launches()
        (found,) = executor.run(main, feed={"x": fed}, fetch_list=[y])
        assert _core.chain_launches() > before
    finally:
        paddle.disable_static()
    t = paddle.to_tensor(fed)
    assert found.tobytes() == bits(F.silu(t * 1.5 + 0.25) * t)


@on_a_gpu  # whose memory comes again
def test_chains_are_parts_of_graphs():
    """A run of kernels with chains among them is a graph from the third time on, with the values of each run."""
    w = tensor([64, 64], "float32", 9)

    def function(x, y):
        h = x @ w
        h = F.silu(h * 1.5 + y) * h
        h = h @ w
        return F.relu(h + y) * 0.5 - x

    captured = paddle.jit.to_static(function)
    x, y = paddle.zeros([64, 64]), paddle.zeros([64, 64])
    before = _core.graph_launches()
    for i in range(8):
        x[:], y[:] = tensor([64, 64], "float32", i), tensor([64, 64], "float32", i + 50)
        same(captured(x, y), function(x, y))
    assert _core.graph_launches() > before


def test_a_training_step():
    def losses(run):
        paddle.seed(0)
        net = nn.Sequential(
            nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.Silu(), nn.Linear(64, 8)
        )
        for i, p in enumerate(net.parameters()):
            p.set_value(np.sin(np.arange(p.size) * (i + 1)).reshape(p.shape).astype("float32") / 4)
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
        rng = np.random.default_rng(0)

        def loss_of(x, y):
            with paddle.amp.auto_cast(dtype="bfloat16"):
                h = net(x)
                return F.cross_entropy(h * F.sigmoid(h) + 0.1 * h, y)

        function = paddle.jit.to_static(loss_of)
        found = []
        for _ in range(6):
            x = paddle.to_tensor(rng.standard_normal((16, 32)).astype("float32"))
            y = paddle.to_tensor(rng.integers(0, 8, 16))
            loss = run(function, x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            found.append(float(loss))
        return found

    before = _core.chain_launches()
    found = losses(lambda f, *a: f(*a))
    assert _core.chain_launches() > before
    assert found == losses(one_by_one)


def child(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )  # fmt: skip


SILU = """
import argosy as paddle, argosy.nn.functional as F
from argosy import _core
paddle.set_device("gpu:0")
x = paddle.to_tensor([[0.5, -1.0, 2.0]] * 8)
f = paddle.jit.to_static(lambda x: F.silu(x * 1.5 + x) * x)
for _ in range(3):
    y = f(x)
print(_core.chain_launches(), (y - F.silu(x * 1.5 + x) * x).abs().max().item())
"""


@on_a_gpu
def test_a_switch_turns_it_off():
    assert child(SILU, ARGOSY_DEVICE_FUSION="0").stdout.split() == ["0", "0.0"]


@on_a_gpu
def test_blocking_launches_are_op_by_op():
    assert child(SILU, CUDA_LAUNCH_BLOCKING="1").stdout.split() == ["0", "0.0"]


@on_a_gpu
def test_without_the_compiler_steps_run_one_by_one(tmp_path):
    """What stands for libnvrtc has none of its functions."""
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    library = tmp_path / "libnvrtc.so.13"
    made = subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(library), str(source)], capture_output=True
    )
    if made.returncode:
        pytest.skip("there is no C compiler")
    path = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    done = child(SILU, LD_LIBRARY_PATH=path)
    assert done.stdout.split() == ["0", "0.0"], done.stderr
    assert (
        done.stderr.count("chains of elementwise ops run op by op: libnvrtc lacks functions") == 1
    )
