"""What tells the specializations of a captured function apart, and how many are kept."""

import dataclasses
import gc
import math
import warnings

import pytest

import argosy as paddle
from argosy.jit import api

X = [1.0, 2.0]


def captured(function, **options):
    return paddle.jit.to_static(function, **options)


class Scale:
    """Has no hash."""

    __hash__ = None

    def __init__(self, factor):
        self.factor = factor


def test_an_object_without_a_hash_never_gets_the_program_of_another():
    @captured
    def f(x, scale):
        return x * scale.factor

    x = paddle.to_tensor(X)
    for factor in range(1, 30):  # objects die, and the next would have their ids
        assert f(x, Scale(float(factor))).tolist() == [factor, 2.0 * factor]
        gc.collect(0)


def test_an_object_without_a_hash_is_itself():
    @captured
    def f(x, scale):
        return x * scale.factor

    x, scale = paddle.to_tensor(X), Scale(3.0)
    f(x, scale), f(x, scale)
    assert len(f.program_cache) == 1


@dataclasses.dataclass
class Settings:
    factor: float
    names: list


def test_data_classes_and_sets_go_by_what_is_in_them():
    @captured
    def f(x, settings, flags):
        return x * settings.factor + (10.0 if "add" in flags else 0.0) + len(settings.names)

    x, settings, flags = paddle.to_tensor([1.0]), Settings(2.0, []), set()
    assert f(x, settings, flags).tolist() == [2.0]
    settings.factor = 5.0
    assert f(x, settings, flags).tolist() == [5.0]
    flags.add("add")
    assert f(x, settings, flags).tolist() == [15.0]
    settings.names.append("a")
    assert f(x, settings, flags).tolist() == [16.0]
    assert len(f.program_cache) == 4
    assert f(x, Settings(5.0, ["a"]), {"add"}).tolist() == [16.0] and len(f.program_cache) == 4


def test_floats_go_by_their_bits():
    @captured
    def f(x, y):
        return x * math.copysign(1.0, y)

    x = paddle.to_tensor([1.0])
    assert f(x, 0.0).tolist() == [1.0] and f(x, -0.0).tolist() == [-1.0]
    f(x, math.nan), f(x, math.nan)
    assert len(f.program_cache) == 3


