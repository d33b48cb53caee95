"""begin_collectives, where this process is the only rank. With more: tests/python/distributed."""

import numpy as np
from tests.python.passes.helpers import Recorded, ops

import argosy
from argosy import _core
from argosy.distributed._groups import default_group

group = default_group("tests")  # held: operations find it by its number
x = np.linspace(-1, 1, 12).reshape(3, 4)


def test_what_is_read_at_once_stays():
    with Recorded() as r:
        a = r.input(x)
        r.fetch(_core.ops.all_reduce(a + 1) * 2)
    assert ops(r.rewrite("begin_collectives")) == ["add", "all_reduce", "multiply"]


def test_others_run_in_between():
    with Recorded() as r:
        a = r.input(x)
        one = _core.ops.all_reduce(argosy.exp(a))
        two = _core.ops.all_reduce(argosy.sin(a), 0, "max")
        between = argosy.tanh(a)
        r.fetch(one + between, two, between)
    rewritten = r.check("begin_collectives")
    assert ops(rewritten) == [
        "exp", "all_reduce_start", "sin", "all_reduce_start", "tanh", "all_reduce_wait", "add",
        "all_reduce_wait",
    ]  # fmt: skip
    assert "max" in str(rewritten)


def test_what_is_fed_stays_as_it_is():
    fed = argosy.to_tensor(x)
    with Recorded() as r:
        a = r.input(fed)
        r.fetch(_core.ops.all_reduce(a), argosy.tanh(a))
    r.check("begin_collectives")
    np.testing.assert_array_equal(fed.numpy(), x)


def test_in_blocks():
    with Recorded() as r:
        a, n = r.input(x), r.input(np.array(3))

        def body(i, sum_, last):
            one = _core.ops.all_reduce(sum_ + a)
            return [i + 1, one, argosy.tanh(sum_)]

        out = argosy.static.nn.while_loop(
            lambda i, *_: i < n, body, [argosy.zeros([], "int64"), argosy.zeros_like(a), a]
        )
        r.fetch(*out)
    rewritten = r.check("begin_collectives")
    assert "all_reduce_start" in str(rewritten) and "all_reduce(" not in str(rewritten)


def test_gradients():
    with Recorded() as r:
        a = r.input(x)
        a.stop_gradient = False
        sums = _core.ops.all_reduce(argosy.exp(a))
        r.fetch(sums, *r.gradients([(sums * argosy.tanh(a)).sum()], [a]))
    r.check("begin_collectives")
    r.check("train")


def test_every_collective_with_a_result_of_its_own():
    with Recorded() as r:
        a = r.input(x[None])
        between = []

        def beside(results):
            between.append(argosy.tanh(a))
            return [t * 2 for t in results]

        called = [
            [_core.ops.all_gather(a, 1)],
            [_core.ops.reduce_scatter(a, 1)],
            [_core.ops.gather_to(a, 0, 1)],
            [_core.ops.scatter_from(a[0], a, 0, 1)],
            [_core.ops.reduce_to(a, 0)],
            [_core.ops.broadcast_from(a, 0)],
            _core.ops.alltoall([a], [a]),
            _core.ops.all_gather_unequal(a, [a]),
        ]
        r.fetch(*[t for results in called for t in beside(results)], *between)
    names = ops(r.check("begin_collectives"))
    begun = [name.removesuffix("_begin") for name in names if name.endswith("_begin")]
    assert begun == [
        "all_gather", "reduce_scatter", "gather_to", "scatter_from", "reduce_to", "broadcast_from",
        "alltoall", "all_gather_unequal",
    ]  # fmt: skip
    assert names.count("collective_end") == len(begun) and not set(begun) & set(names)


def test_views_of_a_result_do_not_wait_for_it():
    with Recorded() as r:
        a = r.input(x)
        parts = argosy.unbind(_core.ops.all_gather(a, 1), 0)
        between = argosy.tanh(a)
        r.fetch(parts[0].t() + 1, between)
    assert ops(r.check("begin_collectives")) == [
        "all_gather_begin", "tanh", "collective_end", "unbind", "transpose", "add",
    ]  # fmt: skip


def test_views_alone_are_nothing_to_go_on_beside():
    with Recorded() as r:
        a = r.input(x)
        r.fetch(argosy.unbind(_core.ops.all_gather(a, 1), 0)[0] + 1)
    assert ops(r.rewrite("begin_collectives")) == ["all_gather", "unbind", "add"]


def test_a_begun_collective_keeps_its_operand():
    """What comes between may not work in memory that is still sent."""
    with Recorded() as r:
        a = r.input(x)
        sent = argosy.exp(a)
        gathered = _core.ops.all_gather(sent, 1)
        r.fetch(argosy.tanh(sent) * 3, gathered + 1)
    program = r.check("inference")
    assert "all_gather_begin" in str(program)


def test_a_parameter_that_is_updated_meanwhile():
    """What is sent is its value of before."""
    w = argosy.create_parameter(x.shape, "float64")
    with Recorded() as r:
        a = r.input(x)
        gathered, sums = _core.ops.all_gather(w, 1), _core.ops.all_reduce(w)
        with argosy.no_grad():
            w.add_(a)
        between = argosy.tanh(a)
        r.fetch(gathered + 1, sums + 1, between)
    for passes in ("begin_collectives", "train"):
        program = r.check(passes)
        assert "all_gather_begin" in str(program) and "all_reduce_start" in str(program)
