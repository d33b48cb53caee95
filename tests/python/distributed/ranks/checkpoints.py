"""Checkpoints of a job: checkpoints.py save|load|dies|refused FOLDER"""

import os
import signal
import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist

way, folder = sys.argv[1:]
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
network = paddle.nn.Sequential(paddle.nn.Linear(3, 5), paddle.nn.BatchNorm1D(5))


def state(salt):
    """Alike in all processes, but for one entry that each has for itself."""
    draw = np.random.RandomState(salt)
    for tensor in network.state_dict().values():
        tensor.set_value(draw.rand(*tensor.shape).astype("float32"))
    odd = {"half": paddle.to_tensor([1.5, salt], dtype="bfloat16"), "none": paddle.zeros([0, 2])}
    own = {f"of {rank}": paddle.full([2], rank + salt, dtype="int64")}
    return {"model": network.state_dict(), "odd": odd, "epoch": salt, **own}


def check(salt):
    wanted = {key: value.numpy().copy() for key, value in state(salt)["model"].items()}
    loaded = {**state(99), "of 0": paddle.zeros([2], "int64")}
    loaded.pop(f"of {rank}") if rank else None
    dist.load_state_dict(loaded, folder)
    for key, value in loaded["model"].items():
        np.testing.assert_array_equal(value.numpy(), wanted[key])
    assert loaded["odd"]["half"].tolist() == [1.5, salt] and loaded["epoch"] == salt
    assert loaded["of 0"].tolist() == [salt, salt]


def refused(call, *texts):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        assert all(text in str(error) for text in texts), error
    else:
        raise AssertionError("nothing was raised")


if way == "save":
    dist.save_state_dict(state(1), folder)
    dist.save_state_dict(state(2), folder, coordinator_rank=size - 1)
    check(2)
elif way == "load":
    check(2)
    merged = dist.load_merged_state_dict(folder, unique_id=0)
    assert merged["epoch"] == 1 and merged["of 1"].tolist() == [2, 2]
elif way == "dies":
    check(2)
    dist.barrier()
    if rank == size - 1:  # its share is there, and nobody has been told
        from argosy.distributed import checkpoint

        checkpoint._on_all = lambda what, group, write: (write(), os.kill(os.getpid(), 9))
    try:
        dist.save_state_dict(state(3), folder)
    except dist.RankLostError:
        print("lost")
        os._exit(0)
    signal.pause()
else:
    loaded = state(2)
    if rank == size - 1:
        loaded["missing"] = paddle.zeros([1])
    last = f"process {size - 1} failed: " if size > 1 else ""
    refused(lambda: dist.load_state_dict(loaded, folder), last, "checkpoint 1 in", "lacks missing")
    if size > 1:
        loaded = {"w": paddle.zeros([1 + (rank == 0)])}
        refused(
            lambda: dist.save_state_dict(loaded, folder),
            "w: expected one form in all processes, got float32 [2] and float32 [1]",
        )
        refused(
            lambda: dist.save_state_dict({}, folder, unique_id=rank),
            "unique_id: expected one for all processes, got [0, 1",
        )
    dist.barrier()
print("all is well")
