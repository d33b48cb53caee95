"""The normal distribution of the complex plane. Expected numbers are the formulas of its density."""

import math

import numpy as np
import pytest

import argosy
from argosy.distribution import Cauchy, Normal, kl_divergence


def test_density_and_entropy():
    dist = Normal(np.array([1 + 1j, 0.5j], "complex64"), np.array([2.0, 1.0], "float32"))
    assert (dist.loc.dtype, dist.scale.dtype) == (argosy.complex64, argosy.float32)
    value = np.array([1.5 + 0.5j, 1 - 1j], "complex64")
    variance = np.array([4.0, 1.0])
    squares = np.abs(value - np.array([1 + 1j, 0.5j])) ** 2
    density = np.exp(-squares / variance) / (math.pi * variance)
    np.testing.assert_allclose(dist.prob(argosy.to_tensor(value)).numpy(), density, rtol=1e-5)
    np.testing.assert_allclose(dist.entropy().numpy(), 1 + np.log(math.pi * variance), rtol=1e-5)


def test_samples():
    argosy.seed(5)
    dist = Normal(1 + 1j, 2.0)
    for drawn in (dist.sample([20000]), dist.rsample([20000]), dist.sample([20000], seed=7)):
        assert drawn.dtype == argosy.complex64 and drawn.shape == [20000]
        values = drawn.numpy()
        assert abs(values.mean() - (1 + 1j)) < 0.06
        parts = np.stack([values.real, values.imag])
        np.testing.assert_allclose(np.cov(parts), [[2, 0], [0, 2]], atol=0.12)


def test_divergence():
    p, q = Normal(1 + 1j, 2.0), Normal(0.5j, 1.0)
    wanted = 4 + abs(1 + 0.5j) ** 2 - 1 - math.log(4)
    assert kl_divergence(p, q).item() == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(
        ValueError, match="both of complex numbers: got paddle.float32 and paddle.comp"
    ):
        kl_divergence(Normal(0.0, 1.0), p)


def test_what_is_real_only():
    with pytest.raises(NotImplementedError, match="Normal.cdf.*have no order.*Do this"):
        Normal(1j, 1.0).cdf(argosy.ones([1]))
    with pytest.raises(NotImplementedError, match="Normal.icdf.*have no order.*Do this"):
        Normal(1j, 1.0).icdf(argosy.ones([1]))
    for make in (lambda: Normal(0.0, 1j), lambda: Cauchy(1j, 1.0)):
        with pytest.raises(
            TypeError, match="a parameter is a real number.*got 1j. Do this: pass its"
        ):
            make()
    with pytest.raises(TypeError, match="shape: expected a list or tuple of ints, got 'a'"):
        Normal(0.0, 1.0).sample("a")
