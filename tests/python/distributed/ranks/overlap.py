"""Exchanges in the middle of backward, beside one process that has the whole batch: float64.

With PARTS in the environment small gradients, too, are exchanged in parts (over TCP)."""

import os

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F
from argosy import _core
from argosy.distributed import _reducer
from argosy.distributed._buckets import average
from argosy.distributed.fleet.utils import recompute

in_parts = "PARTS" in os.environ
if in_parts:
    _reducer._LEAST, _reducer._SMALL = 256, 100
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
BATCH = 4
mine = slice(rank * BATCH, (rank + 1) * BATCH)
tiny = dict(comm_buffer_size=0.0005, last_comm_buffer_size=0.0001)  # a bucket or two for each layer
draw = np.random.RandomState(5)


def linears(count, width=8):
    paddle.seed(1)
    return paddle.nn.LayerList([paddle.nn.Linear(width, width) for _ in range(count)])


class Chain(paddle.nn.Layer):
    """Layers one after the other, by their numbers; `cut` layers are recomputed."""

    def __init__(self, count=4):
        super().__init__()
        self.parts = linears(count)
        self.to(dtype="float64")

    def forward(self, x, order=None, cut=()):
        for k, number in enumerate(order if order is not None else range(len(self.parts))):
            part = self.parts[number]
            x = F.tanh(recompute(part, x) if k in cut else part(x))
        return x


def batch():
    return draw.randn(size * BATCH, 8)


def close(one, two, what="parameters"):
    for a, b in zip(one.parameters(), two.parameters()):
        if what == "gradients":
            a, b = (paddle.zeros_like(p) if p.grad is None else p.grad for p in (a, b))
        largest = max(1.0, float(b.abs().max()))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12 * largest)


class Pair:
    """A chain in processes, and the same alone."""

    def __init__(self, make=Chain, **options):
        self.one, self.whole = make(), make()
        self.model = paddle.DataParallel(self.one, **tiny, **options)
        self.rates = [
            paddle.optimizer.SGD(0.5, parameters=n.parameters()) for n in (self.one, self.whole)
        ]

    def losses(self, x, **how):
        mean = (self.model(paddle.to_tensor(x[mine]), **how) ** 2).mean()
        return mean, (self.whole(paddle.to_tensor(x), **how) ** 2).mean()

    def step(self, **how):
        for loss in self.losses(batch(), **how):
            loss.backward()
        self.check()

    def check(self):
        close(self.one, self.whole, "gradients")
        for rate in self.rates:
            rate.step()
            rate.clear_grad()
        close(self.one, self.whole)


def check_exchange_begins_in_backward():
    pair = Pair()
    events = []

    def hook(bucket):
        events.append("exchange")
        return average(bucket)

    pair.model.register_comm_hook(hook)
    for _ in range(3):
        events.clear()
        x = paddle.to_tensor(batch()[mine], stop_gradient=False)
        x.register_hook(lambda g: events.append("input"))
        (pair.model(x) ** 2).mean().backward()
        pair.rates[0].clear_grad()
    # The last layer's bucket is the first, and the input's gradient the last there is.
    assert events[0] == "exchange" and "input" in events, events
    assert events.index("input") >= 3, events


def events_of_parts(pair, **how):
    """What happens to the first layer's weight in a pass: exchanges of some rows, and that it is whole."""
    weight = pair.one.parts[0].weight
    events = []

    def hook(bucket):
        if bucket.parameters[0] is weight:
            events.append(list(bucket.gradients[0].shape))
        return average(bucket)

    hook.wire = None
    pair.model.register_comm_hook(hook)
    _core.after_accumulate(weight, lambda: events.append("whole"))
    pair.step(**how)
    pair.model.register_comm_hook(average)
    return events


