"""DataParallel and fleet in Programs beside one process that has the whole batch: float64, 20 steps.

    trains_in_programs.py eager|to_static|compile_step|static|fleet float64|float32|float16

All ways start from the same parameters, so all give the same as one process: within 1e-12 in float64.
In float32 the losses are those of one process within 1e-5; within 1e-3 where gradients are exchanged in
float16, with half the bytes. With PARTS in the environment small gradients, too, are exchanged in parts
(over TCP).
"""

import os
import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F
from argosy import _core
from argosy.distributed import _program_exchange, fleet

in_parts = "PARTS" in os.environ
if in_parts:
    _program_exchange._LEAST_PART = 128
way, precision = sys.argv[1:]
if way == "fleet":
    strategy = fleet.DistributedStrategy()
    strategy.fuse_grad_size_in_MB = 1
    strategy.fp16_allreduce = precision == "float16"
    paddle.enable_static()
    fleet.init(is_collective=True, strategy=strategy)
    paddle.disable_static()
else:
    dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
BATCH, STEPS = 4, 20
mine = slice(rank * BATCH, (rank + 1) * BATCH)
DTYPE = "float64" if precision == "float64" else "float32"
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-3}[precision]
paddle.set_default_dtype(DTYPE)


class Mlp(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(7, 16)
        self.second = paddle.nn.Linear(16, 16)
        self.last = paddle.nn.Linear(16, 3)

    def forward(self, x):
        return self.last(F.relu(self.second(F.tanh(self.first(x)))))

    @staticmethod
    def batch(draw):
        return draw.randn(size * BATCH, 7).astype(DTYPE), draw.randint(0, 3, [size * BATCH])

    form = ([-1, 7], DTYPE)


class Residual(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.stem = paddle.nn.Conv2D(2, 6, 3, padding=1)
        self.one = paddle.nn.Conv2D(6, 6, 3, padding=1)
        self.two = paddle.nn.Conv2D(6, 6, 3, padding=1)
        self.norm = paddle.nn.GroupNorm(2, 6)
        self.last = paddle.nn.Linear(6, 3)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.two(F.relu(self.norm(self.one(x)))))
        return self.last(x.mean([2, 3]))

    @staticmethod
    def batch(draw):
        return draw.randn(size * BATCH, 2, 6, 6).astype(DTYPE), draw.randint(0, 3, [size * BATCH])

    form = ([-1, 2, 6, 6], DTYPE)


class Transformer(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = paddle.nn.Embedding(11, 8, sparse=way != "static")
        layer = paddle.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
        self.encoder = paddle.nn.TransformerEncoder(layer, 2)
        self.last = paddle.nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.encoder(self.table(x)).mean(1))

    @staticmethod
    def batch(draw):
        return draw.randint(0, 11, [size * BATCH, 5]), draw.randint(0, 3, [size * BATCH])

    form = ([-1, 5], "int64")


def optimizer_of(kind, parameters):  # rates that float32 has, as static Programs keep them
    if kind is Transformer:  # its table has gradients with rows only
        return paddle.optimizer.SGD(
            0.125, parameters=parameters, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)
        )
    return paddle.optimizer.AdamW(
        2.0**-7,
        parameters=parameters,
        weight_decay=0.1,
        grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5),
    )


def made(kind, seed):
    paddle.seed(seed)
    return kind()


def batches(kind):
    draw = np.random.RandomState(3)
    return [kind.batch(draw) for _ in range(STEPS)]


