"""The distributed names in a program that runs alone, and in one that does not."""

import numpy as np
import pytest

import argosy
from argosy import distributed as dist


def test_alone(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    monkeypatch.delenv("PADDLE_TRAINER_ID", raising=False)
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    env = dist.init_parallel_env()
    assert (env.rank, env.nranks, env.local_rank, env.trainer_endpoints) == (0, 1, 0, [])
    assert (env.nrings, env.pg_timeout) == (1, 1800000)


def test_data_parallel_is_the_layer():
    layer = argosy.nn.Linear(3, 2)
    wrapped = argosy.DataParallel(layer)
    x = argosy.rand([4, 3])
    np.testing.assert_array_equal(wrapped(x).numpy(), layer(x).numpy())
    assert list(wrapped.state_dict()) == ["weight", "bias"]
    wrapped(x).sum().backward()
    assert layer.weight.grad is not None
    with wrapped.no_sync():
        assert wrapped.scale_loss(x) is x


def test_processes_that_are_not_connected_are_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(ValueError, match="one of 2, but nothing says where they meet"):
        argosy.Model(argosy.nn.Linear(1, 1)).prepare()
    norm = argosy.nn.SyncBatchNorm(2)
    with pytest.raises(RuntimeError, match="one of 2 .* call paddle.distributed.init_parallel_env"):
        norm(argosy.ones([3, 2]))
    norm.eval()
    assert norm(argosy.ones([3, 2])).shape == [3, 2]


def test_a_wrong_environment_is_named(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "two")
    with pytest.raises(ValueError, match="PADDLE_TRAINERS_NUM must be an integer, got 'two'"):
        dist.get_world_size()


def test_a_group_of_one_gets_back_what_it_sends(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    x = argosy.to_tensor([1.0, 2.0])
    assert dist.all_reduce(x, op=dist.ReduceOp.MAX, sync_op=False).wait()
    dist.broadcast(x, src=0)
    dist.reduce(x, 0)
    dist.barrier()
    lists = [[] for _ in range(3)]
    dist.all_gather(lists[0], x)
    dist.gather(x, lists[1])
    dist.alltoall(lists[2], [x])
    filled = [argosy.zeros([2]) for _ in range(4)]
    dist.scatter(filled[0], [x])
    dist.reduce_scatter(filled[1], [x])
    dist.alltoall_single(filled[2], x)
    dist.all_gather([filled[3]], x)
    x += 1  # what was received is a copy
    for got in [*(v for part in lists for v in part), *filled]:
        assert got.tolist() == [1.0, 2.0]
    objects, parts = [], []
    dist.all_gather_object(objects, {"a": 1})
    dist.scatter_object_list(parts, ["mine"])
    assert (objects, parts) == ([{"a": 1}], ["mine"])
    group = dist.new_group([0])
    assert (group.rank, group.nranks, group.is_member()) == (0, 1, True)
    assert dist.get_group(group.id) is group
    dist.destroy_process_group(group)
    assert dist.get_group(group.id) is None


def test_nobody_else_is_there(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    x = argosy.ones([2])
    with pytest.raises(RuntimeError, match="there is no other process"):
        dist.send(x, 0)
    with pytest.raises(ValueError, match="there is no process 1"):
        dist.broadcast(x, 1)
    with pytest.raises(ValueError, match="expected a list of one tensor, .* got 2"):
        dist.scatter(x, [x, x])
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(RuntimeError, match="not connected yet"):
        dist.all_reduce(x)


def leave(status):
    raise SystemExit(status)


def test_spawn_runs_one_process():
    assert dist.spawn(leave, (0,), nprocs=1).join()
    with pytest.raises(RuntimeError, match="ended with 3"):
        dist.spawn(leave, (3,))
    with pytest.raises(ValueError, match="nprocs: expected a number above 0"):
        dist.spawn(leave, (0,), nprocs=0)


def test_addresses_inside_modules():
    import importlib

    parallel = importlib.import_module("argosy.distributed.parallel")
    assert parallel.ParallelEnv is dist.ParallelEnv and parallel.get_rank() == 0
    util = importlib.import_module("argosy.distributed.fleet.utils.hybrid_parallel_util")
    x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    util.fused_allreduce_gradients([x], None)
    assert x.grad.tolist() == [2.0, 4.0]
    model = importlib.import_module("argosy.hapi.model")
    assert model._all_gather(x).tolist() == [1.0, 2.0]


def test_gradients_of_several_processes_need_a_connection(monkeypatch):
    from argosy.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(RuntimeError, match="one of 2 .* not connected yet"):
        fused_allreduce_gradients([], None)


def test_recorded_programs_of_one_process(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    argosy.enable_static()
    try:
        with argosy.static.program_guard(argosy.static.Program()):
            x = argosy.static.data("x", [2])
            dist.all_reduce(x)
            parts, y = [], argosy.zeros([2])
            dist.all_gather(parts, x)
            dist.scatter(y, [x * 2])
            objects = []
            dist.all_gather_object(objects, "mine")
            got = argosy.static.Executor().run(
                feed={"x": np.array([1, 2], "float32")}, fetch_list=[x, parts[0], y]
            )
    finally:
        argosy.disable_static()
    assert [v.tolist() for v in got] == [[1, 2], [1, 2], [2, 4]] and objects == ["mine"]
