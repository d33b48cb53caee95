"""Switches of DistributedStrategy in eager training, each beside what it stands for: float64."""

import copy
import os

import numpy as np

os.environ["ARGOSY_AMP_FLOAT16"] = "1"  # GradScaler takes effect
import argosy as paddle
import argosy.distributed as dist
from argosy import _core
from argosy.distributed import fleet

BATCH = 4
draw = np.random.RandomState(11)


def begin(**switches):
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    fleet.init(is_collective=True, strategy=strategy)
    return strategy


begin()
rank, size = fleet.worker_index(), fleet.worker_num()
mine = slice(BATCH * rank, BATCH * (rank + 1))


def network_of(seed=0):
    paddle.seed(seed)
    net = paddle.nn.Sequential(paddle.nn.Linear(5, 7), paddle.nn.Tanh(), paddle.nn.Linear(7, 2))
    return net.to(dtype="float64")


def sgd(net, rate=0.1):
    return paddle.optimizer.SGD(rate, parameters=net.parameters())


def batch():
    return draw.randn(BATCH * size, 5)


def loss_of(model, x):
    return (model(paddle.to_tensor(x)) ** 2).mean()


def close(one, two, digits=1e-12):
    for a, b in zip(one.parameters(), two.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=digits, atol=digits)


def same_everywhere(net):
    for p in net.parameters():
        told = []
        dist.all_gather(told, p)
        assert all((one == told[0]).all() for one in told)


def update(optimizer):
    optimizer.step()
    optimizer.clear_grad()


def raises(kind, text, function, *args):
    try:
        function(*args)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nothing was raised: {text}")


def check_gradient_merge():
    for average in (True, False):
        begin(gradient_merge=True, gradient_merge_configs={"k_steps": 3, "avg": average})
        net, whole = network_of(rank), network_of()
        model = fleet.distributed_model(net)
        optimizer = fleet.distributed_optimizer(sgd(net))
        reference = sgd(whole, 0.1 if average else 0.3)
        for step in range(9):
            if step % 3 == 0:
                before = copy.deepcopy(net.state_dict())
                start = network_of()
                start.set_state_dict(before)
                xs = []
            x = batch()
            xs.append(x)
            loss_of(model, x[mine]).backward()
            update(optimizer)
            if step % 3 < 2:
                close(net, start)
            else:
                loss_of(whole, np.concatenate(xs)).backward()
                update(reference)
                close(net, whole)
        assert optimizer.get_lr() == 0.1


def check_gradient_merge_by_minimize():
    begin(gradient_merge=True, gradient_merge_configs={"k_steps": 2, "avg": False})
    net, whole = network_of(rank), network_of()
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(sgd(net))
    reference = sgd(whole, 0.2)
    xs = [batch(), batch()]
    for x in xs:
        loss = loss_of(model, x[mine])
        loss.backward()
        operations, pairs = optimizer.minimize(loss)
        assert operations == [] and len(pairs) == 4
        optimizer.clear_gradients()
    loss_of(whole, np.concatenate(xs)).backward()
    update(reference)
    close(net, whole)
    assert all(p.grad is None or not p.grad.any() for p in net.parameters())
    raises(NotImplementedError, "parameters and no_grad_set are not supported",
           lambda: optimizer.minimize(loss, no_grad_set=set()))  # fmt: skip


def check_gradient_merge_with_a_scaler():
    begin(gradient_merge=True, gradient_merge_configs={"k_steps": 2, "avg": True})
    net, whole = network_of(rank), network_of()
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(sgd(net))
    scaler = fleet.distributed_scaler(
        paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=1)
    )
    reference = sgd(whole)
    for _ in range(3):
        xs = [batch(), batch()]
        for x in xs:
            scaler.scale(loss_of(model, x[mine])).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        loss_of(whole, np.concatenate(xs)).backward()
        update(reference)
        close(net, whole)
    assert float(scaler._scale) == 8.0 * 2**3  # it grew between updates only


