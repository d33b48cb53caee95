"""Linear algebra that is made of decompositions, where arguments need Python."""

from argosy import _core
from argosy._beside import beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX
from argosy._support import (
    ArgumentError,
    alias,
    check_choice,
    dtype_name,
    into,
    need_tensor,
    sizes_of,
)
from argosy.tensor.registry import method


def _swap(x, a=-1, b=-2):
    perm = list(range(x.ndim))
    perm[a], perm[b] = perm[b], perm[a]
    return _ops.transpose(x, perm)


def _need_matrices(op, **operands):
    """Raises as Paddle's checks do unless each is a matrix or a stack of them."""
    for argument, x in operands.items():
        need_tensor(op, argument, x)
        if x.ndim < 2:
            raise ArgumentError(
                f"(InvalidArgument) [{op}] {argument} must be a matrix [m, n] or a stack of them, got"
                f" shape {list(x.shape)}. Do this: add a dimension with unsqueeze(-1)."
            )


def _adjoint(x):
    return _ops.conj(_swap(x)) if x.dtype in COMPLEX else _swap(x)


@method
@alias(A="x", B="y")
def solve(x, y, left=True, name=None, *, out=None):
    """Solves x z = y, or z x = y.

    Args:
        x (Tensor): [.., n, n].
        y (Tensor): [.., n, k], [.., k, n] for z x = y, or a vector [.., n].
        left (bool): Whether x stands left of z.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: z, of y's shape.

    Raises:
        ValueError: x is no matrix.

    Example:
        >>> argosy.linalg.solve(argosy.to_tensor([[2.0, 0.0], [0.0, 4.0]]), argosy.ones([2])).tolist()
        [0.5, 0.25]
    """
    _need_matrices("solve", x=x)
    need_tensor("solve", "y", y)
    shape = list(x.shape)
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and list(y.shape) == shape[:-1])
    if vector:
        y = _ops.unsqueeze(y, -1 if left else -2)
    z = _ops.solve_matrix(x, y) if left else _swap(_ops.solve_matrix(_swap(x), _swap(y)))
    return into(out, _ops.squeeze(z, [-1 if left else -2]) if vector else z)


@method
def cholesky_solve(x, y, upper=False, name=None):
    """Solves a z = x, given the Cholesky factor of a.

    Args:
        x (Tensor): [.., n, k].
        y (Tensor): [.., n, n], the factor.
        upper (bool): Whether it is the upper triangle.

    Returns:
        Tensor: z, [.., n, k].

    Raises:
        ValueError: An operand is no matrix.

    Example:
        >>> argosy.linalg.cholesky_solve(argosy.ones([1, 1]), argosy.full([1, 1], 2.0)).tolist()
        [[0.25]]
    """
    _need_matrices("cholesky_solve", x=x, y=y)
    factor = _adjoint(y) if upper else y
    half = _ops.triangular_solve(factor, x, False, False, False)
    return _ops.triangular_solve(_adjoint(factor), half, True, False, False)


@method
def cholesky_inverse(x, upper=False, name=None):
    """The inverse of a matrix, given its Cholesky factor.

    Args:
        x (Tensor): [.., n, n], the factor.
        upper (bool): Whether it is the upper triangle.

    Returns:
        Tensor: [.., n, n].

    Example:
        >>> argosy.linalg.cholesky_inverse(argosy.full([1, 1], 2.0)).tolist()
        [[0.25]]
    """
    _need_matrices("cholesky_inverse", x=x)
    if x.shape[-1] == 0:
        return x.clone()
    return cholesky_solve(_ops.diag_embed(_ops.ones_like(x[..., 0])), x, upper)


@method
def qr(x, mode="reduced", name=None):
    """The factors of x = q r with orthonormal columns q and an upper triangle r.

    Args:
        x (Tensor): [.., m, n].
        mode (str): 'reduced' gives q [.., m, k] and r [.., k, n], k = min(m, n); 'complete' a square q; 'r' only
            r.

    Returns:
        tuple[Tensor, Tensor] | Tensor: q and r, or r.

    Raises:
        ValueError: mode is another one.

    Example:
        >>> x = argosy.to_tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> q, r = argosy.linalg.qr(x)
        >>> bool(argosy.allclose(q @ r, x, atol=1e-5))
        True
    """
    check_choice("qr", "mode", mode, ("reduced", "complete", "r"))
    q, r = _ops.qr_factors(x, mode == "complete")
    return r if mode == "r" else (q, r)


