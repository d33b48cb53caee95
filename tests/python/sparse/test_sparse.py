"""Sparse tensors against the same computation of dense arrays by NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse

import argosy
from argosy import sparse

RNG = np.random.default_rng(7)


def some(*shape):
    """An array of which about half is 0; one row of a matrix is empty."""
    x = np.round(RNG.uniform(-0.9, 0.9, shape), 3) * (RNG.random(shape) > 0.5)
    x = x + 0.0  # no negative zeros
    x[..., 1, :] = 0
    return x


def coo(x, dims=None, grad=False):
    found = argosy.to_tensor(x).detach().to_sparse_coo(x.ndim if dims is None else dims)
    found.stop_gradient = not grad
    return found


FORMS = {"coo": coo, "csr": lambda x: argosy.to_tensor(x).to_sparse_csr()}
A, B = some(4, 5), some(4, 5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "name",
    "abs asin asinh atan atanh deg2rad expm1 log1p neg rad2deg sin sinh sqrt square tan tanh".split(),
)
def test_functions_that_keep_zeros(name, form):
    numpy_name = {"neg": "negative", "asin": "arcsin", "asinh": "arcsinh"}.get(name, name)
    numpy_name = {"atan": "arctan", "atanh": "arctanh"}.get(numpy_name, numpy_name)
    x = np.abs(A) if name == "sqrt" else A
    found = getattr(sparse, name)(FORMS[form](x))
    np.testing.assert_allclose(found.numpy(), getattr(np, numpy_name)(x), atol=1e-12)
    assert found.nnz() == np.count_nonzero(A) and found._format == form
    with pytest.raises(TypeError, match=rf"\[sparse.{name}\]"):
        getattr(sparse, name)(argosy.ones([2]))


@pytest.mark.parametrize("form", FORMS)
def test_binary(form):
    x, y = FORMS[form](A), FORMS[form](B)
    np.testing.assert_allclose((x + y).numpy(), A + B)
    np.testing.assert_allclose((x - y).numpy(), A - B)
    np.testing.assert_allclose((x * y).numpy(), A * B)
    np.testing.assert_allclose((x * 3).numpy(), A * 3)
    np.testing.assert_allclose((x / 2).numpy(), A / 2)
    np.testing.assert_allclose((-x).numpy(), -A)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose((x / y).numpy(), A / B)
    assert (x + y).nnz() == np.count_nonzero((A != 0) | (B != 0))
    with pytest.raises(ValueError, match="one shape"):
        sparse.add(x, FORMS[form](some(3, 5)))
    with pytest.raises(NotImplementedError, match="both"):
        sparse.add(coo(A), FORMS["csr"](A))


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    x = FORMS[form](A)
    np.testing.assert_array_equal(x.to_sparse_csr().numpy(), A)
    np.testing.assert_array_equal(x.to_sparse_coo(2).numpy(), A)
    expected = scipy.sparse.csr_matrix(A)
    csr = x.to_sparse_csr()
    np.testing.assert_array_equal(csr.crows().numpy(), expected.indptr)
    np.testing.assert_array_equal(csr.cols().numpy(), expected.indices)
    np.testing.assert_array_equal(csr.values().numpy(), expected.data)
    np.testing.assert_allclose(sparse.transpose(x, [1, 0]).numpy(), A.T)
    np.testing.assert_allclose(sparse.reshape(x, [2, -1]).numpy(), A.reshape(2, -1))
    np.testing.assert_allclose(sparse.slice(x, [0, 1], [1, -3], [4, 9]).numpy(), A[1:4, -3:])
    np.testing.assert_allclose(sparse.pow(x, 2).numpy(), A**2)
    np.testing.assert_allclose(sparse.mask_as(argosy.to_tensor(B), x).numpy(), B * (A != 0))
    assert sparse.cast(x, "int32", "float32").dtype == argosy.float32
    assert sparse.is_same_shape(x, argosy.ones([4, 5])) and len(x) == 4 and x.dim() == 2
    assert x.is_sparse() and not x.is_dense() and repr(x).startswith("Tensor(shape=[4, 5]")
    kept = form == "csr"
    np.testing.assert_allclose(sparse.sum(x, 1).numpy(), A.sum(1, keepdims=kept))
    np.testing.assert_allclose(sparse.sum(x, 0, keepdim=True).numpy(), A.sum(0, keepdims=True))
    np.testing.assert_allclose(sparse.sum(x).numpy().reshape(-1), [A.sum()])
    for call in (
        lambda: sparse.transpose(x, [0, 0]),
        lambda: sparse.reshape(x, [3, 3]),
        lambda: sparse.mask_as(argosy.ones([2, 2]), x),
    ):
        with pytest.raises(ValueError, match=r"\[sparse\."):
            call()


def test_batches_of_matrices():
    x = some(3, 4, 5)
    csr = FORMS["csr"](x)
    assert csr.crows().shape == [15]
    np.testing.assert_array_equal(csr.numpy(), x)
    y = RNG.standard_normal((3, 5, 2))
    np.testing.assert_allclose(sparse.matmul(csr, argosy.to_tensor(y)).numpy(), x @ y)
    np.testing.assert_allclose(sparse.transpose(coo(x), [1, 2, 0]).numpy(), x.transpose(1, 2, 0))


@pytest.mark.parametrize("form", FORMS)
def test_products(form):
    x, dense = FORMS[form](A), RNG.standard_normal((5, 3))
    y = argosy.to_tensor(dense)
    np.testing.assert_allclose(sparse.matmul(x, y).numpy(), A @ dense)
    np.testing.assert_allclose((x @ FORMS[form](B.T.copy())).numpy(), A @ B.T)
    np.testing.assert_allclose(sparse.mv(x, y[:, 0]).numpy(), A @ dense[:, 0])
    base = RNG.standard_normal((4, 3))
    found = sparse.addmm(argosy.to_tensor(base), x, y, 2.0, 3.0).numpy()
    np.testing.assert_allclose(found, 2 * base + 3 * (A @ dense))
    left, right = RNG.standard_normal((4, 6)), RNG.standard_normal((6, 5))
    found = sparse.masked_matmul(argosy.to_tensor(left), argosy.to_tensor(right), x)
    np.testing.assert_allclose(found.numpy(), (left @ right) * (A != 0))
    with pytest.raises(ValueError, match=r"\[sparse.matmul\]"):
        sparse.matmul(x, argosy.ones([4, 4], "float64"))


def check_gradient(function, *arrays):
    """Gradients of a function of sparse tensors, and of the same function of dense ones."""
    weights = argosy.to_tensor(
        RNG.standard_normal(function[1](*map(argosy.to_tensor, arrays)).shape)
    )
    spread = [coo(a, grad=True) for a in arrays]
    (function[0](*spread).to_dense() * weights).sum().backward()
    whole = [argosy.to_tensor(a, stop_gradient=False) for a in arrays]
    (function[1](*whole) * weights).sum().backward()
    for s, w, a in zip(spread, whole, arrays):
        np.testing.assert_allclose(s.grad.numpy(), w.grad.numpy() * (a != 0), atol=1e-9)


def test_gradients():
    check_gradient((sparse.sin, argosy.sin), A)
    check_gradient((sparse.add, argosy.add), A, B)
    check_gradient((sparse.multiply, argosy.multiply), A, B)
    check_gradient((lambda x: sparse.transpose(x, [1, 0]), lambda x: x.t()), A)
    check_gradient((lambda x: sparse.sum(x, 1), lambda x: x.sum(1)), A)
    x = coo(A, grad=True)
    y = argosy.to_tensor(RNG.standard_normal((5, 3)), stop_gradient=False)
    sparse.matmul(x, y).sum().backward()
    expected = np.broadcast_to(y.numpy().sum(1), (4, 5)) * (A != 0)
    np.testing.assert_allclose(x.grad.numpy(), expected)
    np.testing.assert_allclose(y.grad.numpy(), np.broadcast_to(A.sum(0)[:, None], (5, 3)))
    dense = argosy.to_tensor(A, stop_gradient=False)
    z = sparse.square(dense.to_sparse_coo(2))
    z.backward(z.detach())
    np.testing.assert_allclose(dense.grad.numpy(), 2 * A**3)


@pytest.mark.parametrize("form", FORMS)
def test_softmax_of_what_is_stored(form):
    found = sparse.nn.Softmax()(FORMS[form](A)).numpy()
    for row, expected in zip(found, A):
        stored = expected != 0
        power = np.exp(expected[stored])
        np.testing.assert_allclose(row[stored], power / power.sum())
        assert not row[~stored].any()


def test_creation():
    x = sparse.sparse_coo_tensor([[0, 0, 2], [1, 1, 0]], [1.0, 2.0, 3.0], stop_gradient=False)
    assert x.shape == [3, 2] and x.nnz() == 3 and not x.stop_gradient and not x.is_coalesced()
    together = x.coalesce()
    assert together.indices().tolist() == [[0, 2], [1, 0]] and together.values().tolist() == [3, 3]
    assert x.tolist() == [[0, 3], [0, 0], [3, 0]]
    hybrid = sparse.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], [3, 2])
    assert hybrid.dense_dim() == 1 and hybrid.tolist() == [[3, 4], [0, 0], [1, 2]]
    assert argosy.to_tensor(hybrid.numpy()).to_sparse_coo(1).indices().tolist() == [[0, 2]]
    empty = sparse.sparse_coo_tensor(np.zeros((2, 0), "int64"), np.zeros(0), [2, 3])
    assert empty.nnz() == 0 and not empty.numpy().any() and (empty + empty).nnz() == 0
    assert sparse.sin(empty).to_sparse_csr().crows().tolist() == [0, 0, 0]
    csr = sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1, 2, 3], [2, 3], "float64")
    assert csr.tolist() == [[0, 1, 0], [2, 0, 3]] and csr.dtype == argosy.float64
    for make in (
        lambda: sparse.sparse_coo_tensor([0, 1], [1.0, 2.0]),
        lambda: sparse.sparse_coo_tensor([[0, 1]], [1.0]),
        lambda: sparse.sparse_coo_tensor([[0, 4]], [1.0, 2.0], [3]),
        lambda: sparse.sparse_csr_tensor([0, 1, 3], [1, 0], [1.0, 2.0, 3.0], [2, 3]),
        lambda: sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [4, 3]),
        lambda: sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [3]),
        lambda: sparse.sparse_csr_tensor([0, 1, 2], [1, 0, 2], [1.0, 2.0, 3.0], [2, 3]),
    ):
        with pytest.raises(ValueError, match="Do this"):
            make()


def test_sparse_tensors_are_tensors():
    held = argosy.ones([2, 2]).to_sparse_coo(2)
    assert argosy.is_tensor(held) and argosy.is_tensor(obj=held.to_sparse_csr())
    assert not argosy.is_tensor(type(held)) and not argosy.is_tensor(None)
