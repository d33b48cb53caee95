"""Trains a small network; each rank has its part of the batch, and gradients are averaged by hand."""

import numpy as np

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
paddle.seed(5)
network = paddle.nn.Sequential(
    paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1)
).astype("float64")
optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
draw = np.random.RandomState(0)
for _ in range(10):
    x, y = draw.randn(8, 4), draw.randn(8, 1)
    mine = slice(rank * 8 // size, (rank + 1) * 8 // size)
    loss = ((network(paddle.to_tensor(x[mine])) - paddle.to_tensor(y[mine])) ** 2).mean()
    loss.backward()
    for parameter in network.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.clear_grad()
print("weights", " ".join(f"{v:.9f}" for p in network.parameters() for v in p.numpy().ravel()))