def check_parts_are_exchanged_while_others_are_computed():
    if not in_parts:
        return
    parts = [[2, 8]] * 4
    pair = Pair()
    pair.step()
    assert events_of_parts(pair) == [*parts, "whole"]
    pair = Pair()
    pair.step()
    # What is added to what is there, or twice in a pass, is whole before it is exchanged.
    with pair.model.no_sync():
        kept = pair.losses(batch())
        for loss in kept:
            loss.backward()
    assert events_of_parts(pair) == ["whole", *parts]
    events = events_of_parts(pair, order=[0, 1, 0, 2, 3])
    assert events[0] == "whole" and events.count([2, 8]) >= 4, events
    # All processes exchange the same parts, whoever computes a gradient at once.
    pair = Pair()
    pair.step()
    if rank == 0:
        pair.one.parts[0].weight.register_hook(lambda g: None)
    assert events_of_parts(pair) == (["whole", *parts] if rank == 0 else [*parts, "whole"])


def check_order_is_that_of_the_first_process():
    """Parallel branches, called in another order in each process."""
    pair = Pair()

    def loss(model, x, order):
        return sum((model(x, order=[k]) ** 2).mean() for k in order)

    for _ in range(3):
        x = batch()
        order = np.roll(range(4), rank)
        loss(pair.model, paddle.to_tensor(x[mine]), order).backward()
        loss(pair.whole, paddle.to_tensor(x), range(4)).backward()
        pair.check()


def check_added_to_several_times():
    pair = Pair()
    for _ in range(3):  # learnt in the first step
        pair.step(order=[0, 1, 2, 1, 3, 1], cut=(1, 3, 5))
    pair = Pair()
    for _ in range(2):
        pair.step()
    for _ in range(2):  # seen when exchanges are under way
        pair.step(order=[0, 1, 2, 3, 2, 1], cut=(1, 2, 3, 4, 5))
    pair.step()
    pair = Pair(find_unused_parameters=True)
    pair.step()
    for _ in range(2):
        pair.step(order=[0, 1, 2, 3, 2, 1], cut=(1, 2, 3, 4, 5))


def check_shared_without_recomputation():
    pair = Pair()
    for _ in range(3):
        pair.step(order=[0, 1, 2, 3, 2, 1, 0])


def check_passes_that_are_not_exchanged():
    pair = Pair(find_unused_parameters=True)
    pair.step()
    for _ in range(2):
        with pair.model.no_sync():
            first = pair.losses(batch(), order=[0, 1])
            first[0].backward()
        second = pair.losses(batch(), order=[2, 3])  # nothing of the layers before
        second[0].backward()
        (first[1] + second[1]).backward()
        pair.check()
    pair = Pair()
    with pair.model.no_sync():
        first = pair.losses(batch(), order=[0, 1])
        first[0].backward()
    second = pair.losses(batch(), order=[2, 3])
    second[0].backward()  # all have been reached since the last exchange
    (first[1] + second[1]).backward()
    pair.check()


def check_parameters_that_come_late():
    pair = Pair(find_unused_parameters=True)
    pair.step(order=[0, 1])
    assert pair.one.parts[2].weight.grad is None
    for order in ([0, 1, 2], [0, 1, 2], [0, 1, 2, 3], [3], [0, 1, 2, 3]):
        for loss in pair.losses(batch(), order=order):
            loss.backward()
        for rate in pair.rates:
            rate.step()
            rate.clear_grad()
        close(pair.one, pair.whole)


def check_who_reads_a_gradient_waits():
    pair = Pair()
    pair.step()
    last = pair.one.parts[3].weight
    seen = []
    first = pair.losses(batch())
    pair.one.parts[0].weight.register_hook(lambda g: seen.append(last.grad.numpy()))
    first[0].backward()
    first[1].backward()
    close(pair.one, pair.whole, "gradients")
    np.testing.assert_array_equal(seen[0], last.grad.numpy())


class Halving:
    """Work that computes when it is waited for."""

    def __init__(self, bucket):
        self.bucket = bucket
        self.task = bucket.all_reduce(bucket.gradients, dist.ReduceOp.AVG)

    def wait(self):
        self.task.wait()
        for parameter, gradient in zip(self.bucket.parameters, self.bucket.gradients):
            gradient.scale_(0.5)
            assert parameter.grad is not None  # asks for itself


