"""argosy.Tensor called as a class, and names that old programs find beside the documented ones."""

import numpy as np
import pytest

import argosy
from argosy.base import core

ONES = np.ones([2], "float32")


def test_what_says_more_of_a_value_is_taken():
    for t in (
        core.eager.Tensor(
            value=ONES, place=argosy.CPUPlace(), persistable=True, zero_copy=False, name="a",
            stop_gradient=False,
        ),
        argosy.Tensor(ONES, argosy.CPUPlace(), True, False, "a", False),
    ):  # fmt: skip
        assert t.name == "a" and t.persistable and not t.stop_gradient
        assert t.tolist() == [1, 1] and t.place.is_cpu_place()
    t = argosy.Tensor(argosy.ones([2]), argosy.CPUPlace(), "b")
    assert t.name == "b" and not t.persistable and t.stop_gradient
    assert argosy.Tensor([1, 2], dtype="int32").dtype == argosy.int32
    assert argosy.Tensor(ONES, dtype="float64").dtype == argosy.float64
    assert argosy.Tensor(2, 3, dtype="int64").tolist() == [[0, 0, 0], [0, 0, 0]]
    assert argosy.Tensor(data=[1, 2]).dtype == argosy.float32


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: argosy.Tensor(ONES, foo=1), TypeError, "unknown argument 'foo'"),
        (lambda: argosy.Tensor(ONES, zero_copy=True), NotImplementedError, "elements are copied"),
        (lambda: argosy.Tensor(ONES, persistable="a"), TypeError, "persistable: expected True or"),
        (lambda: argosy.Tensor(ONES, *[None] * 6), TypeError, "takes at most 6 arguments"),
        (
            lambda: argosy.Tensor(ONES, value=ONES),
            TypeError,
            "data is given by name, and there are 1",
        ),
        (
            lambda: argosy.Tensor(2, 3, data=ONES),
            TypeError,
            "data is given by name, and there are 2",
        ),
        (lambda: argosy.Tensor(ONES, "cpu", place="cpu"), TypeError, "argument 1 is given by pos"),
    ],
)
def test_what_is_not_taken_is_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_names_of_old_programs():
    assert argosy.ones([1])._place_str == str(argosy.device.device_to_place())
    assert argosy.ones([1], device="cpu")._place_str == "Place(cpu)"
    out = argosy.zeros([2])
    made = argosy.tensor.fill_constant([2], "float32", "1.5", out=out, force_cpu=True)
    assert made.tolist() == out.tolist() == [1.5, 1.5]
    assert argosy.tensor.fill_constant(shape=[1], dtype="bool", value=1, place="cpu").item() is True
    large = argosy.tensor.fill_constant([1], "int64", "9007199254740993")
    assert large.item() == 2**53 + 1
    assert core.supports_bfloat16() and core.is_bfloat16_supported(argosy.CPUPlace())
    assert not core.is_float16_supported(argosy.CPUPlace())
    assert core.supports_avx512f() or not core.supports_bfloat16_fast_performance()


def test_item_takes_one_index_for_each_dimension():
    x = argosy.arange(8).reshape([2, 4])
    assert (x.item(1, -1), x.item(6)) == (7, 6)
    for indices in ((0, 1, 2), (0, 6), (2, 0), (-3, 0)):
        with pytest.raises(
            ValueError, match=r"item\(\): (expected one index|index -?\d is outside).*Do this"
        ):
            x.item(*indices)


def test_weights_of_observations_are_not_negative():
    x, weights = argosy.ones([2, 3]), argosy.to_tensor([-1, 1, 1])
    for name in ("fweights", "aweights"):
        with pytest.raises(
            ValueError, match=rf"\[cov\] {name}: expected weights of at least 0, got -1.0. Do this"
        ):
            argosy.linalg.cov(x, **{name: weights})
