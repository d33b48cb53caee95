"""Programs under the names of Paddle's intermediate representation: operations, insertion points, passes."""

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, pir, static
from argosy.base import core, framework
from argosy.base.executor import _fetch_var
from argosy.pir_utils import IrGuard, OldIrGuard


@pytest.fixture
def program():
    with OldIrGuard():
        main = static.Program()
        with static.program_guard(main, static.Program()):
            yield main


def kinds(program):
    return [op.type for op in program.global_block().ops]


def test_inputs_and_state_are_operations_within_the_guard():
    with IrGuard():
        main = static.Program()
        with static.program_guard(main, static.Program()):
            x = static.data("x", [2, 4])
            y = paddle.nn.Linear(4, 3)(x)
        names = [op.name() for op in main.global_block().ops]
        assert names[:3] == ["pd_op.data", "builtin.parameter", "builtin.parameter"]
        assert main.num_ops() == len(names) > 3
        maker = x.get_defining_op()
        assert (maker.num_operands(), maker.num_results(), maker.id()) == (0, 1, 0)
        assert maker.attrs()["name"] == "x" and maker.attrs()["shape"] == [2, 4]
        assert y.get_defining_op() == main.global_block().ops[-1]
        assert main.get_value_by_op_id(main.num_ops() - 1)[0].is_same(y)
        block = main.global_block()
        with static.program_guard(main):
            z = paddle.exp(x)
        block.move_op(z.get_defining_op(), 3)
        assert block.ops[3].name() == "pd_op.exp"
        with pytest.raises(IndexError, match="expected 3 or more, got 2: inputs come first"):
            block.move_op(z.get_defining_op(), 2)
        with pytest.raises(NotImplementedError, match="is an input or state of the Program"):
            block.remove_op(maker)
    with OldIrGuard(), static.program_guard(main):
        assert main.global_block().ops[0].name() == "pd_op.exp"
        assert x.get_defining_op() is None


def test_values_and_operations_are_told_apart(program):
    x = static.data("x", [2])
    y, z = paddle.tanh(x), paddle.tanh(x)
    op = y.get_defining_op()
    assert op == program.global_block().ops[0] != z.get_defining_op()
    assert hash(op) == hash(program.global_block().ops[0])
    assert op.get_parent_block() == program.global_block()
    assert op.operand_source(0).is_same(x) and not y.is_same(z) and not x.is_same(np.ones(2))
    assert op.get_input_names() == ["x"] and op.get_output_names() == ["out"]
    assert y.initialized() and y.is_dense_tensor_type() and not y.is_selected_row_type()
    values, places = paddle.topk(x, 1)
    assert [values.index(), places.index(), x.index()] == [0, 1, 0]


def test_remarks_are_kept_and_what_is_computed_is_not_changed(program):
    op = paddle.scale(static.data("x", [2]), 3.0).get_defining_op()
    op.set_bool_attr("seen", True)
    op._set_attr("Out0_threshold", 0.5)
    again = program.global_block().ops[0]
    assert again.attr("seen") is True and again.attrs()["Out0_threshold"] == 0.5
    assert "seen" in again.get_attr_names()
    with pytest.raises(
        NotImplementedError, match="attribute 'scale' of 'scale' says what is computed"
    ):
        op._set_attr("scale", 5.0)


def test_blocks_of_choices_and_loops(program):
    x = static.data("x", [1])
    first = static.nn.cond(x.sum() > 0, lambda: paddle.exp(x), lambda: paddle.tanh(x))
    second = static.nn.cond(x.sum() < 0, lambda: paddle.sin(x), lambda: paddle.cos(x))
    choice = second.get_defining_op().as_if_op()
    assert [choice.true_block().ops[-1].type, choice.false_block().ops[-1].type] == ["sin", "cos"]
    assert [b.idx for b in second.get_defining_op().blocks()] == [3, 4]
    assert program.block(3) == choice.true_block()
    assert choice.cond().shape == [] and choice.results()[0].is_same(second)
    assert choice.as_operation() == second.get_defining_op()
    with pytest.raises(TypeError, match="is no 'while'"):
        first.get_defining_op().as_while_op()


