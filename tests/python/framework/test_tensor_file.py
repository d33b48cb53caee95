"""Files of one tensor, which save writes with use_binary_format."""

import io
import struct

import numpy as np
import pytest

import argosy
from argosy.framework.pickle_reader import DamagedFileError

DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    " float8_e4m3fn"
).split()


def head(described, levels=0):
    return struct.pack("<IQIi", 0, levels, 0, len(described)) + described


def test_the_bytes_are_those_of_the_format(tmp_path):
    path = tmp_path / "w"
    argosy.save(argosy.to_tensor([1.0, 2.0]), path, use_binary_format=True)
    # Field 1 is 5 (float32), field 2 a size of 2.
    assert path.read_bytes() == head(b"\x08\x05\x10\x02") + np.array([1, 2], "<f4").tobytes()
    argosy.save(argosy.ones([300, 1], "int64"), path, use_binary_format=True)
    assert path.read_bytes()[:26] == head(b"\x08\x03\x10\xac\x02\x10\x01")[:26]


@pytest.mark.parametrize("shape", [[], [3], [2, 300], [0, 4]])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_loaded_is_what_was_saved(tmp_path, dtype, shape):
    x = (argosy.arange(int(np.prod(shape))) % 100).reshape(shape).cast(dtype)
    for target in (tmp_path / "deep" / "w", io.BytesIO()):
        argosy.save(x, target, use_binary_format=True)
        if isinstance(target, io.BytesIO):
            target.seek(0)
        y = argosy.load(target)
        assert y.dtype == x.dtype and list(y.shape) == shape
        assert y.cast("complex128").tolist() == x.cast("complex128").tolist()
    array = argosy.load(tmp_path / "deep" / "w", return_numpy=True)
    assert isinstance(array, np.ndarray) and list(array.shape) == shape


def test_views_and_parameters_are_saved_by_their_elements(tmp_path):
    layer = argosy.nn.Linear(3, 2)
    argosy.save(layer.weight, tmp_path / "w", use_binary_format=True)
    assert argosy.load(tmp_path / "w").tolist() == layer.weight.tolist()
    argosy.save(layer.weight.t(), tmp_path / "w", use_binary_format=True)
    assert argosy.load(tmp_path / "w").tolist() == layer.weight.t().tolist()


@pytest.mark.parametrize(
    "value", [{"a": 1}, [1], 3, np.ones(2), argosy.nn.Linear(2, 2).state_dict()]
)
def test_other_things_are_refused(tmp_path, value):
    with pytest.raises(
        NotImplementedError, match="expected one Tensor, got .* Do this: leave it out"
    ):
        argosy.save(value, tmp_path / "w", use_binary_format=True)
    with pytest.raises(TypeError, match="use_binary_format: expected a bool, got int"):
        argosy.save(argosy.ones([1]), tmp_path / "w", use_binary_format=1)
    with pytest.raises(NotImplementedError, match="got a tensor of uint32"):
        argosy.save(argosy.ones([1]).cast("uint32"), tmp_path / "w", use_binary_format=True)
    assert list(tmp_path.iterdir()) == []


DAMAGED = {
    "cut in the description": head(b"\x08\x05\x10\x02")[:-1],
    "cut in the elements": head(b"\x08\x05\x10\x02") + b"1234567",
    "no dtype": head(b"\x10\x02") + b"12345678",
    "a dtype that is none": head(b"\x08\x07\x10\x02") + b"12345678",
    "a number that ends early": head(b"\x08\x05\x10\x80") + b"12345678",
    "a key without a value": head(b"\x08\x05\x10") + b"12345678",
    "another field": head(b"\x08\x05\x18\x02") + b"12345678",
    "a negative length": struct.pack("<IQIi", 0, 0, 0, -1),
    "a huge size": head(b"\x08\x05\x10" + b"\xff" * 9 + b"\x01") + b"12345678",
    "no elements of huge sizes": head(b"\x08\x05\x10\x00\x10" + b"\xff" * 9 + b"\x01"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_files(tmp_path, what):
    path = tmp_path / "w"
    path.write_bytes(DAMAGED[what])
    with pytest.raises(
        DamagedFileError, match="file of one tensor is damaged.*Do this: get it again"
    ):
        argosy.load(path)


def test_files_that_are_more(tmp_path):
    path, one = tmp_path / "w", head(b"\x08\x05\x10\x01") + b"1234"
    path.write_bytes(one + one)
    with pytest.raises(NotImplementedError, match="28 bytes follow the first tensor"):
        argosy.load(path)
    path.write_bytes(head(b"\x08\x05\x10\x01", levels=1) + b"1234")
    with pytest.raises(NotImplementedError, match="1 levels of sequences"):
        argosy.load(path)
