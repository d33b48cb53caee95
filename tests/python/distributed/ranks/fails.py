"""Ranks that fail in the way that is asked for. A CommunicationError is printed, and the code is 3."""

import datetime
import os
import pathlib
import sys
import time

import argosy as paddle
import argosy.distributed as dist

way = sys.argv[1]
folder = pathlib.Path(os.environ.get("FOLDER", "."))
since = time.monotonic()


def disagree(rank):
    x = paddle.ones([5 if way == "size" and rank == 1 else 4])
    if way == "dtype" and rank == 1:
        x = x.astype("int32")
    if way == "kind" and rank == 1:
        dist.barrier()
    op = dist.ReduceOp.MAX if way == "op" and rank == 1 else dist.ReduceOp.SUM
    dist.all_reduce(x, op=op)


def wait_for_others(rank):
    """Rank 1 does not come before there is a file `come`."""
    group = None
    if "SECONDS" in os.environ:
        seconds = datetime.timedelta(seconds=float(os.environ["SECONDS"]))
        group = dist.new_group(timeout=seconds)
    global since
    since = time.monotonic()
    (folder / str(rank)).touch()
    if rank == 1:
        while not (folder / "come").exists():
            time.sleep(0.01)
        dist.barrier(group)
    elif way == "wait-message":
        dist.recv(paddle.ones([4]), src=1, group=group)
    else:
        dist.all_reduce(paddle.ones([4]), group=group)


def fork(rank):
    if os.fork() == 0:
        try:
            dist.all_reduce(paddle.ones([4]))
        except dist.CommunicationError as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(0)
    os.wait()
    dist.barrier()
    print("parent is well", flush=True)


def interrupt(rank):
    """Rank 0 waits for messages, of which nobody sends any."""
    if rank == 1:
        dist.recv(paddle.ones([4]), src=0)
    task = dist.irecv(paddle.ones([9]), src=1)
    time.sleep(float(os.environ["SECONDS"]))  # 0.5: the group's thread moves messages by then
    (folder / str(rank)).touch()
    try:
        dist.recv(paddle.ones([4]), src=1)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    task.wait()


def ends_within_a_call(rank):
    """By an error, while a collective of it waits for rank 2, which comes when rank 0 has failed."""
    while rank == 2 and not (folder / "failed").exists():
        time.sleep(0.01)
    try:
        dist.all_reduce(paddle.ones([4]), sync_op=rank != 1)
    finally:
        if rank == 0:
            (folder / "failed").touch()
    raise ValueError("an error of its own")


try:
    dist.init_parallel_env()
    rank = dist.get_rank()
    dist.barrier()
    if way.startswith("wait"):
        wait_for_others(rank)
    elif way == "interrupt":
        interrupt(rank)
    elif way == "fork":
        fork(rank)
    elif way == "raises-busy":
        ends_within_a_call(rank)
    elif way in ("dies", "raises", "exits"):
        if rank == 1 and way == "dies":
            os.kill(os.getpid(), 9)
        if rank == 1 and way == "raises":
            raise ValueError("an error of its own")
        if rank == 1:
            sys.exit(0)
        dist.barrier()
    else:
        disagree(rank)
except dist.CommunicationError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    print(f"waited {time.monotonic() - since:.2f} s", flush=True)
    sys.exit(3)
