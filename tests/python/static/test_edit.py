"""Changes to Programs by hand: uses, operands, removed and moved operations."""

import numpy as np
import pytest

import argosy
from argosy import pir, static


@pytest.fixture
def program():
    argosy.enable_static()
    main = static.Program()
    with static.program_guard(main):
        yield main
    argosy.disable_static()


def run(main, fetch, **feed):
    feed = {k: np.float32(v) for k, v in feed.items()}
    return static.Executor().run(main, feed=feed, fetch_list=fetch)[0].tolist()


def names(main):
    return [op.type for op in main.global_block().ops]


def inputs(*named, shape=(2,)):
    return [static.data(name, list(shape), "float32") for name in named]


def test_uses_are_redirected(program):
    x, y = inputs("x", "y")
    z = argosy.exp(x)
    w = z * z + x
    assert run(program, w, x=[0, 0], y=[3, 3]) == [1.0, 1.0]
    z.replace_all_uses_with(y)
    assert run(program, w, x=[0, 0], y=[3, 3]) == [9.0, 9.0]
    assert z.use_empty() and not y.has_one_use() and len(y.all_used_ops()) == 1
    assert x.all_used_ops()[0].type == "exp" and len(x.all_used_ops()) == 2


def test_an_operation_gives_way(program):
    (x,) = inputs("x")
    y = argosy.tanh(x)
    z = argosy.nn.functional.relu(y)
    w = z + 1
    z.get_defining_op().replace_all_uses_with([y])
    program.global_block().remove_op(z.get_defining_op())
    assert "relu" not in names(program)
    np.testing.assert_allclose(run(program, w, x=[-1, 1]), np.tanh([-1, 1]) + 1, rtol=1e-6)
    with pytest.raises(ValueError, match="1 results, got 0 values"):
        y.get_defining_op().replace_all_uses_with([])


def test_operands_are_set(program):
    x, y = inputs("x", "y")
    z = x - y
    op = z.get_defining_op()
    assert [o.index() for o in op.operands()] == [0, 1] and op.operand(1).source().name == y.name
    assert op.operand(0).owner() is op and op.get_parent_block().idx == 0
    op.operand(1).set_source(x)
    assert run(program, z, x=[3, 4], y=[1, 1]) == [0.0, 0.0]


def test_sizes_follow(program):
    narrow = static.data("narrow", [-1, 2], "float32")
    wide = static.data("wide", [3, 2], "float32")
    y = argosy.exp(narrow)
    argosy.sum(y, 1)
    y.get_defining_op().operand(0).set_source(wide)
    made = [op.result(0).shape for op in program.global_block().ops]
    assert made == [[3, 2], [3]]


def test_what_would_be_wrong_is_refused_and_nothing_changes(program):
    x, y = inputs("x", "y")
    z = argosy.exp(x)
    late = argosy.tanh(z)
    before = str(program)
    for wrong, error in (
        (lambda: x.replace_all_uses_with(late), ValueError),  # made after who reads x
        (lambda: x.replace_all_uses_with(3), TypeError),
        (lambda: z.get_defining_op().operand(0).set_source(late), ValueError),
        (lambda: program.global_block().remove_op(z.get_defining_op()), ValueError),
        (lambda: program.global_block().move_op(late.get_defining_op(), 0), ValueError),
        (lambda: program.global_block().move_op(z.get_defining_op(), 1), ValueError),
        (lambda: program.global_block().move_op(z.get_defining_op(), 7), IndexError),
        (lambda: program.global_block().move_op(z.get_defining_op(), -1), IndexError),
        (lambda: program.global_block()._remove_op(0), ValueError),
    ):
        with pytest.raises(error, match="Do this|no place|from 0 on"):
            wrong()
        assert str(program) == before
    other = static.data("other", [3], "float32")
    with pytest.raises(TypeError, match="of the same type"):
        x.replace_all_uses_with(other)
    with pytest.raises(TypeError, match="of the same type"):
        x.replace_all_uses_with(y.astype("float64"))
    assert run(program, late, x=[0, 0]) == [np.tanh(np.float32(1))] * 2


def test_operations_move(program):
    (x,) = inputs("x")
    a, b, c = argosy.tanh(x), argosy.sin(x), argosy.cos(x)
    block = program.global_block()
    block.move_op(c.get_defining_op(), 0)
    assert names(program) == ["cos", "tanh", "sin"]
    block.move_op(c.get_defining_op(), 2)
    assert names(program) == ["tanh", "sin", "cos"]
    block.move_op(b.get_defining_op(), 1)
    assert names(program) == ["tanh", "sin", "cos"]
    assert run(program, b, x=[0, 0]) == [0.0, 0.0]
    assert run(program, a + c, x=[0, 0]) == [1.0, 1.0]


def test_a_removed_operation_is_gone(program):
    (x,) = inputs("x")
    y = argosy.exp(x)
    argosy.sin(y)
    with pytest.warns(UserWarning, match="sync"):
        program.global_block()._remove_op(1, sync=False)
    assert names(program) == ["exp"]
    program.global_block()._remove_op(0)
    assert names(program) == []
    with pytest.raises(ValueError):
        run(program, y, x=[0, 0])


def test_plans_made_before_are_not_used(program):
    x, y = inputs("x", "y")
    z = argosy.exp(x) * 1.0
    executor = static.Executor()
    feed = {"x": np.zeros(2, "float32"), "y": np.ones(2, "float32")}
    for expected, source in ((1.0, y), (np.e, x), (1.0, None)):
        (found,) = executor.run(program, feed=feed, fetch_list=[z])
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if source is not None:
            program.global_block().ops[0].operand(0).set_source(source)


def test_gradients_follow_the_new_operand(program):
    x, y = inputs("x", "y")
    x.stop_gradient = y.stop_gradient = False
    z = argosy.exp(x)
    z.get_defining_op().operand(0).set_source(y)
    of_x, of_y = static.gradients([z], [x, y])
    assert of_x is None
    np.testing.assert_allclose(run(program, of_y, x=[5, 5], y=[0, 1]), [1, np.e], rtol=1e-6)


def test_a_copy_by_values(program):
    (x,) = inputs("x")
    y = argosy.exp(x)
    mapping = pir.IrMapping()
    copy = program.clone(mapping)
    mapped = mapping.look_up(y)
    assert mapped is not y and mapped.get_defining_op().type == "exp" and mapping.has(x)
    assert run(copy, mapped, x=[0, 0]) == [1.0, 1.0]
    with static.program_guard(static.Program()):
        (foreign,) = inputs("x")
    with pytest.raises(ValueError, match="clone"):
        mapping.look_up(foreign)