class TestInsertion:
    def test_places(self, program):
        x = static.data("x", [2])
        y = paddle.tanh(x)
        z = paddle.exp(y)
        pir.set_insertion_point(z.get_defining_op())
        a = paddle.sin(y)
        b = paddle.cos(a)
        assert kinds(program) == ["tanh", "sin", "cos", "exp"]
        c = paddle.abs(b)  # goes on behind what is there already
        pir.set_insertion_point_after(y.get_defining_op())
        d = paddle.floor(y)
        pir.reset_insertion_point_to_start()
        e = paddle.ceil(x)
        pir.reset_insertion_point_to_end()
        f = paddle.round(e)
        assert kinds(program) == ["ceil", "tanh", "floor", "sin", "cos", "abs", "exp", "round"]
        values = np.float32([0.3, -0.7])
        results = static.Executor().run(program, feed={"x": values}, fetch_list=[c, d, f, z])
        t = np.tanh(values)
        expected = [np.abs(np.cos(np.sin(t))), np.floor(t), np.round(np.ceil(values)), np.exp(t)]
        for got, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    def test_a_place_can_be_kept(self, program):
        y = paddle.tanh(static.data("x", [2]))
        z = paddle.exp(y)
        pir.set_insertion_point(z.get_defining_op())
        place = pir.get_current_insertion_point()
        assert place.block() == program.global_block()
        pir.set_insertion_point_to_block_end(program.global_block())
        paddle.cos(y)
        pir.set_insertion_point(place)
        paddle.sin(y)
        assert kinds(program) == ["tanh", "sin", "exp", "cos"]

    def test_what_cannot_be(self, program):
        x = static.data("x", [1])
        y = static.nn.cond(x.sum() > 0, lambda: paddle.exp(x), lambda: paddle.tanh(x))
        inner = y.get_defining_op().as_if_op().true_block()
        with pytest.raises(NotImplementedError, match="stands in a branch or a loop"):
            pir.set_insertion_point(inner.ops[0])
        with pytest.raises(NotImplementedError, match="of branches and loops"):
            pir.set_insertion_point_to_block_end(inner)
        with pytest.raises(TypeError, match="op: expected an Operation, got NoneType"):
            pir.set_insertion_point(x.get_defining_op())
        z = paddle.exp(y)
        pir.set_insertion_point(y.get_defining_op())
        paddle.sin(z)  # reads what is made later
        with pytest.raises(ValueError, match="which 'exp' makes, would be used before it is made"):
            kinds(program)


class TestPassManager:
    def test_passes_change_the_program(self, program, capsys):
        x = static.data("x", [2])
        y = paddle.tanh(x) + paddle.tanh(x)
        paddle.sin(x)
        passes = pir.PassManager()
        assert passes.empty()
        passes.add_pass("common_subexpression_elimination_pass", {})
        passes.add_pass("dead_code_elimination_pass", {})
        passes.enable_print_statistics()
        assert passes.run(program, fetch=[y])
        assert kinds(program) == ["tanh", "elementwise_add"]
        assert "common_subexpression_elimination_pass: 4 -> 3 operations" in capsys.readouterr().out
        assert not passes.run(program)
        values = np.float32([0.5, 1.0])
        (got,) = static.Executor().run(program, feed={"x": values}, fetch_list=[y])
        np.testing.assert_allclose(got, 2 * np.tanh(values), rtol=1e-5)
        z = y * 2  # the Program can be added to
        (got,) = static.Executor().run(program, feed={"x": values}, fetch_list=[z])
        np.testing.assert_allclose(got, 4 * np.tanh(values), rtol=1e-5)

    def test_what_is_wanted_twice_is_kept_once(self, program):
        y = paddle.tanh(static.data("x", [2]))
        passes = pir.PassManager()
        passes.add_pass("constant_folding_pass", {"constant_folding.limit": 1})
        for _ in range(2):
            passes.run(program, fetch=[y])
        assert len(_core.program_describe(program._handle)["outputs"]) == 1

    def test_what_nobody_reads_goes(self, program):
        paddle.tanh(static.data("x", [2]))
        passes = pir.PassManager()
        passes.add_pass("dead_code")
        passes.run(program)
        assert kinds(program) == []

    def test_wrong_arguments(self):
        passes = pir.PassManager()
        with pytest.raises(ValueError, match="there is no pass 'nope'. Do this: use one of common"):
            passes.add_pass("nope")
        with pytest.raises(ValueError, match="such as 'cse.limit' for 'cse', got 'nope'"):
            passes.add_pass("cse", {"nope": 1})
        with pytest.raises(TypeError, match="program: expected a Program, got int"):
            passes.run(3)


