"""Trains in float32 and prints a digest of gradients and parameters of each step."""

import hashlib

import numpy as np

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank = dist.get_rank()
paddle.seed(3)
network = paddle.nn.Sequential(
    paddle.nn.Linear(300, 700),
    paddle.nn.Tanh(),
    paddle.nn.Linear(700, 400),
    paddle.nn.Linear(400, 3),
)
model = paddle.DataParallel(network)
optimizer = paddle.optimizer.Momentum(0.1, parameters=network.parameters())
draw = np.random.RandomState(rank)
digest = hashlib.sha256()
for _ in range(5):
    (model(paddle.to_tensor(draw.randn(6, 300).astype("float32"))) ** 2).mean().backward()
    for p in network.parameters():
        digest.update(p.grad.numpy().tobytes())
    optimizer.step()
    optimizer.clear_grad()
    for p in network.parameters():
        digest.update(p.numpy().tobytes())
print("digest:", digest.hexdigest())
