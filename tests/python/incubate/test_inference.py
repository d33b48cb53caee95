"""Functions and layers that only predict."""

import numpy as np
import pytest

import argosy
from argosy import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x, times=1):
        return self.layer(x) * times


class Predicting(Net):
    @argosy.incubate.inference
    def forward(self, x):
        return self.layer(x), x


def test_functions_methods_and_layers():
    x = argosy.to_tensor(np.arange(6, dtype="float32").reshape(2, 3), stop_gradient=False)
    net = Net()
    want = net(x)
    got = argosy.incubate.inference(net)
    assert got is net and not want.stop_gradient and net(x).stop_gradient
    np.testing.assert_allclose(net(x).numpy(), want.numpy(), rtol=1e-6)
    np.testing.assert_allclose(net(x, times=3).numpy(), 3 * want.numpy(), rtol=1e-6)
    with argosy.no_grad():
        net.layer.weight.set_value(argosy.zeros([3, 2]))
    assert (
        net(x).abs().sum() == net.layer.bias.abs().sum() * 2
    )  # parameters are looked up, not copied

    one, two = Predicting(), Predicting()
    for method in (one, two):
        y, same = method(x)
        np.testing.assert_allclose(y.numpy(), method.layer(x).numpy(), rtol=1e-6)
        np.testing.assert_array_equal(same.numpy(), x.numpy())
    assert isinstance(one(x), list)

    @argosy.incubate.inference(memory_pool_init_size_mb=1000)
    def positive(x):
        return x if x.sum() > 0 else -x

    assert positive(argosy.to_tensor([-1.0, -2.0])).tolist() == [1.0, 2.0]
    assert positive(argosy.to_tensor([-1.0, 3.0, 0.0])).tolist() == [-1.0, 3.0, 0.0]
    assert positive.__name__ == "positive"


def test_what_it_does_not_do():
    with pytest.raises(TypeError, match="function: expected a function or a Layer, got int"):
        argosy.incubate.inference(3)
    for option in ({"with_trt": True}, {"cache_static_model": True}, {"precision_mode": "float16"}):
        (name,) = option
        with pytest.raises(NotImplementedError, match=f"{name} is not supported.*jit.save"):
            argosy.incubate.inference(lambda x: x, **option)
