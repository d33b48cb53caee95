"""Modes and contexts of random calls (tests/fuzz/runner.py), and what chains.py makes."""

import random

import pytest
from tests.fuzz import chains, runner


@pytest.fixture(scope="module")
def run():
    return runner.Runner().run


@pytest.mark.parametrize("mode", runner.MODES)
@pytest.mark.parametrize("context", ["", *runner.CONTEXTS])
def test_right_calls(run, mode, context):
    for text in ("T(2, 3) * T(3)", "x = T(4) * 1;; x.add_(T(4));; x", "paddle.rand([3]) + T(3)"):
        assert run(text, f"{mode}+{context}" if context else mode, True) is None


def test_what_differs_is_told(run):
    recording = "1.0 * (paddle._core.program_recording() is not None)"
    assert run(f"T(2) + {recording}", "captured", False).startswith("Different: captured gives [")
    assert run(f"T(2).astype('int32' if {recording} else 'int64')", "captured", False) == (
        "Different: captured gives paddle.int32[2], eager paddle.int64[2]"
    )
    assert run("T(2) + float(np.random.rand())", "captured", False) is None  # eagerly, too
    assert run("(_ for _ in ()).throw(SystemError('x'))", "threads", False) == "SystemError: x"


def test_one_operand_for_several(run):
    made = run.__self__._made
    made["forget"]()
    a, b = made["T"](2, one="a"), made["T"](3, one="a")
    assert a is b and made["T"](3) is not a and made["leaves"]()[0] is a


def test_layouts(run):
    make = run.__self__._made["T"]
    for layout in ("transposed", "strided", "expanded", "reversed", "negative", "middle", "step"):
        assert make(3, 4, layout=layout).shape == [3, 4]
        assert make(0, 4, layout=layout).shape == [0, 4]
    assert make(3, layout="negative").strides == [-1] and make(3, layout="step").strides == [2]


def test_chains_are_calls():
    for seed in range(300):
        draw = random.Random(seed)
        for text in (chains.of_index(draw), chains.of_chain(draw)):
            *statements, last = text.split(";;")
            compile("\n".join(s.strip() for s in statements), "", "exec")
            compile(last.strip(), "", "eval")


def test_modes_are_checked():
    assert runner.check_mode("eager+o2") == "eager+o2"
    for wrong in ("lazy", "eager+o3", "eager-o2"):
        with pytest.raises(ValueError):
            runner.check_mode(wrong)
