"""Every op of the registry is tested by a row of some table in this folder.

A module may list ops that its plain test functions cover in COVERS = {"op": "test_name", ..}.
"""

import importlib.util
import pathlib
import sys

import pytest
from tests.ops import harness

from argosy import _core


def own_ops():
    """What other tests register later, from a library or from Python, is theirs."""
    return [op for op in _core.registry() if "src/argosy/" in op["file"]]


def table_modules():
    for path in sorted(pathlib.Path(__file__).parent.glob("test_*.py")):
        if path.name == "test_coverage.py":
            continue
        name = f"tests.ops.{path.stem}"
        module = sys.modules.get(name)
        if module is None:
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        yield module


def covered():
    names = set()
    for module in table_modules():
        for op, test in getattr(module, "COVERS", {}).items():
            assert hasattr(module, test), f"{module.__name__}: COVERS names no test {test!r}"
            names.add(op)
        for case in getattr(module, "CASES", []):
            names.update(case.covers)
            if case.op:
                names.add(case.op["name"])
    return names


def test_every_op_is_tested():
    missing = sorted({op["name"] for op in own_ops()} - covered())
    assert not missing, f"ops without a case in tests/ops: {missing}"


def test_every_covered_op_exists():
    unknown = sorted(covered() - {op["name"] for op in own_ops()})
    assert not unknown, f"cases of ops that are not registered: {unknown}"


# No derivatives in spite of their names.
NO_GRADIENTS = {"clip_grad_norm_", "unscale_grads_"}


def test_every_gradient_can_be_differentiated():
    """Without a rule or parts, a gradient of the gradient would be 0 and nobody would know."""
    ends = [
        op["name"]
        for op in own_ops()
        if "_grad" in op["name"] and not op["has_gradient"] and not op["composed"]
    ]
    assert set(ends) == NO_GRADIENTS


def test_harness_sees_a_wrong_value():
    case = harness.Case("subtract", [harness.A(2, 3), harness.A(2, 3)], ref=lambda x, y: x + y)
    with pytest.raises(pytest.fail.Exception, match="worst at"):
        harness.check_values(case)


def test_harness_sees_a_wrong_gradient():
    def wrong(x):
        return _core.ops.add(x, _core.ops.scale(x.detach(), 2.0))

    case = harness.Case(wrong, [harness.A(2, 3)], grad=True, dtypes=["float64"])
    with pytest.raises(pytest.fail.Exception, match="differences give"):
        harness.check_gradients(case)
