"""SyncBatchNorm beside BatchNorm over the joined batch: float64."""

import numpy as np

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
draw = np.random.RandomState(7)


def joined(tensor):
    """The arrays of all processes, one below the other."""
    parts = []
    dist.all_gather_object(parts, tensor.numpy())
    return np.concatenate(parts)


def summed(tensor):
    tensor = tensor.clone()
    dist.all_reduce(tensor)
    return tensor.numpy()


def close(one, two, digits=1e-12):
    np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=digits, atol=digits)


def trained(net):
    return [p for p in net.parameters() if not p.stop_gradient]


def compare(rows, shape, options, offset=0.0):
    """rows: of each process's batch; shape: of a sample."""
    whole = draw.randn(sum(rows), *shape) + offset
    weights = draw.randn(*whole.shape)
    begin = sum(rows[:rank])
    own = slice(begin, begin + rows[rank])
    last = options.get("data_format", "NCHW").endswith("C") and options["data_format"] != "NC"
    channels = shape[-1] if last else shape[0]
    one = paddle.nn.SyncBatchNorm(channels, **options)
    kind = {2: paddle.nn.BatchNorm1D, 3: paddle.nn.BatchNorm1D, 4: paddle.nn.BatchNorm2D}[
        whole.ndim
    ]
    all_of_it = kind(channels, **options)
    for net in (one, all_of_it):
        net.to(dtype="float64")
        for p, value in zip(trained(net), (1.5, -0.25)):
            p.set_value(paddle.full_like(p, value) + paddle.arange(channels, dtype="float64"))
    for _ in range(2):
        x = paddle.to_tensor(whole[own], stop_gradient=False)
        full = paddle.to_tensor(whole, stop_gradient=False)
        y, wanted = one(x), all_of_it(full)
        (y * paddle.to_tensor(weights[own])).sum().backward()
        (wanted * paddle.to_tensor(weights)).sum().backward()
        close(y, wanted.numpy()[own])
        close(x.grad, full.grad.numpy()[own])
        for a, b in zip(trained(one), trained(all_of_it)):
            close(summed(a.grad), b.grad, 1e-11)
            a.clear_grad()
            b.clear_grad()
        close(one._mean, all_of_it._mean)
        close(one._variance, all_of_it._variance)
    one.eval()
    all_of_it.eval()
    close(one(x), all_of_it(full).numpy()[own])


EVEN, UNEVEN = [4] * size, [3 + 2 * r for r in range(size)]
for rows in (EVEN, UNEVEN, [1] * size):
    if sum(rows) > 1:
        compare(rows, (5,), {"data_format": "NC"})
        compare(rows, (3, 4, 2), {})
compare(UNEVEN, (4, 2, 3), {"data_format": "NHWC"})
compare(UNEVEN, (6, 3), {"data_format": "NLC", "momentum": 0.5, "epsilon": 1e-3})
compare(EVEN, (3, 2, 2), {"weight_attr": False})
compare(EVEN, (3, 2, 2), {"bias_attr": False})
compare(EVEN, (3, 2, 2), {"weight_attr": False, "bias_attr": False})
if size > 1:
    compare([0, *UNEVEN[1:]], (3, 2, 2), {})
    compare([1] + [0] * (size - 1), (3,), {"data_format": "NC"})  # one value: x itself


