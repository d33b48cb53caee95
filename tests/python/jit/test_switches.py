"""What programs that test capture set and ask: how to_static falls back, how often it captured."""

import os
import warnings

import numpy as np
import pytest

import argosy
from argosy.jit import to_static
from argosy.jit.api import ProgramTranslator, sot_mode_guard
from argosy.jit.dy2static.program_translator import ConcreteProgram, ProgramCache
from argosy.jit.dy2static.utils import ENV_ENABLE_SOT
from argosy.jit.sot import symbolic_translate
from argosy.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache
from argosy.jit.sot.utils.envs import ENV_MIN_GRAPH_SIZE, min_graph_size_guard
from argosy.static import InputSpec

uncapturable = lambda x: x if x.sum() > 0 else -x  # noqa: E731  (what depends on tensors needs source)


def test_the_environment_says_whether_to_static_falls_back():
    x = argosy.ones([])
    with sot_mode_guard(False):
        assert os.environ["ENABLE_FALL_BACK"] == "false" and ENV_ENABLE_SOT.get() is False
        with pytest.raises(RuntimeError, match="it is a lambda.*value of a Program"):
            to_static(uncapturable)(x)
        with pytest.warns(UserWarning, match="runs as Python"):
            assert to_static(uncapturable, full_graph=False)(x).item() == 1
    assert "ENABLE_FALL_BACK" not in os.environ
    with pytest.warns(UserWarning, match="runs as Python"):
        assert to_static(uncapturable)(x).item() == 1
    with pytest.raises(AssertionError, match="ENABLE_FALL_BACK: expected a bool, got 1"):
        sot_mode_guard(1).__enter__()


def test_switches_without_effect_are_read_back():
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with min_graph_size_guard(0):
            assert ENV_MIN_GRAPH_SIZE.get() == 0
    assert ENV_MIN_GRAPH_SIZE.get() == 10


def test_captures_are_counted():
    def increased(x):
        return x + 1

    cache = OpcodeExecutorCache()
    cache.clear()
    counts = []
    for size in (2, 2, 3):
        assert symbolic_translate(increased)(argosy.ones([size])).tolist() == [2.0] * size
        counts.append(OpcodeExecutorCache().translate_count)
    assert counts == [1, 1, 2]
    cache.clear()
    assert cache.translate_count == 0
    assert ProgramTranslator() is ProgramTranslator.get_instance()


def added(a, b, c=1, d=2):
    return a + b + c


def test_defaults_given_and_left_out_are_one_form():
    f = to_static(added, full_graph=True)
    spec = InputSpec([None, 10]), InputSpec([10])
    first, _ = f.get_concrete_program(*spec)
    assert f.get_concrete_program(*spec, 1, 2)[0] is first
    assert f.get_concrete_program(*spec, c=2)[0] is not first
    assert len(f.program_cache) == 2 and isinstance(first, ConcreteProgram)
    x = argosy.ones([10])
    f(x, x), f(x, x, 1), f(x, x, d=2)
    assert len(f.program_cache) == 3 and isinstance(f.program_cache, ProgramCache)
    key, (last, runner) = f.program_cache.last()
    assert last is runner is f.program_cache[key] is f.program_cache.concrete_programs()[-1]
    with pytest.raises(AssertionError, match="nothing is captured yet. Do this: call the function"):
        to_static(added).program_cache.last()


def test_arguments_that_do_not_fit():
    f = to_static(added, full_graph=True)
    spec = InputSpec([10])
    with pytest.raises(ValueError, match="do not fit 'added'.*'b'. Do this: call it as .*c=1, d=2"):
        f.get_concrete_program(spec)
    with pytest.raises(TypeError, match="unexpected keyword argument 'e'") as info:
        f.get_concrete_program(spec, spec, e=4)
    assert not isinstance(info.value, ValueError)
    with pytest.raises(ValueError, match="no Program of 'added'.*Do this: call it first, or give"):
        f.concrete_program  # noqa: B018
    with pytest.raises(ValueError, match="unexpected keyword argument 'e'"):
        to_static(added, [spec, spec])(argosy.ones([10]), argosy.ones([10]), e=4)


def test_programs_belong_to_dynamic_mode():
    f = to_static(added, [InputSpec([2]), InputSpec([2])], full_graph=True)
    argosy.enable_static()
    try:
        for name in ("concrete_program", "inputs", "outputs"):
            with pytest.raises(RuntimeError, match="only available in dynamic mode. Do this: call"):
                getattr(f, name)
    finally:
        argosy.disable_static()
    assert len(f.inputs) == 2


class Net(argosy.nn.Layer):
    @to_static(input_spec=[[InputSpec([2]), {"x": InputSpec([2]), "y": InputSpec([2])}]])
    def forward(self, nest, scale=1.0):
        return nest[0] + nest[1]["x"] * nest[1]["y"]


def test_inputs_have_the_names_of_arguments():
    net = Net()
    assert [v.name for v in net.forward.inputs] == ["nest_0", "x", "y"]
    a = argosy.ones([2])

    def given(x, *more, **named):
        return x + more[0] + more[1] + named["scale"]["x"]

    f = to_static(given, full_graph=True)
    assert f(a, a, a, scale={"x": a}).tolist() == [4.0, 4.0]
    assert [v.name for v in f.inputs] == ["x", "more_0", "more_1", "x_3"]
    named = to_static(lambda x: x, [InputSpec([2], name="given")])
    assert [v.name for v in named.inputs] == ["given"]


def test_a_layer_is_captured_anew_for_other_specs():
    net = to_static(argosy.nn.Linear(10, 3), [InputSpec([None, 8, 10])])
    forward = net.forward
    assert to_static(net).forward is forward and forward.inputs[0].shape == [-1, 8, 10]
    to_static(net, [InputSpec([None, 16, 10])])
    assert net.forward.inputs[0].shape == [-1, 16, 10]
    assert tuple(net(np.ones([1, 16, 10], "float32")).shape) == (1, 16, 3)
