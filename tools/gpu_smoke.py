"""The first look at a machine with a GPU: what it is, and small programs of each family of kernels against
NumPy or the CPU, each by itself, so that one that fails hides no other.

    python tools/gpu_smoke.py [--kernels]       --kernels: without the figures, for compute-sanitizer
"""

import sys
import time
import traceback

import numpy as np

import argosy as paddle

F = paddle.nn.functional
PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def number(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def near(got, want, tol=1e-4):
    got = got.astype("float32").cpu().numpy() if isinstance(got, paddle.Tensor) else got
    want = want.numpy() if isinstance(want, paddle.Tensor) else want
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


def on_both(function, *arrays, tol=1e-4):
    """function's values and gradients on the GPU against those on the CPU."""

    def run():
        tensors = [paddle.to_tensor(a) for a in arrays]
        for t in tensors:
            t.stop_gradient = not t.is_floating_point()
        out = function(*tensors)
        free = [t for t in tensors if not t.stop_gradient]
        grads = paddle.grad(out.sum(), free) if free and not out.stop_gradient else []
        return [t.cpu().numpy() for t in (out, *grads)]

    got = run()
    with paddle.device_guard("cpu"):
        want = run()
    for a, b in zip(got, want):
        near(a, b, tol)


@program
def copies():
    x = number(3, 5)
    t = paddle.to_tensor(x)
    assert str(t.place) == "Place(gpu:0)", t.place
    near(t, x)
    near(t.t().contiguous(), x.T)
    near(t[1:, ::2], x[1:, ::2])
    near(t.astype("bfloat16").astype("float32"), x, 1e-2)
    big = paddle.zeros([1 << 20])
    assert float(big.sum()) == 0


@program
def elementwise():
    on_both(lambda a, b: (a + b * 2).exp() / (1 + a.abs()), number(64, 33), number(33))


@program
def gelu_and_cast():
    on_both(lambda a: F.gelu(a, approximate=True) + F.silu(a), number(128, 65))


@program
def reductions():
    on_both(lambda a: a.sum(1) + a.max(1) + a.mean(1), number(40, 300))
    on_both(lambda a: a.sum(0), number(3000, 7), tol=1e-3)
    near(paddle.to_tensor(number(50, 40)).argmax(1).astype("float32"), number(50, 40).argmax(1))


@program
def products():
    on_both(lambda a, b: a @ b, number(65, 33), number(33, 70), tol=2e-3)
    on_both(lambda a, b: paddle.bmm(a, b), number(3, 17, 9), number(3, 9, 12), tol=2e-3)


@program
def products_bfloat16():
    a, b = number(64, 64), number(64, 64, seed=1)
    got = paddle.to_tensor(a).astype("bfloat16") @ paddle.to_tensor(b).astype("bfloat16")
    near(got, a @ b, 0.2)


@program
def normalizations():
    on_both(lambda a, w, b: F.layer_norm(a, 48, w, b), number(20, 48), number(48), number(48))
    on_both(lambda a: F.softmax(a) * 3, number(20, 1000))


@program
def batch_norm():
    layer = paddle.nn.BatchNorm2D(6)
    x = paddle.to_tensor(number(4, 6, 5, 5))
    near(layer(x).mean([0, 2, 3]), np.zeros(6), 1e-4)


@program
def losses():
    labels = np.arange(16) % 10
    on_both(lambda a: F.cross_entropy(a, paddle.to_tensor(labels)), number(16, 10))


@program
def convolutions():
    on_both(lambda x, w: F.conv2d(x, w, padding=1, stride=2), number(2, 3, 12, 12), number(8, 3, 3, 3), tol=2e-3)  # fmt: skip
    on_both(lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), number(2, 3, 8, 8))


@program
def moves():
    on_both(
        lambda a, b: paddle.concat([a, b], 1).transpose([1, 0])[3:7], number(6, 5), number(6, 4)
    )
    on_both(lambda a: paddle.gather(a, paddle.to_tensor(np.array([2, 0, 2]))), number(5, 4))
    on_both(lambda w: F.embedding(paddle.to_tensor(np.array([1, 1, 3])), w), number(6, 8))
    near(paddle.to_tensor(number(7, 9)).sort(1), np.sort(number(7, 9), 1))


@program
def attention():
    q = number(2, 64, 2, 32)
    on_both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, q, q, tol=2e-3)  # fmt: skip


