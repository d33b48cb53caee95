"""What descriptions of ops say of them for passes (docs/adding_an_op.md) holds for their cases."""

import pytest
from tests.ops.harness import LAYOUTS, Operands, array, flat
from tests.ops.test_coverage import table_modules

from argosy import _core

REGISTRY = {op["name"]: op for op in _core.registry()}


def cases(fact):
    found = [
        case
        for module in table_modules()
        for case in getattr(module, "CASES", [])
        if case.op and fact in case.op["facts"]
    ]
    assert found
    return found


def call(case, dtype, layout=None):
    operands = Operands(case, dtype, case.rng(), layout=layout)
    return operands, flat(case.call(*operands.fill(operands.tensors), **case.attrs))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_any_order(dtype):
    """The same bits, whatever the strides."""
    for case in cases("any_order"):
        if dtype not in case.all_dtypes() or not case.strided:
            continue
        _, wanted = call(case, dtype)
        for name, layout in LAYOUTS.items():
            _, got = call(case, dtype, layout)
            same = [a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(got, wanted)]
            assert all(same), f"{case}, {name}"


def test_same_order():
    for case in cases("same_order"):
        operands, outputs = call(case, case.all_dtypes()[0])
        assert array(outputs[0]).tobytes() == array(operands.tensors[0]).tobytes(), str(case)


def test_views_of_memory_as_another_dtype_are_other_elements():
    assert "same_order" not in REGISTRY["view_dtype"]["facts"]


def test_words_go_together():
    for op in REGISTRY.values():
        facts = set(op["facts"])
        assert not {"fills", "uninitialized"} <= facts, op["name"]
        # What draws for training is left out by those who read it, each by its own word.
        assert not {"training_only", "inference"} <= facts, op["name"]
