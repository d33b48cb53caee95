"""What descriptions of ops say of devices (docs/adding_an_op.md): each op that reads an input on the host is
called with that input on the CPU and on the device, with the other operands on the device and on the CPU."""

import numpy as np
import pytest
from tests.python.device.where import FIRST, strict

import argosy as paddle
from argosy import _core
from argosy.distributed._groups import default_group

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

OPS = _core.ops
REGISTRY = {op["name"]: op for op in _core.registry()}


def array(*values):
    made = OPS.array_new("float32")
    for i, x in enumerate(values):
        OPS.array_write(made, paddle.full([1], i, "int64"), x)
    return made


def elements(made):
    length = int(OPS.array_length(made))
    return [OPS.array_get(made, i, [2], "float32").tolist() for i in range(length)]


def ended(x, move):
    under_way, begun = OPS.reduce_to_begin(x, 0)
    return OPS.collective_end([under_way], [x], move(begun))[0].tolist()


# A call for each op, of x and what moves the input. It gives numbers.
CALLS = {
    "array_of_one.i": lambda x, move: elements(OPS.array_of_one(x, move(index(0)))),
    "array_element_or_zeros.i": lambda x, move: OPS.array_element_or_zeros(
        array(x, x + 1), move(index(1)), x
    ).tolist(),
    "array_without.i": lambda x, move: elements(
        OPS.array_take(OPS.array_without(array(x, x + 1), move(index(1)), index(1)), index(1))
    ),
    "array_without.count": lambda x, move: elements(
        OPS.array_take(OPS.array_without(array(x, x + 1), index(1), move(index(1))), index(1))
    ),
    "array_slice.length": lambda x, move: elements(
        OPS.array_slice(array(x, x + 1), move(index(2)), index(-1), index(2), 1)
    ),
    "array_slice.begin": lambda x, move: elements(
        OPS.array_slice(array(x, x + 1), index(2), move(index(-1)), index(2), 1)
    ),
    "array_slice.end": lambda x, move: elements(
        OPS.array_slice(array(x, x + 1), index(2), index(0), move(index(-1)), 1)
    ),
    "array_place.length": lambda x, move: elements(
        OPS.array_place(array(x, x + 1), move(index(2)), index(1), index(-3), -1)
    ),
    "array_place.begin": lambda x, move: elements(
        OPS.array_place(array(x, x + 1), index(2), move(index(1)), index(-3), -1)
    ),
    "array_place.end": lambda x, move: elements(
        OPS.array_place(array(x, x + 1), index(2), index(1), move(index(-3)), -1)
    ),
    "array_chain.length": lambda x, move: elements(
        OPS.array_chain(array(x, x + 1), move(index(1)), array(x))
    ),
    "array_take.i": lambda x, move: elements(OPS.array_take(array(x, x), move(index(1)))),
    "array_read.i": lambda x, move: OPS.array_read(
        array(x, x + 1), move(index(1)), [2], "float32"
    ).tolist(),
    "array_write.i": lambda x, move: elements(OPS.array_write(array(x), move(index(1)), x + 1)),
    "all_reduce_wait.started": lambda x, move: OPS.all_reduce_wait(
        [x], move(OPS.all_reduce_start([x]))
    )[0].tolist(),
    "collective_end.begun": ended,
    "assert_true.cond": lambda x, move: OPS.assert_true(move(x.sum() > 0), [x], 20, ""),
}


def index(i):
    return paddle.full([1], i, "int64")


def declared():
    return {f"{op}.{i['name']}" for op, d in REGISTRY.items() for i in d["inputs"] if i["host"]}


def test_each_word_has_its_call():
    assert declared() == set(CALLS)


def test_words_go_together():
    for name, op in REGISTRY.items():
        facts = set(op["facts"])
        # A value is read for its number or for its shape.
        assert not any(i["host"] and i["shape_only"] for i in op["inputs"]), name
        assert "result_place" not in facts or "on_host" in facts, name


@pytest.mark.parametrize("place", ["cpu", FIRST])
@pytest.mark.parametrize("name", CALLS)
def test_the_input_is_brought_to_the_host(name, place):
    group = default_group("tests")  # held: operations find it by its number
    assert group.nranks == 1
    with paddle.device_guard(place):
        x = paddle.to_tensor([1.0, 2.0])
        want = CALLS[name](x, lambda t: t.to(place))
        for side in ("cpu", FIRST):
            assert CALLS[name](x, lambda t, side=side: t.to(side)) == want


@strict
def test_on_the_host_it_is_not_waited_for():
    x = paddle.ones([2])
    i, made = index(0).cpu(), array(x)
    before = _core.host_waits()
    OPS.array_read(made, i, [2], "float32")
    assert _core.host_waits() == before
    OPS.array_read(made, index(0), [2], "float32")
    assert _core.host_waits() == before + 1


def test_what_works_on_the_host_leaves_its_results_on_the_device():
    made = array(paddle.ones([2]))
    assert str(OPS.array_length(made).place) == f"Place({FIRST})"
    np.testing.assert_array_equal(OPS.array_get(made, 0, [2], "float32").numpy(), [1, 1])
