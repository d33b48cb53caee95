"""Pairs of switches of DistributedStrategy in eager training, beside one process that does by hand what they stand
for: float64, but for those that compute or send in 16 bits. The model has a table whose gradient is rows."""

import itertools
import os

import numpy as np

os.environ["ARGOSY_AMP_FLOAT16"] = "1"  # float16 has an effect on CPUs
import argosy as paddle
import argosy.nn.functional as F
from argosy import _core
from argosy.distributed import fleet

STEPS, BATCH, WIDTH, IDS, MERGED, LOCAL, BEGIN = 6, 4, 5, 7, 2, 2, 2
SWITCHES = {
    "amp": {"custom_black_list": ["tanh"], "use_pure_bf16": False},
    "recompute": {"checkpoints": ["first", "last"]},
    "gradient_merge": {"k_steps": MERGED, "avg": True},
    "fp16_allreduce": None,
    "sync_batch_norm": None,
    "find_unused_parameters": None,
    "localsgd": {"k_steps": LOCAL, "begin_step": BEGIN},
    "lamb": {"lamb_weight_decay": 0.0625},
    "lars": {"lars_coeff": 2**-7, "lars_weight_decay": 2**-10},
}


def begin(switches):
    strategy = fleet.DistributedStrategy()
    for name in switches:
        setattr(strategy, name, True)
        if SWITCHES[name]:
            setattr(strategy, f"{name}_configs", SWITCHES[name])
    fleet.init(is_collective=True, strategy=strategy)


begin(())
rank, size = fleet.worker_index(), fleet.worker_num()


class Net(paddle.nn.Layer):
    def __init__(self, dtype):
        super().__init__()
        nn = paddle.nn
        paddle.seed(3)
        self.table = nn.Embedding(IDS, WIDTH, sparse=dtype == "float64")
        self.first = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.BatchNorm1D(WIDTH)
        self.ways = nn.LayerList([nn.Linear(WIDTH, WIDTH) for _ in range(2)])
        self.last = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.to(dtype=dtype)
        self.calls = 0  # of the first layer

    def forward(self, x, ids, way):
        x = F.tanh(self.first(x + self.table(ids)))
        x = F.relu(self.norm(x)) * 0.5 + x
        for number in way:
            x = x + F.tanh(self.ways[number](x))
        return self.last(x)


def trained(net):
    """Not the moments of norms, which each process has of its own."""
    return [p for p in net.parameters() if not p.stop_gradient]


def rule_of(switches, net):
    """What fleet is given, and what trains the model of the one process."""
    parameters = net.parameters()
    if "lamb" in switches:
        given = paddle.optimizer.Adam(0.01, parameters=parameters)
        return given, lambda ps: paddle.optimizer.Lamb(0.01, 0.0625, epsilon=1e-8, parameters=ps)
    if "lars" in switches:
        given = paddle.optimizer.Momentum(0.1, 0.875, parameters=parameters)
        lars = paddle.incubate.optimizer.LarsMomentumOptimizer
        return given, lambda ps: lars(0.1, 0.875, 2**-7, 2**-10, parameter_list=ps)
    given = paddle.optimizer.Momentum(0.1, 0.875, parameters=parameters)
    return given, lambda ps: paddle.optimizer.Momentum(0.1, 0.875, parameters=ps)


def loss_of(switches, model, samples, reference=False):
    x, ids, way = samples
    with paddle.amp.auto_cast(
        enable=reference and "amp" in switches, dtype="float16", custom_black_list=["tanh"]
    ):
        return (
            model(paddle.to_tensor(x), paddle.to_tensor(ids), way).astype("float64") ** 2
        ).mean()


