"""Workers that call functions in each other."""

import os
import pickle
import signal
import socket
import sys
import threading
import time

import numpy as np

import argosy as paddle
from argosy.distributed import rpc
from argosy.distributed.rpc import _messages

rank, size = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
table = {}


def add(x, y=1):
    return x + y


def where():
    return rpc.get_current_worker_info().rank


def put(key, value):
    table[key] = value


def get(key):
    return table[key]


def relay(path):
    """Goes along a path of workers."""
    return [where()] + (rpc.rpc_sync(path[0], relay, (path[1:],)) if path else [])


def fail():
    raise ArithmeticError("on purpose")


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fail_oddly():
    raise Unpicklable(1, 2)


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def raises(kind, text, function, *args, **options):
    begin = time.monotonic()
    try:
        function(*args, **options)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nothing was raised: {text}")
    return time.monotonic() - begin


def name(r):
    return f"worker{r % size}"


raises(
    RuntimeError, "[rpc.rpc_sync] this process is no worker yet", rpc.rpc_sync, "worker0", add, (1,)
)
rpc.init_rpc(name(rank), **({"master_endpoint": sys.argv[1]} if len(sys.argv) > 1 else {}))
assert [w.rank for w in rpc.get_all_worker_infos()] == list(range(size))
assert rpc.get_worker_info(name(rank)) == rpc.get_current_worker_info()
assert rpc.rpc_sync(name(rank + 1), where) == (rank + 1) % size
assert rpc.rpc_sync(name(rank + 1), add, (2,), {"y": 5}) == 7
x = paddle.to_tensor([1.0, 2.0])
np.testing.assert_array_equal(rpc.rpc_sync(name(rank + 1), add, (x, x)).numpy(), [2, 4])
rpc.rpc_sync(name(rank + 1), put, (("from", rank), np.arange(1 << 20)))
assert (
    rpc.rpc_sync(name(rank + 1), get, (("from", rank),)).sum() == (1 << 20) * ((1 << 20) - 1) // 2
)
calls = [rpc.rpc_async(name(r), add, (r, 10)) for r in range(40)]
assert [c.wait() for c in calls] == [r + 10 for r in range(40)]
path = [name(rank + k) for k in range(1, 6)]
assert rpc.rpc_sync(path[0], relay, (path[1:],)) == [(rank + k) % size for k in range(1, 6)]

raises(ArithmeticError, "on purpose", rpc.rpc_sync, name(rank + 1), fail)
raises(ArithmeticError, "on purpose", rpc.rpc_async(name(rank + 1), fail).wait)
raises(RuntimeError, "Unpicklable: 1 and 2", rpc.rpc_sync, name(rank + 1), fail_oddly)
raises(pickle.PicklingError, "<lambda>", rpc.rpc_sync, name(rank + 1), lambda: 1)
raises(
    ValueError, "there is no worker 'nobody': expected one of worker0", rpc.rpc_sync, "nobody", add
)
raises(RuntimeError, "this process is worker", rpc.init_rpc, "again")
took = raises(
    TimeoutError,
    "has not answered within 0.3 s",
    rpc.rpc_sync,
    name(rank + 1),
    sleep,
    (100,),
    timeout=0.3,
)
assert took < 60, took
assert rpc.rpc_sync(name(rank + 1), sleep, (1.5,)) == 1.5  # a beat in between

# Somebody of another job, and a stranger who says nothing.
to = rpc.get_worker_info(name(rank + 1))
raises(paddle.distributed.CommunicationError, "is of another job",
       _messages.connect, (to.ip, to.port), b"wrong", "worker 1", 60.0)  # fmt: skip
strangers = [socket.create_connection((to.ip, to.port)) for _ in range(3)]
assert rpc.rpc_sync(name(rank + 1), add, (1,)) == 2
for stranger in strangers:
    stranger.sendall(b"\x00\x00\x00\x05hello")
assert rpc.rpc_sync(name(rank + 1), add, (1,)) == 2

if len(sys.argv) > 2:  # the last worker is stopped or killed in the middle of a call
    _messages.SILENCE = 3.0
    last = name(size - 1)
    if rank == size - 1:
        put("pid", os.getpid())
    rpc.rpc_sync(name(0), put, (("ready", rank), True))
    if rank == 0:
        while sum(key[0] == "ready" for key in list(table)) < size:
            time.sleep(0.01)
        pid = rpc.rpc_sync(last, os.getpid)
        what = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[sys.argv[2]]
        threading.Timer(0.5, os.kill, (pid, what)).start()
        kind, text = {
            "kill": (paddle.distributed.RankLostError, "ended before it answered"),
            "stop": (paddle.distributed.CommunicationTimeout, "has been silent for 3 s"),
        }[sys.argv[2]]
        took = raises(kind, text, rpc.rpc_sync, last, sleep, (200,))
        assert took < 60, took
        os.kill(pid, signal.SIGKILL)
        for r in range(1, size - 1):
            rpc.rpc_sync(name(r), put, ("over", True))
        print("all is well", flush=True)
    while rank and "over" not in table:
        time.sleep(0.01)
    time.sleep(0.1)  # the answer to that call
    os._exit(0)

rpc.shutdown()
raises(RuntimeError, "no worker yet", rpc.get_worker_info, "worker0")
print("all is well")
