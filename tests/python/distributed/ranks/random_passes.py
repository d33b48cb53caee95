"""Random passes of backward over DataParallel beside one process that has the whole batch: float64."""

import os
import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F
from argosy.distributed import _reducer
from argosy.distributed.fleet.utils import recompute

if "PARTS" in os.environ:  # over TCP small gradients, too, are exchanged in parts
    _reducer._LEAST, _reducer._SMALL = 128, 60
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
seed, steps = int(sys.argv[1]), int(sys.argv[2])
LAYERS, BATCH, WIDTH = 5, 3, 6
same = np.random.RandomState(seed)  # drawn alike in all processes


class Net(paddle.nn.Layer):
    """Layers and a table in a random order; some are recomputed, some come several times or never."""

    def __init__(self):
        super().__init__()
        paddle.seed(seed)
        self.parts = paddle.nn.LayerList([paddle.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.table = paddle.nn.Embedding(9, WIDTH, sparse=True)
        self.to(dtype="float64")

    def forward(self, x, ids, way):
        if way["table"]:
            x = x + self.table(ids).sum(1)
        for number, again in way["order"]:
            part = self.parts[number]
            x = F.tanh(recompute(part, x) if again else part(x))
        return x


def random_way(everything):
    order = list(same.permutation(LAYERS)) if everything else []
    order += list(same.randint(0, LAYERS, same.randint(0 if everything else 1, 4)))
    same.shuffle(order)
    return {
        "order": [(int(n), bool(same.rand() < 0.3)) for n in order],
        "table": everything or same.rand() < 0.5,
    }


def fail(gradient):
    raise ArithmeticError("on purpose")


def close(one, two):
    for a, b in zip(one.parameters(), two.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-11)


unused = bool(seed % 2)
net, whole = Net(), Net()
model = paddle.DataParallel(
    net, comm_buffer_size=same.choice([0.0003, 0.001, 1]), last_comm_buffer_size=0.0002,
    find_unused_parameters=unused,
)  # fmt: skip
rates = [paddle.optimizer.SGD(0.2, parameters=n.parameters()) for n in (net, whole)]
failures = 0
for step in range(steps):
    passes = 1 + int(same.rand() < 0.3)
    held = [k + 1 < passes and same.rand() < 0.7 for k in range(passes)]
    fails = same.rand() < 0.1
    # With find_unused_parameters each process goes its own way.
    for k in range(passes):
        ways = (
            [random_way(not unused) for _ in range(size)] if unused else [random_way(True)] * size
        )
        x, ids = same.randn(size * BATCH, WIDTH), same.randint(0, 9, (size * BATCH, 2))

        def loss_of(n, r):
            own = slice(r * BATCH, (r + 1) * BATCH)
            return (n(paddle.to_tensor(x[own]), paddle.to_tensor(ids[own]), ways[r]) ** 2).mean()

        if fails and not unused and not held[k]:
            hook = net.parts[ways[rank]["order"][0][0]].weight.register_hook(fail)
            try:
                loss_of(model, rank).backward()
                raise AssertionError("nothing was raised")
            except ArithmeticError:
                failures += 1
            hook.remove()
            # What a failed pass leaves is undefined: both begin anew.
            for rate in rates:
                rate.clear_grad(set_to_zero=False)
        if held[k]:
            with model.no_sync():
                loss = loss_of(model, rank)
        else:
            loss = loss_of(model, rank)
        loss.backward()
        sum(loss_of(whole, r) / size for r in range(size)).backward()
    for rate in rates:
        rate.step()
        rate.clear_grad(set_to_zero=bool(step % 2))
    close(net, whole)
dist.barrier()
print("all is well:", failures, "passes failed on purpose")
