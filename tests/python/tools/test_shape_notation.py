"""The notation of shapes: what it takes, what it refuses, and what fits."""

import pytest
from tools import shape_notation as notation

MATMUL = "x [*b,m,k], y [*b,k,n] -> [*b,m,n]"
CONV = "x [n,c,*s], weight [o,c/groups,*k], bias [o] -> [n,o,*s']"
GATHER = "x [*a,n@axis,*b], index [k] -> [*a,k,*b]"


def fit(text, inputs, outputs, **attrs):
    return notation.problem(notation.parse(text), inputs, outputs, attrs)


@pytest.mark.parametrize(
    "text, inputs, outputs, attrs",
    [
        (MATMUL, {"x": [2, 3], "y": [3, 4]}, [[2, 4]], {}),
        (MATMUL, {"x": [7, 1, 2, 3], "y": [5, 3, 4]}, [[7, 5, 2, 4]], {}),
        (MATMUL, {"x": [-1, 3], "y": [3, 4]}, [[-1, 4]], {}),
        (CONV, {"x": [2, 6, 9, 9], "weight": [8, 3, 3, 3], "bias": None}, [[2, 8, 7, 7]], {"groups": 2}),
        (GATHER, {"x": [2, 3, 4], "index": [5]}, [[2, 5, 4]], {"axis": 1}),
        (GATHER, {"x": [2, 3, 4], "index": [5]}, [[2, 3, 5]], {"axis": -1}),
        ("x [*s] -> [?,rank(s)]", {"x": [2, 3]}, [[-1, 2]], {}),
        ("x.. [*a,n'@axis,*b] -> [*a,m',*b]", {"x": [[2, 3], [2, 5]]}, [[2, 8]], {"axis": 1}),
        ("x [k] -> [] | x [m,k] -> [m]", {"x": [2, 3]}, [[2]], {}),
        ("x [n] -> .. [n']", {"x": [5]}, [[[2], [3]]], {}),
        ("-> [n']", {}, [[4]], {}),
    ],
)  # fmt: skip
def test_fits(text, inputs, outputs, attrs):
    assert fit(text, inputs, outputs, **attrs) is None


@pytest.mark.parametrize(
    "text, inputs, outputs, attrs, words",
    [
        (MATMUL, {"x": [2, 3], "y": [4, 5]}, [[2, 5]], {}, "y: k is 4 and 3"),
        (MATMUL, {"x": [2, 3], "y": [3, 4]}, [[4, 2]], {}, "result 0: m is not 4"),
        (MATMUL, {"x": [2, 3], "y": [3, 4]}, [[4]], {}, "result 0 has 1 axes"),
        (MATMUL, {"x": [2, 2, 3], "y": [5, 3, 4]}, [[5, 2, 4]], {}, "y: [5] does not broadcast"),
        (CONV, {"x": [2, 6, 9], "weight": [8, 6, 3], "bias": None}, [[2, 8, 7]], {"groups": 2}, "weight: c/groups is not 6"),
        (GATHER, {"x": [2, 3, 4], "index": [5]}, [[5, 3, 4]], {"axis": 1}, "result 0: *a is [5]"),
        ("x [*s] -> [*s]", {"x": [2], "y": [2]}, [[2]], {}, "the form has no y"),
    ],
)  # fmt: skip
def test_does_not_fit(text, inputs, outputs, attrs, words):
    assert words in fit(text, inputs, outputs, **attrs)


@pytest.mark.parametrize(
    "text, words",
    [
        ("x [n]", "has no ->"),
        ("[n] -> [n]", "an operand without a name"),
        ("x n -> [n]", "expected `name [axes]` at 'x n'"),
        ("y [n] -> [n]", "'y' is no input; inputs are x"),
        ("x [n] -> [n], [n]", "has 2 results of 1"),
        ("x [*a,*b] -> [*a]", "x: nothing tells where a group of axes ends"),
        ("x [n%2] -> [n]", "'n%2' is no size"),
        ("x [*2] -> [n]", "'*2': a group of axes is * and a letter"),
    ],
)
def test_is_refused(text, words):
    with pytest.raises(notation.NotationError) as error:
        notation.parse(text, ["x"], 1)
    assert words in str(error.value)


def test_what_an_op_says_without_words():
    op = {"shape": "", "elementwise": True, "infers": True}
    op["inputs"] = [{"name": "x", "list": False}, {"name": "y", "list": False}]
    op["outputs"] = [{"list": False, "hidden": False}]
    assert notation.of_op(op) == "x [*s], y [*s] -> [*s]"
    op["elementwise"] = False
    assert notation.of_op(op) == ""
