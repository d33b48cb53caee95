"""The last process leaves the others alone in the middle of backward: each of them gets a typed error."""

import os
import signal
import sys
import time

import numpy as np

import argosy as paddle
import argosy.distributed as dist

what = sys.argv[1]
dist.init_parallel_env()
rank, last = dist.get_rank(), dist.get_world_size() - 1
net = paddle.nn.Sequential(*[paddle.nn.Linear(8, 8) for _ in range(4)])
model = paddle.DataParallel(net, comm_buffer_size=0.0003, last_comm_buffer_size=0.0001)
sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())


def step():
    model(paddle.to_tensor(np.ones([2, 8], "float32"))).mean().backward()
    sgd.step()
    sgd.clear_grad()


def leave(gradient):
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    raise ArithmeticError("on purpose")


for _ in range(3):
    step()
if rank == last:
    hook = net[1].weight.register_hook(leave)
begin = time.monotonic()
try:
    step()
    if what == "raise":
        step()
except ArithmeticError:
    if what == "raise":  # begins anew, as nobody else does
        hook.remove()
        try:
            step()
        except dist.CommunicationError as error:
            print("typed:", type(error).__name__, error)
except dist.CommunicationError as error:
    print("typed:", type(error).__name__, error)
assert time.monotonic() - begin < 60
os._exit(0)
