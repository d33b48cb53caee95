"""Ops that own blocks (if, while) and tensor arrays, with gradients of first and second order."""

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import (
    Assert,
    Print,
    case,
    cond,
    switch_case,
    while_loop,
)
from argosy.tensor.array import (
    array_length,
    array_read,
    array_write,
    create_array,
    tensor_array_to_tensor,
)

COVERS = {
    "custom_gradient": "test_custom_gradient",
    "if": "test_cond",
    "while": "test_while_loop",
    "array_new": "test_array_in_a_loop",
    "array_write": "test_array_in_a_loop",
    "array_read": "test_array_in_a_loop",
    "array_length": "test_array_in_a_loop",
    "array_join": "test_array_in_a_loop",
    "array_part": "test_array_in_a_loop",
    "array_take": "test_array_take",
    "array_slice": "test_array_slice",
    "array_place": "test_array_slice",
    "array_chain": "test_array_chain",
    "array_assign": "test_array_assign",
    "assert_true": "test_assert",
    "print_tensor": "test_print",
    "array_of_one": "test_array_in_a_loop",
    "array_add": "test_array_in_a_loop",
    "array_without": "test_array_in_a_loop",
    "array_element_or_zeros": "test_array_in_a_loop",
    "array_extend": "test_while_loop",
    "array_get": "test_while_loop",
    "on_place": "test_values_that_move",
}

X = np.array([0.3, -0.7, 1.1])
W = np.array([0.5, 0.7, 1.1])


def tensor(x):
    return argosy.to_tensor(np.asarray(x))


def count(value):
    return argosy.full([], value, "int64")


def evaluate(build, feeds, known=True):
    """build(*symbols) -> (outputs, scalar or None, wrt): values, first and second derivatives."""
    with Recorder() as r:
        symbols = [
            r.input(list(np.shape(f)) if known else [-1] * np.ndim(f), str(np.asarray(f).dtype))
            for f in feeds
        ]
        for s in symbols:
            s.stop_gradient = str(s.dtype) != "argosy.float64" and "float" not in str(s.dtype)
        outputs = build(*symbols)
        wrt = [s for s in symbols if not s.stop_gradient]
        first = r.gradients([outputs[-1]], wrt)
        live = [g for g in first if g is not None]
        second = r.gradients(live, wrt)
    r.verify()
    run = [*outputs, *first, *second]
    got = r.run([tensor(f) for f in feeds], [v for v in run if v is not None])
    values = iter(got)
    got = [None if v is None else next(values).numpy() for v in run]
    n, k = len(outputs), len(wrt)
    return got[:n], got[n : n + k], got[n + k :]


def derivative(f, args, i, h=1e-6):
    """Central differences of the sum of f over args[i]."""
    out = np.zeros_like(args[i])
    for at in np.ndindex(out.shape):
        lo, hi = [np.array(a) for a in args], [np.array(a) for a in args]
        lo[i][at] -= h
        hi[i][at] += h
        out[at] = (np.sum(f(*hi)) - np.sum(f(*lo))) / (2 * h)
    return out


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("pred", [True, False])
def test_cond(pred, known):
    def build(x, p):
        return [cond(p, lambda: (x * x).exp(), lambda: x.sin() * 2)]

    (y,), (g,), (gg,) = evaluate(build, [X, np.array(pred)], known)
    if pred:
        e = np.exp(X * X)
        want = e, 2 * X * e, (2 + 4 * X * X) * e
    else:
        want = 2 * np.sin(X), 2 * np.cos(X), -2 * np.sin(X)
    for got, w in zip((y, g, gg), want):
        np.testing.assert_allclose(got, w, rtol=1e-12)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_while_loop(rounds, known):
    def build(x, w, n):
        def body(i, s):
            return i + 1, (s * w).sin()

        return [while_loop(lambda i, s: i < n, body, [count(0), x])[1]]

    def numpy(x, w):
        for _ in range(rounds):
            x = np.sin(x * w)
        return x

    (y,), (gx, gw), seconds = evaluate(build, [X, W, np.array(rounds)], known)
    np.testing.assert_allclose(y, numpy(X, W), rtol=1e-12)
    np.testing.assert_allclose(gx, derivative(numpy, [X, W], 0), rtol=1e-6)
    gw = np.zeros_like(W) if gw is None else gw
    np.testing.assert_allclose(gw, derivative(numpy, [X, W], 1), rtol=1e-6, atol=1e-9)
    if rounds:
        for i, got in enumerate(seconds):

            def first(x, w):
                return sum(derivative(numpy, [x, w], k, 1e-4) for k in (0, 1))

            np.testing.assert_allclose(
                got, derivative(first, [X, W], i, 1e-4), rtol=1e-4, atol=1e-6
            )


