"""Axes, counts and sizes that are no whole numbers are refused by the name of the function and of the argument."""

import numpy as np
import pytest

import argosy
from argosy.nn import functional as F

T = argosy.to_tensor
X = argosy.arange(24, dtype="float32").reshape([2, 3, 4])
IMAGE = X.reshape([1, 2, 3, 4])

# What takes an axis or a count, and what its error begins with.
CALLS = {
    "split axis": (lambda k: argosy.split(X, [1, -1], k), "[split] axis"),
    "chunk": (lambda k: argosy.chunk(X, k), "[chunk] chunks"),
    "chunk axis": (lambda k: argosy.chunk(X, 1, k), "[chunk] axis"),
    "tensor_split axis": (lambda k: argosy.tensor_split(X, 2, k), "[tensor_split] axis"),
    "moveaxis": (lambda k: argosy.moveaxis(X, k, 0), "[moveaxis] source"),
    "repeat_interleave": (lambda k: argosy.repeat_interleave(X, k), "[repeat_interleave] repeats"),
    "repeat_interleave axis": (
        lambda k: argosy.repeat_interleave(X, 2, k),
        "[repeat_interleave] axis",
    ),
    "unfold": (lambda k: argosy.unfold(X, k, 1, 1), "[unfold] axis"),
    "unfold size": (lambda k: argosy.unfold(X, 0, k, 1), "[unfold] size"),
    "slice axes": (lambda k: argosy.slice(X, [k], [0], [1]), "[slice] axes"),
    "strided_slice": (
        lambda k: argosy.strided_slice(X, [0], [0], [1], [k]),
        "[strided_slice] strides",
    ),
    "crop": (lambda k: argosy.crop(X[0, 0], [k]), "[crop] shape"),
    "unflatten": (lambda k: argosy.unflatten(X, 2, [k, 4]), "[unflatten] shape"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [1.5, True, "1", float("nan"), np.float64(0.5), np.bool_(True)])
def test_what_is_no_whole_number(name, wrong):
    call, begins = CALLS[name]
    with pytest.raises(
        TypeError, match="expected an int, got .*Do this: pass a whole number"
    ) as found:
        call(wrong)
    assert begins in str(found.value)


@pytest.mark.parametrize("name", CALLS)
def test_other_kinds_of_whole_numbers(name):
    def numbers(made):
        return [v.tolist() for v in (made if isinstance(made, list) else [made])]

    call, _ = CALLS[name]
    want = numbers(call(1))
    for same in (1.0, np.int64(1), np.float32(1), np.array([1]), T(1)):
        assert numbers(call(same)) == want


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.max_pool2d(IMAGE, True),
        lambda: F.avg_pool2d(IMAGE, [2, True]),
        lambda: F.conv2d(IMAGE, argosy.ones([2, 2, 1, 1]), stride=True),
        lambda: F.conv2d(IMAGE, argosy.ones([2, 2, 1, 1]), dilation=[True, 1]),
        lambda: argosy.nn.Conv2D(1, 1, True),
        lambda: argosy.fft.fft(X, True),
        lambda: argosy.fft.fft(X, axis=True),
        lambda: argosy.fft.fftn(X, axes=[True]),
    ],
)
def test_switches_are_no_sizes(call):
    with pytest.raises(ValueError, match="expected .*int.*True"):
        call()


def test_powers_and_places():
    with pytest.raises(TypeError, match="n must be an int, got bool"):
        argosy.linalg.matrix_power(argosy.eye(2), True)
    with pytest.raises(IndexError, match="axis: expected an int from -3 to 2, got True"):
        argosy.index_fill(X, T([0]), True, 1.0)


def test_axes_that_are_tensors_of_floats():
    for call in (lambda k: argosy.unfold(X, k, 2, 1), lambda k: argosy.repeat_interleave(X, 2, k)):
        assert call(T(1.0)).tolist() == call(1).tolist()
        with pytest.raises(TypeError, match="axis: expected an int, got 1.5"):
            call(T(1.5))


@pytest.mark.parametrize("call", [argosy.gather, argosy.index_select])
def test_one_axis_of_what_is_picked(call):
    with pytest.raises(TypeError, match=r"axis: expected an int, got \[0, 1\]. Do this: take one"):
        call(X, T([0, 1]), (0, 1))


@pytest.mark.parametrize("call", [argosy.unique, argosy.unique_consecutive])
def test_one_axis_of_what_is_compared(call):
    assert call(X, axis=[1]).tolist() == call(X, axis=1).tolist()
    with pytest.raises(ValueError, match=r"axis: expected one int, got \[0, 1\]"):
        call(X, axis=[0, 1])


@pytest.mark.parametrize(
    "call", [argosy.zeros, lambda k: argosy.sum(X, k), lambda k: argosy.tile(X, k)]
)
def test_tensors_of_whole_numbers(call):
    assert call(T(1.0)).tolist() == call(1).tolist()
    for wrong in (T(1.5), [T(1.5)], T(float("nan")), T(float("inf")), T(1e300, "float64")):
        with pytest.raises(TypeError, match="expected a tensor of a whole number, got one of"):
            call(wrong)


@pytest.mark.parametrize(
    "shape, offsets", [([-2, 2], [0, 0]), ([-1, -1], [3, 0]), ([0, 1], [3, 0])]
)
def test_blocks_that_begin_or_end_outside(shape, offsets):
    with pytest.raises(ValueError, match=r"\[crop\] offsets .* reach outside x of shape \[2, 3\]"):
        argosy.crop(argosy.ones([2, 3]), shape, offsets)
    assert argosy.crop(argosy.ones([2, 3]), [-1, 1], [2, 0]).shape == [0, 1]
