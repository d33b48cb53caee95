"""What dtypes have in common is the core's to say."""

import numpy as np
import pytest

import argosy
from argosy import _core, _dtypes
from argosy._support import dtype_name


def names(dtypes):
    return {dtype_name(dtype) for dtype in dtypes}


def test_all_of_the_core_and_each_is_of_one_kind():
    made = {name for name, v in vars(_core).items() if isinstance(v, _core.dtype)}
    assert names(_dtypes.DTYPES) == made and len(made) > 12
    kinds = [_core.bool, *_dtypes.INTEGER, *_dtypes.REAL, *_dtypes.COMPLEX]
    assert sorted(map(str, kinds)) == sorted(map(str, _dtypes.DTYPES))


@pytest.mark.parametrize("dtype", _dtypes.DTYPES, ids=str)
def test_kinds_are_those_of_operations(dtype):
    """The kind that Python says is the one that ops compute with."""
    name = dtype_name(dtype)
    assert getattr(_core, name) is dtype and _core.dtype(name) is dtype and dtype == name
    if dtype in (*_dtypes.FLOATING, *_dtypes.COMPLEX):
        half = (argosy.ones([1], dtype) / 2).astype("complex128")
        assert half.item() == 0.5
    elif dtype in _dtypes.INTEGER:
        assert argosy.full([1], 1.5, dtype).astype("float64").item() == 1.0
    x = argosy.zeros([2], "int8").astype(dtype)
    array = x.numpy()
    assert str(array.dtype) == _dtypes.BITS_IN_NUMPY.get(dtype, name)
    assert array.itemsize == dtype.itemsize


def test_widened():
    for dtype in _dtypes.DTYPES:
        wide = _dtypes.widened(dtype)
        assert wide is (_core.float32 if dtype in _dtypes.SIXTEEN_BIT else dtype)
    assert names(_dtypes.SIXTEEN_BIT) == {"float16", "bfloat16"}
    assert _dtypes.widened("bfloat16") is _core.float32


@pytest.mark.parametrize("dtype", _dtypes.CONVERTIBLE, ids=str)
def test_tensors_and_layers_convert_to_it(dtype):
    name = dtype_name(dtype)
    assert getattr(argosy.ones([2]), name)().dtype is dtype
    assert argosy.nn.Linear(2, 2).to(dtype=name).weight.dtype is dtype


@pytest.mark.parametrize("name", _dtypes.SECOND_NAMES)
def test_second_names(name):
    method = getattr(argosy.ones([2]), name)
    assert method().dtype is _dtypes.SECOND_NAMES[name] and method.__name__ == name


@pytest.mark.parametrize("dtype", _dtypes.FLOATING, ids=str)
def test_random_whole_numbers_end_where_a_dtype_leaves_some_out(dtype):
    x = argosy.zeros([20_000], dtype).random_().astype("float64").numpy()
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype_name(dtype)]
    assert x.min() >= 0 and 2.0**bits * 0.9 < x.max() < 2.0**bits
    np.testing.assert_array_equal(x, np.floor(x))
