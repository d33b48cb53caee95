"""Factorizations of matrices on a device: what they promise of their results, for one matrix and stacks, small
ones and large ones; errors as on the CPU; and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

L = paddle.linalg
BOUNDS = {"float32": 3e-4, "float64": 1e-11, "complex64": 3e-4, "complex128": 1e-11}
# One matrix and stacks, in sizes for which other functions are called.
SQUARE = [(1, 1), (3, 3), (4, 5, 5), (40, 40), (3, 70, 70)]
TALL = [(5, 3), (3, 5, 3), (70, 40), (2, 70, 40)]
LARGE = [((2, 530, 530), "float32"), ((530, 530), "complex128")]

at_once = pytest.mark.skipif(STREAMED, reason="errors of its kernels come later")
dtypes = pytest.mark.parametrize("dtype", BOUNDS)
squares = pytest.mark.parametrize(
    "shape, dtype", [(shape, dtype) for shape in SQUARE for dtype in BOUNDS] + LARGE, ids=str
)
rectangles = pytest.mark.parametrize(
    "shape", [*TALL, *((*s[:-2], s[-1], s[-2]) for s in TALL), (1, 1), (3, 3), (2, 40, 40)], ids=str
)


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


def regular(shape, dtype, seed=0):
    """Well conditioned."""
    n = shape[-1]
    return (numbers(shape, dtype, seed) / (2 * n**0.5) + 2 * np.eye(n)).astype(dtype)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def definite(shape, dtype, seed=0):
    x = regular(shape, dtype, seed)
    return x @ adjoint(x)


def given(x):
    return paddle.to_tensor(x)


def assert_near(got, want, dtype, scale=1.0):
    got = got.numpy() if isinstance(got, paddle.Tensor) else got
    want = want.numpy() if isinstance(want, paddle.Tensor) else np.asarray(want)
    assert got.shape == want.shape
    bound = BOUNDS[dtype] * scale * max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)


def assert_orthonormal(q, dtype):
    assert_near(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2)),
                dtype)  # fmt: skip


@squares
def test_cholesky(shape, dtype):
    x = definite(shape, dtype)
    lower, upper = L.cholesky(given(x)), L.cholesky(given(x), upper=True)
    assert lower.dtype == upper.dtype == given(x).dtype
    assert_near(lower, np.tril(lower.numpy()), dtype, 0)
    assert_near(upper, np.triu(upper.numpy()), dtype, 0)
    assert_near(lower.numpy() @ adjoint(lower.numpy()), x, dtype)
    assert_near(adjoint(upper.numpy()) @ upper.numpy(), x, dtype)


@dtypes
@pytest.mark.parametrize("batch", [(), (3,)])
def test_cholesky_reads_one_triangle(batch, dtype):
    x = definite((*batch, 6, 6), dtype)
    spoilt = np.tril(x) + np.triu(np.full_like(x, np.nan), 1)
    assert_near(L.cholesky(given(spoilt)), np.linalg.cholesky(x), dtype)
    spoilt = np.triu(x) + np.tril(np.full_like(x, np.nan), -1)
    assert_near(L.cholesky(given(spoilt), upper=True), adjoint(np.linalg.cholesky(x)), dtype)


@dtypes
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_solve(upper, transpose, unit, dtype):
    shapes = [((5, 5), (5, 2)), ((3, 5, 5), (5, 2)), ((5, 5), (3, 5, 2)), ((2, 1, 7, 7), (4, 7, 1)),
              ((2, 40, 40), (2, 40, 3))]  # fmt: skip
    if dtype == "float32" and not unit:
        shapes.append(((2, 520, 520), (2, 520, 2)))
    for a_shape, b_shape in shapes:
        n = a_shape[-1]
        a = (numbers(a_shape, dtype) / n + 2 * np.eye(n)).astype(dtype)
        b = numbers(b_shape, dtype, 1)
        triangle = np.triu(a) if upper else np.tril(a)
        if unit:
            triangle = triangle * (1 - np.eye(n)) + np.eye(n)
        op = np.swapaxes(triangle, -1, -2) if transpose else triangle
        other = np.tril if upper else np.triu
        spoilt = np.where(other(np.ones((n, n)), -1 if upper else 1) > 0, np.nan, a).astype(dtype)
        x = L.triangular_solve(given(spoilt), given(b), upper, transpose, unit)
        want = np.linalg.inv(op) @ b
        assert_near(x, want, dtype)


@squares
def test_solve_and_inverse(shape, dtype):
    x, b = regular(shape, dtype), numbers((*shape[:-1], 3), dtype, 1)
    z = L.solve(given(x), given(b))
    assert_near(x @ z.numpy(), b, dtype)
    y = L.inv(given(x))
    assert_near(x @ y.numpy(), np.broadcast_to(np.eye(shape[-1]), shape), dtype)


@dtypes
def test_solve_of_stacks_that_broadcast(dtype):
    x, b = regular((2, 1, 4, 4), dtype), numbers((3, 4, 2), dtype, 1)
    assert_near(L.solve(given(x), given(b)), np.linalg.inv(x) @ b, dtype)


@squares
def test_determinants(shape, dtype):
    x = regular(shape, dtype, 3) / 2
    x[..., [0, -1], :] = x[..., [-1, 0], :]  # the sign of a swap
    if shape[-1] > 60:
        x = x * np.float32(0.9)
    assert_near(L.det(given(x)), np.linalg.det(x), dtype, 10)
    if "complex" not in dtype:
        sign, log = np.linalg.slogdet(x)
        assert_near(L.slogdet(given(x)), np.stack([sign, log]), dtype, 10)


def test_determinants_of_what_is_singular_or_empty():
    singular = np.array([[[1.0, 2], [2, 4]], [[1, 0], [0, 3]]])
    np.testing.assert_array_equal(L.det(given(singular)).numpy(), [0, 3])
    got = L.slogdet(given(singular)).numpy()
    np.testing.assert_allclose(got, [[0, 1], [-np.inf, np.log(3)]])
    np.testing.assert_array_equal(L.det(paddle.zeros([2, 0, 0])).numpy(), [1, 1])
    np.testing.assert_array_equal(L.slogdet(paddle.zeros([2, 0, 0])).numpy(), [[1, 1], [0, 0]])


@dtypes
@rectangles
def test_lu(shape, dtype):
    x = numbers(shape, dtype)
    factors, pivots, infos = L.lu(given(x), get_infos=True)
    assert pivots.dtype == infos.dtype == paddle.int32
    np.testing.assert_array_equal(infos.numpy(), np.zeros(shape[:-2]))
    p, lower, upper = (t.numpy() for t in L.lu_unpack(factors, pivots))
    np.testing.assert_array_equal(np.sort(p.argmax(-1), -1), np.broadcast_to(np.arange(shape[-2]), p.shape[:-1]))  # fmt: skip
    assert np.abs(lower).max() <= 1 + 1e-3 or "complex" in dtype  # the largest are the pivots
    assert_near(p @ lower @ upper, x, dtype, 3)


def test_lu_says_where_it_is_singular():
    for x in (np.array([[1.0, 2], [2, 4]]), np.array([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]]])):
        infos = L.lu(given(x), get_infos=True)[2].numpy()
        np.testing.assert_array_equal(infos.reshape(-1), [2, 0][: infos.size])


@dtypes
@rectangles
def test_qr(shape, dtype):
    x = numbers(shape, dtype)
    for mode in ("reduced", "complete"):
        q, r = (t.numpy() for t in L.qr(given(x), mode))
        k = shape[-2] if mode == "complete" else min(shape[-2:])
        assert q.shape == (*shape[:-1], k) and r.shape == (*shape[:-2], k, shape[-1])
        assert_orthonormal(q, dtype)
        np.testing.assert_array_equal(r, np.triu(r))
        assert_near(q @ r, x, dtype)


@dtypes
@rectangles
def test_svd(shape, dtype):
    x = numbers(shape, dtype)
    want = np.linalg.svd(x, compute_uv=False)
    k = min(shape[-2:])
    for full in (False, True):
        u, s, vh = (t.numpy() for t in L.svd(given(x), full))
        assert_near(s, want, dtype)
        assert_orthonormal(u, dtype)
        assert_orthonormal(adjoint(vh), dtype)
        assert_near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, dtype)
    assert_near(L.svdvals(given(x)), want, dtype)


@squares
@pytest.mark.parametrize("part", ["L", "U"])
def test_eigh(shape, part, dtype):
    x = numbers(shape, dtype)
    x = x + adjoint(x)
    outside = np.triu(np.full_like(x, np.nan), 1)
    spoilt = np.tril(x) + outside if part == "L" else np.triu(x) + np.swapaxes(outside, -1, -2)
    w, v = (t.numpy() for t in L.eigh(given(spoilt), part))
    assert_near(w, np.linalg.eigvalsh(x), dtype)
    assert_orthonormal(v, dtype)
    assert_near(x @ v, v * w[..., None, :], dtype)
    assert_near(L.eigvalsh(given(spoilt), part), w, dtype)


@dtypes
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 6, 6), (2, 40, 40)], ids=str)
def test_eig(shape, dtype):
    x = numbers(shape, dtype)
    w, v = (t.numpy() for t in L.eig(given(x)))
    assert w.dtype == v.dtype == np.result_type(dtype, "complex64")
    assert_near(np.linalg.norm(v, axis=-2), np.ones(shape[:-1]), dtype)
    assert_near(x @ v, v * w[..., None, :], dtype)
    want = np.linalg.eigvals(x)
    for values in (w, L.eigvals(given(x)).numpy()):
        apart = np.abs(values[..., :, None] - want[..., None, :]).min(-1)
        assert apart.max() < 10 * BOUNDS[dtype] * np.abs(want).max()
    if "complex" not in dtype:  # conjugate pairs exactly
        np.testing.assert_array_equal(np.sort(w.imag, -1), -np.sort(w.imag, -1)[..., ::-1])


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 5), (2, 30, 30)], ids=str)
def test_matrix_exp(shape, dtype):
    x = numbers(shape, dtype) / shape[-1]
    if len(shape) == 3:
        x[1] *= 20  # halved more often than the first
    with paddle.device_guard("cpu"):
        want = L.matrix_exp(given(x)).numpy()
    assert_near(L.matrix_exp(given(x)), want, dtype)


def test_matrix_exp_of_what_is_not_finite():
    x = np.zeros((2, 3, 3))
    x[0, 0, 1] = np.inf
    got = L.matrix_exp(given(x)).numpy()
    assert np.isnan(got[0]).all()
    np.testing.assert_allclose(got[1], np.eye(3))


@dtypes
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 6, 4), (3, 4, 6), (70, 40)], ids=str)
def test_least_squares(shape, driver, dtype):
    x, y = numbers(shape, dtype), numbers((*shape[:-1], 2), dtype, 1)
    z, rank, singular = _core.ops.lstsq_solution(given(x), given(y), -1.0, driver)
    assert_near(z, np.linalg.pinv(x) @ y, dtype, 10)
    np.testing.assert_array_equal(rank.numpy(), np.full(shape[:-2], min(shape[-2:])))
    by_values = driver in ("gelsd", "gelss")
    values = np.linalg.svd(x, compute_uv=False)
    assert_near(singular, values if by_values else 0 * values, dtype)


def test_least_squares_without_full_rank():
    x = np.array([[1.0, 2], [2, 4], [3, 6]])
    y = np.array([[1.0], [2], [4]])
    z, rank, _ = _core.ops.lstsq_solution(given(x), given(y), 1e-9, "gelsd")
    assert rank.item() == 1
    np.testing.assert_allclose(z.numpy(), np.linalg.pinv(x) @ y)


@at_once
def test_least_squares_that_need_full_rank_say_so():
    x = np.array([[1.0, 0], [2, 0], [3, 0]])
    with pytest.raises(ValueError, match="is not of full rank"):
        _core.ops.lstsq_solution(given(x), given(np.ones((3, 1))), -1.0, "gels")


@dtypes
def test_what_is_made_of_them(dtype):
    """Inverses of any shape, ranks, condition numbers, products of reflectors."""
    x = numbers((3, 6, 4), dtype)
    assert_near(L.pinv(given(x)), np.linalg.pinv(x), dtype, 10)
    square = regular((3, 5, 5), dtype)
    assert_near(L.matrix_power(given(square), -2), np.linalg.inv(square @ square), dtype, 10)
    if "complex" not in dtype:
        x[..., 3] = x[..., 0]
        np.testing.assert_array_equal(L.matrix_rank(given(x)).numpy(), [3, 3, 3])
        assert_near(L.cond(given(square)), np.linalg.cond(square), dtype, 10)
        factor = L.cholesky(given(square @ adjoint(square)))
        b = given(numbers((3, 5, 2), dtype))
        assert_near(L.cholesky_solve(b, factor), np.linalg.inv(square @ adjoint(square)) @ b.numpy(),
                    dtype, 100)  # fmt: skip


@at_once
@pytest.mark.parametrize("batch", [(), (4,)])
def test_errors_are_those_of_the_cpu(batch):
    bad = np.broadcast_to(np.eye(3), (*batch, 3, 3)).copy()
    bad[(*[-1] * len(batch), 2, 2)] = -1
    singular = bad.copy()
    singular[(*[-1] * len(batch), 2, 2)] = 0
    not_finite = bad.copy()
    not_finite[(*[-1] * len(batch), 1, 1)] = np.nan
    calls = [
        lambda: L.cholesky(given(bad)),
        lambda: L.inv(given(singular)),
        lambda: L.solve(given(singular), given(bad)),
        lambda: L.svd(given(not_finite)),
        lambda: L.eigh(given(not_finite)),
        lambda: L.eig(given(not_finite)),
    ]
    for call in calls:
        with paddle.device_guard("cpu"), pytest.raises(ValueError) as want:
            call()
        with pytest.raises(ValueError) as got:
            call()
        assert str(got.value) == str(want.value)
    large = np.broadcast_to(np.eye(40), (*batch, 40, 40)).copy()
    large[..., 5, 5] = np.nan
    for call in (L.svd, L.eigh):
        with pytest.raises(ValueError, match="did not converge"):
            call(given(large))


def test_matrices_without_elements():
    for dtype in ("float32", "complex128"):
        assert L.cholesky(paddle.zeros([0, 3, 3], dtype)).shape == [0, 3, 3]
        assert L.inv(paddle.zeros([0, 0], dtype)).shape == [0, 0]
        assert L.solve(paddle.zeros([2, 0, 0], dtype), paddle.zeros([2, 0, 3], dtype)).shape == [2, 0, 3]  # fmt: skip
        assert L.eigh(paddle.zeros([0, 0], dtype))[0].shape == [0]
        u, s, vh = L.svd(paddle.zeros([2, 0, 3], dtype), full_matrices=True)
        assert u.shape == [2, 0, 0] and s.shape == [2, 0]
        np.testing.assert_array_equal(vh.numpy(), np.broadcast_to(np.eye(3), (2, 3, 3)))
        q, r = L.qr(paddle.zeros([3, 0], dtype), "complete")
        np.testing.assert_array_equal(q.numpy(), np.eye(3))
        assert r.shape == [3, 0]


def test_gradients_are_those_of_the_cpu():
    x = definite((3, 4, 4), "float64")

    def gradients():
        t = given(x)
        t.stop_gradient = False
        factor = L.cholesky(t)
        w, v = L.eigh(t)
        u, s, vh = L.svd(t)
        q, r = L.qr(t)
        total = (factor.sum() + (w**3).sum() + (v * v * w.unsqueeze(-2)).sum() + s.log().sum()
                 + (u @ vh).sum() + (q * q).sum() + r.abs().sum() + L.det(t).sum()
                 + L.inv(t).sum() + L.solve(t, t + 1).sum() + L.matrix_exp(t * 0.1).sum())  # fmt: skip
        total.backward()
        return t.grad.numpy()

    got = gradients()
    with paddle.device_guard("cpu"):
        want = gradients()
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


def test_captured_and_repeated():
    @paddle.jit.to_static
    def whitened(x):
        c = L.cholesky(x @ x.mT + 3 * paddle.eye(5))
        return (L.triangular_solve(c, x, upper=False) * 2 + 1).exp()

    for i in range(6):
        x = numbers((5, 5), "float64", i)
        c = np.linalg.cholesky(x @ x.T + 3 * np.eye(5))
        want = np.exp(np.linalg.solve(c, x) * 2 + 1)
        np.testing.assert_allclose(whitened(given(x)).numpy(), want, rtol=1e-9)


ON_THE_GPU = {
    "cholesky": lambda x: L.cholesky(x),
    "triangular_solve": lambda x: L.triangular_solve(x, x),
    "solve_matrix": lambda x: L.solve(x, x),
    "inverse": lambda x: L.inv(x),
    "det": lambda x: L.det(x),
    "lu_factor": lambda x: L.lu(x),
    "lu_permutation": lambda x: L.lu_unpack(*L.lu(x)),
    "qr_factors": lambda x: L.qr(x),
    "svd": lambda x: L.svd(x),
    "eigh": lambda x: L.eigh(x),
    "eig": lambda x: L.eig(x),
    "matrix_exp": lambda x: L.matrix_exp(x),
    "lstsq_solution": lambda x: _core.ops.lstsq_solution(x, x, -1.0, "gels"),
}


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
@dtypes
@pytest.mark.parametrize("name", ON_THE_GPU)
def test_runs_on_the_gpu(name, dtype):
    x = given(definite((2, 3, 3), dtype))
    _, text = _core.explain(lambda: ON_THE_GPU[name](x))
    assert f"{name}: ran cuda" in text, text
