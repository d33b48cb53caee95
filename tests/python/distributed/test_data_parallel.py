"""DataParallel: N processes with B samples each train as one with N x B."""

import pytest
from tests.python.distributed.ranks import run as ranks

import argosy
from argosy.distributed._buckets import in_buckets
from argosy.distributed._reducer import _FORMS, _Plan


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_several_processes_train_as_one(count):
    for rank in ranks.run("data_parallel", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("network", ["mlp", "resnet", "transformer"])
def test_networks_train_as_one(network, count):
    for rank in ranks.run("as_one", count, network):
        assert "all is well" in rank.text


IN_PARTS = {"ARGOSY_COMM_ENGINE": "tcp", "PARTS": "1"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_exchange_while_backward_goes_on(count):
    for rank in ranks.run("overlap", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [2, 3])
def test_exchange_of_parts_of_a_gradient(count):
    for rank in ranks.run("overlap", count, environ=IN_PARTS, limit=500):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_gradients_that_all_processes_see(count):
    for rank in ranks.run("seen", count):
        assert "all is well" in rank.text


HIDDEN = {"SEEN": "no"}


@pytest.mark.parametrize(
    "first, others",
    [({"ARGOSY_ALLOCATOR": "system", **HIDDEN}, {}), ({"SMALL_FILES": "1", **HIDDEN}, HIDDEN)],
)
def test_a_process_whose_gradients_nobody_sees(first, others):
    for rank in ranks.run("seen", 2, each=lambda rank: others if rank else first):
        assert "all is well" in rank.text


HOSTS = ["aabb", "aab", "abb", "aabbcc", "abbccc"]


def on_hosts(hosts, **alone):
    """The environment of each rank on hosts that are told by a letter each; alone: of those who have none
    beside them there."""

    def each(rank):
        own = {"ARGOSY_COMM_HOST": hosts[rank], "PADDLE_NNODES": str(len(set(hosts)))}
        return {**own, **(alone if hosts.count(hosts[rank]) == 1 else {})}

    return {"count": len(hosts), "each": each}


@pytest.mark.parametrize("hosts", HOSTS)
def test_gradients_that_all_processes_of_a_host_see(hosts):
    for rank in ranks.run("seen", **on_hosts(hosts, **HIDDEN)):
        assert "all is well" in rank.text


@pytest.mark.parametrize("hosts", ["aabb", "aab", "aabbcc"])
def test_hosts_get_the_same_bits_in_all_ranks_and_runs(hosts):
    runs = [ranks.run("same_bits", **on_hosts(hosts)) for _ in range(2)]
    told = {line for run in runs for r in run for line in r.text.splitlines() if "digest" in line}
    assert len(told) == 1, told


@pytest.mark.parametrize(
    ("hosts", "victim"),
    [("aabb", 0), ("aabb", 1), ("aabb", 3), ("aab", 1), ("aab", 2), ("abbccc", 4)],
)
@pytest.mark.parametrize("after", ["0.1", "0.137"])
def test_a_process_of_a_host_dies_in_a_sum(hosts, victim, after):
    layout = on_hosts(hosts)
    started = ranks.start(
        "dies_in_sums", layout["count"], after, environ={"VICTIM": str(victim)}, each=layout["each"]
    )
    for number, rank in enumerate(ranks.finish(started, 100)):
        if number == victim:
            assert rank.code == -9, rank.text
        else:
            assert rank.code == 0 and "lost: " in rank.text, f"rank {number}:\n{rank.text}"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_parameters_that_are_left_out(count):
    for rank in ranks.run("unused", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", [1, 2])  # an even one: all parameters are used
def test_random_passes(seed, count):
    for environ in ({}, IN_PARTS):
        for rank in ranks.run("random_passes", count, str(seed), "30", environ=environ):
            assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [3, 6, 12])  # what each draws is printed by the ranks
def test_random_models(seed, count):
    environ = {"ARGOSY_COMM_ENGINE": "tcp" if seed == 12 else ""}
    for rank in ranks.run("random_models", count, str(seed), "10", environ=environ):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_batch_norm_over_processes(count):
    for rank in ranks.run("sync_norm", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
def test_model(count):
    for rank in ranks.run("model", count):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_pairs_of_switches_of_a_strategy(count):
    for rank in ranks.run("fleet_pairs", count):
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
    assert str(in_buckets(items, [8, 24])) == "[[f2], [d1], [f3, f1], [d9], [f4]]"
    assert str(in_buckets(items, [1000])) == "[[d1, d9], [f2, f3, f1, f4]]"


@pytest.mark.parametrize("what", ["kill", "stop", "raise", "end"])
def test_a_process_leaves_in_the_middle_of_backward(what):
    """The others are told by a typed error within the limit, and never train on."""
    started = ranks.start("backward_fails", 3, what, environ={"ARGOSY_COMM_TIMEOUT": "10"})
    *others, _ = started
    for rank in others:
        rank.collect(400)
    started[-1].process.kill()
    ranks.finish(started, 60)
    kinds = {
        "kill": ["RankLostError"],
        "stop": ["CommunicationTimeout"],
        "raise": ["RanksDisagreeError", "RankLostError"],
        "end": ["RankLostError"],
    }[what]
    for rank in others:
        assert rank.code == 0, rank.text
        assert any(f"typed: {kind}" in rank.text for kind in kinds), rank.text


def test_large_gradients_travel_in_several_buckets():
    """Limits are those of the default arguments; the first exchange must not wait for the last layer."""
    limits = [1 << 20, 25 << 20]
    weights = [argosy.ones([1024, 1024]) for _ in range(4)]  # 4 MB each
    dense = _FORMS.index((argosy.float32, False))
    plan = _Plan(weights, [3, 2, 1, 0], [dense] * 4, [0] * 4, limits)
    assert plan.early == [[3], [2], [1], [0]] and plan.late == []
    small = [argosy.ones([64, 64]) for _ in range(40)]  # 16 KB each
    plan = _Plan(small, range(40), [dense] * 40, [0] * 38 + [1, 1], limits)
    assert plan.early == [list(range(38))] and plan.late == [[38, 39]]
    half = _FORMS.index((argosy.float16, False))
    plan = _Plan(weights, range(4), [half, half, 0, dense], [0] * 4, [1 << 30])
    assert plan.early == [[0], [1], [3]] and sorted(plan.dtypes) == [0, 1, 3]


def test_the_first_and_the_last_large_gradient_travel_in_parts():
    limits = [1 << 20, 25 << 20]
    dense = _FORMS.index((argosy.float32, False))

    def planned(*shapes):
        forms, once = [dense] * len(shapes), [0] * len(shapes)
        weights = [argosy.ones(s) for s in shapes]
        return _Plan(weights, range(len(shapes)), forms, once, limits, True)

    def parts(*shapes):
        """Ends by number of the gradient."""
        plan = planned(*shapes)
        return {plan.early[place][0]: ends for place, ends in plan.parts.items()}

    large, thin, flat = [1024, 1024], [2, 1 << 19], [1 << 20]  # 4 MB each
    quarters = [256, 512, 768, 1024]
    assert parts(large, [10], large, [10], large) == {0: quarters, 4: quarters}
    assert parts(large, [10]) == {0: quarters}
    assert parts(large, flat)[1] == [1 << 18, 1 << 19, 3 << 18, 1 << 20]
    assert parts([300, 512]) == {}  # 0.6 MB is no more than a part
    assert parts([400, 1024]) == {0: [133, 266, 400]}
    assert parts(large, thin) == {0: quarters}  # too few rows
    assert parts(thin, large) == {1: quarters}
    assert parts([10]) == {}
    # What is as small as a bias goes after the last one, also where it came before.
    plan = planned(large, [10], large, [20], large)
    assert plan.early == [[0], [2], [4], [1, 3]] and plan.place == {0: 0, 2: 1, 4: 2, 1: 3, 3: 3}
    assert plan.parts == {0: quarters, 2: quarters}
    # Nor does it wait for company of the bias right before it; for what comes long before, it does.
    some = [100, 200]  # 80 KB
    assert planned(large, some, large, some, large).early == [[0], [2], [4], [1, 3]]
    assert planned(some, large, large, [10], large).early == [[1], [2], [4], [0, 3]]
    assert planned(large, *[[300, 300]] * 5, large).early == [[0], [1, 2, 3, 4], [6], [5]]
    assert parts(large, *[[300, 300]] * 20) == {0: quarters}  # several in the last bucket
    # What is large travels while the next one is computed.
    assert planned(large, large, large).early == [[0], [1], [2]]
    assert planned(large, *[[300, 300]] * 4, large).early == [[0], [1, 2, 3, 4], [5]]


def test_small_gradients_travel_together():
    """Those of biases between large ones of weights, not each in an exchange of its own."""
    assert str(in_buckets([_Sized("f", s) for s in (1, 10, 1, 10, 1, 8, 1)], [24])) == (
        "[[f10], [f10], [f8], [f1, f1, f1, f1]]"
    )
    # Full buckets do not wait for later ones.
    assert str(in_buckets([_Sized("f", s) for s in (3, 10, 3, 3, 10, 3)], [24])) == (
        "[[f10], [f3, f3], [f10], [f3, f3]]"
    )


@pytest.mark.parametrize("engine", ["", "tcp"])
@pytest.mark.parametrize("phase", """
construction forward learning agreement step kept_back buffers objects
""".split())  # fmt: skip
def test_a_process_that_dies_while_it_trains(phase, engine):
    count = 3 if engine else 2
    started = ranks.start("dies_in_training", count, phase, environ={"ARGOSY_COMM_ENGINE": engine})
    *lived, dead = ranks.finish(started, 100)
    assert dead.code == -9, dead.text
    for number, rank in enumerate(lived):
        assert rank.code == 0 and "lost: " in rank.text, f"rank {number}:\n{rank.text}"
