"""DataParallel: N processes with B samples each train as one with N x B."""

import pytest
from tests.python.distributed.ranks import run as ranks

from argosy.distributed._buckets import in_buckets

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_several_processes_train_as_one(count):
    for rank in ranks.run("data_parallel", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("network", ["mlp", "resnet", "transformer"])
def test_networks_train_as_one(network, count):
    for rank in ranks.run("as_one", count, network):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_exchange_while_backward_goes_on(count):
    for rank in ranks.run("overlap", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_batch_norm_over_processes(count):
    for rank in ranks.run("sync_norm", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_model(count):
    for rank in ranks.run("model", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_switches_of_a_strategy(count):
    for rank in ranks.run("fleet_switches", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 3])
def test_a_fleet_program_without_servers(count):
    for rank in ranks.run("fleet_collective", count):
        assert "all is well" in rank.text


class _Sized:
    def __init__(self, dtype, size):
        self.dtype = dtype
        self.size = size

    def element_size(self):
        return 4

    def __repr__(self):
        return f"{self.dtype}{self.size}"


def test_buckets_have_one_dtype_and_limits():
    items = [_Sized(d, s) for d, s in [("f", 2), ("f", 3), ("d", 1), ("f", 1), ("d", 9), ("f", 4)]]
    assert str(in_buckets(items, [8, 24])) == "[[f2], [f3, f1], [d1], [d9], [f4]]"
    assert str(in_buckets(items, [1000])) == "[[f2, f3, f1, f4], [d1, d9]]"


@pytest.mark.parametrize("what", ["kill", "stop", "raise", "end"])
def test_a_process_leaves_in_the_middle_of_backward(what):
    """The others are told by a typed error within the limit, and never train on."""
    started = ranks.start("backward_fails", 3, what, environ={"ARGOSY_COMM_TIMEOUT": "4"})
    *others, _ = started
    for rank in others:
        rank.collect(60)
    started[-1].process.kill()
    ranks.finish(started, 10)
    kinds = {
        "kill": ["RankLostError"],
        "stop": ["CommunicationTimeout"],
        "raise": ["RanksDisagreeError", "RankLostError"],
        "end": ["RankLostError"],
    }[what]
    for rank in others:
        assert rank.code == 0, rank.text
        assert any(f"typed: {kind}" in rank.text for kind in kinds), rank.text
