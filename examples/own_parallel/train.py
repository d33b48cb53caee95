"""Train with a communication hook of our own beside the mean of all gradients.

argosy launch --nproc_per_node 2 examples/own_parallel/train.py [--steps 300]
"""

import argparse
import os
import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist
from argosy.distributed import fleet

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def samples(draw, count):
    """Points of three classes: which of three directions they are closest to."""
    x = draw.randn(count, 16).astype("float32")
    return paddle.to_tensor(x), paddle.to_tensor(x[:, :3].argmax(1))


def train(hook, steps):
    """The loss of the last steps, over all processes."""
    strategy = fleet.DistributedStrategy()
    strategy.communication_hook = hook
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(0)
    network = paddle.nn.Sequential(
        paddle.nn.Linear(16, 64), paddle.nn.ReLU(), paddle.nn.Linear(64, 3)
    )
    optimizer = paddle.optimizer.SGD(0.2, parameters=network.parameters())
    model = fleet.distributed_model(network)
    optimizer = fleet.distributed_optimizer(optimizer)
    draw = np.random.RandomState(fleet.worker_index())
    losses = []
    for _ in range(steps):
        x, y = samples(draw, 32)
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    last = paddle.to_tensor(np.mean(losses[-20:]))
    dist.all_reduce(last, op=dist.ReduceOp.AVG)
    check_same(network)
    return last.item()


def check_same(network):
    """However gradients are exchanged: parameters stay the same in all processes."""
    for parameter in network.parameters():
        copies = []
        dist.all_gather(copies, parameter.detach())
        if any(bool((copy != copies[0]).any()) for copy in copies):
            raise RuntimeError(f"{parameter.name} differs between processes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    for name, hook in (("mean", None), ("largest 1/32", "top_k:largest")):
        loss = train(hook, options.steps)
        if fleet.is_first_worker():
            print(f"{name:12} loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
