"""A fleet program of several processes without servers, beside one process with the whole batch."""

import numpy as np

import argosy as paddle
from argosy.distributed import fleet
from argosy.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

strategy = fleet.DistributedStrategy()
strategy.fuse_grad_size_in_MB = 16
strategy.find_unused_parameters = True
fleet.init(is_collective=True, strategy=strategy)
rank, size = fleet.worker_index(), fleet.worker_num()
assert size == paddle.distributed.get_world_size() and fleet.is_worker()


def network_of(seed):
    paddle.seed(seed)
    return paddle.nn.Sequential(
        paddle.nn.Linear(5, 9), paddle.nn.ReLU(), paddle.nn.Linear(9, 2)
    ).astype("float64")


def adam(network):
    return paddle.optimizer.Adam(0.01, parameters=network.parameters())


network, whole = network_of(rank), network_of(0)
model = fleet.distributed_model(network)
assert isinstance(model, paddle.DataParallel) == (size > 1)
optimizer, reference = fleet.distributed_optimizer(adam(network)), adam(whole)
draw = np.random.RandomState(1)
for k in range(10):
    x = draw.randn(4 * size, 5)
    (model(paddle.to_tensor(x[4 * rank : 4 * rank + 4])) ** 2).mean().backward()
    (whole(paddle.to_tensor(x)) ** 2).mean().backward()
    for one in (optimizer, reference):
        one.step()
        one.clear_grad()
    for a, b in zip(network.parameters(), whole.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)

w = paddle.create_parameter([2], "float32")
for scale, want in ((None, (size + 1) / 2), (2.0, size * (size + 1) / 4)):
    (w * float(rank + 1)).sum().backward()
    fused_allreduce_gradients([w], None, scale=scale)
    np.testing.assert_allclose(w.grad.numpy(), [want, want])
    w.clear_grad()

table = paddle.nn.Embedding(4, 1, sparse=True)
for scale, by in ((None, size), (2.0, 2.0)):
    (table(paddle.to_tensor([0, 0] if rank else [0, 3])) * float(rank + 1)).sum().backward()
    fused_allreduce_gradients(table.parameters(), None, scale=scale)
    assert table.weight.grad.is_selected_rows() or size == 1
    first = 1 + sum(2 * (r + 1) for r in range(1, size))
    want = np.array([first, 0, 0, 1]) / by
    np.testing.assert_allclose(table.weight.grad.to_dense().numpy()[:, 0], want, rtol=1e-6)
    table.weight.clear_grad()

assert fleet.util.all_reduce(rank + 1) == size * (size + 1) // 2
assert fleet.util.all_reduce(np.array([rank, -rank]), "max").tolist() == [size - 1, 0]
assert fleet.util.all_gather({"rank": rank}) == [{"rank": r} for r in range(size)]
fleet.barrier_worker()
print("all is well")
