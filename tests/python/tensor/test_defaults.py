"""Dtypes and ranges that creation functions choose where the caller names none."""

import numpy as np
import pytest

import argosy


def test_arrays_in_a_list_take_the_default_dtypes():
    assert argosy.to_tensor([np.ones(2), np.zeros(2)]).dtype == argosy.float32
    assert argosy.to_tensor([np.ones(2, "int32")]).dtype == argosy.int64
    assert argosy.to_tensor([[np.float64(1.5)]]).dtype == argosy.float32
    assert argosy.to_tensor([np.array([True])]).dtype == argosy.bool
    assert argosy.to_tensor(np.ones(2)).dtype == argosy.float64
    assert argosy.to_tensor([argosy.ones([2], "float64")]).dtype == argosy.float64


@pytest.mark.parametrize("value, dtype", [(7, "float32"), (7.5, "float32"), (True, "bool")])
def test_full_of_a_number(value, dtype):
    assert argosy.full([2], value).dtype == getattr(argosy, dtype)


def test_sizes():
    assert argosy.shape(argosy.ones([2, 3])).dtype == argosy.int64
    assert argosy.linspace(0, 1, 0).shape == [0]
    with pytest.raises(TypeError, match=r"\[eye\] sizes must not be negative"):
        argosy.eye(-1)


def test_uniform_starts_at_zero():
    values = argosy.uniform([1000]).numpy()
    assert values.min() >= 0 and values.max() < 1 and abs(values.mean() - 0.5) < 0.05


def test_assign_takes_the_dtypes_of_numpy():
    assert argosy.assign(3.5).dtype == argosy.float64 and argosy.assign(3.5).shape == [1]
    assert argosy.assign([1, 2]).dtype == argosy.int64
    assert argosy.assign([[1.5], [2.0]]).dtype == argosy.float64
    assert argosy.assign(np.float32(2)).dtype == argosy.float32
    assert argosy.assign(True).dtype == argosy.bool
    y = argosy.zeros([2])
    assert argosy.assign(argosy.ones([2]), y) is y and y.tolist() == [1, 1]


def test_full_of_a_complex_number_is_complex128():
    assert argosy.full([2], 1 + 2j).dtype == argosy.complex128
    assert argosy.full([2], 1 + 2j, "complex64").dtype == argosy.complex64
    assert argosy.full([2], 7).dtype == argosy.full([2], 7.5).dtype == argosy.float32


@pytest.mark.parametrize("function", [argosy.concat, argosy.stack])
def test_lists_of_tensors_that_are_not_given(function):
    for call in (function, lambda: function(axis=0), lambda: function(None)):
        with pytest.raises(TypeError, match="x is missing: expected a list of Tensors, got None"):
            call()
    with pytest.raises(ValueError, match="needs at least one tensor"):
        function([])
    assert function(tensors=[argosy.ones([1])]).shape[-1] == 1