# No digits are lost where the mean is large.
norm = paddle.nn.SyncBatchNorm(2).to(dtype="float64")
x = draw.randn(4 * size, 2, 3, 3) + 1e6
y = joined(norm(paddle.to_tensor(x[4 * rank : 4 * rank + 4])))
reference = (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
np.testing.assert_allclose(y, reference, atol=1e-8)

# 16 bits: statistics and parameters in float32.
for dtype in ("float16", "bfloat16"):
    norm = paddle.nn.SyncBatchNorm(2)
    x = draw.randn(4 * size, 2, 3, 3).astype("float32")
    own = paddle.to_tensor(x[4 * rank : 4 * rank + 4]).astype(dtype)
    own.stop_gradient = False
    y = norm(own)
    y.astype("float32").square().sum().backward()
    assert y.dtype == own.dtype == own.grad.dtype and norm.weight.grad.dtype == paddle.float32
    whole = paddle.nn.BatchNorm2D(2)(paddle.to_tensor(x)).numpy()[4 * rank : 4 * rank + 4]
    np.testing.assert_allclose(y.astype("float32").numpy(), whole, atol=0.05)

# Of sparse values [places, channels], of which each process has others.
one, whole = paddle.sparse.nn.SyncBatchNorm(3), paddle.nn.BatchNorm1D(3)
x = draw.rand(4 * size, 5, 5, 3).astype("float32") + 1
for r in range(size):
    x[4 * r, :r] = 0
y = one(paddle.to_tensor(x[4 * rank : 4 * rank + 4]).to_sparse_coo(3))
wanted = whole(paddle.to_tensor(x[x.any(-1)]))
np.testing.assert_allclose(joined(y.values()), wanted.numpy(), rtol=1e-4, atol=1e-5)
np.testing.assert_allclose(one._variance.numpy(), whole._variance.numpy(), rtol=1e-5)


# A network: convert_sync_batchnorm, DataParallel, Adam.
# Without biases before norms: their gradients are 0, and Adam makes steps of their rounding errors.
def network():
    paddle.seed(3)
    net = paddle.nn.Sequential(
        paddle.nn.Conv2D(2, 4, 3, bias_attr=False), paddle.nn.BatchNorm2D(4), paddle.nn.ReLU(),
        paddle.nn.Sequential(paddle.nn.Flatten(), paddle.nn.Linear(36, 6, bias_attr=False), paddle.nn.BatchNorm1D(6)),
        paddle.nn.Tanh(), paddle.nn.Linear(6, 3),
    )  # fmt: skip
    net.to(dtype="float64")
    return net


net, whole = network(), network()
converted = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(net)
assert converted is net and isinstance(net[3][2], paddle.nn.SyncBatchNorm)
model = paddle.DataParallel(net)
rates = [paddle.optimizer.Adam(0.01, parameters=n.parameters()) for n in (net, whole)]
for _ in range(20):
    x, y = draw.randn(4 * size, 2, 5, 5), draw.randint(0, 3, 4 * size)
    own = slice(4 * rank, 4 * rank + 4)
    for n, part in ((model, own), (whole, slice(None))):
        loss = paddle.nn.functional.cross_entropy(
            n(paddle.to_tensor(x[part])), paddle.to_tensor(y[part])
        )
        loss.backward()
    for rate in rates:
        rate.step()
        rate.clear_grad()
for a, b in zip([*net.parameters(), *net.buffers()], [*whole.parameters(), *whole.buffers()]):
    close(a, b)

# Second derivatives.
for shape in ((3,), (3, 2, 2)):
    x, weights = (draw.randn(4 * size, *shape) for _ in range(2))
    kinds = (
        paddle.nn.SyncBatchNorm,
        paddle.nn.BatchNorm2D if len(shape) == 3 else paddle.nn.BatchNorm1D,
    )
    found = []
    for kind, part in zip(kinds, (slice(4 * rank, 4 * rank + 4), slice(None))):
        norm = kind(3).to(dtype="float64")
        given = paddle.to_tensor(x[part], stop_gradient=False)
        loss = (norm(given) * paddle.to_tensor(weights[part])).square().sum()
        (slope,) = paddle.grad(loss, given, create_graph=True)
        (slope**3).sum().backward()
        found.append((given.grad, norm.weight.grad, norm.bias.grad))
    one, whole = found
    close(one[0], whole[0].numpy()[4 * rank : 4 * rank + 4], 1e-9)
    for a, b in zip(one[1:], whole[1:]):
        close(summed(a), b, 1e-9)


RATE = 0.125  # the same in float32


# Captured and static, and what a static Program for tests does.
def trains(make, samples):
    """Losses of 5 steps, the state after them, and what eval() gives."""
    net = network()
    if size > 1 and make is not eager:
        paddle.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    return make(net, samples)


def eager(net, samples):
    sgd = paddle.optimizer.SGD(RATE, parameters=net.parameters())
    losses = []
    for x, y in samples:
        loss = paddle.nn.functional.cross_entropy(net(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        losses.append(float(loss))
    net.eval()
    return (
        losses,
        [p.numpy() for p in [*net.parameters(), *net.buffers()]],
        net(paddle.to_tensor(samples[0][0])),
    )


def to_static(net, samples):
    captured = paddle.jit.to_static(net, full_graph=True)
    model = paddle.DataParallel(captured)
    _, state, result = eager(model, samples)
    return None, state, result


def compile_step(net, samples):
    sgd = paddle.optimizer.SGD(RATE, parameters=net.parameters())
    step = paddle.jit.compile_step(paddle.DataParallel(net), paddle.nn.CrossEntropyLoss(), sgd)
    losses = [float(step(paddle.to_tensor(x), paddle.to_tensor(y))) for x, y in samples]
    net.eval()
    state = [p.numpy() for p in [*net.parameters(), *net.buffers()]]
    return losses, state, net(paddle.to_tensor(samples[0][0]))


def static(net, samples):
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [-1, 2, 5, 5], "float64")
            y = paddle.static.data("y", [-1], "int64")
            out = paddle.DataParallel(net)(x)
            for_test = main.clone(for_test=True)
            loss = paddle.nn.functional.cross_entropy(out, y)
            paddle.optimizer.SGD(RATE, parameters=net.parameters()).minimize(loss)
        executor = paddle.static.Executor()
        executor.run(startup)
        losses = [
            float(executor.run(main, feed={"x": x, "y": y}, fetch_list=[loss])[0])
            for x, y in samples
        ]
        (result,) = executor.run(for_test, feed={"x": samples[0][0]}, fetch_list=[out])
        for program, there in ((main, size > 1), (for_test, False)):
            types = [op.type for op in program.global_block().ops]
            assert ("sync_batch_norm" in types) == there, types
    finally:
        paddle.disable_static()
    return (
        losses,
        [p.numpy() for p in [*net.parameters(), *net.buffers()]],
        paddle.to_tensor(result),
    )


whole = [(draw.randn(4 * size, 2, 5, 5), draw.randint(0, 3, 4 * size)) for _ in range(5)]
own = slice(4 * rank, 4 * rank + 4)
wanted = trains(eager, whole)
for way in (to_static, compile_step, static):
    losses, state, result = trains(way, [(x[own], y[own]) for x, y in whole])
    for a, b in zip(state, wanted[1]):
        np.testing.assert_allclose(a, b, 1e-12, 1e-12, err_msg=way.__name__)
    close(result, wanted[2].numpy()[own])
    if losses is not None:
        close(summed(paddle.to_tensor(losses, "float64")) / size, wanted[0])

if size > 1:
    norm = paddle.nn.SyncBatchNorm(2)
    try:
        norm(paddle.ones([3]))
    except ValueError as error:
        assert "[SyncBatchNorm] x: expected 2 dimensions or more, got 1" in str(error), error
    else:
        raise AssertionError("nothing was raised")
dist.barrier()
print("all is well")