def test_numbers_that_count_up_do_not_make_a_program_each(monkeypatch):
    monkeypatch.setattr(api, "MOST_NUMBERS", 3)

    @captured
    def f(x, step, kind="a"):
        return x * int(str(step))

    x = paddle.to_tensor([2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(3):
            assert f(x, step).tolist() == [2.0 * step]
    with pytest.warns(UserWarning, match=r"'f' .* was captured 3 times .* \(step\); .*to_tensor"):
        assert f(x, 3).tolist() == [6.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(3, 40):
            assert f(x, step).tolist() == [2.0 * step]
        assert f(x, 1).tolist() == [2.0]  # one of the first: its Program runs
        assert f(x, 9, "b").tolist() == [18.0]  # of another form: captured
    assert len(f.program_cache) == 4


def test_numbers_with_full_graph_are_captured_and_the_newest_kept(monkeypatch):
    monkeypatch.setattr(api, "MOST_NUMBERS", 2)
    monkeypatch.setattr(api, "MOST_FORMS", 5)

    @captured
    def f(x, step):
        return x + int(str(step))

    g = captured(f.dygraph_function, full_graph=True)
    x = paddle.to_tensor([2.0])
    for step in range(12):
        assert g(x, step).tolist() == [2.0 + step]
    assert len(g.program_cache) == 5


def test_the_cache_is_bounded_for_shapes(monkeypatch):
    monkeypatch.setattr(api, "MOST_FORMS", 4)

    @captured
    def f(x):
        return x.sum()

    for n in [*range(1, 10), 1, 9]:
        assert f(paddle.ones([n])).item() == n
        assert len(f.program_cache) <= 4


def test_default_dtype_is_part_of_the_form():
    @captured
    def f(x):
        return paddle.zeros([1]) + paddle.ones([1]), x

    x = paddle.to_tensor([1.0], "float32")
    try:
        assert f(x)[0].dtype == paddle.float32
        paddle.set_default_dtype("float64")
        assert f(x)[0].dtype == paddle.float64
        paddle.set_default_dtype("float32")
        assert f(x)[0].dtype == paddle.float32 and len(f.program_cache) == 2
    finally:
        paddle.set_default_dtype("float32")


def test_default_dtype_of_a_compiled_step():
    layer = paddle.nn.Linear(1, 1)
    made = []

    def loss(y, label):
        made.append(paddle.zeros([1]).dtype)
        return (y - label).sum()

    step = paddle.jit.compile_step(layer, loss, paddle.optimizer.SGD(0.1, layer.parameters()))
    x = paddle.ones([2, 1])
    try:
        step(x, x), step(x, x)
        paddle.set_default_dtype("float64")
        step(x, x)
    finally:
        paddle.set_default_dtype("float32")
    assert made == [paddle.float32, paddle.float64]


def test_arguments_of_to_static_that_do_nothing_say_so(monkeypatch):
    monkeypatch.setattr("argosy._support._told", set())
    with pytest.warns(UserWarning, match=r"\[to_static\] backend has no effect"):
        captured(lambda x: x, backend="CINN")
    with pytest.raises(NotImplementedError, match=r"\[to_static\] property is not supported"):
        captured(lambda x: x, property=True)


def test_mixed_precision_is_part_of_the_form():
    @captured
    def f(x):
        return paddle.matmul(x, x)

    x = paddle.ones([4, 4])
    assert f(x).dtype == paddle.float32
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert f(x).dtype == paddle.bfloat16
    assert f(x).dtype == paddle.float32 and len(f.program_cache) == 2


# --- numbers as inputs ---


def same_bits(function, calls, x=None):
    """The captured function gives what the function gives, bit for bit, with the gradient of x. Returns
    it."""
    f = captured(function)
    for numbers in calls:
        results = []
        for g in (function, f):
            t = paddle.to_tensor([1.5, -2.0, 0.25] if x is None else x)
            t.stop_gradient = not paddle.is_floating_point(t)
            y = g(t, *numbers)
            results.append([y.dtype, y.numpy().tobytes()])
            if not y.stop_gradient:
                y.sum().backward()
                results[-1].append(t.grad.numpy().tobytes())
        assert results[0] == results[1], numbers
    return f


def test_numbers_that_are_computed_with_are_inputs():
    def f(x, step, rate):
        return (x * step + 2.5 * rate - (step * 3 - 1) / 7) / (rate + step) - -step

    f = same_bits(f, [(i, 0.1 * i + 1e-3) for i in range(1, 30)])
    assert len(f.program_cache) == 2


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "int64", "bool"])
def test_numbers_beside_tensors_of_every_dtype(dtype):
    x = paddle.to_tensor([3.0, 0.0, 7.0]).astype(dtype)
    f = same_bits(lambda x, n: (x + n) * n - n * (n - x), [(n,) for n in (3, 5, 9, -2)], x)
    assert len(f.program_cache) == 2
    f = same_bits(lambda x, r: (x * r + r) / (2.0 + r), [(r,) for r in (0.5, 1e-3, 3.25)], x)
    assert len(f.program_cache) == 2


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_quotients_remainders_and_comparisons_with_tensors(dtype):
    x = paddle.to_tensor([7.0, -3.0, 4.0]).astype(dtype)

    def f(x, n):
        return x // n + x % n + (x > n).astype(x.dtype) * n + (n == x).astype(x.dtype)

    assert len(same_bits(f, [(n,) for n in (2, 3, 4, 5, 7)], x).program_cache) == 2


def test_only_numbers_that_change_are_inputs():
    def f(x, n, factor=1.0, axis=0):
        return paddle.concat([x * factor] * n, axis) + n

    f = captured(f)
    x = paddle.ones([2])
    for factor in (1.0, 2.0, 3.0):
        assert f(x, 2, factor).tolist() == [2.0 + factor] * 4
    assert len(f.program_cache) == 2
    # A place that decides closes the form: a Program for each.
    assert f(x, 3, 4.0).tolist() == [7.0] * 6
    assert f(x, 3, 5.0).tolist() == [8.0] * 6
    assert f(x, 2, 1.0).tolist() == [3.0] * 4


def test_numbers_inside_of_lists_and_dicts():
    def f(x, settings):
        return x * settings["rates"][0] + settings["shift"]

    f = captured(f)
    x = paddle.to_tensor(X)
    for i in range(6):
        found = f(x, {"rates": [0.5 + i], "shift": i})
        assert found.tolist() == [0.5 + 2 * i, 1.0 + 3 * i]
    assert len(f.program_cache) == 2


def test_numbers_that_decide_are_values_still():
    kept = []

    class Holder:
        last = None

    holder = Holder()

    def in_branch(x, n):
        return x * n if n > 2 else x - n

    def in_shape(x, n):
        return paddle.ones([n]) * x.sum()

    def in_text(x, n):
        return x * len(f"{n}")

    def by_type(x, n):
        return x * (2 if isinstance(n, int) else 3)

    def by_exact_type(x, n):
        return x * (2 if type(n) is int else 3)

    def by_index(x, n):
        return x + [10.0, 20.0, 30.0, 40.0, 50.0][n]

    def in_range(x, n):
        for _ in range(n):
            x = x + 1
        return x

    def by_library(x, n):
        return x * math.sqrt(n)

    def by_attribute(x, n):
        return x * n.bit_length()

    def by_caught_error(x, n):
        try:
            return paddle.scale(x, n)
        except Exception:
            return x - 100

    def returned(x, n):
        return x[0] * n, n + 1

    def kept_in_a_list(x, n):
        kept.append(n)
        return x * n

    def kept_in_an_object(x, n):
        holder.last = n + 1
        return x * n

    def as_divisor(x, n):
        return x * (1 / n)

    def as_power(x, n):
        return x**n

    def in_set(x, n):
        return x * (n in {1, 2})

    for function in (
        in_branch, in_shape, in_text, by_type, by_exact_type, by_index, in_range, by_library,
        by_attribute, by_caught_error, returned, kept_in_a_list, kept_in_an_object, as_divisor, as_power,
        in_set,
    ):  # fmt: skip
        f = captured(function)
        for n in (1, 2, 3, 4, 2, 3):
            got, expected = f(paddle.to_tensor(X), n), function(paddle.to_tensor(X), n)
            if function is returned:
                assert got[1] == n + 1 and type(got[1]) is int
                got, expected = got[0], expected[0]
            assert got.tolist() == expected.tolist(), (function.__name__, n)
        if function is kept_in_a_list:  # it changes what it reads
            assert not any(f.program_cache.values())
            continue
        assert len(f.program_cache) == 4, function.__name__
    assert all(type(n) is int for n in kept[-2:]) and type(holder.last) is int


def test_zero_raises_as_it_does_in_python():
    f = captured(lambda x, n: x * (6 / n))
    x = paddle.to_tensor(X)
    assert f(x, 1).tolist() == [6.0, 12.0] and f(x, 2).tolist() == [3.0, 6.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ZeroDivisionError):
            f(x, 0)


def test_numbers_beyond_64_bits():
    f = captured(lambda x, n: x * n)
    x = paddle.to_tensor(X)
    for n in (1, 2, 2**70, -(2**63), 5):
        assert f(x, n).tolist() == (x * n).tolist()


def test_a_layer_whose_numbers_are_inputs():
    class Decayed(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = paddle.nn.Linear(2, 2)

        def forward(self, x, step, rate=0.5):
            if x.mean() > 0:
                x = x * rate
            return self.linear(x) * (1 - step / 10)

    layer = Decayed()
    expected = [layer(paddle.to_tensor(X), i, 0.1 * i).numpy() for i in range(8)]
    layer = paddle.jit.to_static(layer)
    for i in range(8):
        assert (layer(paddle.to_tensor(X), i, 0.1 * i).numpy() == expected[i]).all()
    assert len(layer.forward.program_cache) == 2