def svdvals(x, name=None):
    """Singular values.

    Args:
        x (Tensor): [.., m, n].

    Returns:
        Tensor: [.., min(m, n)], descending.

    Example:
        >>> argosy.linalg.svdvals(argosy.to_tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
        [3.0, 2.0]
    """
    return _ops.svd(x, False)[1]


@method
def eigvals(x, name=None):
    """Eigenvalues of square matrices.

    Args:
        x (Tensor): [.., n, n].

    Returns:
        Tensor: [.., n], complex, in no order.

    Example:
        >>> argosy.linalg.eigvals(argosy.to_tensor([[2.0, 0.0], [0.0, 2.0]])).tolist()
        [(2+0j), (2+0j)]
    """
    _need_matrices("eigvals", x=x)
    # Of the transposed, which has the same: so they come in Paddle's order.
    return _ops.eig(_swap(x))[0]


@method
def eigvalsh(x, UPLO="L", name=None):  # noqa: N803
    """Eigenvalues of Hermitian matrices.

    Args:
        x (Tensor): [.., n, n].
        UPLO (str): Which triangle of x is read, 'L' or 'U'.

    Returns:
        Tensor: [.., n], real, ascending.

    Example:
        >>> argosy.linalg.eigvalsh(argosy.to_tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
        [-1.0, 1.0]
    """
    return _ops.eigh(x, UPLO)[0]


@method
def lu(x, pivot=True, get_infos=False, name=None):
    """Factors x = P L U with pivoting.

    Args:
        x (Tensor): [.., m, n].
        pivot (bool): Only True.
        get_infos (bool): Whether to say where the diagonal of U is first 0.

    Returns:
        tuple: L and U packed into one [.., m, n]; pivots, int32 from 1 on: row i was exchanged with row
        pivots[i]; with get_infos also int32 places from 1 on, 0 for nowhere.

    Raises:
        ValueError: pivot is False.

    Example:
        >>> factors, pivots = argosy.linalg.lu(argosy.to_tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> factors.tolist(), pivots.tolist()
        ([[2.0, 2.0], [0.5, 1.0]], [2, 2])
    """
    if not pivot:
        raise ValueError(
            "[lu] factors without pivoting are not computed on the CPU, got False."
            " Do this: leave pivot out."
        )
    factors, pivots, infos = _ops.lu_factor(x)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@method
@beside
def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True, name=None):
    """The matrices P, L and U of what lu returned.

    Args:
        x (Tensor): L and U packed, [.., m, n].
        y (Tensor): The pivots.
        unpack_ludata (bool): Whether L and U are wanted.
        unpack_pivots (bool): Whether P is wanted.

    Returns:
        tuple[Tensor, Tensor, Tensor]: P, L, U; empty tensors for what is not wanted.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [2.0, 2.0]])
        >>> p, l, u = argosy.linalg.lu_unpack(*argosy.linalg.lu(x))
        >>> (p @ l @ u).tolist()
        [[1.0, 2.0], [2.0, 2.0]]
    """
    empty = _ops.zeros([0], x.dtype)
    p = lower = upper = empty
    if unpack_pivots:
        p = _ops.cast(_ops.lu_permutation(y, x), x.dtype)
    if unpack_ludata:
        lower, upper = _ops.lu_triangles(x)
    return p, lower, upper


@method
def lu_solve(b, lu, pivots, trans="N", name=None):
    """Solves a z = b, given the factors of a from lu.

    Args:
        b (Tensor): [.., n, k].
        lu (Tensor): The packed factors, [.., n, n].
        pivots (Tensor): The pivots.
        trans (str): 'N' for a, 'T' for its transpose, 'C' for its conjugate transpose.

    Returns:
        Tensor: z, [.., n, k].

    Raises:
        ValueError: trans is another one.

    Example:
        >>> factors, pivots = argosy.linalg.lu(argosy.to_tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> argosy.linalg.lu_solve(argosy.ones([2, 1]), factors, pivots).tolist()
        [[0.5], [0.25]]
    """
    check_choice("lu_solve", "trans", trans, ("N", "T", "C"))
    p = _ops.cast(_ops.lu_permutation(pivots, lu), lu.dtype)
    if trans == "N":
        half = _ops.triangular_solve(lu, _ops.matmul(p, b, True), False, False, True)
        return _ops.triangular_solve(lu, half, True, False, False)
    factor = _ops.conj(lu) if trans == "C" and lu.dtype in COMPLEX else lu
    half = _ops.triangular_solve(factor, b, True, True, False)
    return _ops.matmul(p, _ops.triangular_solve(factor, half, False, True, True))


