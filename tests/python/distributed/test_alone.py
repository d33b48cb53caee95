"""A job of several processes never trains alone in silence, and a process alone checks what it is given."""

import subprocess
import sys

import pytest

import argosy as paddle
from argosy import _support
from argosy.distributed import fleet
from argosy.distributed.launch import arguments, ports


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_PSERVERS_IP_PORT_LIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_support, "_told", set())
    return monkeypatch


def test_several_trainers_without_addresses_or_servers(environment):
    environment.setenv("PADDLE_TRAINERS_NUM", "4")
    with pytest.raises(ValueError, match="PADDLE_TRAINERS_NUM=4 .*PADDLE_TRAINER_ENDPOINTS has 1"):
        fleet.init(is_collective=True)
    with pytest.raises(ValueError, match="one of PADDLE_TRAINERS_NUM=4, but there are no servers"):
        fleet.init(is_collective=False)
    network = paddle.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="one of 4, but nothing says where"):
        paddle.distributed.init_parallel_env()
    with pytest.raises(ValueError, match="one of 4, but nothing says where"):
        paddle.Model(network).prepare()
    for call in (
        lambda: paddle.DataParallel(network),
        lambda: paddle.distributed.all_reduce(paddle.ones([1])),
    ):
        with pytest.raises(RuntimeError, match="one of 4 .* not connected yet.*init_parallel_env"):
            call()


def test_addresses_of_several_trainers(environment):
    environment.setenv("PADDLE_TRAINERS_NUM", "2")
    environment.setenv("PADDLE_TRAINER_ID", "1")
    environment.setenv("PADDLE_PG_TIMEOUT", "500")
    (port,) = ports.pick(1)
    environment.setenv("PADDLE_TRAINER_ENDPOINTS", f"127.0.0.1:{port},10.0.0.2:2")
    with pytest.raises(RuntimeError, match="none has answered within 0.5 s"):
        fleet.init(is_collective=True)


@pytest.mark.parametrize(
    "given, name",
    [
        (["--rank", "1"], "--rank: expected the number of this host"),
        (["--workers", "10.0.0.1:1,10.0.0.2:1"], "--workers: expected addresses of one host"),
        (["--workers", "10.9.8.7:1"], "--workers: 10.9.8.7:1 are not of this host"),
        (["--workers", "0"], "--workers: expected at least one process, got 0"),
        (
            ["--devices", "0,1", "--nproc_per_node", "3"],
            "expected one number of processes, got --nproc_per_node 3, --devices 2",
        ),
        (["--devices", "0,1", "--on", "ray"], "--on ray places servers and workers"),
    ],
)
def test_launching_what_cannot_be_connected(tmp_path, given, name):
    program = tmp_path / "program.py"
    program.write_text("print('trained alone')\n")
    options = arguments.parser().parse_args([*given, str(program)])
    with pytest.raises(ValueError, match=name):
        arguments.make_plan(options)


