"""The differential tool: its table is well formed, and it tells results apart."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import argosy

FILE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "differential.py"
spec = importlib.util.spec_from_file_location("differential", FILE)
tool = importlib.util.module_from_spec(spec)
sys.modules["differential"] = tool
spec.loader.exec_module(tool)


@pytest.mark.parametrize("topic", tool.topics())
def test_cases_are_python(topic):
    cases = tool.cases_of(topic)
    assert cases
    for case in cases:
        *statements, expression = case.split(";;")
        for statement in statements:
            compile(statement.strip(), case, "exec")
        if expression.strip().count("[::0]") == 0:
            compile(expression.strip(), case, "eval")


def test_the_table_is_broad():
    count = sum(len(tool.cases_of(topic)) * len(tool.modes_of(topic)) for topic in tool.topics())
    assert count >= 25_000


def tensor(values, dtype="float32", shape=None, stop=True):
    data = list(values)
    shape = [len(data)] if shape is None else shape
    return {"kind": "tensor", "dtype": dtype, "shape": shape, "data": data, "stop": stop}


@pytest.mark.parametrize(
    "ours, theirs, text",
    [
        (tensor([1.0]), tensor([1.0 + 1e-6]), None),
        (tensor([1.0]), tensor([1.001]), "1 of 1 values"),
        (tensor([1.0], "float64"), tensor([1.0 + 1e-6], "float64"), "1 of 1 values"),
        (tensor([float("nan")]), tensor([float("nan")]), None),
        (tensor([float("nan")]), tensor([0.0]), "1 of 1 values"),
        (tensor([1], "int64"), tensor([2], "int64"), "1 of 1 values"),
        (tensor([1.0]), tensor([1.0], "float64"), "dtype float32 against float64"),
        (tensor([1.0]), tensor([1.0], shape=[]), "shape"),
        (tensor([1.0]), tensor([1.0], stop=False), "stop True against False"),
        ({"kind": "int", "value": 1}, tensor([1.0]), "int 1 against tensor"),
        (
            {"kind": "list", "items": [tensor([1.0])]},
            {"kind": "list", "items": [tensor([2.0])]},
            "item 0",
        ),
    ],
)
def test_differences_of_values(ours, theirs, text):
    found = tool.compare({"ok": ours}, {"ok": theirs})
    assert found is None if text is None else text in found


def test_differences_of_errors():
    error = {"error": "ValueError", "text": "a"}
    other = {"error": "TypeError", "text": "b"}
    lacking = {"error": "RuntimeError", "text": "kernel `x` is not registered"}
    assert tool.compare(error, {**error, "text": "c"}) is None
    assert "against TypeError" in tool.compare(error, other)
    assert "against TypeError" in tool.compare({"ok": tensor([1.0])}, other)
    assert tool.compare({"ok": tensor([1.0])}, lacking) is None
    assert tool.compare(error, lacking) is not None


def test_values_are_described_without_the_framework():
    found = tool.describe([argosy.ones([2], "bfloat16"), np.float32(1), {"a": (1, None)}], argosy)
    assert [item["kind"] for item in found["items"]] == ["tensor", "array", "dict"]
    assert found["items"][0]["dtype"] == "bfloat16" and found["items"][0]["data"] == [1.0, 1.0]
    assert tool.compare({"ok": found}, {"ok": found}) is None


def test_calls_become_functions_of_their_operands():
    makers, text = tool.as_function("x = T(2, 3);; x.sum() + T(3, seed=1) * f(lambda: T(2), [4])")
    assert makers == ["T(2, 3)", "T(3, seed=1)"]
    assert text.splitlines() == [
        "def call(_0, _1):",
        "    x = _0",
        "    _found = x.sum() + _1 * f(lambda: T(2), [4])",
        "    return _found",
    ]


@pytest.mark.parametrize("mode", tool.MODES)
def test_modes_give_values_and_gradients(mode):
    names = tool.namespace(argosy)
    found = tool.evaluate_in("x = T(2);; {'y': [x * 2, x.shape[0]]}", names, argosy, mode)
    ((key, items),) = found["ok"]["items"]
    assert key == "y" and items["items"][1] == {"kind": "int", "value": 2}
    assert items["items"][0]["data"] == [pytest.approx(v) for v in (0.1952540, 0.8607574)]
    assert list(found["gradient"]["items"][0]["shape"]) == [2]
    assert tool.evaluate_in("T(2, 3) @ T(2, 3)", names, argosy, mode)["error"].endswith("Error")


def test_a_mode_may_agree_with_another():
    one, other = {"ok": tensor([1.0])}, {"ok": tensor([2.0])}
    error = {"error": "ValueError", "text": "no such mode"}
    assert tool.compare_in(one, one, other) is None
    assert tool.compare_in(one, other, one) is None
    assert tool.compare_in(one, error, one) is None
    assert "1 of 1 values" in tool.compare_in(one, other, other)


def test_gradients_are_compared():
    a = {"ok": tensor([1.0]), "gradient": {"kind": "list", "items": [tensor([1.0])]}}
    b = {"ok": tensor([1.0]), "gradient": {"kind": "list", "items": [tensor([2.0])]}}
    none = {
        "ok": tensor([1.0]),
        "gradient": {"kind": "list", "items": [tool.describe(None, argosy)]},
    }
    assert tool.compare(a, a) is None
    assert "gradient of operand 0" in tool.compare(a, b)
    assert tool.compare(a, none) is None  # one more than Paddle has
    assert "gradient of operand 0" in tool.compare(none, a)
    assert "no gradient" in tool.compare({"ok": tensor([1.0])}, a)


def test_families_try_each_value_of_each_parameter():
    families = tool.module_of("calls_math")
    calls = families.spread("f", "T(2)", "x=T()", a="1 | [2]", b=["'c'"], always="a", pairs=0)
    assert calls == ["f(T(2), a=1)", "f(x=T(), a=1)", "f(T(2), a=[2])", "f(T(2), a=1, b='c')"]
    assert families.spread("f", "T(2)", a="1 | 2", b="3", pairs=9) == families.spread(
        "f", "T(2)", a="1 | 2", b="3", pairs=9
    )


def test_statements_run_before_the_expression():
    names = {"paddle": argosy, "np": np}
    found = tool.evaluate("x = np.arange(3);; x[0] = 7;; x", names, argosy)
    assert found["ok"]["data"] == [7, 1, 2]
    assert tool.evaluate("1 / 0", names, argosy)["error"] == "ZeroDivisionError"
