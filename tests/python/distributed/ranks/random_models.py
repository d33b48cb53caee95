"""Random models in DataParallel beside one process that has the whole batch: float64, within 1e-12.

    python random_models.py SEED STEPS

A model is blocks in a random order, some of which share a parameter: layers, layers with another's weight, a
table whose gradient is rows, a table that is also a matrix (rows and a dense gradient of one parameter), frozen
layers, a norm, a PyLayer. Passes: with no_sync in any place, of batches that are of another size in each process, also
empty, and with find_unused_parameters by other blocks in each process. Updates by several rules, clipped or not.
"""

import contextlib
import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F
from argosy import _core

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
seed, steps = int(sys.argv[1]), int(sys.argv[2])
WIDTH, IDS, BATCH = 5, 11, 3
same = np.random.RandomState(seed)  # drawn alike in all processes


def chance(p):
    return bool(same.rand() < p)


class Twice(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight * 2

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensor()
        return grad * weight * 2, (grad * x * 2).sum(0)


KINDS = ("linear", "tied", "rows", "both", "frozen", "norm", "twice")


class Block(paddle.nn.Layer):
    """A block of a kind; `other`: a block whose weight it has, where the kind is tied or both."""

    def __init__(self, kind, other):
        super().__init__()
        nn = paddle.nn
        self.kind = kind
        if kind in ("linear", "frozen"):
            self.main = nn.Linear(WIDTH, WIDTH)
        elif kind == "tied":
            self.weight = other.main.weight
            self.bias = self.create_parameter([WIDTH])
        elif kind in ("rows", "both"):
            self.table = nn.Embedding(IDS, WIDTH, sparse=True)
        elif kind == "norm":
            self.main = nn.LayerNorm(WIDTH)
        else:
            self.weight = self.create_parameter([WIDTH])
        if kind == "frozen":
            for parameter in self.main.parameters():
                parameter.stop_gradient = True

    def forward(self, x, ids):
        if self.kind == "tied":
            return x + F.linear(x, self.weight.t(), self.bias)
        if self.kind == "rows":
            return x + self.table(ids).sum(1)
        if self.kind == "both":
            return (
                x
                + self.table(ids).sum(1)
                + F.softmax(x @ self.table.weight.t()) @ self.table.weight
            )
        if self.kind == "twice":
            return Twice.apply(x, self.weight)
        return self.main(x)


class Net(paddle.nn.Layer):
    def __init__(self, kinds):
        super().__init__()
        paddle.seed(seed)
        self.first = Block("linear", None)
        self.parts = paddle.nn.LayerList([Block(kind, self.first) for kind in kinds])
        self.to(dtype="float64")

    def forward(self, x, ids, way):
        x = F.tanh(self.first(x, ids))
        for number in way:
            x = F.tanh(self.parts[number](x, ids))
        return x


def rate_of(rule, net):
    clip = paddle.nn.ClipGradByGlobalNorm(0.5) if rule["clip"] else None
    make = getattr(paddle.optimizer, rule["name"])
    return make(0.05, parameters=net.parameters(), grad_clip=clip)


def close(one, two, what):
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        if what == "gradients":
            assert (a.grad is None) == (b.grad is None), f"step {step}: {a.name}"
            if a.grad is None:
                continue
            a, b = (g.to_dense() if g.is_selected_rows() else g for g in (a.grad, b.grad))
        told = f"step {step}: {what} of {a.name}"
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12, err_msg=told)


kinds = [KINDS[same.randint(len(KINDS))] for _ in range(same.randint(2, 7))]
unused = chance(0.5)
rule = {"name": ("SGD", "Momentum", "Adam")[same.randint(3)], "clip": chance(0.4)}
sizes = {"comm_buffer_size": same.choice([0.0001, 0.0004, 1]), "last_comm_buffer_size": 0.0002}
print(f"{kinds}, find_unused_parameters={unused}, {rule}, {sizes}", flush=True)
net, whole = Net(kinds), Net(kinds)
model = paddle.DataParallel(net, find_unused_parameters=unused, **sizes)
rates = [rate_of(rule, n) for n in (net, whole)]
everything = list(range(len(kinds)))


def some_way():
    """Numbers of blocks, in the order in which a pass goes through them."""
    if unused:
        return [int(n) for n in same.randint(0, len(kinds), same.randint(0, 5))]
    again = [int(n) for n in same.randint(0, len(kinds), same.randint(0, 3))]
    return [int(n) for n in same.permutation(everything + again)]


def loss_of(n, sample, way):
    x, ids = sample
    # Not the mean of this process's samples: of none there is no mean.
    return (n(paddle.to_tensor(x), paddle.to_tensor(ids), way) ** 2).sum() / BATCH


for step in range(steps):
    passes = same.randint(1, 4)
    for k in range(passes):
        held = k + 1 < passes and chance(0.6)
        together = some_way()
        ways = [some_way() if unused else together for _ in range(size)]
        counts = same.randint(0, 2 * BATCH, size) if chance(0.5) else [BATCH] * size
        samples = [(same.randn(c, WIDTH), same.randint(0, IDS, (c, 2))) for c in counts]
        with model.no_sync() if held else contextlib.nullcontext():
            loss = loss_of(model, samples[rank], ways[rank])
        exchanged = _core.comm_records()
        loss.backward()
        assert not held or _core.comm_records() == exchanged
        sum(loss_of(whole, samples[r], ways[r]) / size for r in range(size)).backward()
        if not held:
            close(net, whole, "gradients")
    to_zero = chance(0.5)
    for rate in rates:
        rate.step()
        rate.clear_grad(set_to_zero=to_zero)
    close(net, whole, "parameters")
dist.barrier()
print("all is well")
