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
}
ops = _core.ops
group = default_group("tests")  # held: operations find it by its number


def itself(x, *others, **attrs):
    return x


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