def test_the_command_says_so_too(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('trained alone')\n")
    command = [sys.executable, "-m", "argosy.distributed.launch", "--nnodes", "2", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode != 0 and "--nnodes 2: expected --master" in done.stderr
    assert "trained alone" not in done.stdout


@pytest.mark.parametrize(
    "given",
    [["--devices", "0,1"], ["--gpus", "3,4"], ["--nproc_per_node", "2"], ["--workers", "2"]],
)
def test_several_processes_of_this_host(tmp_path, given):
    program = tmp_path / "program.py"
    program.write_text("")
    plan = arguments.make_plan(arguments.parser().parse_args([*given, str(program)]))
    assert plan.together and len(plan.tasks) == 2
    one, two = (task.environ for task in plan.tasks)
    assert (one["PADDLE_TRAINER_ID"], two["PADDLE_TRAINER_ID"]) == ("0", "1")
    assert one["PADDLE_TRAINERS_NUM"] == "2" and one["ARGOSY_JOB_TOKEN"]
    for name in ("PADDLE_MASTER", "PADDLE_TRAINER_ENDPOINTS", "ARGOSY_JOB_TOKEN", "ARGOSY_JOB_ID"):
        assert one[name] == two[name]
    endpoints = one["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert [one["PADDLE_CURRENT_ENDPOINT"], two["PADDLE_CURRENT_ENDPOINT"]] == endpoints


def test_one_device_is_one_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("")
    options = arguments.parser().parse_args(["--devices", "0", str(program)])
    assert len(arguments.make_plan(options).tasks) == 1


@pytest.mark.parametrize("name", """
amp recompute localsgd gradient_merge lars lamb sync_batch_norm
""".split())  # fmt: skip
def test_switches_of_eager_training_raise_by_name_for_programs(name):
    strategy = fleet.DistributedStrategy()
    setattr(strategy, name, True)
    fleet.init(is_collective=True, strategy=strategy)
    paddle.enable_static()
    try:
        with pytest.raises(
            NotImplementedError, match=rf"strategy.{name} is not supported for Programs"
        ):
            fleet.distributed_optimizer(paddle.optimizer.SGD(0.1))
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("name", """
asp auto auto_search semi_auto adaptive_localsgd dgc
pipeline tensor_parallel elastic sharding heter_ccl_mode is_fl_ps_mode qat
""".split())  # fmt: skip
def test_switches_that_nobody_reads_raise_by_name(name):
    strategy = fleet.DistributedStrategy()
    setattr(strategy, name, True)
    with pytest.raises(
        NotImplementedError, match=rf"\[fleet.init\] strategy.{name} is not supported"
    ):
        fleet.init(is_collective=True, strategy=strategy)
    fleet.init(is_collective=True)
    optimizer = paddle.optimizer.SGD(0.1, parameters=paddle.nn.Linear(1, 1).parameters())
    with pytest.raises(NotImplementedError, match=rf"distributed_optimizer\] strategy.{name}"):
        fleet.distributed_optimizer(optimizer, strategy)


@pytest.mark.parametrize(
    "name",
    [name for name in fleet.DistributedStrategy().hybrid_configs if "degree" in name],
)
def test_degrees(name):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {name: 2}
    with pytest.raises(
        NotImplementedError, match=f"{name} is not supported: expected 1 or -1, got 2"
    ):
        fleet.init(is_collective=True, strategy=strategy)


def test_tuning():
    strategy = fleet.DistributedStrategy()
    strategy.nccl_comm_num = 2
    with pytest.warns(UserWarning, match=r"\[DistributedStrategy\] nccl_comm_num has no effect"):
        fleet.init(is_collective=True, strategy=strategy)


def test_groups_and_operations_are_checked():
    x = paddle.to_tensor([1.0, 2.0])
    for call in (
        lambda: paddle.distributed.all_reduce(x, op=9),
        lambda: paddle.distributed.barrier(group=3),
        lambda: paddle.distributed.broadcast_object_list(1, 0),
        lambda: paddle.distributed.all_gather_object((), 0),
        lambda: paddle.distributed.all_gather_object(None, 0),
        lambda: paddle.distributed.scatter_object_list((), ["mine"], 0),
        lambda: paddle.distributed.alltoall_single(x, x, in_split_sizes=[1, 1]),
        lambda: paddle.distributed.alltoall_single(x, x, in_split_sizes=[2.0]),
    ):
        with pytest.raises((ValueError, TypeError), match=r"\[distributed\.\w+\] \w+: expected"):
            call()
    paddle.distributed.alltoall_single(x, x, in_split_sizes=[2])
    with pytest.warns(UserWarning, match=r"\[distributed.new_group\] backend has no effect"):
        group = paddle.distributed.new_group([0], backend="nccl")
    assert paddle.distributed.get_world_size(group) == 1
    assert paddle.distributed.get_rank(group) == 0


def test_processes_are_numbers():
    x = paddle.to_tensor([1.0])
    distributed = paddle.distributed
    for call in (
        lambda: distributed.reduce(x, dst="0"),
        lambda: distributed.scatter(x, [x], src=None),
        lambda: distributed.new_group("0"),
    ):
        with pytest.raises(
            TypeError, match=r"\[distributed\.\w+\] the number of a process: expected Integral, got"
        ):
            call()
    with pytest.raises(
        TypeError, match=r"\[distributed.new_group\] ranks: expected Iterable, got int"
    ):
        distributed.new_group(0)


def test_arguments_of_data_parallel():
    with pytest.raises(TypeError, match=r"\[DataParallel\] layers: expected Layer, got function"):
        paddle.DataParallel(lambda x: x)
    layer = paddle.nn.Linear(1, 1)
    for name in ("comm_buffer_size", "last_comm_buffer_size"):
        with pytest.raises(
            ValueError, match=rf"\[DataParallel\] {name}: expected megabytes above 0"
        ):
            paddle.DataParallel(layer, **{name: 0})


def test_options_of_spawn():
    with pytest.raises(ValueError, match=r"\[distributed.spawn\] unknown arguments: .* got gpu"):
        paddle.distributed.spawn(print, nprocs=1, gpu="0")
    with pytest.raises(
        NotImplementedError, match="gpus is not supported: expected None, got '0,1'"
    ):
        paddle.distributed.spawn(print, nprocs=1, gpus="0,1")


def test_scale_of_gradients():
    from argosy.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

    w = paddle.create_parameter([2], "float32")
    (w * paddle.to_tensor([4.0, 6.0])).sum().backward()
    fused_allreduce_gradients([w], None)
    assert w.grad.tolist() == [4.0, 6.0]
    fused_allreduce_gradients([w], None, scale=2.0)
    assert w.grad.tolist() == [2.0, 3.0]