@method
@beside
def lstsq(x, y, rcond=None, driver=None, name=None):
    """The z of least norm that minimizes |x z - y|.

    Args:
        x (Tensor): [.., m, n].
        y (Tensor): [.., m, k].
        rcond (float, optional): Singular values up to rcond times the largest count as 0.
        driver (str, optional): LAPACK's 'gels' (for full rank), 'gelsy' (default), 'gelsd' or 'gelss'.

    Returns:
        tuple: z [.., n, k]; sums of squared residuals (not with 'gelsy'; m > n and full rank); int32 rank (not
        with 'gels'); singular values ('gelsd' and 'gelss'). What there is not is an empty tensor.

    Raises:
        ValueError: driver is another one, or an operand is no matrix.

    Example:
        >>> x = argosy.to_tensor([[1.0], [1.0]])
        >>> argosy.linalg.lstsq(x, argosy.to_tensor([[1.0], [3.0]]))[0].tolist()
        [[2.0]]
    """
    driver = driver or "gelsy"
    check_choice("lstsq", "driver", driver, ("gels", "gelsy", "gelsd", "gelss"))
    _need_matrices("lstsq", x=x, y=y)
    m, n = x.shape[-2], x.shape[-1]
    if x._symbolic and (driver in ("gelsd", "gelss") or (driver == "gels" and min(m, n) < 0)):
        raise NotImplementedError(
            f"(Unimplemented) [lstsq] driver '{driver}': whether there are residuals depends on the rank or on sizes "
            f"that only a run knows, got {list(x.shape)}. Do this: use driver 'gelsy', or 'gels' with "
            "known sizes."
        )
    z, rank, singular = _ops.lstsq_solution(x, y, -1.0 if rcond is None else rcond, driver)
    residuals = _ops.zeros([0], x.dtype)
    full = driver == "gels" or (driver != "gelsy" and rank.numpy().min(initial=n) == n)
    if m > n and driver != "gelsy" and full:
        rest = _ops.abs(_ops.subtract(_ops.matmul(x, z), y))
        residuals = _ops.sum(_ops.square(rest), -2)
    if driver == "gels":
        rank = _ops.zeros([0], "int64")
    if driver in ("gels", "gelsy"):
        singular = _ops.zeros([0], singular.dtype)
    return z, residuals, rank, singular


def _spectrum(x, hermitian):
    return _ops.abs(eigvalsh(x)) if hermitian else svdvals(x)


def _epsilon(dtype):
    return 2.0**-52 if dtype in (_core.float64, _core.complex128) else 2.0**-23


@method
@beside
def matrix_rank(x, tol=None, hermitian=False, atol=None, rtol=None, name=None):
    """How many singular values are larger than a bound.

    Args:
        x (Tensor): [.., m, n].
        tol (float | Tensor, optional): The bound; default: max(m, n) * epsilon * the largest.
        hermitian (bool): Whether x is; then absolute eigenvalues count.
        atol (float | Tensor, optional): With rtol, instead of tol: the bound is the larger of atol ..
        rtol (float | Tensor, optional): .. and rtol * the largest.

    Returns:
        Tensor: int64, [..].

    Example:
        >>> int(argosy.linalg.matrix_rank(argosy.ones([2, 3])))
        1
    """
    _need_matrices("matrix_rank", x=x)
    if 0 in x.shape[-2:]:
        return _ops.zeros(list(x.shape[:-2]), "int64")
    s = _spectrum(x, hermitian)
    largest = _ops.max(s, -1, True)
    if tol is None:
        if atol is None and rtol is None:
            rtol = max(x.shape[-2], x.shape[-1]) * _epsilon(x.dtype)
            if -1 in x.shape[-2:]:
                longest = _ops.max(_ops.slice(_ops.shape(x), [0], [-2], [2**63 - 1]))
                rtol = _ops.scale(_ops.cast(longest, s.dtype), _epsilon(x.dtype))
        relative = _ops.multiply(largest, _like(0.0 if rtol is None else rtol, s))
        tol = _ops.maximum(relative, _like(0.0 if atol is None else atol, s))
    else:
        tol = _like(tol, s)
    return _ops.sum(_ops.cast(_ops.greater_than(s, tol), "int64"), -1)


@beside
def _like(value, s):
    """A number, or a tensor with one for each matrix, to compare with the rows of s."""
    if isinstance(value, Tensor):
        value = _ops.cast(value, s.dtype)
        return _ops.unsqueeze(value, -1) if value.ndim else value
    return _ops.full([], float(value), s.dtype)


