"""The public names of nn: one list, classes that pickle by name and print their arguments."""

import inspect
import pickle

import argosy as paddle
from argosy import nn


def test_names_are_listed_once_and_exist():
    assert len(set(nn.__all__)) == len(nn.__all__)
    for name in nn.__all__:
        assert hasattr(nn, name), name
    assert set(nn.layer.__all__) < set(nn.__all__)


def test_classes_pickle_by_name_and_have_docstrings():
    for name in nn.layer.__all__:
        cls = getattr(nn, name)
        assert pickle.loads(pickle.dumps(cls)) is cls
        assert cls.__doc__ and cls.__doc__ is not nn.Layer.__doc__ or cls is nn.Layer, name


def test_folded_constructors_keep_their_signatures():
    assert str(inspect.signature(nn.ReLU)) == "(name=None)"
    assert str(inspect.signature(nn.ZeroPad3D)) == "(padding, data_format='NCDHW', name=None)"
    assert list(inspect.signature(nn.MaxPool3D).parameters) == [
        "kernel_size", "stride", "padding", "return_mask", "ceil_mode", "data_format", "name",
    ]  # fmt: skip


def test_other_names_of_attributes_read_and_write():
    pool = nn.AdaptiveMaxPool2D(2)
    pool.return_indices = True
    values, indices = pool(paddle.ones([1, 1, 4, 4]))
    assert indices.shape == [1, 1, 2, 2]
    glu = nn.GLU(dim=1)
    assert glu.dim == 1 and glu.extra_repr() == "axis=1"
    glu.dim = 0
    assert glu.extra_repr() == "axis=0"
    assert nn.Sigmoid(name="s").extra_repr() == "name=s"
    assert nn.MaxPool1D(3).kernel_size == 3
