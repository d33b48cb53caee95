"""sparse.nn.functional.attention against dense attention in NumPy."""

import numpy as np
import pytest

import argosy as paddle
from argosy.sparse.nn import functional

RNG = np.random.RandomState(0)


def dense(q, k, v, seen):
    """Softmax attention where `seen`, 0 for queries that see nothing."""
    scores = np.where(seen, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = scores.max(-1, keepdims=True)
    powers = np.where(seen, np.exp(scores - np.where(np.isinf(top), 0, top)), 0)
    sums = powers.sum(-1, keepdims=True)
    return (powers / np.where(sums == 0, 1, sums)) @ v


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attention_at_places(dtype, masked, padding):
    q, k, v = (RNG.randn(2, 3, 5, 4).astype(dtype) for _ in range(3))
    places = RNG.rand(2, 3, 5, 5) < 0.6
    places[..., 0] = True  # a row without an entry has no place in the result either
    attn = (RNG.rand(5, 5) < 0.7).astype(dtype) if masked else None
    keys = (RNG.rand(2, 5) < 0.7).astype(dtype) if padding else None
    seen = places.copy()
    if masked:
        seen &= attn != 0
    if padding:
        seen &= keys[:, None, None, :] != 0
    mask = paddle.to_tensor(places.reshape(6, 5, 5).astype(dtype)).to_sparse_csr()
    tensors = [paddle.to_tensor(t, stop_gradient=False) for t in (q, k, v)]
    out = functional.attention(
        *tensors, mask, None if keys is None else paddle.to_tensor(keys),
        None if attn is None else paddle.to_tensor(attn),
    )  # fmt: skip
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out.numpy(), dense(q, k, v, seen), tolerance, tolerance)

    if dtype == "float64":
        out.sum().backward()
        for number, x in enumerate((q, k, v)):
            shifted = [[q, k, v], [q, k, v]]
            for sign, inputs in zip((1, -1), shifted):
                inputs[number] = x.copy()
                inputs[number][0, 1, 2, 3] += sign * 1e-5
            slope = (dense(*shifted[0], seen).sum() - dense(*shifted[1], seen).sum()) / 2e-5
            found = tensors[number].grad.numpy()[0, 1, 2, 3]
            np.testing.assert_allclose(found, slope, 1e-5, 1e-8)


def test_masks_that_do_not_fit():
    x = paddle.ones([1, 2, 3, 4])
    with pytest.raises(TypeError, match="sparse_mask: expected SparseCsrTensor, got Tensor"):
        functional.attention(x, x, x, paddle.ones([2, 3, 3]))
    with pytest.raises(ValueError, match=r"sparse_mask: expected \[2, 3, 3\]"):
        functional.attention(x, x, x, paddle.ones([1, 3, 3]).to_sparse_csr())


def test_submanifold_convolutions_have_a_second_name():
    x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [1, 2]], [[1.0], [2.0]], [1, 3, 3, 1])
    weight = paddle.to_tensor(RNG.randn(3, 3, 1, 2).astype("float32"))
    one, two = functional.subm_conv2d(x, weight), functional.subm_conv2d_igemm(x, weight)
    assert one.values().tolist() == two.values().tolist()
