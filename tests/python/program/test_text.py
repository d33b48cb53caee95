"""The text form of Programs: what is printed is parsed, and errors name line and column."""

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy._recorder import Recorder

EXAMPLE = """\
program "example" {
  metadata "made" = "by hand, \\"twice\\"\\n"
  input %0 "x" : float32[2, ?] grad
  input %1 "n" : int64[]
  state %2 "w" : float32[3] trainable
  state %3 "steps" : int64[] temporary
  constant %4 : float32[3] = [1.0, -0.5, inf]
  %5 = add(%2, %4) : float32[3] "sum" loc("model.py:3")
  %6 = reshape(%0; %1) {shape=[2, $]} : float32[2, ?]
  %7 = concat([%5, %2]) {axis=0} : float32[6]
  %8 = full(; %1) {shape=[], fill_value=$, dtype='bool'} : bool[]
  %9, %10 = if(%8, %5, %3) : float32[3], int64[] {
    (%11 : float32[3], %12 : int64[])
    %13 = scale(%11) {scale=2.5, bias=0.0, bias_after_scale=True} : float32[3]
    yield %13, %12
  } {
    (%14 : float32[3], %15 : int64[])
    yield %14, %15
  } backward
  write "steps" = %10
  output "y" = %9
}
"""


def parse(text, constants=(), without_data=False):
    return _core.program_parse(text, list(constants), without_data)


def text_of(program):
    return _core.program_print(program)


def test_example():
    # Attributes that are left out have their defaults, so the first text need not be what comes
    # back; the second must be.
    text = text_of(parse(EXAMPLE))
    assert text_of(parse(text)) == text
    for line in EXAMPLE.splitlines():
        if not line.endswith("{") and " add(" not in line and " scale(" not in line:
            assert line in text.splitlines()
    program = parse(EXAMPLE)
    scope = _core.scope_new(None)
    _core.scope_set(scope, "w", argosy.to_tensor(np.array([1, 2, 3], np.float32)))
    _core.scope_set(scope, "steps", argosy.to_tensor(7))
    outputs = [v for _, v in _core.program_describe(program)["outputs"]]
    feeds = [argosy.ones([2, 5]), argosy.to_tensor(5)]
    (y,) = _core.program_run(program, feeds, outputs, scope)
    np.testing.assert_array_equal(y.numpy(), [5, 3.75, np.inf])


def test_spaces_and_comments():
    text = EXAMPLE.replace("\n", "   // a remark\n\n").replace(", ", "\t,\n")
    assert text_of(parse(text.replace("by hand\t,\n", "by hand, "))) == text_of(parse(EXAMPLE))


def test_flow_of_gradients():
    with Recorder() as r:
        x = r.input([2], "float32", stop_gradient=False)
        with argosy.no_grad():
            y = x * 2
        z = y + x
    assert "stop" in text_of(r._program).split("multiply(")[1].split("\n")[0]
    copy = parse(text_of(r._program))
    _core.program_begin(copy)
    try:
        operations = _core.program_describe(copy)["operations"]
        target = operations[-1]["results"][0]
        (g,) = _core.program_gradients(
            copy, [target], [], _core.program_describe(copy)["arguments"], []
        )
    finally:
        _core.program_end()
    (got,) = _core.program_run(copy, [argosy.ones([2])], [g], None)
    np.testing.assert_array_equal(got.numpy(), [1, 1])
    assert z.shape == [2]


def test_large_constants_by_digest():
    table = argosy.randn([10, 10])
    other = argosy.randn([10, 10])
    with Recorder() as r:
        _ = r.input([10], "float32") @ table
    text = text_of(r._program)
    assert " = #" in text
    assert text_of(parse(text, [other, table])) == text
    with pytest.raises(ValueError, match="line 3.*given beside the text"):
        parse(text, [other])
    without = parse(text, [], True)
    assert text_of(without) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("program", "programme", "line 1, column 1: expected `program`"),
        ("float32[2, ?]", "float33[2, ?]", "line 3, column 18: expected a dtype"),
        ("float32[2, ?]", "float32[2, -3]", "line 3, column 29: expected a size"),
        ("int64[]", "int64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", "at most 9 sizes"),
        ("add(%2", "ad(%2", "line 8, column 8: expected an op that this Argosy has"),
        ("add(%2", "add(%9", "line 8, column 12: expected a value made before"),
        ("%13, %12", "%5, %12", "expected a value made before in its own block"),
        ("%7 =", "%6 =", "line 10, column 3: expected a value that is not made twice"),
        ("axis=0", "axis=0.5", "line 10, column 31: expected an integer"),
        ("axis=0", "axes=0", "an attribute of concat"),
        ("axis=0", "axis=99999999999999999999", "expected an integer"),
        ("scale=2.5", "scale='a'", "a number"),
        ("[1.0, -0.5, inf]", "[1.0, -0.5]", "expected `,`"),
        ("[1.0, -0.5, inf]", "[1.0, -0.5, inf, 1.0]", "expected 3 elements for float32"),
        ("[1.0, -0.5, inf]", "[1.0, -0.5, 1e99]", "that its dtype can hold"),
        ("shape=[2, $]", "shape=[2, 1]", "no valid Program.*elements of attributes"),
        ('float32[3] "sum"', 'float32[4] "sum"', "no valid Program: %5 of add"),
        ("if(%8", "if(%5", "no valid Program.*must be a bool"),
        ("yield %14, %15", "yield %14", "yields and results differ in number"),
        ('state %3 "steps"', 'state %3 "w"', "a name of its own"),
        ('write "steps"', 'write "step"', "the name of a state"),
        ('output "y" = %9\n}', 'output "y" = %9\n', "expected `}`; the text ends"),
        ('loc("model.py:3")', 'loc("model.py:3', "expected"),
        ("%0", "%4000000000", "not as big a one"),
    ],
)
def test_errors(old, new, message):
    assert old in EXAMPLE
    with pytest.raises(ValueError, match=message.replace("[", "\\[")):
        parse(EXAMPLE.replace(old, new, 1))


def test_prefixes_are_refused():
    text = text_of(parse(EXAMPLE))
    for n in range(len(text) - 2):
        with pytest.raises(ValueError):
            parse(text[:n])


def test_deep_nesting_is_refused():
    opening = "%0 = if(%1) : bool[] { ("
    with pytest.raises(ValueError, match="line 2"):
        parse("program {\n" + opening * 100000)
    text = "program {\n" + "".join(f"if(%{i}) {{ (\n" for i in range(300))
    with pytest.raises(ValueError):
        parse(text)
    nest = 'program {\n input %0 "p" : bool[]\n'
    for i in range(300):
        nest += f"if(%{i}, %{i}) {{}} {{ (%{i + 1} : bool[])\n"
    with pytest.raises(ValueError, match="nested at most 200"):
        parse(nest)
