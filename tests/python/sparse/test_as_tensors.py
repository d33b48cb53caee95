"""Sparse tensors are Tensors to programs that ask, though ops that take dense ones refuse them by name."""

import copy
import pickle

import numpy as np
import pytest

import argosy
from argosy.sparse.tensor import SparseCooTensor, SparseCsrTensor, SparseTensor

X = np.float32([[1, 0], [0, 2]])
FORMS = {
    "coo": (lambda: argosy.to_tensor(X).to_sparse_coo(2), SparseCooTensor),
    "csr": (lambda: argosy.to_tensor(X).to_sparse_csr(), SparseCsrTensor),
}


@pytest.fixture(params=FORMS)
def sparse(request):
    return FORMS[request.param][0]()


def test_isinstance(sparse):
    assert isinstance(sparse, argosy.Tensor) and argosy.is_tensor(sparse)
    assert isinstance(sparse, SparseTensor) and not isinstance(sparse, argosy.base.Variable)
    assert not isinstance(argosy.ones([1]), SparseTensor)


def test_copies(sparse):
    for made in (copy.copy(sparse), copy.deepcopy(sparse), pickle.loads(pickle.dumps(sparse))):
        assert type(made) is type(sparse)
        np.testing.assert_array_equal(made.to_dense().numpy(), X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: argosy.exp(x),
        lambda x: argosy.nn.Linear(2, 2)(x),
        lambda x: argosy.grad([x], [x]),
        lambda x: argosy.nn.Layer().register_buffer("b", x),
        lambda x: argosy.utils.dlpack.to_dlpack(x),
    ],
)
def test_refused_by_name(sparse, call):
    with pytest.raises((TypeError, ValueError), match=type(sparse).__name__):
        call(sparse)


def test_captured_functions_keep_them_as_they_are(sparse):
    captured = argosy.jit.to_static(lambda s, x: s.to_dense() + x, full_graph=True)
    np.testing.assert_array_equal(captured(sparse, argosy.ones([2, 2])).numpy(), X + 1)


def test_layers_keep_them_as_attributes(sparse):
    layer = argosy.nn.Layer()
    layer.mask = sparse
    assert layer.mask is sparse and not layer.state_dict()


def test_own_gradients(sparse):
    class Twice(argosy.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, s):
            ctx.s = s
            return x * s.to_dense()

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.s.to_dense()

    x = argosy.ones([2, 2])
    x.stop_gradient = False
    Twice.apply(x, sparse).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), X)


def test_on_the_cpu(sparse):
    moved = sparse.cpu()
    assert type(moved) is type(sparse) and moved.place.is_cpu_place()
    np.testing.assert_array_equal(moved.numpy(), X)
    assert sparse.element_size() == 4