def check_local_sgd():
    begin(localsgd=True, localsgd_configs={"k_steps": 2, "begin_step": 3})
    net = network_of(rank)
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(sgd(net))
    alone = [network_of() for _ in range(size)]  # what each process has, in all of them
    rates = [sgd(n) for n in alone]
    for step in range(1, 9):
        x = batch()
        loss_of(model, x[mine]).backward()
        update(optimizer)
        for r, n in enumerate(alone):
            own = slice(BATCH * r, BATCH * (r + 1)) if step >= 3 else slice(None)
            loss_of(n, x[own]).backward()
            update(rates[r])
        if step >= 4 and step % 2 == 0:
            means = [sum(ps) / size for ps in zip(*(n.parameters() for n in alone))]
            for n in alone:
                for p, mean in zip(n.parameters(), means):
                    p.set_value(mean)
        close(net, alone[rank])
    same_everywhere(net)


def check_other_rules():
    # Numbers of messages are float32: these are exact.
    lamb = {"lamb_weight_decay": 0.0625, "exclude_from_weight_decay": ["b_0"]}
    begin(lamb=True, lamb_configs=lamb)
    net, whole = network_of(rank), network_of()
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.Adam(0.1, beta1=0.8, parameters=net.parameters())
    )
    reference = paddle.optimizer.Lamb(
        0.1, 0.0625, 0.8, 0.999, 1e-8, parameters=whole.parameters(),
        exclude_from_weight_decay_fn=lambda p: "b_0" in p.name,
    )  # fmt: skip
    train_both(model, optimizer, whole, reference)
    raises(TypeError, "strategy.lamb stands for optimizer.Adam: expected one, got SGD",
           fleet.distributed_optimizer, sgd(net))  # fmt: skip
    decaying = paddle.optimizer.Adam(0.1, weight_decay=0.1, parameters=net.parameters())
    raises(NotImplementedError, "expected a plain Adam, got one with regularization",
           fleet.distributed_optimizer, decaying)  # fmt: skip

    begin(lars=True, lars_configs={"lars_coeff": 2**-7, "lars_weight_decay": 2**-10})
    net, whole = network_of(rank), network_of()
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.Momentum(0.1, 0.8, parameters=net.parameters())
    )
    reference = paddle.incubate.optimizer.LarsMomentumOptimizer(
        0.1, 0.8, 2**-7, 2**-10, parameter_list=whole.parameters()
    )
    train_both(model, optimizer, whole, reference)


def train_both(model, optimizer, whole, reference, steps=5, digits=1e-12):
    for _ in range(steps):
        x = batch()
        loss_of(model, x[mine]).backward()
        update(optimizer)
        loss_of(whole, x).backward()
        update(reference)
    close(model, whole, digits)


def check_sixteen_bits_on_the_wire():
    begin(fp16_allreduce=True)
    net, whole = network_of(rank).to(dtype="float32"), network_of().to(dtype="float32")
    model = fleet.distributed_model(net)
    optimizer, reference = fleet.distributed_optimizer(sgd(net)), sgd(whole)
    for _ in range(20):
        x = batch().astype("float32")
        loss = loss_of(model, x[mine])
        loss.backward()
        update(optimizer)
        wanted = loss_of(whole, x)
        wanted.backward()
        update(reference)
    if size > 1:
        count = sum(p.size for p in net.parameters())
        sent = [line for line in _core.comm_records().splitlines() if "all_reduce" in line]
        assert f"of {count} float16" in sent[-1], sent[-1]
        dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    np.testing.assert_allclose(loss.item(), wanted.item(), rtol=1e-3)
    same_everywhere(net)


def check_batch_norm_over_processes():
    begin(sync_batch_norm=True)

    def norms(seed=0):
        paddle.seed(seed)
        parts = (paddle.nn.Linear(5, 4, bias_attr=False), paddle.nn.BatchNorm1D(4))
        return paddle.nn.Sequential(*parts).to(dtype="float64")

    net, whole = norms(rank), norms()
    model = fleet.distributed_model(net)
    assert isinstance(net[1], paddle.nn.SyncBatchNorm)
    for _ in range(3):
        x = batch()
        (model(paddle.to_tensor(x[mine])) ** 3).mean().backward()
        (whole(paddle.to_tensor(x)) ** 3).mean().backward()
        for n in (net, whole):
            update(sgd(n))
    close(net, whole)