@method
def pinv(x, rcond=1e-15, hermitian=False, name=None):
    """The Moore-Penrose inverse.

    Args:
        x (Tensor): [.., m, n].
        rcond (float | Tensor): Singular values up to rcond times the largest count as 0.
        hermitian (bool): Whether x is, which is faster.

    Returns:
        Tensor: [.., n, m].

    Example:
        >>> argosy.linalg.pinv(argosy.to_tensor([[2.0, 0.0]])).tolist()
        [[0.5], [0.0]]
    """
    _need_matrices("pinv", x=x)
    if 0 in x.shape[-2:]:
        return _adjoint(x).clone()
    if hermitian:
        w, v = _ops.eigh(x, "L")
        left, right, s = v, _adjoint(v), w
    else:
        u, s, vh = _ops.svd(x, False)
        left, right = _adjoint(vh), _adjoint(u)
    size = _ops.abs(s)
    keep = _ops.greater_than(size, _ops.multiply(_ops.max(size, -1, True), _like(rcond, s)))
    safe = _ops.where_select(keep, s, _ops.ones_like(s))
    factors = _ops.multiply(_ops.reciprocal(safe), _ops.cast(keep, s.dtype))
    if left.dtype != factors.dtype:
        factors = _ops.cast(factors, left.dtype)
    return _ops.matmul(_ops.multiply(left, _ops.unsqueeze(factors, -2)), right)


@beside
def _eye_like(x):
    """Ones on the diagonal of matrices of x's size, else zeros."""
    if -1 not in x.shape[-2:]:
        return _ops.eye(x.shape[-2], x.shape[-1], x.dtype)
    return _ops.tril(_ops.triu(_ops.ones_like(x)))


def _need_reflectors(op, x, tau):
    _need_matrices(op, x=x)
    need_tensor(op, "tau", tau)
    if tau.ndim != x.ndim - 1 or tau.dtype != x.dtype:
        raise ArgumentError(
            f"[{op}] tau must have x's dtype and one dimension less, got"
            f" {dtype_name(tau.dtype)}{list(tau.shape)} for x {dtype_name(x.dtype)}{list(x.shape)}."
            " Do this: pass what geqrf or qr gave with x."
        )


def _reflected(vectors, tau, y, last_first):
    """The product of the reflectors 1 - tau v v^H (columns of vectors, diagonal 1) times y."""
    v = _ops.add(_ops.tril(vectors, -1), _eye_like(vectors))
    k = tau.shape[-1]
    if k < 0:
        raise ValueError(
            "[householder_product] the number of reflectors, the last size of tau, must be known"
            " while a Program is built. Do this: give static.data or InputSpec that size."
        )
    for i in reversed(range(k)) if last_first else range(k):
        column = _ops.slice(v, [-1], [i], [i + 1])
        share = _ops.matmul(_adjoint(column), y)
        factor = _ops.unsqueeze(_ops.slice(tau, [-1], [i], [i + 1]), -1)
        if not last_first:
            factor = _ops.conj(factor) if tau.dtype in COMPLEX else factor
        y = _ops.subtract(y, _ops.multiply(factor, _ops.matmul(column, share)))
    return y


@method
def householder_product(x, tau, name=None):
    """The first n columns of the product of reflectors.

    Args:
        x (Tensor): [.., m, n], m >= n: the reflectors stand below the diagonal, as LAPACK's geqrf leaves them.
        tau (Tensor): [.., k], k <= n: their factors.

    Returns:
        Tensor: [.., m, n].

    Raises:
        ValueError: The sizes do not fit.

    Example:
        >>> argosy.linalg.householder_product(argosy.ones([2, 2]), argosy.to_tensor([1.0])).tolist()
        [[0.0, -1.0], [-1.0, 0.0]]
    """
    _need_reflectors("householder_product", x, tau)
    m, n = x.shape[-2], x.shape[-1]
    if 0 <= m < n or 0 <= n < tau.shape[-1]:
        raise ArgumentError(
            "[householder_product] expected x [.., m, n], m >= n, and tau [.., k], k <= n, got"
            f" shapes {list(x.shape)} and {list(tau.shape)}."
            " Do this: check their last sizes."
        )
    return _reflected(x, tau, _eye_like(x), True)


