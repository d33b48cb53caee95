"""Rewritten functions on values of a Program: both branches and all loops are captured."""

import linecache
import random

import numpy as np
import pytest
from tests.python.jit import capture_functions
from tests.python.jit.program_generator import generate_list, generate_pure

import argosy as paddle
from argosy._recorder import Recorder
from argosy.jit.transform import (
    CaptureError,
    UndefinedVariableError,
    checked_outputs,
    transform,
)
from argosy.jit.transform.runtime.state import flatten, unflatten


class Captured:
    """A function traced once; calling it replays the Program."""

    def __init__(self, function, inputs, unknown):
        self.recorder = Recorder()
        with self.recorder as r:
            self.inputs = []
            for x in inputs:
                a = np.asarray(x)
                shape = [-1] * a.ndim if unknown else a.shape
                self.inputs.append(r.input(shape, _dtype(a)))
            self.leaves = []
            self.structure = flatten(transform(function)(*self.inputs), self.leaves)
        self.recorder.verify()

    def __call__(self, *inputs):
        outs = [x for x in self.leaves if isinstance(x, paddle.Tensor) and x._symbolic]
        values = iter(self.recorder.run([_tensor(x) for x in inputs], outs)) if outs else iter(())
        leaves = [next(values) if any(x is o for o in outs) else x for x in self.leaves]
        return unflatten(self.structure, iter(leaves))


def _dtype(a):
    return "int64" if a.dtype.kind == "i" else "float32"


def _tensor(x):
    a = np.asarray(x)
    return paddle.to_tensor(a.astype(_dtype(a)))


def same(got, expected):
    a, b = [], []
    assert flatten(got, a) == flatten(expected, b)
    for x, y in zip(a, b):
        if isinstance(x, paddle.Tensor):
            x = x.numpy()
            y = np.asarray(y.numpy() if isinstance(y, paddle.Tensor) else y)
            assert x.shape == y.shape
            np.testing.assert_allclose(x, y, rtol=1e-6)
        else:
            assert x == y


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(
    "function, inputs", capture_functions.CASES, ids=lambda v: getattr(v, "__name__", "")
)
def test_same_as_eager(function, inputs, unknown):
    captured = Captured(function, inputs[0], unknown)
    for values in inputs:
        expected = function(*map(_tensor, values))
        same(transform(function)(*map(_tensor, values)), expected)
        same(captured(*values), expected)


def program_of(text, filename):
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["program"]


@pytest.mark.parametrize("generator", [generate_pure, generate_list])
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_programs(start, generator):
    """A captured program gives for all inputs what Python gives; few cannot be captured."""
    refused = 0
    for seed in range(start, start + 20):
        text = generator(random.Random(seed))
        program = program_of(text, f"<{generator.__name__} {seed}>")
        try:
            captured = Captured(program, [1, 2], False)
        except CaptureError:
            refused += 1
            continue
        for a in range(-2, 4):
            for b in (0, 3):
                got = [int(x) for x in captured(a, b)]
                assert got == list(program(a, b)), f"seed {seed}, arguments {a, b}:\n{text}"
    assert refused <= 3


def smooth_if(x, n):
    if x.sum() > 1:
        x = x * x
    for i in range(n):
        if i > 1:
            break
        x = x * 2 + i
    while (x * x).sum() < 100:
        x = x * x + 1
    return x.sum() if x.sum() > 0 else (x * x).sum()


def smooth_return(x, n):
    for i in range(n):
        x = x * 1.5
        if x.sum() > 3:
            return (x * x).sum()
    return (x * x * x).sum()


def smooth_list(x, n):
    parts = [x]
    for i in range(n):
        parts.append(parts[i] * x)
    last = parts.pop()
    return (paddle.stack(parts) * 2).sum() + last.sum()


@pytest.mark.parametrize("function", [smooth_if, smooth_return, smooth_list])
def test_gradients(function):
    with Recorder() as r:
        x = r.input([3], "float64", stop_gradient=False)
        n = r.input([], "int64")
        y = transform(function)(x, n)
        outs = [y] + r.gradients([y], [x])
    for start in ([1.0, 2.0, 0.5], [0.1, 0.2, -0.3], [-1.0, 0.3, 0.5]):
        for count in (1, 3):
            a = paddle.to_tensor(np.array(start), stop_gradient=False)
            b = paddle.to_tensor(count)
            expected = function(a, b)
            expected.backward()
            got = r.run([a.detach(), b], outs)
            np.testing.assert_allclose(got[0].numpy(), expected.numpy())
            np.testing.assert_allclose(got[1].numpy(), a.grad.numpy())


def asserted(x):
    assert x.sum() > 0, "sign"
    print("x is", x)
    return x


def test_assert_and_print(capfd):
    captured = Captured(asserted, [[1.0, 2.0]], False)
    assert capfd.readouterr().out == ""
    captured([1.0, 2.0])
    assert "x is\n" in (out := capfd.readouterr().out) and "- data: [1, 2]" in out
    with pytest.raises(ValueError, match="condition is False: sign"):
        captured([-1.0, 0.0])


def refuses(x, limit):
    if x.sum() > limit:
        raise OverflowError(f"over {limit}")
    n = 0
    while x.sum() < 0:
        if n > 3:
            raise RuntimeError("too often")
        x = x + 1
        n += 1
    if n > 1:
        y = x
    elif x.sum() > 1:
        raise KeyError
    else:
        y = -x
    return y


def handles(x):
    try:
        if x.sum() > 0:
            raise KeyError("a")
    except KeyError:
        return x
    return -x


