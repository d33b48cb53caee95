"""Loops and choices whose bodies stand under `with`."""

import numpy as np
import pytest

import argosy
from argosy import static
from argosy.static.nn.control_flow import Switch, While


def counter(end):
    i, last = argosy.zeros([1], "int64"), argosy.full([1], end, "int64")
    return i, last, argosy.less_than(i, last)


def count(i, last, going):
    argosy.increment(i)
    argosy.assign(argosy.less_than(i, last), going)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_while_carries_what_its_body_writes(start, rounds):
    total = argosy.full([1], 3.0)
    i, last, going = counter(rounds)
    with While(going).block():
        argosy.assign(total * 2.0 + i.astype("float32"), total)
        count(i, last, going)
    want = 3.0
    for k in range(rounds):
        want = want * 2 + k
    got = start().run(fetch_list=[total, i, going])
    assert [v.tolist() for v in got] == [[want], [rounds], [False]]


def test_loops_in_loops(start):
    total = argosy.zeros([1], "int64")
    i, last, going = counter(3)
    with While(going).block():
        j, _, inner = counter(4)
        with While(inner).block():
            argosy.assign(total + i * 10 + j, total)
            count(j, argosy.full([1], 4, "int64"), inner)
        count(i, last, going)
    want = sum(i * 10 + j for i in range(3) for j in range(4))
    assert start().run(fetch_list=[total])[0].tolist() == [want]


def test_gradient_of_a_loop(start):
    x = static.data("x", [2])
    x.stop_gradient = False
    y = x * 1.0
    i, last, going = counter(3)
    with While(going).block():
        argosy.assign(y * x, y)
        count(i, last, going)
    (g,) = static.gradients(y.sum(), x)
    got = start().run(feed={"x": np.float32([2, 3])}, fetch_list=[y, g])
    np.testing.assert_allclose(got[0], [16, 81])
    np.testing.assert_allclose(got[1], [32, 108])


def test_while_of_what_is_no_condition():
    x = static.data("x", [2])
    for wrong in (3, x > 0, x.sum()):
        with pytest.raises(TypeError, match=r"\[While\] cond: expected a bool Variable of one"):
            While(wrong)


def test_a_body_that_fails_leaves_the_program_as_it_was(start):
    _, _, going = counter(2)
    with pytest.raises(KeyError), While(going).block():
        argosy.assign(argosy.zeros([1], "bool"), going)
        raise KeyError("x")
    assert start().run(fetch_list=[going])[0].tolist() == [True]


def test_switch_takes_the_first_case_that_holds(start):
    x = static.data("x", [1])
    rate = static.create_global_var([1], 7.0, "float32", persistable=True)
    with Switch() as switch:
        with switch.case(x < 1.0):
            argosy.assign(argosy.full([1], 0.25), rate)
        with switch.case(x < 2.0):
            argosy.assign(rate * 2.0, rate)
        with switch.default():
            argosy.assign(x, rate)
    exe = start()
    got = [exe.run(feed={"x": np.float32([v])}, fetch_list=[rate])[0][0] for v in (1, 0, 1, 5)]
    assert got == [14, 0.25, 0.5, 5]


def test_without_a_default_nothing_may_happen(start):
    x = static.data("x", [1])
    y = x * 1.0
    with Switch() as switch, switch.case(x > 0.0):
        argosy.assign(y * 3.0, y)
    got = [start().run(feed={"x": np.float32([v])}, fetch_list=[y])[0][0] for v in (2, -2)]
    assert got == [6, -2]


def test_switch_used_wrongly():
    x = static.data("x", [1])
    switch = Switch()
    with pytest.raises(ValueError, match="must be inside of the switch"), switch.case(x > 0):
        pass
    with switch:
        with pytest.raises(ValueError, match="no case before it"), switch.default():
            pass
        with (
            pytest.raises(TypeError, match=r"\[Switch.case\] cond: expected a bool"),
            switch.case(x),
        ):
            pass


@pytest.mark.parametrize("pred", [[1], 1.5, None, "x"])
def test_a_choice_asks_for_a_tensor(pred):
    with pytest.raises(
        TypeError, match=r"\[cond\] pred: expected a bool tensor of one element, got"
    ):
        static.nn.cond(pred, lambda: 1, lambda: 2)


def test_a_loop_asks_for_one_element():
    i = argosy.zeros([1])
    with pytest.raises(TypeError, match="cond must return a bool tensor of one element. Do this: "):
        static.nn.while_loop(lambda i: argosy.ones([2, 2]) < 3, lambda i: i + 1, [i])
