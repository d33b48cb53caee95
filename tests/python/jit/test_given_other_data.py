"""Tensors that captured functions read and that are given other memory (`t.data = other`) count as they are."""

import pytest

import argosy
from argosy import jit, nn


class Scaled(nn.Layer):
    def __init__(self, kind):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        ones = argosy.ones([2])
        if kind == "parameter":
            self.factor = self.create_parameter([2], default_initializer=nn.initializer.Constant(1))
        elif kind == "frozen":
            self.factor = self.create_parameter([2], default_initializer=nn.initializer.Constant(1))
            self.factor.stop_gradient = True
        elif kind == "attribute":
            self.factor = ones
        else:
            self.register_buffer("factor", ones, persistable=kind == "buffer")

    def forward(self, x):
        row = self.factor.reshape([1, -1])  # a view that does not move in a run
        return x * self.factor + row[0] * 10


KINDS = ["buffer", "temporary buffer", "attribute", "parameter", "frozen"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("full_graph", [False, True])
def test_of_all_kinds(kind, full_graph):
    layer = Scaled(kind)
    captured = jit.to_static(Scaled.forward, full_graph=full_graph)
    x = argosy.ones([1])
    for data in ([1.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0], [7.0, 8.0, 9.0], [2.0, 3.0]):
        layer.factor.data = argosy.to_tensor(data)
        for _ in range(2):
            assert captured(layer, x).tolist() == [11 * v for v in data]
    matrix = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    layer.factor.data = matrix[:, 1]  # with strides
    assert captured(layer, x).tolist() == [22.0, 44.0]
    matrix[0, 1] = 5.0
    assert captured(layer, x).tolist() == [55.0, 44.0]


@pytest.mark.parametrize("kind", ["buffer", "attribute"])
def test_in_training_steps(kind):
    layer = Scaled(kind)
    sgd = argosy.optimizer.SGD(0.1, parameters=layer.linear.parameters())
    step = jit.compile_step(lambda x: layer(layer.linear(x) * 0 + 1).sum(), None, sgd)
    for data in ([1.0, 2.0], [3.0, 4.0]):
        layer.factor.data = argosy.to_tensor(data)
        assert float(step(argosy.ones([1, 2]))) == 11 * sum(data)


def test_another_dtype_is_an_error_that_says_so():
    layer = Scaled("buffer")
    captured = jit.to_static(Scaled.forward, full_graph=True)
    captured(layer, argosy.ones([2]))
    layer.factor.data = argosy.ones([2], "int64")
    with pytest.raises(ValueError, match="expected dtype float32, got int64"):
        captured(layer, argosy.ones([2]))
