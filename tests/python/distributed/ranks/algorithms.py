"""The way of sums over TCP, by group and by strategy: bits tell which one was taken."""

import os
import warnings

import numpy as np

import argosy as paddle
import argosy.distributed as dist
from argosy import _core
from argosy.distributed import fleet

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
over_tcp = os.environ["ARGOSY_COMM_ENGINE"] == "tcp"
COUNT = 30_001
parts = [np.random.RandomState(r).randn(COUNT).astype("float32") for r in range(size)]


def total(group):
    x = paddle.to_tensor(parts[rank])
    dist.all_reduce(x, group=group)
    np.testing.assert_allclose(x.numpy(), np.sum(parts, 0, "float64"), rtol=1e-4, atol=1e-4)
    everyone = []
    dist.all_gather(everyone, x, group=group)
    assert all((one == x).all() for one in everyone), "ranks have other bits"
    return x.numpy().tobytes()


def message(kind, call, *args, **given):
    try:
        call(*args, **given)
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


assert "algorithm: expected one of automatic, direct, shares" in message(
    ValueError, dist.new_group, algorithm="star"
)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    sums = {way: total(dist.new_group(algorithm=way)) for way in ("shares", "halving", "ring")}
told = [str(w.message) for w in told if "algorithm has no effect" in str(w.message)]
usual = total(None)
assert sums["shares"] == usual, "in the order of ranks, as those that share memory"
if over_tcp:
    # Partial sums round otherwise where four add up.
    assert not told and sums["ring"] != sums["shares"] != sums["halving"]
else:
    assert told and "share memory have one way" in told[0] and set(sums.values()) == {usual}

# A strategy's: the gradient of a sum is what each process multiplies by, and bits tell the way again.
strategy = fleet.DistributedStrategy()
assert strategy.communication_algorithm is None
assert "communication_algorithm: expected one of" in message(
    ValueError, setattr, strategy, "communication_algorithm", "star"
)


class Product(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([COUNT])

    def forward(self, x):
        return (self.weight * x).sum()


def gradient_by(way):
    strategy.communication_algorithm = way
    fleet.init(is_collective=True, strategy=strategy)
    model = fleet.distributed_model(Product())
    model(paddle.to_tensor(parts[rank])).backward()
    (parameter,) = model.parameters()
    return parameter.grad.numpy().tobytes()


by_default, by_ring = gradient_by(None), gradient_by("ring")
assert (by_default == by_ring) is not over_tcp

# In a static Program.
paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, startup):
    x = paddle.static.data("x", [COUNT], "float32")
    weight = paddle.static.create_parameter([COUNT], "float32")
    loss = (weight * x).sum()
    fleet.distributed_optimizer(paddle.optimizer.SGD(1.0), strategy).minimize(loss)
executor = paddle.static.Executor()
executor.run(startup)
before = np.array(executor.run(main, feed={"x": parts[rank]}, fetch_list=[weight])[0])
(gradient,) = executor.run(main, feed={"x": parts[rank]}, fetch_list=[f"{weight.name}@GRAD"])
assert (gradient.tobytes() == by_ring) and (gradient.tobytes() == by_default) is not over_tcp
paddle.disable_static()

# Ranks that name other ways do not begin, and all say so.
if over_tcp:
    way = "ring" if rank == 1 else "tree"
    text = message(dist.CommunicationError, dist.new_group, algorithm=way)
    assert "by ring) on rank 1" in text or "by ring on rank 1" in text, text
    assert "by tree" in text, text
print("all is well", _core.get_flag("ARGOSY_COMM_ENGINE"))