@program
def attention_of_own_kernels():
    mask = number(2, 1, 1, 83, seed=3) > -1
    mask[..., 0] = True
    for size in (20, 100):
        shapes = (67, 4), (83, 2), (83, 2)
        operands = [number(2, n, h, size, seed=s) for s, (n, h) in enumerate(shapes)]
        on_both(lambda *t: F.scaled_dot_product_attention(*t, is_causal=True), *operands, mask)
    x = paddle.to_tensor(number(2, 67, 4, 20)).astype("bfloat16")
    x.stop_gradient = False
    F.scaled_dot_product_attention(x, x, x, dropout_p=0.3).sum().backward()
    assert np.isfinite(x.grad.astype("float32").numpy()).all()


@program
def random_numbers():
    x = paddle.randn([1 << 18])
    assert abs(float(x.mean())) < 0.02 and abs(float(x.std()) - 1) < 0.02
    kept = (F.dropout(paddle.ones([1 << 16]), 0.25) > 0).astype("float32").mean()
    assert abs(float(kept) - 0.75) < 0.02


@program
def training():
    paddle.seed(0)
    net = paddle.nn.Sequential(paddle.nn.Linear(16, 32), paddle.nn.ReLU(), paddle.nn.Linear(32, 4))
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
    x, y = paddle.to_tensor(number(64, 16)), paddle.to_tensor(np.arange(64) % 4)
    losses = []
    for _ in range(30):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0] * 0.7, losses[::10]


@program
def training_amp():
    paddle.seed(0)
    net = paddle.nn.Sequential(paddle.nn.Linear(16, 32), paddle.nn.ReLU(), paddle.nn.Linear(32, 4))
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    x, y = paddle.to_tensor(number(64, 16)), paddle.to_tensor(np.arange(64) % 4)
    losses = []
    for _ in range(30):
        with paddle.amp.auto_cast(dtype="bfloat16", level="O1"):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < losses[0] * 0.8, losses[::10]


@program
def captured():
    net = paddle.nn.Linear(16, 4)
    fast = paddle.jit.to_static(lambda x: F.softmax(net(x)))
    x = paddle.to_tensor(number(8, 16))
    near(fast(x), F.softmax(net(x)).cpu().numpy())


@program
def chains():
    """Packs, a rest behind them, rows, columns and other strides, in place."""

    def chain(x, y):
        z = F.gelu(x * 1.5 + y)
        z += x
        return z.astype("bfloat16") * y.astype("bfloat16")

    captured = paddle.jit.to_static(chain)
    for shape, other in (
        ([64, 4096], [64, 4096]),
        ([33, 7], [33, 7]),
        ([32, 48, 64], [64]),
        ([32, 48], [32, 1]),
    ):
        x, y = paddle.to_tensor(number(*shape)), paddle.to_tensor(number(*other, seed=1))
        for _ in range(3):
            near(captured(x, y), chain(x, y).astype("float32"), 0)
    x, y = paddle.to_tensor(number(33, 48)), paddle.to_tensor(number(48, 33, seed=1))
    near(captured(x.t(), y), chain(x.t(), y).astype("float32"), 0)


@program
def streams():
    side = paddle.device.Stream()
    x = paddle.ones([1 << 16])
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        y = x * 3
    paddle.device.current_stream().wait_stream(side)
    y.record_stream(paddle.device.current_stream())
    near(y[:4], np.full(4, 3))
    begin, end = (paddle.device.Event(enable_timing=True) for _ in range(2))
    begin.record()
    x.exp()
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0


def say_what_it_is():
    print("argosy", paddle.__file__, "cuda", paddle.is_compiled_with_cuda())
    print("GPUs", paddle.device.device_count())
    paddle.set_device("gpu:0")
    print(paddle.device.get_device_properties())
    begin = time.perf_counter()
    float(paddle.ones([2]).sum())
    print(f"first sum {1e3 * (time.perf_counter() - begin):.1f} ms")
    a, b = paddle.ones([16]), paddle.ones([16])
    for _ in range(200):
        a + b
    paddle.device.synchronize()
    begin = time.perf_counter()
    for _ in range(2000):
        a + b
    print(f"a + b of 16 numbers {1e6 * (time.perf_counter() - begin) / 2000:.2f} us of the host")
    paddle.device.synchronize()


def main():
    if "--kernels" in sys.argv:
        paddle.set_device("gpu:0")
    else:
        say_what_it_is()
    failed = 0
    for run in PROGRAMS:
        try:
            run()
            paddle.device.synchronize()
        except Exception as error:
            failed += 1
            at = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:260]
            print(
                f"FAILED {run.__name__}: {type(error).__name__} at line {at.lineno}: {text}",
                flush=True,
            )
    print(f"smoke: {len(PROGRAMS) - failed} of {len(PROGRAMS)} programs are right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
