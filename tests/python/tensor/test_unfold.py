"""Tensor.unfold: windows along an axis."""

import numpy as np
import pytest

import argosy


@pytest.mark.parametrize(
    "shape, axis, size, step",
    [
        ([9], 0, 4, 2),
        ([9], 0, 4, 1),
        ([9], 0, 9, 3),
        ([9], 0, 0, 4),
        ([3, 8, 2], 1, 3, 5),
        ([3, 8, 2], -1, 2, 1),
        ([3, 8], 0, 2, 1),
        ([], 0, 1, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_windows_are_those_of_slices(shape, axis, size, step, dtype):
    x = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7).astype(dtype)
    y = argosy.to_tensor(x).unfold(axis, size, step).numpy()
    flat = x.reshape(shape or [1])
    axis %= flat.ndim
    count = (flat.shape[axis] - size) // step + 1
    windows = [np.take(flat, range(i * step, i * step + size), axis) for i in range(count)]
    want = np.moveaxis(np.stack(windows, axis), axis + 1, -1)
    np.testing.assert_array_equal(y, want)
    assert y.dtype == x.dtype


def test_elements_of_several_windows_add_up_their_gradients():
    x = argosy.to_tensor(np.arange(7.0), stop_gradient=False)
    x.unfold(0, 3, 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, 1, 2, 1, 2, 1, 1])


def test_windows_are_not_made_one_by_one():
    """One call for each of 50,000 windows took a hundred times as long as the copy."""
    program = argosy.static.Program()
    argosy.enable_static()
    try:
        with argosy.static.program_guard(program):
            argosy.static.data("x", [1000], "float32").unfold(0, 4, 2)
        assert len(program.global_block().ops) < 20
    finally:
        argosy.disable_static()
