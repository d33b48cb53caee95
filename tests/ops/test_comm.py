"""Ops of collectives where this process is the only rank: what goes in comes out, in every dtype and form.
With more ranks: tests/cpp/parallel, tests/python/distributed/test_in_programs.py."""

import numpy as np
import pytest
from tests.ops.harness import ALL, COMPLEX, FLOAT, A, Case, table_tests

import argosy
from argosy import _core
from argosy.distributed._groups import default_group

COVERS = {
    "send_to": "test_messages_to_oneself_are_refused",
    "recv_from": "test_messages_to_oneself_are_refused",
    "barrier": "test_start_and_wait",
    "all_reduce_start": "test_start_and_wait",
    "all_reduce_wait": "test_start_and_wait",
    "average_rows": "test_rows",
    "collective_end": "test_begin_and_end",
    **dict.fromkeys(
        [
            f"{name}_begin"
            for name in (
                "all_gather", "reduce_scatter", "gather_to", "scatter_from", "reduce_to",
                "broadcast_from", "alltoall", "all_gather_unequal",
            )
        ],
        "test_begin_and_end",
    ),
}  # fmt: skip
ops = _core.ops
group = default_group("tests")  # held: operations find it by its number


def itself(x, *others, **attrs):
    return x


def normalized(x, mean, variance, weight, bias, ranks, epsilon=1e-5, channel_last=False):
    """By the statistics of x."""
    channel = x.ndim - 1 if channel_last else 1
    axes = tuple(i for i in range(x.ndim) if i != channel)
    spread = [-1 if i == channel else 1 for i in range(x.ndim)]
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)
    y = y if weight is None else y * weight.reshape(spread)
    y = y if bias is None else y + bias.reshape(spread)
    return x if x.size == x.shape[channel] else y, None, None, None


STATS = (A(3, grad=False), A(3, low=0.5, high=2, grad=False))
LOOSE = {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2), "float32": (2e-5, 2e-5), "float64": (1e-10, 1e-11)}  # fmt: skip


# fmt: off
CASES = [
    *(Case(name, [A(2, 3)], ref=itself, dtypes=ALL, shapes=[[()], [(0, 3)]])
      for name in ("all_reduce", "reduce_to", "broadcast_from")),
    Case("reduce_to", [A(2, 3)], {"others": "zero"}, ref=itself),
    Case("broadcast_from", [A(2, 3)], {"others": "own"}, ref=itself),
    Case("all_reduce", [A(2, 3)], {"reduce": "avg"}, ref=itself, dtypes=(*FLOAT, *COMPLEX)),
    Case("all_reduce", [A(2, 3)], {"reduce": "max"}, ref=itself, dtypes=FLOAT, grad=False, errors=[
        ([A(2)], {"reduce": "mode"}, ValueError, "reduce: expected sum, prod, max, min or avg, got 'mode'"),
        ([A(2, dtype="int64")], {"reduce": "avg"}, TypeError, "avg of int64 means nothing"),
        ([A(2)], {"group": 77}, argosy.distributed.CommunicationError, "got no such group")]),
    *(Case(name, [A(2, 3)], {"ranks": 1}, ref=lambda x, ranks: x[None], dtypes=ALL, shapes=[[()], [(0, 3)]])
      for name in ("all_gather", "gather_to")),
    Case("all_gather", [A(2)], {"ranks": 1}, ref=lambda x, ranks: x[None], errors=[
        ([A(2)], {"ranks": 3}, ValueError, "made for a group of 3 ranks: expected group 0 to be one, got 1"),
        ([A(2)], {"ranks": 0}, ValueError, "ranks: expected the number of the group's ranks, got 0")]),
    Case("reduce_scatter", [A(1, 2, 3)], {"ranks": 1}, ref=lambda x, ranks: x[0], dtypes=ALL,
         shapes=[[(1,)], [(1, 0, 3)]]),
    Case("scatter_from", [A(2, 3, grad=False), A(1, 2, 3)], {"ranks": 1},
         ref=lambda like, x, ranks: x[0], dtypes=ALL, shapes=[[(), (1,)], [(0, 3), (1, 0, 3)]]),
    Case("alltoall", [[A(2, 3)], [A(2, 3, grad=False)]], ref=lambda xs, likes: (xs[0],), dtypes=ALL,
         errors=[([[A(2)], []], {}, ValueError, "a tensor to send and one to receive for each rank")]),
    Case("sync_batch_norm", [A(4, 3, 2), *STATS, A(3), A(3)], {"ranks": 1}, ref=normalized, tol=LOOSE, errors=[
        ([A(4), *STATS, None, None], {"ranks": 1}, ValueError, "x: expected 2 dimensions or more"),
        ([A(4, 2), *STATS, None, None], {"ranks": 1}, ValueError, "running_mean must have 2 elements"),
        ([A(4, 3), *STATS, None, None], {"ranks": 2}, ValueError, "made for a group of 2 ranks: expected group 0 to be one")]),
    Case("sync_batch_norm", [A(4, 2, 3), *STATS, A(3), None], {"ranks": 1, "epsilon": 0.1, "channel_last": True},
         ref=normalized, tol=LOOSE),
    Case("sync_batch_norm", [A(1, 3), *STATS, A(3), A(3)], {"ranks": 1}, ref=normalized, note="one value"),
    Case("all_gather_unequal", [A(2, 3), [A(2, 3, grad=False)]], ref=lambda x, likes: (x,), dtypes=ALL),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)