class TestOldForms:
    def test_description_and_text(self, program):
        paddle.tanh(static.data("x", [2]))
        assert (program.desc.num_blocks(), program.desc.block(0).idx) == (1, 0)
        read = static.Program.parse_from_string(program.desc.serialize_to_string())
        assert kinds(read) == ["tanh"]
        copy = pir.translate_to_pir(program.desc)
        assert copy is not program and kinds(copy) == ["tanh"]
        with pytest.raises(TypeError, match="expected a Program, got int"):
            pir.translate_to_pir(3)

    def test_parts(self, program):
        x = static.data("x", [2])
        h = paddle.tanh(x)
        y, z = paddle.exp(h), paddle.sin(h)
        assert kinds(program._prune([y])) == ["tanh", "exp"]
        assert kinds(program._prune(z.get_defining_op())) == ["tanh", "sin"]
        part = program._prune_with_input([h.name], [y.name])
        assert kinds(part) == ["exp"]
        (got,) = static.Executor().run(
            part, feed={h.name: np.zeros(2, "float32")}, fetch_list=[y.name]
        )
        assert got.tolist() == [1.0, 1.0]
        with pytest.raises(ValueError, match="targets: expected Variables or Operators, got int"):
            program._prune(3)
        with pytest.raises(ValueError, match="feeded_var_names: expected strings, got int"):
            program._prune_with_input([3], [y])

    def test_evaluation(self, program):
        y = paddle.nn.functional.dropout(static.data("x", [50]), 0.5)
        test = program._inference_optimize()
        (got,) = static.Executor().run(test, feed={"x": np.ones(50, "float32")}, fetch_list=[y])
        assert got.tolist() == [1.0] * 50

    def test_operations_at_a_place(self, program):
        block = program.global_block()
        x = static.data("x", [2])
        y, z, w = (block.create_var(name=n) for n in "yzw")
        block.append_op(type="exp", inputs={"X": x}, outputs={"Out": y})
        assert block._insert_op(0, type="tanh", inputs={"X": x}, outputs={"Out": z}).type == "tanh"
        block._prepend_op(type="sin", inputs={"X": x}, outputs={"Out": w})
        assert kinds(program) == ["sin", "tanh", "exp"]

    def test_names(self, program):
        block = program.global_block()
        x = static.data("x", [2])
        y = paddle.exp(x)
        block._rename_var(y.name, "other")
        assert block.has_var("other") and block.ops[0].output_arg_names == ["other"]
        paddle.nn.Linear(2, 2, weight_attr="w")(x)
        with pytest.raises(NotImplementedError, match="'w' is state, which scopes and files know"):
            block._rename_var("w", "v")

    def test_values_of_a_scope(self):
        static.global_scope().var("seen").get_tensor().set(np.float32([1, 2]), paddle.CPUPlace())
        assert _fetch_var("seen").tolist() == [1.0, 2.0]
        with pytest.raises(AssertionError, match="cannot find 'unseen' in the scope"):
            _fetch_var("unseen")

    def test_places(self):
        assert framework._get_paddle_place(None) is None
        assert str(framework._get_paddle_place("cpu")) == str(paddle.CPUPlace())
        with pytest.raises(ValueError, match="expected None, a Place, or a text.*got 'nowhere'"):
            framework._get_paddle_place("nowhere")

    def test_kinds_and_parameters(self):
        assert {"relu", "softmax"} < set(core.get_all_op_names())
        made = framework.EagerParamBase(shape=[2], dtype="float32", trainable=False)
        assert made.stop_gradient and not made.trainable


def test_ends_and_uses():
    paddle.enable_static()
    try:
        with static.program_guard(static.Program()):
            x = static.data("x", [2], "float32")
            y = paddle.tanh(x)
            z = paddle.exp(y)
            block = static.default_main_program().global_block()
            assert (block.front().type, block.back().type) == ("tanh", "exp")
            assert (block.op_size(), block.op(1).type, block.id) == (2, "exp", 0)
            assert block.forward_block_idx == -1
            assert (x.has_name, y.has_name) == (True, False)
            assert y.first_use().owner().type == "exp"
            with pytest.raises(
                ValueError, match="no operation reads the variable. Do this: ask use_empty"
            ):
                z.first_use()
            assert block._find_var_recursive("nothing") is None
            assert block._var_recursive("x").is_same(x)
            with pytest.raises(
                ValueError, match="var nothing is not in this block.*Do this: check"
            ):
                block._var_recursive("nothing")
            z.get_defining_op().erase()
            assert block.op_size() == 1
            assert static.default_main_program()._version() == 3003001
        with pytest.raises(
            IndexError, match="there is no operation in it. Do this: append one first"
        ):
            static.Program().global_block().front()
    finally:
        paddle.disable_static()
    assert paddle.pir.is_fake_value(paddle.pir.fake_value())


def test_metrics_need_variables():
    for function in (static.accuracy, static.auc):
        with pytest.raises(
            TypeError, match="input: expected Tensor, got int. Do this: pass a Variable"
        ):
            function(1, paddle.ones([2, 1], "int64"))


def test_a_write_of_state_is_not_put_before_what_has_read_it(program):
    w = static.create_parameter([2], "float32", name="written")
    x = static.data("x", [2], "float32")
    y = x + 1
    z = w * y
    pir.set_insertion_point(z.get_defining_op())
    paddle.assign(x, output=w)
    with pytest.raises(NotImplementedError, match=r"'written' is written, and 'multiply', which"):
        kinds(program)
    pir.reset_insertion_point_to_end()
    assert kinds(program) == ["elementwise_add", "elementwise_mul", "assign"]


def test_a_write_of_state_may_stand_before_what_does_not_read_it(program):
    w = static.create_parameter([2], "float32")
    x = static.data("x", [2], "float32")
    y = x + 1
    z = y * 2
    pir.set_insertion_point(z.get_defining_op())
    paddle.assign(x, output=w)
    assert kinds(program) == ["elementwise_add", "assign", "elementwise_mul"]
