"""Functions over rows against NumPy."""

import numpy as np
import pytest

import argosy
from argosy.incubate.nn import functional as F


def draw(*shape):
    return np.random.RandomState(0).uniform(-2, 2, shape).astype("float32")


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 5), (1, 1)])
def test_normalization_gives_its_statistics(shape):
    x, scale, bias = draw(*shape), draw(shape[-1]), draw(shape[-1]) + 1
    tensors = [argosy.to_tensor(value) for value in (x, scale, bias)]
    mean = x.mean(-1)
    inverse = 1 / np.sqrt(x.var(-1) + 1e-3)
    y, got_mean, got_inverse = F.fast_ln(*tensors, 1e-3)
    want = (x - mean[..., None]) * inverse[..., None] * scale + bias
    for got, wanted in ((y, want), (got_mean, mean), (got_inverse, inverse)):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-5)
    inverse = 1 / np.sqrt((x * x).mean(-1) + 1e-3)
    for function in (F.fast_rms_norm, F.fused_rms_norm_ext):
        y, got_inverse = function(*tensors[:2], 1e-3)
        np.testing.assert_allclose(y.numpy(), x * inverse[..., None] * scale, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got_inverse.numpy(), inverse, rtol=1e-5)
    half = F.fast_rms_norm(tensors[0].astype("float16"), tensors[1].astype("float16"))
    assert half[0].dtype == argosy.float16 and half[1].dtype == argosy.float32


def test_integers_are_counted():
    x = argosy.to_tensor([[1, 2, 2], [5, 0, -3]])
    assert F.int_bincount(x, 0, 4).tolist() == [1, 1, 2, 0]
    assert F.int_bincount(x, 0, 4, "int32").dtype == argosy.int32
    assert F.int_bincount(x[:0], 1, 3).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"\[int_bincount\] low and high.*Do this"):
        F.int_bincount(x, 4, 4)


def test_longest_sequences():
    lengths = argosy.to_tensor([[3], [9], [4]], "int32"), argosy.to_tensor([2, 1, 8], "int32")
    encoder, decoder = F.blha_get_max_len(*lengths, argosy.ones([2]))
    assert encoder.tolist() == [9] and decoder.tolist() == [2] and encoder.dtype == argosy.int32


def test_rows_of_experts_are_combined():
    x, weights = draw(7, 3), draw(4, 2)
    index = np.array([[0, 6, 2, 2], [1, 1, 5, 3]], "int32")
    want = sum(weights[:, i, None] * x[index[i]] for i in range(2))
    given = [argosy.to_tensor(value) for value in (x, weights, index)]
    given[0].stop_gradient = False
    out = F.moe_combine(*given)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-6)
    out.sum().backward()
    wanted = np.zeros_like(x)
    for i in range(2):
        np.add.at(wanted, index[i], weights[:, i, None])
    np.testing.assert_allclose(given[0].grad.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_gradients_of_tokens_are_added_in_place():
    main, grad = draw(5, 3), draw(2, 2, 3)
    tokens = np.array([[1, 4], [1, 0]])
    found = argosy.to_tensor(main)
    result = F.embedding_grad_add_to_(argosy.to_tensor(tokens), found, argosy.to_tensor(grad))
    np.add.at(main, tokens.reshape(-1), grad.reshape(-1, 3))
    np.testing.assert_allclose(found.numpy(), main, rtol=1e-5, atol=1e-6)
    assert result is found
