"""Collectives in captured functions and static Programs: what eager calls give, and gradients."""

import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
pair = dist.new_group([0, size - 1]) if size > 1 else dist.new_group([0])


def numbers(seed, *shape):
    return np.random.RandomState(seed).randint(-9, 9, shape).astype("float64")


def all_reduces(x):
    out = []
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.AVG):
        y = x * 2
        dist.all_reduce(y, op=op)
        out.append(y + 1)
    return out


def to_and_from_one(x):
    y, z = x + 1, x * 3
    dist.broadcast(y, src=size - 1)
    dist.reduce(z, dst=0)
    return [y, z]


def gathers(x):
    parts, like = [], paddle.zeros([size, *x.shape], x.dtype)
    dist.all_gather(parts, x)
    dist.all_gather(like, x * 2)
    at_root = []
    dist.gather(x, at_root, dst=0)
    return [*parts, like, *(at_root if rank == 0 else [])]


def scatters(x):
    mine, sum_of = paddle.zeros_like(x), paddle.zeros_like(x)
    dist.scatter(mine, [x * (k + 1) for k in range(size)] if rank == 0 else None, src=0)
    dist.reduce_scatter(sum_of, [x + k for k in range(size)])
    return [mine, sum_of]


def exchanges(x):
    out = []
    dist.alltoall(out, [x * (k + 1) for k in range(size)])
    both = paddle.concat([x + k for k in range(size)])
    single = paddle.zeros_like(both)
    dist.alltoall_single(single, both)
    return [*out, single]


def unequal(x):
    mine = paddle.concat([x] * (rank + 1))
    parts = [paddle.zeros([(k + 1) * x.shape[0]], x.dtype) for k in range(size)]
    dist.all_gather(parts, mine)
    return parts


def messages(x):
    if size == 1:
        return [x]
    y = paddle.zeros_like(x)
    dist.send(x * 5, dst=(rank + 1) % size)
    dist.recv(y, src=(rank - 1) % size)
    dist.barrier()
    return [y]


def in_a_group(x):
    y = x * 2
    if pair.is_member():
        dist.all_reduce(y, group=pair)
    dist.stream.all_reduce(y, sync_op=True, use_calc_stream=True)
    task = dist.all_reduce(y, sync_op=False)
    task.wait()
    return [y]


def beside_others(x):
    sums = [x * 2, x + 1]
    tasks = [dist.all_reduce(y, sync_op=False) for y in sums]
    between = x.tanh() * 3
    for task in tasks:
        task.wait()
    last = x - 1
    dist.all_reduce(last)  # nobody else reads it
    return [*sums, between + sums[0], between, last, x + 0]


def all_beside_others(x):
    """Every collective, with others and operations between it and who reads it."""
    y, z = x * 2, x + 3
    tasks = [dist.broadcast(y, src=size - 1, sync_op=False), dist.reduce(z, dst=0, sync_op=False)]
    parts, rows, sum_of, mine = [], [], paddle.zeros_like(x), paddle.zeros_like(x)
    sent = x.exp()
    tasks.append(dist.all_gather(parts, sent, sync_op=False))
    tasks.append(dist.reduce_scatter(sum_of, [x * k for k in range(size)], sync_op=False))
    tasks.append(dist.alltoall(rows, [x - k for k in range(size)], sync_op=False))
    scattered = [x + k for k in range(size)] if rank == 0 else None
    tasks.append(dist.scatter(mine, scattered, src=0, sync_op=False))
    between = sent * 5  # reads what is being sent
    for task in tasks:
        task.wait()
    return [y, z, *parts, sum_of, *rows, mine, between]


def through_views(x):
    base = x * 1
    view = base.reshape([2, 2]).t()
    dist.all_reduce(view)
    parts = [base * 2, base * 3]
    dist.broadcast(parts[1], src=0)
    rows = paddle.zeros([size * 2, 2], x.dtype)
    dist.all_gather(rows, view)
    return [view, base, *parts, rows]


def in_control_flow(x):
    total, k = paddle.zeros_like(x), paddle.to_tensor(0)
    while k < 3:
        y = x * (k + 1)
        dist.all_reduce(y)
        if k == 1:
            dist.broadcast(y, src=size - 1)
        total = total + y
        k += 1
    return [total]


FUNCTIONS = (
    all_reduces, to_and_from_one, gathers, scatters, exchanges, unequal, messages, in_a_group, beside_others,
    all_beside_others, through_views,
)  # fmt: skip

x = numbers(rank, 4)
wanted = {}
for f in (*FUNCTIONS, in_control_flow):
    wanted[f] = [t.numpy() for t in f(paddle.to_tensor(x))]
    captured = paddle.jit.to_static(f, full_graph=True)
    for _ in range(3):
        found = captured(paddle.to_tensor(x))
        for one, two in zip(found, wanted[f], strict=True):
            np.testing.assert_array_equal(one.numpy(), two, err_msg=f.__name__)


# Gradients: every rank's loss is its own; the gradient is that of their sum.
@paddle.jit.to_static(full_graph=True)
def loss_of(x, weight):
    y = x * x
    dist.all_reduce(y)
    parts = []
    dist.all_gather(parts, x)
    return ((y + parts[0]) * weight).sum()


t, weight = paddle.to_tensor(x, stop_gradient=False), numbers(100 + rank, 4)
loss_of(t, paddle.to_tensor(weight)).backward()
weights = sum(numbers(100 + k, 4) for k in range(size))
np.testing.assert_array_equal(t.grad.numpy(), 2 * x * weights + (weights if rank == 0 else 0))

# Static Programs.
paddle.enable_static()
exe = paddle.static.Executor()
for f in FUNCTIONS:
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        outs = f(paddle.static.data("x", [4], "float64"))
    for _ in range(2):
        found = exe.run(program, feed={"x": x}, fetch_list=outs)
        for one, two in zip(found, wanted[f], strict=True):
            np.testing.assert_array_equal(one, two, err_msg=f.__name__)
    assert size == 1 or f is gathers or "group" in str(program), program

# A Program that was saved runs where the group exists.
program = paddle.static.Program()
with paddle.static.program_guard(program):
    data = paddle.static.data("x", [4], "float64")
    y = data + 0
    dist.all_reduce(y)
    stored = paddle.static.serialize_program([data], [y], program=program)
loaded = paddle.static.deserialize_program(stored)
(found,) = exe.run(
    loaded, feed={"x": x}, fetch_list=[loaded.global_block().ops[-1].output_arg_names[0]]
)
np.testing.assert_array_equal(found, sum(numbers(k, 4) for k in range(size)))

if size > 1:
    dist.destroy_process_group()
    try:
        exe.run(program, feed={"x": x}, fetch_list=[y])
    except dist.CommunicationError as error:
        assert "[all_reduce] the Program exchanges tensors in group 0" in str(error), error
        assert "Do this: call init_parallel_env() before the Program runs" in str(error), error
    else:
        sys.exit("a Program ran without its group")
print("all is well")