@method
def ormqr(x, tau, y, left=True, transpose=False, name=None):
    """Q y or y Q, where Q is the product of reflectors, see householder_product.

    Args:
        x (Tensor): [.., m, n]: the reflectors.
        tau (Tensor): [.., k]: their factors.
        y (Tensor): A matrix of m rows, or of m columns for y Q.
        left (bool): Whether Q stands left.
        transpose (bool): Whether Q is transposed and conjugated.

    Returns:
        Tensor: Of y's shape.

    Raises:
        ValueError: Sizes or dtypes do not fit.

    Example:
        >>> x, tau = argosy.ones([2, 1]), argosy.to_tensor([1.0])
        >>> argosy.linalg.ormqr(x, tau, argosy.eye(2)).tolist()
        [[0.0, -1.0], [-1.0, 0.0]]
    """
    _need_reflectors("ormqr", x, tau)
    _need_matrices("ormqr", y=y)
    rows, inner = x.shape[-2], y.shape[-2 if left else -1]
    if y.dtype != x.dtype or (rows != inner and min(rows, inner) >= 0):
        raise ArgumentError(
            f"[ormqr] y must have x's dtype and {rows} {'rows' if left else 'columns'}, got"
            f" {dtype_name(y.dtype)}{list(y.shape)} for x {dtype_name(x.dtype)}{list(x.shape)}."
            " Do this: check the sizes, or transpose one of them."
        )
    if left:
        return _reflected(x, tau, y, not transpose)
    return _adjoint(_reflected(x, tau, _adjoint(y), transpose))


@method
@beside
def svd_lowrank(x, q=None, niter=2, M=None, name=None):  # noqa: N803
    """The largest singular values of a matrix and their vectors, approximately, from random directions.

    Args:
        x (Tensor): [.., m, n].
        q (int, optional): How many; default: 6, or the smaller size of x.
        niter (int): Subspace iterations.
        M (Tensor, optional): What is taken off x before.

    Returns:
        tuple[Tensor, Tensor, Tensor]: u [.., m, q], s [.., q] and v [.., n, q].

    Raises:
        ValueError: q is negative or larger than the smaller size of x.

    Paper: Finding structure with randomness (Halko, Martinsson and Tropp, 2009), algorithm 5.1.

    Example:
        >>> u, s, v = argosy.linalg.svd_lowrank(argosy.to_tensor([[3.0, 0.0], [0.0, 2.0]]))
        >>> s.tolist()
        [3.0, 2.0]
    """
    _need_matrices("svd_lowrank", x=x)
    m, n = x.shape[-2], x.shape[-1]
    most = min((size for size in (m, n) if size >= 0), default=None)
    q = 6 if q is None and most is None else min(6, most) if q is None else q
    if q < 0 or (most is not None and q > most):
        raise ValueError(
            f"[svd_lowrank] q must be from 0 to {most}, got {q}."
            " Do this: pass a number in this range."
        )
    a = x if M is None else _ops.subtract(x, M)
    wide = 0 <= m < n
    a = _adjoint(a) if wide else a
    start = _ops.gaussian([sizes_of(a)[-1], q], 0.0, 1.0, 0, x.dtype)
    basis = _ops.qr_factors(_ops.matmul(a, start), False)[0]
    for _ in range(niter):
        other = _ops.qr_factors(_ops.matmul(_adjoint(a), basis), False)[0]
        basis = _ops.qr_factors(_ops.matmul(a, other), False)[0]
    u, s, vh = _ops.svd(_ops.matmul(_adjoint(basis), a), False)
    u, v = _ops.matmul(basis, u), _adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@method
def pca_lowrank(x, q=None, center=True, niter=2, name=None):
    """svd_lowrank of a matrix whose columns have mean 0.

    Args:
        x (Tensor): [.., m, n].
        q (int, optional): How many singular values; default: 6, or the smaller size of x.
        center (bool): Whether to take the mean off each column.
        niter (int): Subspace iterations.

    Returns:
        tuple[Tensor, Tensor, Tensor]: u [.., m, q], s [.., q] and v [.., n, q].

    Raises:
        ValueError: q is negative or larger than the smaller size of x.

    Paper: Finding structure with randomness (Halko, Martinsson and Tropp, 2009).

    Example:
        >>> u, s, v = argosy.linalg.pca_lowrank(argosy.to_tensor([[1.0, 5.0], [3.0, 5.0]]), q=1)
        >>> s.tolist()
        [1.4142]
    """
    _need_matrices("pca_lowrank", x=x)
    mean = None
    if center:
        mean = _ops.expand_as(_ops.mean(x, -2, None, True), x)
    return svd_lowrank(x, q, niter, mean)


def matrix_exp(x, name=None):
    """The exponentials of square matrices, by scaling and squaring.

    Args:
        x (Tensor): [.., n, n].

    Returns:
        Tensor: [.., n, n].

    Raises:
        ValueError: The last two sizes differ.

    Paper: The scaling and squaring method for the matrix exponential revisited (Higham, 2005).

    Example:
        >>> argosy.linalg.matrix_exp(argosy.to_tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    return _ops.matrix_exp(x)
