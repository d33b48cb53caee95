"""Every collective of every rank, compared with NumPy. An error ends the rank."""

import os

import numpy as np

import argosy as paddle
import argosy.distributed as dist

group = dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
alone = size == 1
if alone:
    assert not dist.is_initialized() and dist.get_backend() == "NONE"
else:
    engine = os.environ.get("ENGINE") or os.environ.get("ARGOSY_COMM_ENGINE") or "shm"
    assert dist.is_initialized() and dist.get_backend() == engine.upper()
    assert (group.rank, group.nranks, group.id) == (rank, size, 0)


def of(rank, shape=(5, 3), dtype="float32", salt=0):
    """What a rank has; small numbers, which all dtypes have."""
    draw = np.random.RandomState(100 * salt + rank)
    values = draw.randint(0 if dtype.startswith("uint") else -3, 4, shape)
    return values.astype(dtype)


def all_of(**given):
    return np.stack([of(r, **given) for r in range(size)])


def tensor(array):
    return paddle.to_tensor(array)


def same(got, want):
    got = got.numpy() if isinstance(got, paddle.Tensor) else np.asarray(got)
    np.testing.assert_array_equal(got, want)


def mean(total):
    # NumPy divides complex numbers by complex ones, which rounds more often
    if np.iscomplexobj(total):
        return (total.real / size + 1j * (total.imag / size)).astype(total.dtype)
    return (total / size).astype(total.dtype)


REDUCE = {
    dist.ReduceOp.SUM: lambda a: a.sum(0, dtype=a.dtype),
    dist.ReduceOp.MAX: lambda a: a.max(0),
    dist.ReduceOp.MIN: lambda a: a.min(0),
    dist.ReduceOp.PROD: lambda a: a.prod(0, dtype=a.dtype),
    dist.ReduceOp.AVG: lambda a: mean(a.sum(0)),
}
DTYPES = "float32 float64 float16 int8 uint8 int16 int32 int64 complex64 complex128".split()

for dtype in DTYPES:
    for op, reference in REDUCE.items():
        if dtype.startswith("complex") and op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN):
            continue
        if op == dist.ReduceOp.AVG and "int" in dtype:
            continue
        for shape in ((5, 3), (), (0, 4), (70001,)):
            x = tensor(of(rank, shape, dtype))
            assert dist.all_reduce(x, op=op).wait()
            same(x, reference(all_of(shape=shape, dtype=dtype)))
            assert x.shape == list(shape)

# bfloat16: summed in float32, rounded once
x = paddle.to_tensor([256.0 if rank == 0 else 1.0], dtype="bfloat16")
dist.all_reduce(x)
assert float(x) == float(paddle.to_tensor([256.0 + size - 1], dtype="bfloat16"))

flags = tensor(np.array([rank == 0, True, False]))
dist.all_reduce(flags, op=dist.ReduceOp.MAX)
same(flags, [True, True, False])
dist.all_reduce(flags, op=dist.ReduceOp.PROD)
same(flags, [True, True, False])

for call in (
    lambda: dist.all_reduce(tensor(np.array([1])), op=dist.ReduceOp.AVG),
    lambda: dist.all_reduce(tensor(np.array([1j])), op=dist.ReduceOp.MAX),
):
    try:
        call()
    except TypeError as error:
        assert "[all_reduce]" in str(error) and "means nothing" in str(error), error
    else:
        raise AssertionError("nothing was raised")

# not contiguous, and a view: what is beside it stays
base = tensor(of(rank, (4, 6)))
want = of(rank, (4, 6))
want[:, 1::2] = all_of(shape=(4, 6)).sum(0)[:, 1::2]
view = base[:, 1::2]
dist.all_reduce(view)
same(base, want)
x = tensor(of(rank, (4, 6))).transpose([1, 0])
dist.broadcast(x, src=size - 1)
same(x, of(size - 1, (4, 6)).T)

x = tensor(of(rank))
dist.reduce(x, dst=size - 1, op=dist.ReduceOp.MAX)
same(x, all_of().max(0) if rank == size - 1 else of(rank))

for dtype in [*DTYPES, "bool"]:
    x = tensor(of(rank, dtype=dtype))
    dist.broadcast(x, 0)
    same(x, of(0, dtype=dtype))
    parts = []
    dist.all_gather(parts, tensor(of(rank, dtype=dtype)))
    same(np.stack([p.numpy() for p in parts]), all_of(dtype=dtype))

parts = [paddle.zeros([r + 1, 2]) for r in range(size)]  # unequal
dist.all_gather(parts, tensor(of(rank, (rank + 1, 2))))
for r, part in enumerate(parts):
    same(part, of(r, (r + 1, 2)))
whole = paddle.zeros([5 * size, 3])
dist.stream.all_gather(whole, tensor(of(rank)), use_calc_stream=True)
same(whole, np.concatenate(list(all_of())))

parts = [] if rank == 0 else None
dist.gather(tensor(of(rank)), parts, dst=0)
if rank == 0:
    same(np.stack([p.numpy() for p in parts]), all_of())

x = paddle.zeros([5, 3])
dist.scatter(x, [tensor(of(r, salt=7)) for r in range(size)] if rank == 0 else None, src=0)
same(x, of(rank, salt=7))
dist.stream.scatter(x, tensor(np.concatenate(list(all_of(salt=3)))), src=size - 1)
same(x, of(rank, salt=3))