def check_recompute():
    begin(recompute=True, recompute_configs={"checkpoints": ["0", "2"]})
    net, whole = network_of(rank), network_of()
    calls = []
    net[0].register_forward_post_hook(lambda *a: calls.append(1))
    inner = net[2].forward
    net[2].forward = lambda x: calls.append(2) or inner(x)
    model = fleet.distributed_model(net)
    train_both(model, fleet.distributed_optimizer(sgd(net)), whole, sgd(whole), 3)
    assert calls.count(2) == 6, calls
    model.eval()
    calls.clear()
    loss_of(model, batch()[mine])
    assert calls.count(2) == 1, calls
    begin(recompute=True, recompute_configs={"checkpoints": ["nobody"]})
    raises(ValueError, "the model has no sublayer 'nobody'", fleet.distributed_model, network_of())
    begin(recompute=True)
    raises(ValueError, "expected names of sublayers", fleet.distributed_model, network_of())
    begin(recompute=True, recompute_configs={"checkpoints": ["0"], "enable_offload": True})
    raises(
        NotImplementedError,
        "enable_offload is not supported",
        fleet.distributed_model,
        network_of(),
    )


def check_amp():
    begin(amp=True, amp_configs={"use_pure_bf16": True, "custom_black_list": ["tanh"]})
    net = network_of(rank).to(dtype="float32")
    seen = []
    net[1].register_forward_post_hook(lambda layer, x, y: seen.append(y.dtype))
    optimizer = fleet.distributed_optimizer(sgd(net))
    model = fleet.distributed_model(net)
    assert net[0].weight.dtype == paddle.bfloat16
    out = model(paddle.to_tensor(batch()[mine].astype("float32")))
    assert out.dtype == paddle.bfloat16 and seen == [paddle.float32], (out.dtype, seen)
    out.astype("float32").mean().backward()
    update(optimizer)
    same_everywhere(net)
    assert paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype == paddle.float32
    begin(amp=True, amp_configs={"use_pure_bf16": True, "use_pure_fp16": True})
    raises(
        ValueError, "expected one of use_pure_fp16 and use_pure_bf16", fleet.distributed_model, net
    )
    begin(amp=True, amp_configs={"custom_black_varnames": ["x"]})
    raises(
        NotImplementedError, "custom_black_varnames is not supported", fleet.distributed_model, net
    )


def doubled(bucket):
    return bucket.all_reduce(bucket.gradients, dist.ReduceOp.SUM)


def check_communication_hook():
    for hook in (doubled, f"{__name__}:doubled"):
        begin(communication_hook=hook)
        net, whole = network_of(rank), network_of()
        model = fleet.distributed_model(net)
        train_both(model, fleet.distributed_optimizer(sgd(net)), whole, sgd(whole, 0.1 * size), 2)
    raises(
        TypeError, "communication_hook: expected a function", begin_with, "communication_hook", 3
    )
    if size > 1:
        begin(communication_hook=doubled, fp16_allreduce=True)
        raises(
            ValueError, "expected False beside a communication_hook", fleet.distributed_model, net
        )


def begin_with(name, value):
    begin(**{name: value})


def check_all_skip_a_step_that_one_cannot_make():
    begin(localsgd=True, localsgd_configs={"k_steps": 100, "begin_step": 1})
    net = network_of(rank)
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(sgd(net))
    scaler = fleet.distributed_scaler(
        paddle.amp.GradScaler(init_loss_scaling=4.0, decr_every_n_nan_or_inf=1)
    )
    before = network_of()
    x = batch()
    if rank == size - 1:
        x[mine] = np.inf
    scaler.scale(loss_of(model, x[mine])).backward()
    scaler.step(optimizer)
    scaler.update()
    close(net, before)
    assert float(scaler._scale) == 2.0


def check_what_is_not_there():
    for name in (
        "dgc",
        "pipeline",
        "sharding",
        "adaptive_localsgd",
        "tensor_parallel",
        "asp",
        "qat",
    ):
        raises(NotImplementedError, f"strategy.{name} is not supported", begin_with, name, True)
    begin()
    fleet.distributed_model(network_of())
    later = fleet.DistributedStrategy()
    later.sync_batch_norm = True
    raises(RuntimeError, "strategy.sync_batch_norm concerns the model",
           fleet.distributed_optimizer, sgd(network_of()), later)  # fmt: skip
    later = fleet.DistributedStrategy()
    later.gradient_merge = True
    later.gradient_merge_configs = {"k_steps": 0}
    raises(ValueError, "k_steps: expected 1 or more, got 0",
           fleet.distributed_optimizer, sgd(network_of()), later)  # fmt: skip


for name, test in list(globals().items()):
    if name.startswith("check_"):
        test()
        fleet.barrier_worker()
print("all is well")
