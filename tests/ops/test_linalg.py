"""Products, norms and decompositions, against NumPy."""

import numpy as np
import pytest
import scipy.linalg
from tests.ops.harness import COMPLEX, FLOAT, INT, A, Case, table_tests

import argosy
from argosy._recorder import Recorder

PRODUCT = (*INT, *FLOAT, *COMPLEX)
DENSE = ("float32", "float64")
L = argosy.linalg


def product(x, y):
    return (x @ y).astype(x.dtype)


def matmul_ref(x, y, transpose_x=False, transpose_y=False):
    x = np.swapaxes(x, -1, -2) if transpose_x else x
    y = np.swapaxes(y, -1, -2) if transpose_y else y
    return product(x, y)


# --- functions of one matrix, made symmetric or regular so that every element may move ---


def spd(x):
    """A positive definite function of x."""
    eye = argosy.diag_embed(argosy.ones_like(argosy.diagonal(x, 0, -2, -1)))
    return argosy.matmul(x, x, transpose_y=True) + eye


def spd_np(x):
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1])


def cholesky(x):
    return L.cholesky(spd(x))


def cholesky_upper(x):
    return L.cholesky(spd(x), upper=True)


def cholesky_solve(b, x):
    return L.cholesky_solve(b, L.cholesky(spd(x)))


def eigh_values(x):
    return L.eigh(x + L.matrix_transpose(x))[0]


def eigh_projector(x):
    """x's spectral function w^3, which no choice of signs changes."""
    w, v = L.eigh(x + L.matrix_transpose(x))
    return argosy.matmul(v * (w**3).unsqueeze(-2), v, transpose_y=True)


def eigh_projector_np(x):
    s = x + np.swapaxes(x, -1, -2)
    return s @ s @ s


def eig_sum(x):
    """sum of w^2 = trace of x^2, and x itself from its eigenvectors."""
    w, v = L.eig(x)
    return argosy.real(argosy.matmul(v * w.unsqueeze(-2), L.inv(v)))


def eigvals_square(x):
    return argosy.real((L.eigvals(x) * L.eigvals(x)).sum(-1))


def svd_cube(x):
    """u s^3 vh = x x^T x."""
    u, s, vh = L.svd(x)
    return argosy.matmul(u * (s**3).unsqueeze(-2), vh)


def qr_parts(x):
    q, r = L.qr(x)
    return q.abs(), r.abs()


def qr_np(x):
    q, r = np.linalg.qr(x)
    return np.abs(q), np.abs(r)


def lu_packed(x):
    return L.lu(x)[0]


def lu_product(x):
    p, lower, upper = L.lu_unpack(*L.lu(x))
    return argosy.matmul(argosy.matmul(p, lower), upper)


def slogdet_np(x):
    return np.stack(np.linalg.slogdet(x))


def lstsq_np(x, y):
    return np.linalg.lstsq(x, y, rcond=None)[0]


SQUARE = A(3, 3, low=0.5, high=3)