class OneProcess:
    """What all processes do, in one: a model, or with localsgd one for each."""

    def __init__(self, switches, dtype, rule):
        self.switches = switches
        count = size if "localsgd" in switches else 1
        self.nets = [Net(dtype) for _ in range(count)]
        self.rates = [rule(net.parameters()) for net in self.nets]
        self.calls = self.updates = 0

    def step(self, of_ranks):
        merged = MERGED if "gradient_merge" in self.switches else 1
        local = "localsgd" in self.switches and self.updates + 1 >= BEGIN
        if "sync_batch_norm" in self.switches:  # one batch of all
            xs, ids, ways = zip(*of_ranks)
            of_ranks = [(np.concatenate(xs), np.concatenate(ids), ways[0])]
        for number, net in enumerate(self.nets):
            own = [of_ranks[number]] if local else of_ranks
            losses = [loss_of(self.switches, net, one, True) for one in own]
            (sum(losses) / (len(own) * merged)).backward()
        self.calls += 1
        if self.calls % merged:
            return
        for rate in self.rates:
            rate.step()
            rate.clear_grad(set_to_zero=False)
        self.updates += 1
        if local and (self.updates - BEGIN + 1) % LOCAL == 0:
            for same in zip(*(trained(net) for net in self.nets)):
                mean = sum(same) / len(same)
                for p in same:
                    p.set_value(mean)

    def net(self):
        return self.nets[rank if len(self.nets) > 1 else 0]


def samples_of(draw, switches, step):
    """Of each process. With find_unused_parameters each has a way of its own, but with a norm over all."""
    each = []
    for r in range(size):
        way = [0, 1]
        if "find_unused_parameters" in switches:
            own = 0 if "sync_batch_norm" in switches else r
            way = [[0], [1], [], [1, 0]][(step * 3 + own) % 4]
        x = draw.randn(BATCH, WIDTH)
        each.append((x, draw.randint(0, IDS, BATCH), way))
    return each


def distance(one, two, start):
    """How far apart two models are, as a part of the way that the second has come."""
    apart, way = 0.0, 0.0
    for a, b, s in zip(*map(trained, (one, two, start)), strict=True):
        a, b, s = (t.numpy().astype("float64") for t in (a, b, s))
        apart, way = apart + ((a - b) ** 2).sum(), way + ((b - s) ** 2).sum()
    assert way > 1e-6, way
    return (apart / way) ** 0.5


def compare(switches):
    draw = np.random.RandomState(5)
    dtype = "float32" if "amp" in switches else "float64"
    begin(switches)
    net = Net(dtype)
    given, rule = rule_of(switches, net)
    whole = OneProcess(switches, dtype, rule)
    calls, dtypes = [], set()
    inner = net.first.forward
    net.first.forward = lambda x: calls.append(1) or inner(x)
    net.ways[0].register_forward_post_hook(lambda layer, x, y: dtypes.add(y.dtype))
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(given)
    before = len(_core.comm_records().splitlines())
    for step in range(STEPS):
        samples = samples_of(draw, switches, step)
        x, ids, way = samples[rank]
        samples = [(x.astype(dtype), ids, way) for x, ids, way in samples]
        loss_of(switches, model, samples[rank]).backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        whole.step(samples)
    limit = 1e-11
    if "fp16_allreduce" in switches:
        limit = 5e-3
    if "amp" in switches:
        limit = 3e-2
        assert dtypes == {paddle.float16}, dtypes
    far = distance(net, whole.net(), Net(dtype))
    assert far < limit, f"{switches}: {far}"
    if "recompute" in switches:
        assert len(calls) == 2 * STEPS, (switches, len(calls))
    if size > 1:
        assert isinstance(net.norm, paddle.nn.SyncBatchNorm) == ("sync_batch_norm" in switches)
        sent = "\n".join(_core.comm_records().splitlines()[before:])
        exchanges = "localsgd" not in switches or BEGIN > 1
        assert ("float16" in sent) == ("fp16_allreduce" in switches and exchanges), (switches, sent)
    if "fp16_allreduce" in switches and size > 1:
        assert far > 1e-9, far  # it was not exchanged in 64 bits


def check_rules_exclude_each_other():
    begin(("lamb", "lars"))
    net = Net("float64")
    adam = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    try:
        fleet.distributed_optimizer(adam)
    except TypeError as error:
        assert "strategy.lars stands for optimizer.Momentum: expected one, got Lamb" in str(error)
    else:
        raise AssertionError("nothing was raised")


check_rules_exclude_each_other()
for pair in [*((name,) for name in SWITCHES), *itertools.combinations(SWITCHES, 2)]:
    if pair == ("lamb", "lars"):
        continue
    if pair == ("sync_batch_norm", "localsgd") and size > 1:
        continue  # norms over models that differ: nothing of one process is the same
    compare(pair)
    fleet.barrier_worker()
print("all is well")
