"""paddle.Size: a list of ints that equals tuples too, and stays a Size."""

import copy
import json
import pickle
import sys
import weakref

import numpy as np
import pytest

import argosy as paddle

SHAPE = paddle.ones([2, 3]).shape


def test_it_equals_lists_and_tuples():
    assert SHAPE == (2, 3) and (2, 3) == SHAPE and SHAPE == [2, 3] and [2, 3] == SHAPE
    assert SHAPE != (2, 4) and SHAPE != (2,) and not SHAPE != (2, 3)
    assert SHAPE != 3 and SHAPE is not None
    assert paddle.Size([2, 3]) == SHAPE and SHAPE < [3] and SHAPE >= paddle.Size([2])
    with pytest.raises(TypeError):
        SHAPE < (3, 3)  # noqa: B015
    with pytest.raises(TypeError, match="unhashable"):
        hash(SHAPE)


@pytest.mark.parametrize(
    "made, wanted",
    [
        (lambda s: s + [1], [2, 3, 1]),
        (lambda s: s + (1,), [2, 3, 1]),
        (lambda s: [1] + s, [1, 2, 3]),
        (lambda s: (1,) + s, [1, 2, 3]),
        (lambda s: s + s, [2, 3, 2, 3]),
        (lambda s: s * 2, [2, 3, 2, 3]),
        (lambda s: 2 * s, [2, 3, 2, 3]),
        (lambda s: s * 0, []),
        (lambda s: s[1:], [3]),
        (lambda s: s[::-1], [3, 2]),
        (copy.deepcopy, [2, 3]),
        (lambda s: pickle.loads(pickle.dumps(s)), [2, 3]),
    ],
)
def test_it_stays_a_size(made, wanted):
    shape = paddle.ones([2, 3]).shape
    found = made(shape)
    assert type(found) is paddle.Size and found == wanted
    assert shape == [2, 3]


def test_it_is_a_list():
    shape = paddle.ones([2, 3]).shape
    assert isinstance(shape, list) and shape[1] == 3 and shape[-1] == 3 and len(shape) == 2
    shape.append(4)
    shape[0] = 5
    shape += [6]
    assert shape == [5, 3, 4, 6] and shape.index(4) == 2 and shape.numel() == 360
    assert str(shape) == "paddle.Size([5, 3, 4, 6])"
    assert np.zeros(SHAPE).shape == (2, 3)
    with pytest.raises(IndexError):
        shape[9]


def test_it_has_ints():
    assert paddle.Size() == [] and paddle.Size((np.int64(2), True)) == [2, 1]
    assert type(paddle.Size([np.int32(2)])[0]) is int
    for items in ([1.5], ["a"], [2, None]):
        with pytest.raises(TypeError, match=r"\[Size\] expected ints, got item"):
            paddle.Size(items)
    with pytest.raises(TypeError):
        paddle.Size(3)


def test_other_operands():
    with pytest.raises(TypeError):
        SHAPE + 1
    with pytest.raises(TypeError):
        SHAPE + "a"
    assert (SHAPE + np.array([1, 1])).tolist() == [3, 4]
    assert (np.array([1, 1]) + SHAPE).tolist() == [3, 4]


def test_the_number_of_elements_also_gives_sizes():
    x = paddle.ones([2, 3])
    assert x.size == 6 and isinstance(x.size, int) and repr(x.size) == "6" and x.size + 1 == 7
    assert x.size() == [2, 3] and x.size(0) == 2 and x.size(-1) == 3
    assert paddle.ones([]).size == 1 and paddle.ones([]).size() == []
    assert paddle.ones([0, 3]).size == 0
    assert type(pickle.loads(pickle.dumps(x.size))) is int
    with pytest.raises(IndexError):
        x.size(2)


def test_the_number_of_elements_is_small():
    x = paddle.ones([2, 3])
    kind = type(x.size)
    assert x.size(dim=0) == 2 and x.size(None) == [2, 3] and copy.deepcopy(x.size) == 6
    assert hash(x.size) == hash(6) and json.dumps(x.size) == "6" and f"{x.size:03d}" == "006"
    assert x.size // 4 == 1 and type(x.size + 0) is int and list(range(x.size)) == list(range(6))
    with paddle.device_guard("cpu"):  # where expanded tensors share memory
        large = paddle.to_tensor(np.zeros(1)).expand([2**31, 2**29])  # 60 bits: three digits
    assert large.size == 2**60 and large.size() == [2**31, 2**29] and -large.size == -(2**60)
    with pytest.raises(TypeError):
        kind(3)
    with pytest.raises(TypeError):
        x.size(0, 1)
    weak = weakref.ref(x)
    kept = x.size
    del x
    assert weak() is None and kept(1) == 3  # it does not hold the tensor
    before = sys.getrefcount(kind)
    for _ in range(100):
        paddle.ones([2]).size()
    assert sys.getrefcount(kind) <= before + 1


def test_sizes_of_programs():
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [-1, 3])
            assert x.size == -1 and x.size() == [-1, 3]
    finally:
        paddle.disable_static()
