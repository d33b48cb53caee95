"""The rank that VICTIM names is killed in the midst of steps whose gradients are large: the others get an
error that names it."""

import os
import signal
import sys
import threading
import time

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank, victim = dist.get_rank(), int(os.environ["VICTIM"])
model = paddle.DataParallel(paddle.nn.Linear(1000, 1500))
x = paddle.ones([4, 1000])


def step():
    model(x).mean().backward()
    model.clear_gradients()


step()
dist.barrier()
begin = time.monotonic()
if rank == victim:
    after = float(sys.argv[1])
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()
try:
    while time.monotonic() < begin + 100:
        step()
except dist.RankLostError as error:
    assert f"rank {victim} has ended" in str(error), error
    print("lost:", error)
else:
    raise AssertionError("nothing was lost")
assert time.monotonic() - begin < 60  # not the limit of a call
os._exit(0)