@pytest.mark.parametrize("stack", [True, False])
def test_array_in_a_loop(stack):
    rounds = 5

    def build(x):
        total = x * 1.0
        i = count(0)
        array = array_write(x, i, create_array("float64"))

        def body(i):
            t = array_read(array, i) * 1.5
            total.add_(t)  # a write to an outer value
            i = i + 1
            array_write(t.tanh(), i, array)
            return [i]

        while_loop(lambda i: i < count(rounds), body, [i])
        joined, sizes = tensor_array_to_tensor(array, 0, stack)
        return [joined, total, sizes, array_length(array), joined.sum() + total.sum()]

    def numpy(x):
        parts, total = [x], x.copy()
        for k in range(rounds):
            t = parts[k] * 1.5
            total = total + t
            parts.append(np.tanh(t))
        return (np.stack if stack else np.concatenate)(parts), total

    def value(x):
        return sum(np.sum(v) for v in numpy(x))

    outputs, (g,), (gg,) = evaluate(build, [X])
    want = numpy(X)
    np.testing.assert_allclose(outputs[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(outputs[1], want[1], rtol=1e-12)
    assert outputs[2].tolist() == [1 if stack else 3] * (rounds + 1)
    assert outputs[3] == rounds + 1
    np.testing.assert_allclose(g, derivative(value, [X], 0), rtol=1e-6)

    def first(x):
        return derivative(value, [x], 0, 1e-4)

    np.testing.assert_allclose(gg, derivative(first, [X], 0, 1e-4), rtol=1e-4, atol=1e-6)


def test_arrays_in_eager_mode_are_lists():
    array = array_write(tensor(X), argosy.to_tensor(0), create_array("float64"))
    array_write(tensor(W), argosy.to_tensor(1), array)
    assert isinstance(array, list) and array_length(array) == 2
    np.testing.assert_array_equal(array_read(array, argosy.to_tensor(1)).numpy(), W)
    joined, sizes = tensor_array_to_tensor(array, 0)
    assert joined.shape == [6] and sizes.tolist() == [3, 3]
    with pytest.raises(AssertionError, match="at most the array's length 2, got 5"):
        array_write(tensor(X), argosy.to_tensor(5), array)


def test_a_write_in_one_branch_only():
    def build(x, p):
        y = x * 2

        def write():
            y.add_(x)

        cond(p, write, lambda: None)
        return [y * 1.0]

    for pred, factor in ((True, 3), (False, 2)):
        (y,), (g,), _ = evaluate(build, [X, np.array(pred)])
        np.testing.assert_allclose(y, factor * X)
        np.testing.assert_allclose(g, np.full(3, factor))


def test_case_and_switch_case():
    def build(x, i):
        by_index = switch_case(i, {1: lambda: x + 1, 3: lambda: x * 3}, lambda: x * 0)
        by_test = case([(i < 2, lambda: x - 5), (i < 4, lambda: x - 6)], lambda: x - 7)
        return [by_index, by_test, by_index * 1.0]

    for i, want in ((1, (X + 1, X - 5)), (3, (X * 3, X - 6)), (9, (X * 0, X - 7))):
        got, _, _ = evaluate(build, [X, np.array(i)])
        np.testing.assert_allclose(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1])


def test_a_switch_with_many_branches():
    """Branches are found by halves: no block lies as deep as there are branches."""
    keys = [2 * k - 7 for k in range(250)]

    def build(x, i):
        return switch_case(i, [(k, lambda k=k: x * k) for k in keys], lambda: x + 1000)

    with Recorder() as r:
        x, i = r.input([3], "float64"), r.input([], "int64")
        y = build(x, i)
        (g,) = r.gradients([y], [x])
    bytes_ = _core.program_to_bytes(r._program)
    assert _core.program_print(_core.program_from_bytes(bytes_)) == _core.program_print(r._program)
    for k in (-9, -7, -5, 1, 2, 491, 492, 493):
        feeds = [tensor(X), tensor(np.array(k))]
        want = X * k if k in keys else X + 1000
        got, slope = r.run(feeds, [y, g])
        np.testing.assert_allclose(got, want)
        np.testing.assert_allclose(slope, np.full(3, k if k in keys else 1))
        np.testing.assert_allclose(build(*feeds), want)


def test_sizes_that_grow_are_unknown():
    with Recorder() as r:
        x = r.input([2], "float64")
        y = while_loop(
            lambda i, s: i < 3, lambda i, s: [i + 1, argosy.concat([s, x])], [count(0), x]
        )[1]
        assert y.shape == [-1]
    r.verify()
    assert r.run([tensor(X[:2])], [y])[0].numpy().tolist() == np.tile(X[:2], 4).tolist()


def test_eager_conditions_run_python():
    assert cond(argosy.to_tensor(True), lambda: 1, lambda: 2) == 1
    assert while_loop(lambda i: i < 3, lambda i: [i + 1], [argosy.to_tensor(0)])[0] == 3


def test_errors():
    with Recorder() as r:
        x, p = r.input([3], "float64"), r.input([], "bool")
        with pytest.raises(TypeError, match=r"value 0 is float64\[3\] in true_fn and int64"):
            cond(p, lambda: x, lambda: x.astype("int64"))
        with pytest.raises(ValueError, match="true_fn returned 1, false_fn 2"):
            cond(p, lambda: x, lambda: [x, x])
        with pytest.raises(
            TypeError, match=r"pred: expected a bool .* got a Tensor of paddle\.float64"
        ):
            cond(x, lambda: x, lambda: x)
        with pytest.raises(TypeError, match="variable 1 starts as float64"):
            while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, i], [count(0), x])
        with pytest.raises(ValueError, match="expected 1, got 2"):
            while_loop(lambda i: i < 3, lambda i: [i, i], [count(0)])
        kept = []
        cond(p, lambda: kept.append(x * 2), lambda: None)
        with pytest.raises(ValueError, match="made inside a branch or a loop body is used outside"):
            kept[0] + 1
        # What failed left nothing open.
        assert (x + 1).shape == [3]
    r.verify()
    with pytest.raises(TypeError, match="pred_fn_pairs: expected a list"):
        case(1)
    with pytest.raises(ValueError, match="index 1 is given twice"):
        switch_case(argosy.to_tensor(1), [(1, lambda: 1), (1, lambda: 2)])


