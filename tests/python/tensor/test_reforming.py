"""Methods that give a tensor another shape, memory or diagonal, or fill it at random."""

import numpy as np
import pytest

import argosy

X = np.arange(6, dtype="float32").reshape(2, 3)


def test_resize():
    x = argosy.to_tensor(X)
    assert x.resize_([2]) is x and x.tolist() == [0, 1]
    assert x.resize_([2, 2], fill_zero=True).tolist() == [[0, 1], [0, 0]]
    assert x.resize_([0]).shape == [0]
    for shape in (4, [-1]):
        with pytest.raises(ValueError, match=r"\[resize_\]"):
            x.resize_(shape)


def test_set_shares_memory():
    x, source = argosy.ones([2]), argosy.to_tensor(X)
    assert x.set_(source, [2, 2], [1, 2], 8) is x
    assert x.tolist() == [[2, 4], [3, 5]]
    source.zero_()
    assert x.tolist() == [[0, 0], [0, 0]]
    assert x.set_(source).shape == [2, 3] and x.set_(source, [3]).tolist() == [0, 0, 0]
    assert x.set_().shape == [0]
    with pytest.raises(ValueError, match="dtype"):
        x.set_(argosy.ones([2], "int64"))
    with pytest.raises(ValueError, match="multiple of 4"):
        x.set_(source, [2], [1], 3)


@pytest.mark.parametrize(
    "dtype, top", [("float32", 2**24), ("int32", 2**31 - 1), ("uint8", 255), ("float16", 2048)]
)
def test_random(dtype, top):
    argosy.seed(4)
    x = argosy.zeros([2000], dtype)
    assert x.random_() is x
    values = x.numpy().astype("float64")
    assert values.min() >= 0 and values.max() < top and values.max() > 0.9 * top
    assert (values == np.round(values)).all()
    assert set(x.random_(3).tolist()) == {0, 1, 2}
    assert set(x.random_(2, 5).tolist()) == {2, 3, 4}
    with pytest.raises(ValueError, match=r"\[random_\]"):
        x.random_(5, 2)


def test_diagonals_of_tensors():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 2))
    found = argosy.to_tensor(x).fill_diagonal_tensor(argosy.to_tensor(y), 0, 0, 1)
    expected = x.copy()
    for i in range(2):
        expected[i, i] = y[:, i]
    np.testing.assert_array_equal(found.numpy(), expected)
    a, b = argosy.zeros([3, 3]), argosy.ones([2])
    b.stop_gradient = False
    a.fill_diagonal_tensor(b, 1).sum().backward()
    assert b.grad.tolist() == [1, 1]
    assert a.fill_diagonal_tensor_(argosy.ones([3])) is a and float(a.sum()) == 3
    for wrong in [(argosy.ones([2]),), (argosy.ones([3]), 0, 0, 5), (argosy.ones([3]), 0, 1, 1)]:
        with pytest.raises(AssertionError, match=r"\[fill_diagonal_tensor\]"):
            a.fill_diagonal_tensor(*wrong)


def test_names_that_tensors_have_too():
    x = argosy.to_tensor(X)
    np.testing.assert_array_equal(x.repeat(2, 2).numpy(), np.tile(X, (2, 2)))
    np.testing.assert_array_equal(x.repeat([3, 1, 1]).numpy(), np.tile(X, (3, 1, 1)))
    assert x.is_same_shape(argosy.ones([2, 3])) and not x.is_same_shape(argosy.ones([3, 2]))
    assert x.is_tensor() and argosy.Tensor.broadcast_shape([2, 1], [3]) == [2, 3]
    wave = argosy.to_tensor(np.random.default_rng(1).standard_normal((2, 64)))
    spectrum = wave.stft(16, 4)
    assert spectrum.shape == [2, 9, 17]
    np.testing.assert_allclose(spectrum.istft(16, 4).numpy(), wave.numpy(), atol=1e-12)
    index = argosy.to_tensor([[0, 1, 1]])
    found = x.scatter_reduce(0, index, argosy.full([1, 3], 9.0), "amax")
    assert found.tolist() == [[9, 1, 2], [3, 9, 9]]
