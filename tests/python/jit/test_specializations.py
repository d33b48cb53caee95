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
        gc.collect()


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
        return x * step

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
        return x + step

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
