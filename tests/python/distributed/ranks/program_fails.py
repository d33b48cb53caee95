"""A captured step in which a rank fails in the way that is asked for, after three good steps. Who gets a
CommunicationError prints it, makes a file of its number in the folder, and ends with code 3; so must every
rank that is alive: program_fails.py WAY FOLDER."""

import os
import pathlib
import signal
import sys
import time

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F

way, folder = sys.argv[1], pathlib.Path(sys.argv[2])
dist.init_parallel_env()
rank, last = dist.get_rank(), dist.get_world_size() - 1
model = paddle.DataParallel(
    paddle.nn.Sequential(paddle.nn.Linear(6, 300), paddle.nn.ReLU(), paddle.nn.Linear(300, 3))
)


def loss_of(output, y):
    if way == "differ" and rank == last and len(steps) == 3:
        extra = paddle.ones([5])
        dist.all_reduce(extra)
        return F.cross_entropy(output, y) + extra.mean() * 0
    return F.cross_entropy(output, y)


steps = []
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
step = paddle.jit.compile_step(model, loss_of, optimizer)
x, y = paddle.randn([4, 6]), paddle.to_tensor([0, 1, 2, 0])
for k in range(3):
    steps.append(float(step(x, y)))
if rank == last and way == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if rank == last and way == "late":
    while not (folder / "0").exists():  # rank 0 waited in vain
        time.sleep(0.01)
if rank == last and way == "leaves":
    sys.exit(0)
if way == "differ":
    x, y = paddle.randn([5, 6]), paddle.to_tensor([0, 1, 2, 0, 1])  # captured anew
try:
    for k in range(50):
        step(x, y)
except dist.CommunicationError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    (folder / str(rank)).touch()
    time.sleep(0.2)
    os._exit(3)
sys.exit("no error")