def test_other_values_stay_python():
    with Recorder() as r:
        p = r.input([], "bool")
        value, text = cond(p, lambda: (1, "a"), lambda: (2, "a"))
        assert text == "a" and value._symbolic
        with pytest.raises(TypeError, match="cannot depend on a symbolic condition"):
            cond(p, lambda: "a", lambda: "b")
    assert _core.ops is not None
    assert [int(r.run([tensor(np.array(v))], [value])[0]) for v in (True, False)] == [1, 2]


def test_array_take():
    def build(x):
        array = create_array("float64", [x, x * x, x * x * x])
        two = _core.ops.array_take(array, count(2))
        two._element = ([3], x.dtype)
        return (tensor_array_to_tensor(two, 0, True)[0] * 2).sum()

    with Recorder() as r:
        x = r.input([3], "float64", stop_gradient=False)
        y = build(x)
        got = r.run([tensor(X)], [y] + r.gradients([y], [x]))
        array = create_array("float64", [x])
        long = array_length(_core.ops.array_take(array, count(2)))
    np.testing.assert_allclose(got[0].numpy(), (2 * (X + X * X)).sum())
    np.testing.assert_allclose(got[1].numpy(), 2 + 4 * X)
    with pytest.raises(IndexError, match="from 0 to 1, got 2"):
        r.run([tensor(X)], [long])


LAST = 2**63 - 1
SLICES = [
    (0, LAST, 1), (1, 3, 1), (-2, LAST, 1), (0, -1, 2), (3, 1, 1), (-99, 99, 3), (99, 120, 1),
    (LAST, -LAST - 1, -1), (-2, 0, -2), (0, LAST, -1), (LAST, -LAST - 1, -LAST - 1), (0, LAST, LAST),
]  # fmt: skip