DTYPES = ("bool", "int64", "bfloat16", "float64", "complex64")
SHAPES = ([], [0, 3], [2, 3])


def number(shape, dtype):
    count = int(np.prod(shape))
    return argosy.to_tensor(np.arange(count).reshape(shape) + 1).astype(dtype)


def same(one, two):
    assert one.dtype == two.dtype and one.shape == two.shape
    np.testing.assert_array_equal(
        one.astype("complex128").numpy(), two.astype("complex128").numpy()
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_start_and_wait(dtype):
    xs = [number(shape, dtype) for shape in SHAPES]
    before = [x.clone() for x in xs]
    started = ops.all_reduce_start(xs)
    ops.barrier()
    ops.all_reduce_wait(xs, started)
    for x, was in zip(xs, before):
        same(x, was)
    with pytest.raises(ValueError, match="was not started, or was waited for before"):
        ops.all_reduce_wait(xs, started)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_begin_and_end(dtype, shape):
    x = number(shape, dtype)
    row = x.unsqueeze(0)
    begun = [
        (row, [x], ops.all_gather_begin(x, 1)),
        (x, [row], ops.reduce_scatter_begin(row, 1)),
        (row, [x], ops.gather_to_begin(x, 0, 1)),
        (x, [x, row], ops.scatter_from_begin(x, row, 0, 1)),
        (x, [x], ops.reduce_to_begin(x, 0)),
        (x, [x], ops.broadcast_from_begin(x, 0)),
        (x, [x], ops.alltoall_begin([x], [x])),
        (x, [x], ops.all_gather_unequal_begin(x, [x])),
    ]
    for wanted, held, (under_way, started) in reversed(begun):
        (got,) = ops.collective_end([under_way], held, started)
        same(got, wanted)
        with pytest.raises(ValueError, match="was not started, or was waited for before"):
            ops.collective_end([under_way], held, started)


def test_statistics():
    x = np.random.RandomState(0).rand(4, 3, 2)
    running = argosy.zeros([3], "float64"), argosy.ones([3], "float64")
    _, mean, variance, count = ops.sync_batch_norm(
        argosy.to_tensor(x), *running, None, None, 1, 0, 0.75
    )
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), x.var((0, 2)))
    assert count.tolist() == [8]
    np.testing.assert_allclose(running[0].numpy(), 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(running[1].numpy(), 0.75 + 0.25 * x.var((0, 2)))


def test_rows():
    table = argosy.nn.Embedding(5, 2, sparse=True)
    table(argosy.to_tensor([3, 1, 3])).sum().backward()
    gradient = table.weight.grad
    average = ops.average_rows(gradient)
    assert average.is_selected_rows()
    same(ops.rows_to_dense(average), ops.rows_to_dense(gradient))


def test_messages_to_oneself_are_refused():
    x = number([2], "float32")
    for f in (ops.send_to, ops.recv_from):
        with pytest.raises(ValueError, match="expected another rank, got this one, 0"):
            f(x)


def test_operands_of_a_start_have_one_dtype():
    x = number([2], "float32")
    with pytest.raises(TypeError, match="tensors of one call have one dtype"):
        ops.all_reduce_start([x, x.astype("float64")])
    with pytest.raises(ValueError, match="others: expected own or zero, got 'none'"):
        ops.reduce_to(x, 0, 0, "sum", "none")
