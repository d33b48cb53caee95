"""What fleet measures, logs and refuses."""

import logging

import pytest

import argosy
import argosy.distributed as dist
from argosy.distributed import fleet


def test_levels_of_the_log():
    fleet.set_log_level("error")
    assert (fleet.get_log_level_code(), fleet.get_log_level_name()) == (40, "ERROR")
    fleet.set_log_level(20)
    assert fleet.get_log_level_name() == "INFO"
    with pytest.raises(AssertionError, match="level: expected a str or an int, got float"):
        fleet.set_log_level(1.5)
    with pytest.raises(ValueError, match="Unknown level"):
        fleet.set_log_level("nope")


def test_nothing_is_measured_alone(caplog):
    fleet.init(is_collective=True)
    fleet.set_log_level("INFO")
    with caplog.at_level(logging.INFO, "argosy.fleet"):
        for kind in ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter"):
            fleet.collective_perf(kind, 2, {8: 1.0})
            group = dist.new_group([0])
            getattr(fleet.fleet, f"{kind}_perf")(1, argosy.ones([2]), group, 8, -1)
    said = [record.message for record in caplog.records]
    assert len(said) == 10 and all("the group has no other process" in text for text in said)
    with pytest.raises(ValueError, match="comm_type: expected one of allreduce.*got 'scan'"):
        fleet.collective_perf("scan")


def test_groups_along_several_axes():
    fleet.init(is_collective=True)
    groups = fleet.get_hybrid_communicate_group()
    assert groups.get_dp_sep_parallel_group() is groups.get_data_parallel_group()
    assert groups.get_pp_mp_parallel_group().ranks == [0]
    assert groups.get_moe_sharding_parallel_world_size() == 0
    ranks, group = groups.create_fuse_group(["data", "sharding"])
    assert ranks == group.ranks == [0]
    with pytest.raises(
        AssertionError, match="fused_strategy_list: expected names of axes, got none"
    ):
        groups.create_fuse_group([])
    assert fleet.fleet.get_hybrid_parallel_topology() is groups.topology()


def test_mixed_precision_goes_to_its_optimizer():
    argosy.enable_static()
    try:
        fleet.init(is_collective=True)
        with argosy.static.program_guard(argosy.static.Program(), argosy.static.Program()):
            x = argosy.static.data("x", [2, 3], "float32")
            loss = argosy.static.nn.fc(x, 1).mean()
            sgd = argosy.static.amp.decorate(argosy.optimizer.SGD(0.1), init_loss_scaling=8.0)
            fleet.distributed_optimizer(sgd).minimize(loss)
            fleet.amp_init(argosy.CPUPlace())
            assert fleet.get_loss_scaling() is sgd.get_loss_scaling()
            fleet.distributed_optimizer(argosy.optimizer.SGD(0.1))
            with pytest.raises(
                RuntimeError, match="amp_init.* needs an optimizer of static.amp.decorate, got SGD"
            ):
                fleet.amp_init(argosy.CPUPlace())
    finally:
        argosy.disable_static()


def test_what_is_not_there_says_what_is():
    with pytest.raises(
        NotImplementedError, match="qat_init.* is not there. Do this: train a Layer"
    ):
        fleet.qat_init(argosy.CPUPlace())
    for call in (fleet.make_fl_strategy, fleet.init_coordinator, fleet.get_fl_client):
        with pytest.raises(
            NotImplementedError, match="is not there. Do this: train with parameter servers"
        ):
            call()
