"""DataParallel beside one process that has the whole batch: float64, 20 steps."""

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
BATCH = 6


class Network(paddle.nn.Layer):
    def __init__(self, seed):
        super().__init__()
        paddle.seed(seed)
        self.first = paddle.nn.Linear(7, 16)
        self.second = paddle.nn.Linear(16, 16)
        self.other = paddle.nn.Linear(16, 16)
        self.last = paddle.nn.Linear(16, 3)
        self.to(dtype="float64")

    def forward(self, x, branch=None):
        x = F.tanh(self.first(x))
        if branch is None:
            x = self.other(self.second(x))
        else:
            x = (self.second, self.other)[branch](x)
        return self.last(F.relu(x))


def batches(count):
    draw = np.random.RandomState(3)
    for _ in range(count):
        yield draw.randn(size * BATCH, 7), draw.randint(0, 3, size * BATCH)


def loss_of(model, x, y, **more):
    return F.cross_entropy(model(paddle.to_tensor(x), **more), paddle.to_tensor(y))


def optimizer_of(network):
    return paddle.optimizer.AdamW(
        0.01,
        parameters=network.parameters(),
        weight_decay=0.1,
        grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5),
    )


def close(one, two):
    for a, b in zip(one.parameters(), two.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


def step(optimizer):
    optimizer.step()
    optimizer.clear_grad()


mine = slice(rank * BATCH, (rank + 1) * BATCH)
# Other parameters in each process: those of the first count. Small buckets: several exchanges.
network = Network(10 + rank)
model = paddle.DataParallel(network, comm_buffer_size=0.001, last_comm_buffer_size=0.0005)
whole = Network(10)
close(network, whole)
optimizer, reference = optimizer_of(network), optimizer_of(whole)
for x, y in batches(20):
    loss_of(model, x[mine], y[mine]).backward()
    step(optimizer)
    loss_of(whole, x, y).backward()
    step(reference)
    close(network, whole)

# Gradients of two batches, exchanged once.
x, y = next(batches(1))
with model.no_sync():
    loss_of(model, x[mine], y[mine]).backward()
    local = network.last.bias.grad.numpy()
    everywhere = []
    dist.all_gather_object(everywhere, local)
    assert size == 1 or not np.array_equal(everywhere[0], everywhere[1])
loss_of(model, 2 * x[mine], y[mine]).backward()
(loss_of(whole, x, y) + loss_of(whole, 2 * x, y)).backward()
step(optimizer)
step(reference)
close(network, whole)

# Two passes of backward for one forward.
out, full = model(paddle.to_tensor(x[mine])), whole(paddle.to_tensor(x))
out.mean().backward(retain_graph=True)
(out**2).mean().backward()
full.mean().backward(retain_graph=True)
(full**2).mean().backward()
step(optimizer)
step(reference)
close(network, whole)

# A part that the loss leaves out is named, on all ranks.
if size > 1:
    try:
        loss_of(model, x[mine], y[mine], branch=0).backward()
    except RuntimeError as error:
        assert "the loss reached 6 of the 8 parameters that it reached in the first" in str(
            error
        ), error
        assert "find_unused_parameters=True" in str(error)
    else:
        raise AssertionError("nothing was raised")
    optimizer.clear_grad()
del model

# Each rank uses another part; then none uses `other`.
model = paddle.DataParallel(network, find_unused_parameters=True)
loss_of(model, x[mine], y[mine], branch=rank % 2).backward()
total = sum(
    loss_of(whole, x[r * BATCH : (r + 1) * BATCH], y[r * BATCH : (r + 1) * BATCH], branch=r % 2)
    for r in range(size)
)
(total / size).backward()
step(optimizer)
step(reference)
close(network, whole)
loss_of(model, x[mine], y[mine], branch=0).backward()
assert network.other.weight.grad is None or not network.other.weight.grad.numpy().any()
optimizer.clear_grad()


# Gradients with rows only: of other rows in each process, and of none.
class Table(paddle.nn.Layer):
    def __init__(self, seed):
        super().__init__()
        paddle.seed(seed)
        self.table = paddle.nn.Embedding(20, 4, sparse=True)
        self.last = paddle.nn.Linear(4, 1)
        self.to(dtype="float64")

    def forward(self, ids, used=True):
        x = self.table(ids).sum(1) if used else paddle.ones([ids.shape[0], 4], "float64")
        return self.last(x)


for unused in (False, True):
    one, full = Table(rank), Table(0)
    tables = paddle.DataParallel(one, find_unused_parameters=unused)
    rates = [paddle.optimizer.SGD(0.1, parameters=n.parameters()) for n in (one, full)]
    draw = np.random.RandomState(9)
    for k in range(4):
        ids = draw.randint(0, 20, (size * 3, 5))
        used = [not unused or (k + r) % 2 == 0 for r in range(size)]
        loss = (tables(paddle.to_tensor(ids[3 * rank : 3 * rank + 3]), used[rank]) ** 2).mean()
        loss.backward()
        assert one.table.weight.grad is None or one.table.weight.grad.is_selected_rows()
        for r in range(size):
            loss = (full(paddle.to_tensor(ids[3 * r : 3 * r + 3]), used[r]) ** 2).mean() / size
            loss.backward()
        for rate in rates:
            step(rate)
        close(one, full)

# Recomputation runs a pass within the pass.
from argosy.distributed.fleet.utils import recompute  # noqa: E402

hidden = recompute(lambda t: model(t), paddle.to_tensor(x[mine], stop_gradient=False))
F.cross_entropy(hidden, paddle.to_tensor(y[mine])).backward()
loss_of(whole, x, y).backward()
step(optimizer)
step(reference)
close(network, whole)

dist.barrier()
print("all is well")