def reference(kind):
    """Of one process: the parameters at first; the loss and the parameters after each step."""
    network = made(kind, 10)
    first = [p.numpy() for p in network.parameters()]
    optimizer = optimizer_of(kind, network.parameters())
    history = []
    for x, y in batches(kind):
        loss = F.cross_entropy(network(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        history.append((float(loss), [p.numpy() for p in network.parameters()]))
    return first, history


def check(parameters, wanted):
    for one, two in zip(parameters, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), two, rtol=1e-12, atol=1e-12)


def check_step(loss, parameters, wanted):
    losses = []
    dist.all_gather_object(losses, float(loss))
    np.testing.assert_allclose(np.mean(losses), wanted[0], rtol=TOLERANCE)
    if precision == "float64":
        check(parameters, wanted[1])


def train_dynamic(kind, wanted):
    network = made(kind, 10 + rank)
    each = 0.0008 if in_parts else 0.001  # the weight of the first layer goes alone
    model = paddle.DataParallel(network, comm_buffer_size=each, last_comm_buffer_size=0.0005)
    optimizer = optimizer_of(kind, network.parameters())
    forward = model
    if way == "to_static":
        forward = paddle.jit.to_static(lambda x: model(x), full_graph=True)
    if way == "compile_step":
        step = paddle.jit.compile_step(model, F.cross_entropy, optimizer)
    for (x, y), after in zip(batches(kind), wanted):
        x, y = paddle.to_tensor(x[mine]), paddle.to_tensor(y[mine])
        if way == "compile_step":
            loss = step(x, y)
        else:
            loss = F.cross_entropy(forward(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        check_step(loss, [p.numpy() for p in network.parameters()], after)
    if way == "to_static" and size > 1:
        with model.no_sync():
            F.cross_entropy(forward(x), y).backward()
        local = network.last.bias.grad.numpy()
        F.cross_entropy(forward(x), y).backward()
        together = paddle.to_tensor(2 * local)
        dist.all_reduce(together, op=dist.ReduceOp.AVG)
        check([network.last.bias.grad.numpy()], [together.numpy()])
        optimizer.clear_grad()
    if way == "compile_step" and size > 1:
        ((program, *_),) = step.program_cache.values()
        text = str(paddle.static.Program(program))
        assert "all_reduce_start" in text and "all_reduce_wait" in text, text
        assert ("average_rows" in text) == (kind is Transformer)
        assert kind is not Mlp or ("concat" in text) == in_parts
        try:
            with model.no_sync():
                step(x, y)
        except NotImplementedError as error:
            assert "[DataParallel.no_sync] a step of compile_step" in str(error), error
        else:
            sys.exit("no_sync was ignored")


def train_static(kind, first, wanted):
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        network = made(kind, 10 + rank)
        x = paddle.static.data("x", *kind.form)
        y = paddle.static.data("y", [-1], "int64")
        model = paddle.DataParallel(network) if way == "static" else network
        loss = F.cross_entropy(model(x), y)
        optimizer = optimizer_of(kind, None)
        if way == "fleet":
            optimizer = fleet.distributed_optimizer(optimizer)
        _, pairs = optimizer.minimize(loss)
        test = main.clone(for_test=True)
    assert size == 1 or "all_reduce_start" in str(main)
    assert "all_reduce" not in str(test)
    exe = paddle.static.Executor()
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        names = [p.name for p in network.parameters()]
        begun = []
        dist.all_gather_object(begun, [np.asarray(scope.find_var(n).get_tensor()) for n in names])
        for other in begun:
            check(other, begun[0])
        for name, value in zip(names, first):
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        for (x, y), after in zip(batches(kind), wanted):
            (gradient,) = [g for p, g in pairs if p.name == network.last.bias.name]
            out = exe.run(main, {"x": x[mine], "y": y[mine]}, [loss, gradient, gradient.name])
            assert (out[1] == out[2]).all()
            told = []
            check_step(out[0], [scope.find_var(n).get_tensor() for n in names], after)
        dist.all_gather_object(told, out[1])
        assert all((g == told[0]).all() for g in told), "a fetched gradient is no average"
    paddle.disable_static()
    if size > 1 and kind is Mlp:  # one exchange a step: what gradients take of the wire
        sent = [line for line in _core.comm_records().splitlines() if "all_reduce(avg)" in line]
        count = sum(int(np.prod(p.shape)) for p in network.parameters())
        wire = "float16" if precision == "float16" else DTYPE
        assert sent and all(f"of {count} {wire}" in line for line in sent), sent[-1:]


for kind in (Mlp, Residual, Transformer):
    first, wanted = reference(kind)
    if way in ("static", "fleet"):
        train_static(kind, first, wanted)
    else:
        train_dynamic(kind, wanted)
print("all is well")