x = paddle.zeros([5, 3])
dist.reduce_scatter(x, [tensor(of(r, salt=rank)) for r in range(size)])
same(x, sum(of(rank, salt=r) for r in range(size)))
dist.stream.reduce_scatter(x, tensor(np.concatenate([of(r, salt=rank) for r in range(size)])))
same(x, sum(of(rank, salt=r) for r in range(size)))

out = []
dist.alltoall(out, [tensor(of(r, salt=rank)) for r in range(size)])
for r, got in enumerate(out):
    same(got, of(rank, salt=r))
# rank a sends a + b + 1 rows to rank b
send = [rank + r + 1 for r in range(size)]
data = [of(r, (n, 2), salt=rank) for r, n in enumerate(send)]
got = paddle.zeros([sum(send), 2])
dist.alltoall_single(got, tensor(np.concatenate(data)), send, send)
same(got, np.concatenate([of(rank, (rank + r + 1, 2), salt=r) for r in range(size)]))
got = paddle.zeros([2 * size])
dist.alltoall_single(got, paddle.arange(2 * size, dtype="float32") + 100 * rank)
same(got, [100 * r + 2 * rank + k for r in range(size) for k in (0, 1)])

# tasks: several under way, waited for in another order
xs = [tensor(of(rank, salt=k)) for k in range(8)]
tasks = [dist.all_reduce(x, sync_op=False) for x in xs]
for task in reversed(tasks):
    task.wait()  # on a device its stream waits, and the host goes on
for k, x in enumerate(xs):
    same(x, all_of(salt=k).sum(0))
assert all(task.is_completed() for task in tasks)
x = tensor(of(rank))
dist.all_reduce(x, sync_op=False)
dist.wait(x)
same(x, all_of().sum(0))

# messages
if not alone:
    right, left = (rank + 1) % size, (rank - 1) % size
    for shape in ((5, 3), (0,), (), (60001,)):
        x = paddle.zeros(shape)
        ops = [
            dist.P2POp(dist.isend, tensor(of(rank, shape)), right),
            dist.P2POp(dist.irecv, x, left),
        ]
        for task in dist.batch_isend_irecv(ops):
            task.wait()
        same(x, of(left, shape))
    x = paddle.zeros([5, 3])
    if rank == 0:
        dist.send(tensor(of(0)), dst=1)
        dist.recv(x, src=1)
        same(x, of(1))
    elif rank == 1:
        dist.recv(x, src=0)
        same(x, of(0))
        dist.isend(tensor(of(1)), dst=0).wait()
    objects = ["one", {"two": [2]}, None]
    if rank == 0:
        dist.send_object_list(objects, dst=1)
        dist.send_object_list(objects, dst_in_group=1)
        got = [0] * 2
        dist.recv_object_list(got, src=1)
        assert got == ["x" * 300000, 1]
    elif rank == 1:
        got = [0] * 3
        dist.recv_object_list(got)
        assert got == objects
        try:
            dist.recv_object_list([0] * 2, src_in_group=0)
        except ValueError as error:
            assert "expected room for the 3 objects that process 0 sends, got 2" in str(error), (
                error
            )
        else:
            raise AssertionError("nothing was raised")
        dist.send_object_list(["x" * 300000, 1])

for call in (
    lambda: dist.send_object_list([], dst=0),
    lambda: dist.recv_object_list(None, src=0),
    lambda: dist.send_object_list([1], dst=0, dst_in_group=0),
    lambda: dist.recv_object_list([1], src_in_group=size),
):
    try:
        call()
    except ValueError as error:
        assert "_object_list] " in str(error) and "Do this: " in str(error), error
    else:
        raise AssertionError("nothing was raised")

# objects
objects = []
dist.all_gather_object(objects, {"rank": rank, "text": "x" * 1000 * rank})
assert objects == [{"rank": r, "text": "x" * 1000 * r} for r in range(size)]
objects = [rank, "mine"] if rank == size - 1 else [None, None]
dist.broadcast_object_list(objects, src=size - 1)
assert objects == [size - 1, "mine"]
out = []
dist.scatter_object_list(out, [f"for {r}" for r in range(size)] if rank == 0 else None, src=0)
assert out == [f"for {rank}"]

# groups: the even ones, and each alone
even = list(range(0, size, 2))
part = dist.new_group(even)
own = [dist.new_group([r]) for r in range(size)][rank]
assert part.is_member() == (rank in even) and dist.get_group(part.id) is part
assert dist.get_world_size(part) == (len(even) if rank in even else -1)
assert dist.get_rank(part) == (even.index(rank) if rank in even else -1)
if part.is_member():
    x = tensor(of(rank))
    dist.all_reduce(x, group=part)
    same(x, sum(of(r) for r in even))
    dist.broadcast(x, src=even[-1], group=part)
x = tensor(of(rank))
dist.all_reduce(x, group=own)
same(x, of(rank))
if not alone:
    paddle.enable_static()
    objects = []
    dist.all_gather_object(objects, rank)  # in static mode too
    assert objects == list(range(size))
    paddle.disable_static()
dist.barrier()
dist.destroy_process_group(own)
assert dist.get_group(own.id) is None
dist.destroy_process_group()
assert not dist.is_initialized()
print("all is well")
