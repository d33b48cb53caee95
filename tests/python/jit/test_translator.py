"""Capture under the names of Paddle's translators."""

import pytest

import argosy as paddle
from argosy.jit import to_static
from argosy.jit.translator import ProgramTranslator, convert_call, psdb, symbolic_translate
from argosy.static import InputSpec


def signed(x):
    if x.sum() > 0:
        return x * 2
    return -x


def test_symbolic_translate_captures_or_runs_as_python():
    translated = symbolic_translate(signed)
    assert translated(paddle.ones([2])).tolist() == [2.0, 2.0]
    assert translated(-paddle.ones([2])).tolist() == [1.0, 1.0]

    def broken(x):
        assert psdb.in_sot() == captured[0]
        psdb.breakgraph()
        return x + 1

    captured = [True]
    with pytest.raises(NotImplementedError, match="asks not to be captured as one Program"):
        to_static(broken, full_graph=True)(paddle.ones([1]))

    def falls_back(x):
        psdb.breakgraph()
        return x + 1

    with pytest.warns(UserWarning, match="runs as Python"):
        assert symbolic_translate(falls_back)(paddle.ones([1])).tolist() == [2.0]
    with pytest.raises(AssertionError, match="expected True, got False"):
        psdb.assert_true(False)


def test_convert_call_gives_what_captured_code_calls():
    converted = convert_call(signed)
    assert converted(paddle.ones([1])).tolist() == [2.0]
    function = to_static(lambda x: converted(x) + 1, full_graph=True)
    assert function(paddle.ones([1])).tolist() == [3.0]
    assert function(-paddle.ones([1])).tolist() == [2.0]
    assert convert_call(len)([1, 2, 3]) == 3


class TestProgramTranslator:
    def test_functions(self):
        translator = ProgramTranslator()
        assert translator.get_output(signed, -paddle.ones([1])).tolist() == [1.0]
        assert translator.get_func(signed)(paddle.ones([1])).tolist() == [2.0]
        main, startup, inputs, outputs = translator.get_program(signed, InputSpec([None, 3]))
        assert main.num_blocks == 3 and startup.num_ops() == 0
        assert [list(v.shape) for v in inputs] == [[-1, 3]] and len(outputs) == 1
        assert "if x.sum() > 0" in translator.get_code(signed)
        with pytest.raises(AssertionError, match="dygraph_func: expected a function, got int"):
            translator.get_func(3)

    def test_switch(self):
        translator = ProgramTranslator.get_instance()
        translator.enable(False)
        try:
            assert not translator.enable_to_static
        finally:
            translator.enable(True)
        assert ProgramTranslator().enable_to_static


def test_static_functions_show_their_program():
    layer = to_static(paddle.nn.Linear(4, 3), input_spec=[InputSpec([2, 4])])
    captured, runner = layer.forward.get_concrete_program()
    assert runner is captured
    assert [list(v.shape) for v in layer.forward.inputs] == [[2, 4]]
    assert [list(v.shape) for v in layer.forward.outputs] == [[2, 3]]
    assert len(layer.forward.main_program.all_parameters()) == 2


def test_old_addresses():
    import argosy.jit.dy2static.program_translator as program_translator
    from argosy.jit.dy2static import convert_call as from_package
    from argosy.jit.dy2static.convert_call_func import convert_call as from_module
    from argosy.jit.sot import psdb as helpers
    from argosy.jit.sot import symbolic_translate as translate

    assert program_translator.ProgramTranslator is ProgramTranslator
    assert from_package is from_module is convert_call and translate is symbolic_translate
    assert helpers.in_sot() is False and helpers.assert_true(True) is None
