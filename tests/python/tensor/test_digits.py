"""Numbers of Python that become tensors of a given dtype, and arrays that come out of tensors."""

import numpy as np
import pytest

import argosy

LARGE = 2**24 + 1.0  # not a float32


@pytest.mark.parametrize(
    "data",
    [0.1, [0.1], (0.1, 1), [[0.1], [LARGE]], [np.float64(0.1)], [0.1, True], [np.array([0.1]), np.array([0.2])]],
)  # fmt: skip
def test_float64_keeps_every_digit(data):
    got = argosy.to_tensor(data, dtype="float64").numpy()
    np.testing.assert_array_equal(got, np.array(data, "float64"))


def test_other_dtypes_are_reached_without_a_detour():
    assert argosy.to_tensor([LARGE], dtype="int64").tolist() == [2**24 + 1]
    assert argosy.to_tensor(LARGE, dtype="int32").item() == 2**24 + 1
    assert argosy.to_tensor([0.1 + 0.2j], dtype="complex128").tolist() == [0.1 + 0.2j]
    assert argosy.to_tensor([2**40 + 1, 0.5], dtype="float64").tolist() == [2**40 + 1, 0.5]
    assert argosy.to_tensor([-1.7, 2.7], dtype="int32").tolist() == [-1, 2]
    assert argosy.to_tensor(0.1).item() == np.float32(0.1)


def test_tensors_beside_numbers_are_joined_as_in_numpy():
    got = argosy.to_tensor([argosy.to_tensor(0.5), 0.1], dtype="float64")
    assert got.tolist() == [0.5, 0.1]


def test_arrays_have_the_usual_types():
    array = argosy.to_tensor([1, 2]).numpy()
    assert array.dtype.char == np.dtype("int64").char and isinstance(array[0], np.int64)
    assert repr(array) == "array([1, 2])"


def test_an_array_of_a_tensor_is_a_copy():
    x = argosy.zeros([3])
    for array in (np.asarray(x), x.numpy(), np.array(x)):
        array[0] = 5
    assert x.tolist() == [0, 0, 0]


@pytest.mark.cpu_only("is about memory that the host shares")
def test_an_array_of_the_package_is_none():
    x = argosy.zeros([3])
    argosy._core.to_numpy(x, False)[0] = 5  # what the package hands on itself need not be
    assert x.tolist() == [5, 0, 0]


def test_as_tensor_makes_new_ones():
    x = argosy.ones([2])
    x.stop_gradient = False
    for make in (argosy.as_tensor, argosy.asarray):
        y = make(x)
        assert y is not x and y.stop_gradient
        y[0] = 5
    assert argosy.asarray(x, copy=False) is x
    assert x.tolist() == [1, 1]


def test_complex_numbers_print_in_columns():
    text = repr(argosy.to_tensor([[1 + 2j, -3.5 - 1j], [0.25j, 4]]))
    assert "[[ (1.00000000+2.00000000j), (-3.50000000-1.00000000j)]" in text