@pytest.mark.parametrize("begin, end, step", SLICES)
def test_array_slice(begin, end, step):
    taken = list(range(5))[begin:end:step]

    def build(x):
        part = _core.ops.array_slice(
            create_array("float64", [x * x * float(k + 1) for k in range(5)]),
            *map(count, (5, begin, end)),
            step,
        )
        back = _core.ops.array_place(part, *map(count, (5, begin, end)), step)
        length = array_length(part)
        # All five, those that were not taken as nothing.
        sums = [_core.ops.array_element_or_zeros(back, count(k), x) for k in range(5)]
        return [length, *sums, sum(y * float(k + 1) for k, y in enumerate(sums)).sum()]

    (length, *sums, _), (g,), (gg,) = evaluate(build, [X])
    assert length == len(taken)
    weight = 0
    for k, y in enumerate(sums):
        np.testing.assert_allclose(y, X * X * (k + 1) * (k in taken))
        weight += (k + 1) ** 2 * (k in taken)
    np.testing.assert_allclose(g, 2 * weight * X)
    np.testing.assert_allclose(gg, 2 * weight * np.ones(3))


def test_an_array_of_a_gradient_that_ends_early_is_sliced():
    with Recorder() as r:
        x = r.input([3], "float64")
        array = create_array("float64", [x])  # one of three elements that are counted
        back = _core.ops.array_slice(array, *map(count, (3, LAST, -LAST - 1)), -1)
        zero = _core.ops.array_element_or_zeros(back, count(0), x)
        only = _core.ops.array_element_or_zeros(back, count(2), x)
        got = r.run([tensor(X)], [array_length(back), zero, only])
    assert got[0].item() == 3 and not got[1].numpy().any()
    np.testing.assert_array_equal(got[2].numpy(), X)


def test_what_cannot_be_sliced():
    array = _core.ops.array_new("float64")
    with pytest.raises(ValueError, match=r"\[array_slice\] slice step cannot be zero"):
        _core.ops.array_slice(array, count(0), count(0), count(0), 0)
    with pytest.raises(ValueError, match=r"\[array_slice\] length: expected 0 or more, got -1"):
        _core.ops.array_slice(array, count(-1), count(0), count(0), 1)
    with pytest.raises(ValueError, match=r"\[array_place\] an array holds up to 67108864 elements"):
        _core.ops.array_place(array, count(LAST), count(0), count(0), 1)
    with pytest.raises(ValueError, match=r"\[array_slice\] an array holds up to"):
        _core.ops.array_slice(array, count(LAST), count(LAST), count(0), -1)
    with pytest.raises(ValueError, match=r"\[array_slice\] one integer is expected, got"):
        _core.ops.array_slice(array, count(0), argosy.full([2], 0, "int64"), count(0), 1)
    with pytest.raises(ValueError, match=r"\[array_chain\] an array holds up to"):
        _core.ops.array_chain(array, count(-1), array)
    with pytest.raises(
        TypeError, match=r"\[array_chain\] expected arrays of one dtype, got float64"
    ):
        _core.ops.array_chain(array, count(0), _core.ops.array_new("float32"))
    with pytest.raises(TypeError, match=r"array_assign"):
        _core.ops.array_assign(array, tensor(X))


def test_array_chain():
    def build(x, y):
        both = _core.ops.array_chain(
            create_array("float64", [x * x, x]), count(2), create_array("float64", [y * y, y, x])
        )
        both._element = ([3], x.dtype)
        joined = tensor_array_to_tensor(both, 0, True)[0]
        weights = tensor(np.arange(1.0, 6.0).reshape(5, 1))
        return [joined, (joined * weights).sum()]

    (joined, _), (gx, gy), (ggx, ggy) = evaluate(build, [X, W])
    np.testing.assert_allclose(joined, [X * X, X, W * W, W, X])
    np.testing.assert_allclose(gx, 2 * X + 2 + 5)
    np.testing.assert_allclose(gy, 6 * W + 4)
    np.testing.assert_allclose(ggx, np.full(3, 2.0))
    np.testing.assert_allclose(ggy, np.full(3, 6.0))


def test_array_assign():
    """In place: also where a loop does it with an array of the block around it."""

    def build(x):
        array = create_array("float64", [x, x * x, x * 3.0])
        i = count(0)

        def body(i):
            n = array_length(array)[0]
            _core.ops.array_assign(array, _core.ops.array_slice(array, n, count(1), count(LAST), 1))
            return [i + 1]

        while_loop(lambda i: i < count(2), body, [i])
        length = array_length(array)
        return [length, array_read(array, count(0)), array_read(array, count(0)).square().sum()]

    (length, y, _), (g,), (gg,) = evaluate(build, [X])
    assert length == 1
    np.testing.assert_allclose(y, 3 * X)
    np.testing.assert_allclose(g, 18 * X)
    np.testing.assert_allclose(gg, np.full(3, 18.0))


