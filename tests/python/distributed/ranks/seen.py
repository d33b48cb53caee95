"""Gradients that lie where all processes of the host see them, unless SEEN says no."""

import os
import resource

import numpy as np

import argosy as paddle
import argosy.distributed as dist

if "SMALL_FILES" in os.environ:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, resource.RLIM_INFINITY))
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
BATCH, WIDTH = 4, 130  # a weight of 135,200 bytes


def is_seen(tensor):
    at = tensor.data_ptr()
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= at < end:
                return "argosy-tensors" in line
    raise AssertionError("no such address")


def made(seed):
    paddle.seed(seed)
    network = paddle.nn.Sequential(
        paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.Tanh(), paddle.nn.Linear(WIDTH, WIDTH)
    )
    network.to(dtype="float64")
    return network, paddle.optimizer.Momentum(0.1, parameters=network.parameters())


def loss_of(network, x):
    return (network(paddle.to_tensor(x)) ** 2).mean()


def step(optimizer):
    optimizer.step()
    optimizer.clear_grad()


def close(one, two):
    for a, b in zip(one.parameters(), two.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


(network, optimizer), (whole, reference) = made(1), made(1)
model = paddle.DataParallel(network)
draw = np.random.RandomState(5)
mine = slice(rank * BATCH, (rank + 1) * BATCH)
for k in range(8):
    x = draw.randn(size * BATCH, WIDTH)
    if k == 3:  # what is added up before
        with model.no_sync():
            loss_of(model, x[mine]).backward()
        loss_of(whole, x).backward()
    loss_of(model, x[mine]).backward()
    loss_of(whole, x).backward()
    for number, (name, p) in enumerate(network.named_parameters()):
        expected = "SEEN" not in os.environ and size > 1 and number in (0, 2)
        assert is_seen(p.grad) == expected, (k, name)
    assert not is_seen(whole[0].weight.grad)
    step(optimizer), step(reference)
    close(network, whole)

# A child writes to memory of its own.
x = draw.randn(size * BATCH, WIDTH)
loss_of(model, x[mine]).backward()
gradient = network[0].weight.grad
before = gradient.numpy().copy()
child = os.fork()
if child == 0:
    same = np.array_equal(gradient.numpy(), before)
    with paddle.no_grad():
        gradient.fill_(7.0)
    os._exit(0 if same and float(gradient.min()) == 7.0 else 1)
assert os.waitpid(child, 0)[1] == 0
np.testing.assert_array_equal(gradient.numpy(), before)
dist.barrier()
loss_of(whole, x).backward()
np.testing.assert_allclose(gradient.numpy(), whole[0].weight.grad.numpy(), rtol=1e-12, atol=1e-12)

# Another group's thread, and other groups of the same processes.
if size > 2:
    group = dist.new_group([0, size - 1])
    if group.is_member():
        with paddle.no_grad():
            gradient.fill_(rank + 1.0)
        dist.all_reduce(gradient, group=group)
        assert float(gradient.min()) == float(gradient.max()) == size + 1
print("all is well")
