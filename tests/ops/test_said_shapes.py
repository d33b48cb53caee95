"""A text of shapes that is not true is found, in Programs and in calls."""

import pytest
from tests.ops import harness, said_shapes
from tools import shape_notation

import argosy


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("matmul", "x [m,k], y [k,n] -> [n,m]", "result 0: n is not 2"),
        ("softmax", "x [*a,n@axis] -> [*a]", "result 0"),
    ],
)
def test_what_is_not_true_is_found(monkeypatch, name, text, words):
    monkeypatch.setitem(said_shapes.FORMS, name, shape_notation.parse(text))

    def call(x):
        y = (
            argosy.matmul(x, argosy.ones([3, 4]))
            if name == "matmul"
            else argosy.nn.functional.softmax(x)
        )
        return [y]

    with pytest.raises(AssertionError) as error:
        harness.recorded(call, [argosy.rand([2, 3])])
    assert f"{name} says" in str(error.value)
    assert words in str(error.value)


def test_what_is_not_true_of_a_composed_op_is_found(monkeypatch):
    monkeypatch.setitem(said_shapes.FORMS, "dot", shape_notation.parse("x [k], y [k] -> [k]"))
    case = harness.Case("dot", [harness.A(3), harness.A(3)], ref=lambda x, y: (x * y).sum())
    with pytest.raises(AssertionError) as error:
        harness.check_values(case)
    assert "but makes [[]] of {'x': [3], 'y': [3]}" in str(error.value)