def regular(n=3, seed=0):
    """Well-conditioned matrices with distinct eigenvalues."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.3, 0.3, (2, n, n)) + np.diag(np.arange(1.0, n + 1))


def triangle(x, y, upper=True, transpose=False, unitriangular=False):
    x = np.triu(x) if upper else np.tril(x)
    if unitriangular:
        x = x - np.eye(len(x)) * np.diag(x) + np.eye(len(x))
    return np.linalg.solve(x.T if transpose else x, y)


def p_norm_ref(x, p, axis=None, keepdim=False):
    axis = tuple(axis) if isinstance(axis, list) else axis
    x = np.abs(x)
    if np.isinf(p):
        return (x.max if p > 0 else x.min)(axis, keepdims=keepdim)
    if p == 0:
        return (x != 0).sum(axis, keepdims=keepdim).astype(float)
    return (x**p).sum(axis, keepdims=keepdim) ** (1 / p)


def einsum(equation):
    def call(*operands):
        return argosy.einsum(equation, *operands)

    call.__name__ = "einsum_" + equation
    return call


def einsum_case(equation, *shapes, second=None):
    return Case(einsum(equation), [A(*s) for s in shapes], grad=True, second=second, tol=8,
                dtypes=("float32", "float64"), ref=lambda *x: np.einsum(equation, *x))  # fmt: skip


# fmt: off
CASES = [
    Case("matmul", [A(2, 3), A(3, 4)], ref=matmul_ref, dtypes=PRODUCT, tol=8, out="same",
         shapes=[[(3,), (3,)], [(2, 3), (3,)], [(3,), (3, 2)], [(5, 2, 3), (3, 4)],
                 [(2, 1, 2, 3), (4, 3, 2)], [(0, 3), (3, 2)], [(2, 0), (0, 3)]],
         errors=[([A(2, 3), A(4, 5)], {}, ValueError, "inner sizes must be equal")]),
    Case("matmul", [A(3, 2), A(4, 3)], {"transpose_x": True, "transpose_y": True}, ref=matmul_ref,
         dtypes=FLOAT, tol=8, shapes=[[(2, 3, 2), (2, 4, 3)]]),
    Case("gated_matmul", [A(2, 3, 4, away=0.1), A(2, 3, 5), A(5, 4)], {"factor": 1.25}, tol=8,
         ref=lambda g, x, y, factor: np.where(g > 0, x @ y * factor, 0),
         errors=[([A(2, 4), A(2, 5), A(4, 5)], {}, ValueError, "check transpose_y"), ([A(3, 4), A(2, 5), A(5, 4)], {}, ValueError, "expected x [.., k]")]),
    Case("gated_matmul", [A(4, away=0.1), A(5), A(4, 5)], {"transpose_y": True}, tol=8, ref=lambda g, x, y, transpose_y: np.where(g > 0, x @ y.T, 0)),
    Case("gated_matmul", [A(300, 160, away=0.1), A(300, 90), A(160, 90)], {"transpose_y": True}, tol={"float32": (1e-3, 1e-4), "float64": (1e-10, 1e-12), "bfloat16": (1e-2, 1e-2), "float16": (2e-3, 2e-2)}, grad=False, note="tiles",
         ref=lambda g, x, y, transpose_y: np.where(g > 0, x @ y.T, 0), shapes=[[(300, 160), (300, 0), (160, 0)], [(20, 16), (20, 20000), (16, 20000)]]),
    Case("linear", [A(2, 3), A(3, 4), A(4)], ref=lambda x, w, b: x @ w + b, tol=8,
         shapes=[[(5, 2, 3), (3, 4), (4,)], [(0, 3), (3, 2), (2,)]],
         errors=[([A(2, 3), A(4, 3)], {}, ValueError, "last size of x must be the first of weight"),
                 ([A(2, 3), A(3, 4), A(3)], {}, ValueError, "one element for each output"),
                 ([A(2, 3), A()], {}, ValueError, "weight [in, out]")]),
    Case("linear", [A(2, 3), A(3, 4), A(4)], ref=lambda x, w, b: x @ w + b, tol=8, dtypes=(*INT, *COMPLEX), note="kinds"),
    Case("linear", [A(2, 3), A(3), A(2)], ref=lambda x, w, b: x @ w + b, tol=8, note="vector",
         shapes=[[(5, 2, 3), (3,), (1,)], [(5, 2, 3), (5, 3, 4), (4,)], [(2, 3), (3, 4), (1,)],
                 [(2, 3), (3, 4), (2, 2, 4)], [(3,), (3,), (1,)]]),
    Case("linear", [A(3), A(3)], ref=lambda x, w: x @ w, tol=8, note="two vectors",
         shapes=[[(2, 5, 3), (2, 3, 2)]]),
    Case("mm", [A(2, 3), A(3, 4)], ref=product, dtypes=FLOAT, tol=8),
    Case("bmm", [A(2, 2, 3), A(2, 3, 4)], ref=product, dtypes=FLOAT, tol=8,
         errors=[([A(2, 3), A(3, 4)], {}, ValueError, "[bmm] x must have 3 dimensions"),
                 ([A(2, 2, 3), A(3, 3, 4)], {}, ValueError, "numbers of matrices")]),
    Case("mv", [A(2, 3), A(3)], ref=product, dtypes=FLOAT, tol=8,
         errors=[([A(2, 3), A(2, 3)], {}, ValueError, "[mv] vec must have 1 dimensions")]),
    Case("dot", [A(4), A(4)], ref=lambda x, y: (x * y).sum(-1), dtypes=FLOAT, tol=8,
         shapes=[[(3, 4), (3, 4)], [(0,), (0,)]],
         errors=[([A(2, 3), A(4)], {}, RuntimeError, "[dot] expected two vectors")]),
    Case("inner", [A(2, 3), A(4, 3)], ref=np.inner, dtypes=FLOAT, tol=8,
         shapes=[[(3,), (3,)], [(), (2, 3)], [(2, 2, 3), (2, 4, 3)]],
         errors=[([A(2, 3), A(4, 2)], {}, ValueError, "[inner] the last sizes must be equal")]),
    Case("outer", [A(3), A(2)], ref=np.outer, dtypes=FLOAT, shapes=[[(2, 2), (3,)], [(0,), (2,)]]),
    Case("addmm", [A(2, 4), A(2, 3), A(3, 4)], {"beta": 0.5, "alpha": 2.0}, dtypes=FLOAT, tol=8,
         ref=lambda i, x, y, beta, alpha: beta * i + alpha * (x @ y),
         errors=[([A(2, 4), A(2, 3), A(2, 4)], {}, ValueError, "columns of x and rows of y")]),
    Case("baddbmm", [A(2, 2, 4), A(2, 2, 3), A(2, 3, 4)], {"beta": 0.5, "alpha": 2.0}, tol=8,
         ref=lambda i, x, y, beta, alpha: beta * i + alpha * (x @ y), dtypes=FLOAT),
    Case("kron", [A(2, 3), A(3, 2)], ref=np.kron, dtypes=FLOAT,
         shapes=[[(2,), (3,)], [(2,), (3, 2)], [(), ()], [(2, 2, 2), (3, 1)]]),
    Case("cross", [A(2, 3), A(2, 3)], ref=np.cross, dtypes=FLOAT, tol=4,
         errors=[([A(2, 2), A(2, 2)], {}, ValueError, "no axis of size 3")]),
    Case("cross", [A(2, 3, 4), A(2, 3, 4)], dtypes=("complex64", "complex128", "int32"), tol=4,
         ref=lambda x, y: np.cross(x, y, axis=1)),
    Case("cross", [A(3, 2), A(3, 2)], {"axis": 0}, dtypes=FLOAT, tol=4,
         ref=lambda x, y, axis: np.cross(x, y, axis=axis)),

    Case("p_norm", [A(2, 3, 4)], {"p": 2.0}, ref=p_norm_ref, tol=8, dtypes=(*DENSE, *COMPLEX)),
    Case("p_norm", [A(2, 3, 4)], {"p": 3.0, "axis": [0, 2]}, ref=p_norm_ref, dtypes=DENSE, tol=16),
    Case("p_norm", [A(2, 3)], {"p": 1.0, "axis": 1, "keepdim": True}, ref=p_norm_ref, dtypes=DENSE,
         tol=8),
    Case("p_norm", [A(2, 3)], {"p": float("inf"), "axis": -1}, ref=p_norm_ref, dtypes=DENSE),
    Case("p_norm", [A(2, 3)], {"p": float("-inf"), "axis": 0}, ref=p_norm_ref, dtypes=DENSE),
    Case("p_norm", [A(2, 3)], {"p": 0.0, "axis": 0}, ref=p_norm_ref, dtypes=DENSE),

    Case("histogram", [A(20)], {"bins": 4, "min": -1.0, "max": 1.0}, dtypes=("float32", "int32"),
         ref=lambda x, bins, min, max: np.histogram(x, bins, (min, max))[0]),
    Case("histogram", [A(20), A(20, low=0)], {"bins": 4, "min": -1.0, "max": 1.0}, dtypes=("float32",), tol=10,
         ref=lambda x, w, bins, min, max: np.histogram(x, bins, (min, max), weights=w)[0], note="weight"),
    Case("histogram", [A(20)], {"bins": 5}, ref=lambda x, bins: np.histogram(x, bins)[0],
         dtypes=("float32", "float64"), errors=[([A(2)], {"bins": 0}, ValueError, "bins must be")]),
    Case("histogram_bin_edges", [A(20)], {"bins": 5}, dtypes=("float32", "float64"), out="float32",
         ref=lambda x, bins: np.histogram(x, bins)[1].astype("float32"), tol=100),
    Case("bincount", [A(20, low=0, high=6)], {"minlength": 9}, dtypes=("int32", "int64"),
         ref=lambda x, minlength: np.bincount(x, minlength=minlength),
         errors=[([np.array([-1])], {}, ValueError, "must not be negative")]),
    Case("bincount", [A(9, low=0, high=6, dtype="int64"), A(9, dtype="float32")],
         ref=lambda x, w: np.bincount(x, w), dtypes=["int64"], out="float32", tol=4),

    einsum_case("ij,jk->ik", (2, 3), (3, 4)),
    einsum_case("ij,jk", (2, 3), (3, 4)),
    einsum_case("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
    einsum_case("...ij,...jk->...ik", (2, 2, 3), (3, 4)),
    einsum_case("ii->i", (3, 3)),
    einsum_case("ii", (3, 3)),
    einsum_case("iij->j", (3, 3, 2)),
    einsum_case("ij->ji", (2, 3)),
    einsum_case("ij->", (2, 3)),
    einsum_case("i,j->ij", (2,), (3,)),
    einsum_case("ij,ij->ij", (2, 3), (2, 3)),
    einsum_case("ij,ij->j", (2, 3), (2, 3)),
    einsum_case("ijk,ilm,njm,nlk,abc->", (2, 3, 2), (2, 2, 2), (2, 3, 2), (2, 2, 2), (2, 1, 2),
                ),
    einsum_case("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 2, 4)),
    einsum_case("abc,cd,def->abef", (2, 2, 3), (3, 2), (2, 2, 3)),
    einsum_case("...,...", (2, 3), (3,)),
    einsum_case("btd,dhk->bthk", (2, 3, 4), (4, 2, 3)),
    einsum_case("abcd,cd->ab", (2, 3, 2, 2), (2, 2)),
    einsum_case("a...b,b->...a", (2, 3, 4), (4,)),
    einsum_case("ij,jk->ik", (2, 0), (0, 3)),
    Case(einsum("ij,jk->ii"), [A(2, 3), A(3, 4)], grad=True, tol=8, dtypes=("float32", "float64"),
         ref=lambda x, y: np.diag((x @ y).sum(1))),
    Case(einsum("ij->jiji"), [A(2, 3)], grad=True, dtypes=("float32", "float64"),
         ref=lambda x: np.einsum("ij,ik,jl->jikl", x, np.eye(2), np.eye(3)).transpose(0, 1, 3, 2)),
    Case(einsum("i->iii"), [A(3)], grad=True, dtypes=("float32", "float64"),
         ref=lambda x: np.einsum("i,ij,ik->ijk", x, np.eye(3), np.eye(3))),

    Case(cholesky, [A(2, 3, 3)], ref=lambda x: np.linalg.cholesky(spd_np(x)), dtypes=DENSE,
         grad=True, tol=100, covers=["cholesky"]),
    Case(cholesky_upper, [A(3, 3)], dtypes=DENSE, grad=True, tol=100,
         ref=lambda x: np.linalg.cholesky(spd_np(x)).T),
    Case(cholesky_solve, [A(3, 2), A(3, 3)], dtypes=DENSE, grad=True, tol=1000,
         ref=lambda b, x: np.linalg.solve(spd_np(x), b)),
    Case("triangular_solve", [SQUARE, A(3, 2)], ref=triangle, dtypes=DENSE, tol=1000),
    Case("triangular_solve", [SQUARE, A(3, 2)], {"upper": False, "transpose": True}, ref=triangle,
         dtypes=DENSE, tol=1000),
    Case("triangular_solve", [SQUARE, A(3, 2)], {"unitriangular": True}, ref=triangle,
         dtypes=DENSE, tol=1000),
    Case("solve_matrix", [regular(), A(2, 3, 2)], ref=np.linalg.solve, dtypes=DENSE, tol=100,
         errors=[([np.zeros((2, 2)), A(2, 1)], {}, ValueError, "is not invertible"),
                 ([A(2, 3), A(2, 1)], {}, ValueError, "must be square")]),
    Case("matrix_exp", [A(3, 4, 4)], ref=scipy.linalg.expm, dtypes=(*DENSE, *COMPLEX), tol=200, grad=True,
         shapes=[[(1, 1)], [(5, 5)], [(2, 0, 2, 2)], [(0, 0)]],
         errors=[([A(2, 3)], {}, ValueError, "[matrix_exp] x must be square")]),
    Case("matrix_exp", [A(2, 3, 3, low=-9, high=9)], ref=scipy.linalg.expm, dtypes=("float64",), tol=1e4,
         second=False, note="scaled"),
    Case("inverse", [regular()], ref=np.linalg.inv, dtypes=DENSE, tol=100, grad=True,
         errors=[([np.zeros((2, 2))], {}, ValueError, "is not invertible")]),
    Case("det", [regular()], ref=np.linalg.det, dtypes=DENSE, tol=100,
         errors=[([A(2, 3)], {}, ValueError, "must be square")]),
    Case("slogdet", [regular()], ref=slogdet_np, dtypes=DENSE, tol=100),
    Case(lu_product, [regular()], ref=lambda x: x, dtypes=DENSE, grad=True, tol=100,
         covers=["lu_factor", "lu_permutation", "lu_triangles"]),
    Case(lu_product, [A(4, 3)], ref=lambda x: x, dtypes=DENSE, grad=True, tol=100,
         shapes=[[(2, 5)], [(2, 3, 2)]], note="not square"),
    Case(lu_packed, [regular()], dtypes=DENSE, grad=True),
    Case(lu_packed, [A(2, 4, 3)], dtypes=DENSE, grad=True),
    Case(lu_packed, [A(2, 3, 5)], dtypes=DENSE, grad=True),
    Case("lstsq_solution", [A(5, 3), A(5, 2)], ref=lstsq_np, dtypes=["float64"], grad=False, tol=1e4,
         errors=[([A(5, 3), A(4, 2)], {}, ValueError, "as many rows")]),

    Case(qr_parts, [A(4, 3)], ref=qr_np, dtypes=DENSE, grad=True, tol=1000,
         covers=["qr_factors"], shapes=[[(3, 3)], [(2, 4)], [(2, 4, 3)]]),
    Case(svd_cube, [A(4, 3)], ref=lambda x: x @ np.swapaxes(x, -1, -2) @ x, dtypes=DENSE, grad=True,
         tol=1000, covers=["svd"], shapes=[[(3, 3)], [(2, 4)], [(2, 3, 2)]]),
    Case(eigh_values, [A(3, 3)], dtypes=DENSE, grad=True, tol=1000,
         ref=lambda x: np.linalg.eigvalsh(x + np.swapaxes(x, -1, -2)), covers=["eigh"]),
    Case(eigh_projector, [A(3, 3)], dtypes=DENSE, grad=True, tol=1000,
         ref=eigh_projector_np, shapes=[[(2, 3, 3)]]),
    Case(eig_sum, [regular()], dtypes=DENSE, grad=True, tol=1000, ref=lambda x: x,
         covers=["eig"]),
    Case(eigvals_square, [regular()], dtypes=DENSE, grad=True, tol=1000,
         ref=lambda x: np.trace(x @ x, axis1=1, axis2=2)),

    Case(L.pinv, [A(4, 3)], ref=np.linalg.pinv, dtypes=DENSE, grad=True, tol=1e4),
    Case(L.cov, [A(3, 5)], ref=np.cov, dtypes=DENSE, grad=True, tol=100),
    Case(L.corrcoef, [A(3, 5)], ref=np.corrcoef, dtypes=["float64"], tol=100),
    Case(argosy.trace, [A(3, 4)], ref=np.trace, dtypes=DENSE, grad=True, tol=4),
    Case(argosy.dist, [A(3, 4), A(4)], ref=lambda x, y: np.linalg.norm(x - y), dtypes=DENSE,
         grad=True, tol=8),
    Case(argosy.cdist, [A(2, 3), A(4, 3)], dtypes=DENSE, grad=True, tol=8,
         ref=lambda x, y: np.linalg.norm(x[:, None] - y[None], axis=-1)),
    Case("vander", [A(3)], ref=np.vander, dtypes=DENSE, grad=True, tol=8),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


def t(x, dtype="float64"):
    return argosy.to_tensor(np.asarray(x, dtype))


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norm(p):
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    for keepdim in (False, True):
        got = L.norm(t(x), p, axis=[0, 2], keepdim=keepdim).numpy()
        np.testing.assert_allclose(got, np.linalg.norm(x, p, (0, 2), keepdim), rtol=1e-12)
    np.testing.assert_allclose(L.cond(t(x[0, :, :4][:3, :3]), p).numpy(),
                               np.linalg.cond(x[0, :, :4][:3, :3], p), rtol=1e-9)  # fmt: skip


def test_norm_without_p_is_the_2_norm():
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(argosy.norm(t(x)).numpy(), np.linalg.norm(x))
    np.testing.assert_allclose(argosy.norm(t(x), axis=1).numpy(), np.linalg.norm(x, axis=1))
    np.testing.assert_allclose(argosy.norm(t(x), axis=[0, 1]).numpy(), np.linalg.norm(x, 2))
    with pytest.raises(ValueError, match="'fro', 'nuc'"):
        argosy.norm(t(x), p="max")


def test_norm_of_zero_has_gradient_zero():
    x = argosy.zeros([3])
    x.stop_gradient = False
    for p in (1, 2, 3, np.inf):
        (g,) = argosy.grad(argosy.norm(x, p), [x])
        assert g.numpy().tolist() == [0, 0, 0]


def test_einsum_errors():
    a, b = t(np.ones((2, 3))), t(np.ones((4, 5)))
    with pytest.raises(ValueError, match="sizes of a dimension must be equal"):
        argosy.einsum("ij,jk", a, b)
    with pytest.raises(AssertionError, match="has 2 operands, got 1"):
        argosy.einsum("ij,k", a)
    with pytest.raises(ValueError, match="comes in no operand"):
        argosy.einsum("ij->ik", a)
    with pytest.raises(AssertionError, match="has 3 labels"):
        argosy.einsum("ijk->ij", a)


def test_tensordot_and_chains():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 3, 5))
    for axes in (1, [[1, 2], [1, 0]], [[2], [0]], 0):
        got = argosy.tensordot(t(x), t(y), axes).numpy()
        np.testing.assert_allclose(got, np.tensordot(x, y, axes), rtol=1e-12)
    parts = [rng.normal(size=s) for s in [(4,), (4, 2), (2, 6), (6, 3)]]
    want = np.linalg.multi_dot(parts)
    np.testing.assert_allclose(L.multi_dot([t(p) for p in parts]).numpy(), want, rtol=1e-12)
    a = regular()
    for n in (-3, 0, 1, 5):
        want = np.linalg.matrix_power(a, n)
        np.testing.assert_allclose(L.matrix_power(t(a), n).numpy(), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 3), (2, 2, 3)])
def test_gradients_of_complex_svd(shape):
    """Of functions that do not depend on the phases of the singular vectors, by differences."""
    rng = np.random.default_rng(5)

    def draw(*sizes):
        return rng.normal(size=sizes) + 1j * rng.normal(size=sizes)

    def c(x):
        return t(x, "complex128")

    z, w, left, right = draw(*shape), draw(*shape), draw(shape[-2], 1), draw(1, shape[-1])
    k, of_values = min(shape[-2:]), rng.normal(size=4)

    def loss(x):
        u, s, vh = L.svd(x)
        d = argosy.diag_embed(c(np.arange(1.0, k + 1)))
        one = argosy.matmul(argosy.matmul(u, d), vh) * c(w)
        two = argosy.matmul(u[..., :1], L.matrix_transpose(u[..., :1]).conj()) * c(left)
        three = argosy.matmul(L.matrix_transpose(vh[..., :1, :]).conj(), vh[..., :1, :]) * c(right)
        parts = [argosy.real(x).sum() for x in (one, two, three)]
        return parts[0] + parts[1] + parts[2] + (s * t(of_values[:k])).sum()

    x = c(z)
    x.stop_gradient = False
    loss(x).backward()
    step, want = 1e-6, np.zeros(shape, "complex128")
    for index in np.ndindex(*shape):
        for unit in (1, 1j):
            moved = np.zeros(shape, "complex128")
            moved[index] = step * unit
            difference = loss(c(z + moved)).item() - loss(c(z - moved)).item()
            want[index] += unit * difference / (2 * step)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-5, atol=1e-6)


def test_results_in_paddles_form():
    x = t(np.random.default_rng(2).normal(size=(5, 3)))
    z, residuals, rank, singular = L.lstsq(x, x[:, :2], driver="gelsd")
    np.testing.assert_allclose(z.numpy(), np.eye(3)[:, :2], atol=1e-12)
    assert (residuals.shape, rank.item(), singular.shape) == ([2], 3, [3])
    assert L.lstsq(x, x)[1].shape == [0]
    q, r = L.qr(x, mode="complete")
    assert (q.shape, r.shape, L.qr(x, mode="r").shape) == ([5, 5], [5, 3], [3, 3])
    assert [o.shape for o in L.svd(x, full_matrices=True)] == [[5, 5], [3], [3, 3]]
    factors, pivots, infos = L.lu(x, get_infos=True)
    assert str(pivots.dtype).endswith("int32") and infos.item() == 0
    assert L.matrix_rank(x).item() == 3
    assert L.matrix_rank(argosy.zeros([2, 3, 3])).numpy().tolist() == [0, 0]
    assert x.T.shape == [3, 5] and x.mT.shape == [3, 5]
    with pytest.raises(ValueError, match="expected 2 dimensions or more"):
        argosy.ones([2]).mT  # noqa: B018


def test_solve_of_vectors_and_from_the_right():
    a, b = regular()[0], np.arange(3.0)
    np.testing.assert_allclose(L.solve(t(a), t(b)).numpy(), np.linalg.solve(a, b), rtol=1e-9)
    got = L.solve(t(a), t(np.ones((2, 3))), left=False).numpy()
    np.testing.assert_allclose(got @ a, np.ones((2, 3)), rtol=1e-9)


def test_weighted_covariance():
    x = np.random.default_rng(3).normal(size=(3, 4))
    f, w = np.array([1, 2, 3, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    for ddof in (True, False):
        got = L.cov(t(x), ddof=ddof, fweights=t(f, "int64"), aweights=t(w)).numpy()
        want = np.cov(x, ddof=int(ddof), fweights=f, aweights=w)
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_joined_shapes():
    a, b = t([[1.0, 2.0]]), t([3.0])
    assert argosy.block_diag([a, b]).numpy().tolist() == [[1, 2, 0], [0, 0, 3]]
    assert argosy.cartesian_prod([t([1.0, 2.0]), t([3.0])]).numpy().tolist() == [[1, 3], [2, 3]]
    assert argosy.pdist(t([[0.0], [1.0], [3.0]])).numpy().tolist() == [1, 3, 2]


def test_reflectors():
    rng = np.random.default_rng(4)
    x, tau = t(rng.normal(size=(5, 3))), t([0.5, 0.6, 0.7])
    q = L.ormqr(x, tau, argosy.eye(5, dtype="float64"))
    want = np.eye(5)
    for i in range(3):
        v = np.tril(x.numpy(), -1)[:, i] + np.eye(5)[i]
        want = want @ (np.eye(5) - tau.numpy()[i] * np.outer(v, v))
    np.testing.assert_allclose(q.numpy(), want, atol=1e-12)
    got = L.householder_product(x, tau).numpy()
    np.testing.assert_allclose(got, want[:, :3], atol=1e-12)
    y = rng.normal(size=(5, 2))
    np.testing.assert_allclose(L.ormqr(x, tau, t(y), transpose=True).numpy(), want.T @ y)
    np.testing.assert_allclose(L.ormqr(x, tau, t(y.T), left=False).numpy(), y.T @ want)
    got = L.ormqr(x, tau, t(y.T), left=False, transpose=True).numpy()
    np.testing.assert_allclose(got, y.T @ want.T)
    with pytest.raises(ValueError, match="m >= n"):
        L.householder_product(x.T, tau)


def test_low_rank():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 8))
    argosy.seed(0)
    for a in (x, x.T):
        u, s, v = L.svd_lowrank(t(a), q=4)
        assert (u.shape, s.shape, v.shape) == ([a.shape[0], 4], [4], [a.shape[1], 4])
        np.testing.assert_allclose((u * s @ v.T).numpy(), a, atol=1e-9)
    u, s, v = L.pca_lowrank(t(x), q=3)
    np.testing.assert_allclose((u * s @ v.T).numpy(), x - x.mean(0), atol=1e-9)
    with pytest.raises(ValueError, match="q must be from 0 to 8"):
        L.svd_lowrank(t(x), q=9)


@pytest.mark.parametrize("scale, dtype", [(0.1, "float64"), (4.0, "float64"), (1.0, "float32")])
def test_matrix_exp(scale, dtype):
    x = np.random.default_rng(6).normal(size=(2, 4, 4)) * scale
    x = x + x.swapaxes(1, 2)
    w, v = np.linalg.eigh(x)
    want = v * np.exp(w)[:, None] @ v.swapaxes(1, 2)
    limit = {"float64": 1e-10, "float32": 1e-4}[dtype]
    got = L.matrix_exp(t(x, dtype)).numpy()
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit * np.abs(want).max())


def test_matrix_exp_of_what_is_not_finite():
    x = np.stack([np.eye(2), np.full((2, 2), np.inf), np.zeros((2, 2))])
    got = L.matrix_exp(t(x)).numpy()
    np.testing.assert_allclose(got[[0, 2]], [np.e * np.eye(2), np.eye(2)])
    assert np.isnan(got[1]).all()


@pytest.mark.parametrize("given", [{"bins": 3}, {"bins": [2, 4]}, {"bins": 3, "density": True}])
def test_histogramdd(given):
    x = np.random.default_rng(7).normal(size=(50, 2))
    counts, edges = argosy.histogramdd(t(x), ranges=[-1.0, 1.0, -2.0, 0.5], **given)
    want, want_edges = np.histogramdd(x, range=[(-1, 1), (-2, 0.5)], **given)
    np.testing.assert_allclose(counts.numpy(), want, rtol=1e-12)
    for a, b in zip(edges, want_edges):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12)
    w = np.arange(50.0)
    counts, _ = argosy.histogramdd(t(x), bins=3, weights=t(w))
    np.testing.assert_allclose(counts.numpy(), np.histogramdd(x, 3, weights=w)[0], rtol=1e-12)


def test_programs_of_unknown_sizes():
    rng = np.random.default_rng(8)
    x, w, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 2, 2)), rng.normal(size=(3, 5))
    with Recorder() as r:
        a, b, c = (r.input(s, "float64") for s in ([-1, -1, 4], [4, 2, 2], [3, -1]))
        outs = [argosy.einsum("btd,dhk->bthk", a, b), argosy.norm(a, axis=-1), L.cov(c)]
    got = r.run([t(x), t(w), t(v)], outs)
    wants = [np.einsum("btd,dhk->bthk", x, w), np.linalg.norm(x, axis=-1), np.cov(v)]
    for g, want in zip(got, wants):
        np.testing.assert_allclose(g.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_lu_solve(trans):
    a, b = regular(), np.arange(12.0).reshape(2, 3, 2)
    x = L.lu_solve(t(b), *L.lu(t(a)), trans).numpy()
    np.testing.assert_allclose((a if trans == "N" else a.swapaxes(1, 2)) @ x, b, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_signs_and_phases_of_eigenvectors_are_those_of_lapack(dtype, uplo):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 4, 4)) + (1j * rng.normal(size=(2, 4, 4)) if dtype != "float64" else 0)
    for got, want in zip(L.eigh(argosy.to_tensor(x), uplo), np.linalg.eigh(x, uplo)):
        np.testing.assert_allclose(got.numpy(), want, atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 5)])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_signs_and_phases_of_singular_vectors_are_those_of_lapack(shape, full, dtype):
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype != "float64" else 0)
    for got, want in zip(L.svd(argosy.to_tensor(x), full), np.linalg.svd(x, full)):
        np.testing.assert_allclose(got.numpy(), want, atol=1e-10)


def test_eigenvalues_come_in_the_order_of_paddle():
    """Recorded from PaddlePaddle 3.3.1, which hands LAPACK the transposed matrix."""
    x = np.random.RandomState(0).uniform(-1, 1, (3, 3))
    np.testing.assert_allclose(
        L.eigvals(argosy.to_tensor(x)).numpy(), np.linalg.eigvals(np.swapaxes(x, 0, 1)), atol=1e-10
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (3, 5, 0), (9, 33, 17), (8, 64, 300), (65, 70, 513)])
def test_products_of_integers_wrap(dtype, m, n, k):
    rng, limits = np.random.default_rng(m), np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, (m, k), dtype, endpoint=True)
    y = rng.integers(limits.min, limits.max, (k, n), dtype, endpoint=True)
    want = np.zeros((m, n), dtype)
    for i in range(k):
        want += x[:, i : i + 1] * y[i]
    for tx in (False, True):
        for ty in (False, True):
            a, b = (np.ascontiguousarray(v.T if t else v) for v, t in ((x, tx), (y, ty)))
            got = argosy.matmul(argosy.to_tensor(a), argosy.to_tensor(b), tx, ty)
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", range(11))
def test_determinants_and_inverses_of_small_matrices(dtype, n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(2, 3, n, n)) + (1j * rng.normal(size=(2, 3, n, n)) if "c" in dtype else 0)
    x[0, 0] = np.roll(np.eye(n), 1, 0) * 1e-3  # needs every exchange of rows
    x[0, 1] *= np.logspace(-6, 6, n)[:, None]
    t = argosy.to_tensor(x)
    for s in np.ndindex(2, 3):
        np.testing.assert_allclose(L.det(t)[s].numpy(), np.linalg.det(x[s]), rtol=1e-9)
        np.testing.assert_allclose(L.inv(t)[s].numpy(), np.linalg.inv(x[s]), rtol=1e-7, atol=1e-12)


def test_small_matrices_that_are_singular_or_not_finite():
    singular = np.stack([np.eye(3), [[1, 2, 3], [2, 4, 6], [0, 1, 1]], np.zeros((3, 3))])
    assert L.det(argosy.to_tensor(singular)).tolist() == [1, 0, 0]
    for x in singular[1:]:
        with pytest.raises(ValueError, match="is not invertible"):
            L.inv(argosy.to_tensor(x))
    assert np.isnan(L.det(argosy.to_tensor([[1.0, np.nan], [2.0, 3.0]])).item())