def check_work_is_waited_for_once():
    pair = Pair()
    pair.model.register_comm_hook(Halving)
    scale = 0.5 if size > 1 else 1.0
    for _ in range(3):
        first = pair.losses(batch())
        hook = pair.one.parts[0].weight.register_hook(
            lambda g: [p.grad for p in pair.one.parts[3].parameters()] and None
        )
        first[0].backward()
        (scale * first[1]).backward()
        hook.remove()
        pair.check()


def check_a_pass_that_fails_everywhere():
    pair = Pair()
    pair.step()

    def fail(g):
        raise ArithmeticError("on purpose")

    for _ in range(2):
        removable = pair.one.parts[0].weight.register_hook(fail)
        loss, _ = pair.losses(batch())
        try:
            loss.backward()
        except ArithmeticError as error:
            assert "on purpose" in str(error)
        else:
            raise AssertionError("nothing was raised")
        removable.remove()
        pair.rates[0].clear_grad()
        pair.step()


def check_two_models_in_one_loss():
    one, two = Pair(), Pair()
    for _ in range(3):
        x = batch()
        first, second = one.losses(x), two.losses(x)
        for a, b in zip(first, second):
            (a * b).backward() if a.shape == b.shape and size == 1 else (a + 2 * b).backward()
        if size == 1:
            one.check()
            two.check()
            continue
        one.check()
        two.check()


def check_second_derivatives():
    pair = Pair()
    for _ in range(3):
        x = batch()
        for model, part in ((pair.model, x[mine]), (pair.whole, x)):
            given = paddle.to_tensor(part, stop_gradient=False)
            (slope,) = paddle.grad(model(given).sum(), given, create_graph=True)
            ((slope**2).sum(1).mean() + (model(given) ** 2).mean()).backward()
        pair.check()


class Doubled(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensor()
        return dy * w, (dy * x).sum(0)


class WithPyLayer(Chain):
    def __init__(self):
        super().__init__()
        self.scale = self.create_parameter(
            [8], dtype="float64", attr=paddle.nn.initializer.Constant(0.7)
        )

    def forward(self, x):
        return super().forward(Doubled.apply(super().forward(x), self.scale))


def check_py_layers():
    pair = Pair(WithPyLayer)
    for _ in range(3):
        pair.step()


def check_gradients_in_float32_of_parameters_in_16_bits():
    paddle.seed(2)
    net = paddle.nn.Sequential(*[paddle.nn.Linear(8, 8) for _ in range(3)])
    sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    model = paddle.DataParallel(net, **tiny)
    net, sgd = paddle.amp.decorate(net, sgd, level="O2", dtype="bfloat16", master_grad=True)
    for _ in range(3):
        with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
            model(paddle.to_tensor(batch()[mine].astype("float32"))).astype(
                "float32"
            ).mean().backward()
        for p in net.parameters():
            assert p.dtype == paddle.bfloat16 and p.grad.dtype == paddle.float32
            told = []
            dist.all_gather(told, p.grad)
            assert all((t == told[0]).all() for t in told)
        sgd.step()
        sgd.clear_grad(set_to_zero=False)


def check_the_callers_gradient_stays_after_the_model_is_gone():
    net = Chain()
    model = paddle.DataParallel(net, **tiny)
    (model(paddle.to_tensor(batch()[mine])) ** 2).mean().backward()
    del model
    for p in net.parameters():
        p.clear_grad()
    (net(paddle.to_tensor(batch()[mine] + rank)) ** 2).mean().backward()
    told = []
    dist.all_gather(told, net.parts[0].weight.grad)
    assert size == 1 or (told[0] != told[1]).any()


def check_a_layer_without_parameters_is_refused():
    try:
        paddle.DataParallel(paddle.nn.ReLU())
    except AssertionError as error:
        assert "expected a layer with parameters that are trained" in str(error)
    else:
        assert size == 1


for name, test in list(globals().items()):
    if name.startswith("check_") and not (
        size == 1 and name == "check_exchange_begins_in_backward"
    ):
        draw.seed(5)
        test()
        dist.barrier()
print("all is well")
