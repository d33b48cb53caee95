"""The last process is killed in one phase of training by DataParallel: the others get an error that names it.

dies_in_training.py construction|forward|learning|agreement|step|kept_back|buffers|objects
"""

import os
import signal
import sys
import time

import numpy as np

import argosy as paddle
import argosy.distributed as dist

phase = sys.argv[1]
dist.init_parallel_env()
rank, last = dist.get_rank(), dist.get_world_size() - 1


def die_in(here):
    if rank == last and phase == here:
        os.kill(os.getpid(), signal.SIGKILL)


class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(8, 8)
        self.norm = paddle.nn.BatchNorm1D(8)
        self.last = paddle.nn.Linear(8, 2)
        self.unused = paddle.nn.Linear(8, 2)

    def forward(self, x):
        x = self.first(x)
        die_in("buffers")  # while the others wait for its part of the batch's moments
        return self.last(self.norm(x))


def train(steps):
    unused = phase == "agreement"
    network = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(Network())
    die_in("construction")
    model = paddle.DataParallel(network, find_unused_parameters=unused)
    adam = paddle.optimizer.AdamW(0.01, parameters=network.parameters())
    x = paddle.to_tensor(np.random.RandomState(rank).rand(4, 8).astype("float32"))
    for number in range(steps):
        die_in("forward")
        if (
            phase == "learning" and rank == last
        ):  # in the first backward, when nobody knows an order
            network.first.weight.register_hook(lambda g: die_in("learning"))
        if phase == "agreement" and rank == last and number == 2:
            network.first.weight.register_hook(lambda g: die_in("agreement"))
        if phase == "kept_back":
            with model.no_sync():
                model(x).mean().backward()
            die_in("kept_back")
        model(x).mean().backward()
        if number == 2:
            die_in("step")
        adam.step()
        adam.clear_grad()
        if number == 2:
            die_in("objects")
            dist.all_gather_object([], {"step": number})


begin = time.monotonic()
try:
    train(6)
except dist.RankLostError as error:
    assert f"rank {last} has ended" in str(error), error
    print("lost:", error)
assert time.monotonic() - begin < 60  # not the limit of a call: of many, on a busy machine
os._exit(0)