def test_raise_under_a_condition():
    captured = Captured(lambda x: transform(refuses)(x, 9), [[1.0, 2.0]], False)
    for values in ([0.0, 0.5], [-3.0, 0.0]):
        same(captured(values), refuses(_tensor(values), 9))
    for values, text in (
        ([9.0, 1.0], "OverflowError: over 9"),
        ([-30.0, 0.0], "RuntimeError: too often"),
        ([1.0, 0.5], "KeyError: "),
    ):
        with pytest.raises(ValueError, match=text):
            captured(values)
    with pytest.raises(CaptureError, match="is raised inside of a `try`"):
        Captured(handles, [[1.0]], False)

    # Both ways raise: so does the capture.
    def both(x):
        if x.sum() > 0:
            raise KeyError("a")
        raise OSError("b")

    with pytest.raises((OSError, KeyError)):
        Captured(both, [[1.0]], False)


ready = paddle.to_tensor(False)


def reads_state(x):
    n = 0
    for _ in range(3):
        if ready:
            n += 1
    return x * 2 if not ready else x, n


def test_tensors_outside_are_state():
    captured = Captured(reads_state, [[1.0]], False)
    for value in (False, True):
        ready.set_value(np.array(value))
        same(captured([1.0]), reads_state(_tensor([1.0])))


def test_outputs_are_checked():
    def unfinished(n):
        out = []
        for i in range(n):
            out.append(i)
        return {"a": (out,)}

    checked = lambda n: checked_outputs(transform(unfinished)(n))  # noqa: E731
    with pytest.raises(CaptureError, match="is returned. Do this: return it stacked"):
        Captured(checked, [3], False)
    assert checked(2) == {"a": ([0, 1],)}


# --- what cannot be captured ---


def one_sided(x):
    if x.sum() > 0:
        y = x + 1
    return y + 1


def one_sided_returned(x):
    if x.sum() > 0:
        y = x + 1
    return y


def dtypes_differ(x):
    if x.sum() > 0:
        y = x
    else:
        y = paddle.shape(x)
    return y * 2


def structures_differ(x):
    if x.sum() > 0:
        return x, x
    return x


def value_or_none(x):
    if x.sum() > 0:
        return x


def loop_changes_dtype(x):
    n = paddle.shape(x)[0]
    while n < 9:
        n = n + x.sum()
    return n


def loop_changes_object(x):
    mode = "a"
    while x.sum() < 9:
        x = x + 1
        mode = mode + "b"
    return mode


def attribute_in_one_branch(x):
    class Box:
        pass

    box = Box()
    if x.sum() > 0:
        box.value = x
    return box


def break_out_of_generator(x):
    for i in (j for j in range(4)):
        if x.sum() > i:
            break
    return x


def comprehension_over_symbolic_range(x):
    return [i for i in range(paddle.shape(x)[0])]


def jump_in_finally(x):
    for i in range(3):
        try:
            y = x
        finally:
            if x.sum() > 0:
                break
    return y


@pytest.mark.parametrize(
    "function, line, text",
    [
        (one_sided, 1, "variable 'y' has no value here: only one of the two branches assigns it"),
        (one_sided_returned, 1, "variable 'y' has no value here: only one"),
        (dtypes_differ, 1, "variable 'y' has no value here: one branch leaves .*float32.*int64"),
        (structures_differ, 1, "return values that cannot be one: .* different structure"),
        (value_or_none, 1, "returns a value or ends without one"),
        (loop_changes_dtype, 2, "'n' changes its dtype from .*int64 to .*float32"),
        (loop_changes_object, 2, "'mode' changes from str 'a' to str 'ab'"),
        (attribute_in_one_branch, 5, "for 'box.value' only one of the two branches assigns it"),
        (break_out_of_generator, 1, "leaving a loop over generator, whose length is not known"),
        (comprehension_over_symbolic_range, 1, "iterated outside a `for` statement"),
        (jump_in_finally, 5, "a jump out of a `try`"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_refusals_name_file_line_and_reason(function, line, text):
    with pytest.raises(CaptureError, match=text) as e:
        Captured(function, [[1.0, 2.0]], False)
    if line is not None:
        assert e.value.filename == __file__
        assert e.value.lineno == function.__code__.co_firstlineno + line
        assert f"{__file__}:{e.value.lineno}: " in str(e.value)
    if function in (one_sided, one_sided_returned):
        assert isinstance(e.value, UndefinedVariableError)


def test_state_is_put_back_after_a_refusal():
    items = [1]

    def f(x):
        if x.sum() > 0:
            items.append(2)
        else:
            items.append("a")
        return x

    with pytest.raises(CaptureError):
        Captured(f, [[1.0]], False)
    assert items == [1]


def test_sublayers_are_rewritten():
    class Inner(paddle.nn.Layer):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x - 1

    class Outer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = paddle.nn.Sequential(Inner(), Inner())
            self.last = Inner()

        def forward(self, x):
            return self.last(self.body(x))

    layer = Outer()

    def run(x):
        return layer(x)

    captured = Captured(run, [[1.0, 2.0]], True)
    assert "forward" not in layer.last.__dict__
    for values in ([1.0, 2.0], [-1.0, 0.0, -2.0]):
        same(captured(values), layer(_tensor(values)))


def test_loops_of_programs_do_not_unroll():
    def f(x):
        for row in x:
            x = x + row
        return x

    short = str(Captured(f, [np.ones((4, 2))], False).recorder)
    long = str(Captured(f, [np.ones((400, 2))], False).recorder)
    assert "while" not in short and "while" in long
    assert long.count("\n") < 40
