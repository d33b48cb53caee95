"""Sequential, LayerList, LayerDict, ParameterList, ParameterDict."""

from collections import OrderedDict

import pytest

import argosy as paddle
from argosy import nn


def kinds(container):
    return [type(layer).__name__ for layer in container]


def test_sequential_forms():
    x = paddle.ones([1, 2])
    plain = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    assert list(plain.state_dict()) == ["0.weight", "0.bias"] and plain(x).shape == [1, 3]
    named = nn.Sequential(("l1", nn.Linear(2, 3)), ("l2", nn.ReLU()))
    assert list(named.state_dict()) == ["l1.weight", "l1.bias"] and named.l1 is named[0]
    assert list(nn.Sequential(OrderedDict(a=nn.ReLU()))._sub_layers) == ["a"]
    assert len(nn.Sequential()) == 0
    with pytest.raises(AssertionError):
        nn.Sequential(nn.ReLU(), 3)


def test_sequential_as_a_list():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert s.append(nn.GELU()).insert(0, nn.Silu()).extend([nn.ELU()]) is s
    assert kinds(s) == ["Silu", "ReLU", "Tanh", "GELU", "ELU"]
    s[1] = nn.Softplus()
    del s[0]
    assert kinds(s) == ["Softplus", "Tanh", "GELU", "ELU"]
    assert isinstance(s[-1], nn.ELU) and kinds(s[1:3]) == ["Tanh", "GELU"]
    s["extra"] = nn.ReLU()
    assert isinstance(s["extra"], nn.ReLU)
    with pytest.raises(IndexError, match="out of range"):
        s[7]
    with pytest.raises(IndexError, match="out of range"):
        s.insert(9, nn.ReLU())


def test_layer_list():
    layers = nn.LayerList([nn.ReLU(), nn.Tanh()])
    layers[0] = nn.GELU()
    del layers[0]
    assert kinds(layers) == ["Tanh"] and list(layers._sub_layers) == ["0"]
    layers.extend([nn.ReLU()]).append(nn.ELU())
    layers.insert(0, nn.Silu())
    assert kinds(layers) == ["Silu", "Tanh", "ReLU", "ELU"]
    assert kinds(layers + nn.LayerList([nn.Tanh()]))[-1] == "Tanh" and len(layers) == 4
    layers += [nn.Mish()]
    assert isinstance(layers.pop(0), nn.Silu) and isinstance(layers[-1], nn.Mish)
    assert isinstance(layers[0:2], nn.LayerList) and kinds(layers[0:2]) == ["Tanh", "ReLU"]
    with pytest.raises(IndexError, match="-4 <= index < 4"):
        layers[5]
    with pytest.raises(AssertionError, match="expected an int in"):
        layers.insert(7, nn.ReLU())
    with pytest.raises(AssertionError):
        layers.append(3)


def test_layer_dict():
    layers = nn.LayerDict({"a": nn.ReLU()})
    layers.update([("b", nn.Tanh())])
    layers["c"] = nn.GELU()
    assert list(layers) == list(layers.keys()) == ["a", "b", "c"] and "b" in layers
    assert kinds(layers.values()) == ["ReLU", "Tanh", "GELU"]
    assert isinstance(layers.pop("b"), nn.Tanh) and len(layers) == 2
    with pytest.raises(KeyError):
        layers["zz"]
    with pytest.raises(ValueError, match="expected a name and a layer"):
        layers.update([("a",)])
    with pytest.raises(AssertionError, match="expected a dict"):
        layers.update(3)
    layers.clear()
    assert len(layers) == 0


def test_parameter_containers():
    make = nn.Layer().create_parameter
    first, second = make([2]), make([3])
    params = nn.ParameterList([first])
    params.append(second)
    params[0] = second
    assert list(params.state_dict()) == ["0", "1"] and len(params) == 2
    assert params[0] is second and list(params) == [second, second]
    with pytest.raises(TypeError, match="expected a Parameter"):
        params.append(3)
    table = nn.ParameterDict({"a": first})
    table.update([("b", second)])
    assert list(table) == ["a", "b"] and table["b"] is second and len(table) == 2
    assert [name for name, _ in table.named_parameters()] == ["a", "b"]


def test_other_names_of_arguments():
    layers = nn.LayerList(modules=[nn.ReLU()])
    layers.append(module=nn.Tanh())
    layers.insert(0, module=nn.GELU())
    layers.extend(modules=[nn.ELU()])
    assert kinds(layers) == ["GELU", "ReLU", "Tanh", "ELU"]
    named = nn.LayerDict(modules={"a": nn.ReLU()})
    named.update(modules={"b": nn.Tanh()})
    assert list(named.keys()) == ["a", "b"]
