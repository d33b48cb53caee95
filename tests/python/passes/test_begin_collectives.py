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
