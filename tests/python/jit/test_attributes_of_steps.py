"""Tensors that a model keeps in attributes while a step is compiled, and gradients that it asks for."""

import warnings

import pytest

import argosy
from argosy import jit, nn, optimizer


class Keeping(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.last, self.parts = None, None

    def forward(self, x):
        y = self.linear(x)
        self.last, self.parts = y, {"half": [y / 2, 3], "input": x}
        return y.mean()


def test_tensors_are_those_of_the_last_step():
    layer, twin = Keeping(), Keeping()
    twin.set_state_dict(layer.state_dict())
    sgd = [optimizer.SGD(0.1, parameters=v.parameters()) for v in (layer, twin)]
    step = jit.compile_step(layer, None, sgd[0])
    for scale in (1.0, 2.0, 3.0):
        x = argosy.to_tensor([[1.0, 2.0]]) * scale
        loss = step(x)
        want = twin(x)
        want.backward()
        sgd[1].step()
        sgd[1].clear_grad()
        assert loss.tolist() == want.tolist()
        assert layer.last.tolist() == twin.last.tolist() and layer.last.stop_gradient
        half, three = layer.parts["half"]
        assert half.tolist() == twin.parts["half"][0].tolist() and three == 3
        assert layer.parts["input"].tolist() == x.tolist()
    assert layer.linear.weight.tolist() == twin.linear.weight.tolist()


def test_tensors_of_classes_are_refused():
    class Wrong(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 1)

        def forward(self, x):
            Wrong.seen = self.linear(x)
            return Wrong.seen.mean()

    model = Wrong()
    step = jit.compile_step(model, None, optimizer.SGD(0.1, parameters=model.parameters()))
    with pytest.raises(jit.transform.CaptureError, match="sets Wrong.seen to a tensor"):
        step(argosy.ones([1, 2]))


class Retaining(Keeping):
    def forward(self, x):
        y = self.linear(x)
        y.retain_grads()
        self.last = y
        return (y * y).sum()


def test_gradients_of_attributes():
    """A captured function has none for them: it runs as Python, or says so."""
    layer = Retaining()
    captured = jit.to_static(Retaining.forward)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        captured(layer, argosy.ones([1, 2])).backward()
    assert "[retain_grads] is called in a function that is captured" in str(caught[0].message)
    assert layer.last.grad.tolist() == (layer.last * 2).tolist()
    with pytest.raises(NotImplementedError, match="Do this: call it outside of the function"):
        jit.to_static(Retaining.forward, full_graph=True)(layer, argosy.ones([1, 2]))
    step = jit.compile_step(layer, None, optimizer.SGD(0.1, parameters=layer.parameters()))
    with pytest.raises(NotImplementedError, match=r"\[retain_grads\]"):
        step(argosy.ones([1, 2]))
