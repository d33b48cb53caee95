"""Attention in blocks, by the address where programs look for it."""

import numpy as np
import pytest

import argosy
from argosy.incubate.nn.memory_efficient_attention import memory_efficient_attention


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("biased", [False, True])
def test_memory_efficient_attention(scale, biased):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, n, 3, 4)).astype("float32") for n in (5, 6, 6))
    bias = rng.standard_normal((2, 1, 5, 6)).astype("float32") if biased else None
    tensors = [argosy.to_tensor(a, stop_gradient=False) for a in (q, k, v)]
    out = memory_efficient_attention(
        *tensors,
        None if bias is None else argosy.to_tensor(bias),
        p=0.5,
        scale=scale,
        training=False,
    )
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (0.5 if scale is None else scale)
    weights = np.exp(scores if bias is None else scores + bias)
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        out.numpy(), np.einsum("bhqk,bkhd->bqhd", weights, v), rtol=1e-5, atol=1e-6
    )
    out.sum().backward()
    np.testing.assert_allclose(
        tensors[2].grad.numpy(),
        np.broadcast_to(weights.sum(2).transpose(0, 2, 1)[..., None], v.shape),
        rtol=1e-5,
        atol=1e-6,
    )


def test_other_kinds_of_bias_are_refused():
    x = argosy.ones([1, 2, 1, 4])
    with pytest.raises(TypeError, match="expected a Tensor or None, got str. Do this"):
        memory_efficient_attention(x, x, x, "lower")
