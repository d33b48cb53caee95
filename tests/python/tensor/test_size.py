"""paddle.Size: a list of ints that equals tuples too, and stays a Size."""

import copy
import pickle

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