def test_assert():
    x = tensor(X)
    assert Assert(x.sum() > 0) is None
    with pytest.raises(
        ValueError, match=r"condition is False: sign. float64\[3\] = \[0.3, -0.7, .*1 more"
    ):
        Assert(x.sum() < 0, [x], 2, "sign")
    with pytest.raises(TypeError, match="expected a bool Tensor, got a Tensor of .*float64"):
        Assert(x)
    with pytest.raises(ValueError, match="expected one element"):
        Assert(x > 0)
    with Recorder() as r:
        s = r.input([3], "float64")
        Assert((s > 0).all(), [s > 0])
        y = s * 2
    np.testing.assert_allclose(r.run([tensor(np.abs(X))], [y])[0].numpy(), 2 * np.abs(X))
    with pytest.raises(ValueError, match=r"bool\[3\] = \[True, False, True\]"):
        r.run([x], [y])


def test_print(capfd):
    with Recorder() as r:
        x = r.input([3], "float64", stop_gradient=False)
        y = Print(x, first_n=1, message="hello", summarize=2) * 3
        z = Print(x.astype("int32"), print_tensor_shape=False)
        b = Print(x > 0, print_phase="backward")
        grad = r.gradients([y], [x])[0]
    for _ in range(2):
        got = r.run([tensor(X)], [y, z, b, grad])
        np.testing.assert_allclose(got[0].numpy(), X * 3)
        np.testing.assert_allclose(got[3].numpy(), [3.0, 3.0, 3.0])
    lines = capfd.readouterr().out.splitlines()
    assert lines.count("hello") == 2  # the value and its gradient, the first time
    assert lines.count("  - data: [0.3, -0.7, ... (1 more)]") == 1
    assert lines.count("  - data: [3, 3, ... (1 more)]") == 1
    assert lines.count("  - data: [0, 0, 1]") == 2
    assert not any("True" in line for line in lines)
    with pytest.raises(ValueError, match="print_phase: expected one of forward"):
        Print(tensor(X), print_phase="always")


def test_custom_gradient():
    """A PyLayer becomes an operation whose gradient is its backward."""

    class Twice(argosy.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * y, x + y

        @staticmethod
        def backward(ctx, a, b):
            (x,) = ctx.saved_tensor()
            return a * x * 100, b

    (p, s, _), (gx, gy), _ = evaluate(
        lambda x, y: [*(v := Twice.apply(x, y)), v[0].sum() + v[1].sum()], [X, W]
    )
    np.testing.assert_allclose(p, X * W)
    np.testing.assert_allclose(s, X + W)
    np.testing.assert_allclose(gx, X * 100)
    np.testing.assert_allclose(gy, np.ones(3))


@pytest.mark.parametrize("pred", [True, False])
def test_a_value_yielded_and_kept_in_an_array_is_not_overwritten(pred):
    def build(x, p):
        array = create_array("float64", [x])
        first = count(0)

        def keep(value):
            array_write(value, first, array)
            return value

        y = cond(p, lambda: keep(x.tanh()), lambda: keep(x * 2) + 1)
        return [(y * 5).exp(), array_read(array, first) * 1.0]

    (y, kept), _, _ = evaluate(build, [X, np.array(pred)])
    want = np.tanh(X) if pred else X * 2
    np.testing.assert_allclose(kept, want)
    np.testing.assert_allclose(y, np.exp(5 * (want if pred else want + 1)))


def test_an_element_that_a_branch_read_stays_in_the_array():
    with Recorder() as r:
        x = r.input([], "int64")
        array = create_array("int64", [x + 1, x + 2])
        element = cond(x > 0, lambda: array_read(array, count(1)), lambda: x)
        scaled = element * 10 + x
        read = array_read(array, count(1))
        total = scaled + read
    for value in (3, -3):
        expected = ((value + 2) if value > 0 else value) * 10 + value + value + 2
        assert int(r.run([tensor(value)], [total])[0]) == expected


def test_values_that_move():
    """Between devices: tests/python/device/test_places.py."""
    x = tensor(X)
    np.testing.assert_array_equal(argosy._core.ops.on_place(x, "cpu", 0).numpy(), X)
    with pytest.raises(argosy.DeviceError, match="there is no device 'tpu'.*Do this"):
        argosy._core.ops.on_place(x, "tpu", 0)
