"""Linear algebra whose arguments need Python: Einstein sums, norms, and what is made of
decompositions."""

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX
from argosy._support import ArgumentError, alias, check_choice, into, sizes_of
from argosy.tensor.einsum import contract, contract_equation
from argosy.tensor.registry import method

_INF = float("inf")
_MATRIX_NORMS = ("fro", "nuc", 1, -1, _INF, -_INF, 2, -2)


def _swap(x, a=-1, b=-2):
    perm = list(range(x.ndim))
    perm[a], perm[b] = perm[b], perm[a]
    return _ops.transpose(x, perm)


def _adjoint(x):
    return _ops.conj(_swap(x)) if x.dtype in COMPLEX else _swap(x)


@method
def matrix_transpose(x, name=None):
    """x with its last two dimensions swapped."""
    if x.ndim < 2:
        raise ValueError(
            f"[matrix_transpose] needs a tensor of at least 2 dimensions, got {x.ndim}."
            " Do this: add an axis with unsqueeze."
        )
    return _swap(x)


# --- Einstein sums ---


def einsum(equation, *operands):
    """The sum of products of the operands over the labels that the result has not.

    equation: one label (a letter) for each dimension of each operand, "ij,jk->ik"; "..." stands for
    dimensions that broadcast. A label twice in one operand takes its diagonal. Without "->" the
    result has the labels that come once, in alphabetical order, after those of "...".
    Raises ValueError if the sizes of a label differ, AssertionError for other malformed equations.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return contract_equation(equation, list(operands))


@method
def tensordot(x, y, axes=2, name=None):
    """The sum of products of x and y over axes of both.

    axes: a number n (the last n of x, the first n of y), one list for both, or a list for each.
    """
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(
                f"[tensordot] axes must not be negative, got {axes}."
                " Do this: pass how many of the last and first axes to add over."
            )
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        axes = [a.tolist() if isinstance(a, Tensor) else a for a in axes]
        if all(isinstance(a, int) for a in axes):
            left = right = list(axes)
        else:
            left = list(axes[0])
            right = list(axes[1]) if len(axes) > 1 else left
        # The shorter list continues with the longer one's axes.
        n = max(len(left), len(right))
        left, right = left + right[len(left) : n], right + left[len(right) : n]
    left = [a + x.ndim if a < 0 else a for a in left]
    right = [a + y.ndim if a < 0 else a for a in right]
    x_labels = [("x", d) for d in range(x.ndim)]
    y_labels = [("y", d) for d in range(y.ndim)]
    for a, b in zip(left, right):
        y_labels[b] = x_labels[a]
    result = [v for d, v in enumerate(x_labels) if d not in left]
    result += [v for d, v in enumerate(y_labels) if d not in right]
    return contract("tensordot", [x, y], [x_labels, y_labels], result)


@method
def multi_dot(x, name=None):
    """The product of two or more matrices in the order of least work; the first and the last may be
    vectors."""
    x = list(x)
    if len(x) < 2:
        raise ValueError(
            f"(InvalidArgument) [multi_dot] expected at least 2 tensors, got {len(x)}."
            " Do this: pass a list of matrices."
        )
    for i, t in enumerate(x):
        if t.ndim != 2 and not (t.ndim == 1 and i in (0, len(x) - 1)):
            raise ValueError(
                f"(InvalidArgument) [multi_dot] operand {i} must be a matrix (the first and last may be vectors), got"
                f" shape {list(t.shape)}."
                " Do this: check the order of the operands."
            )
    sizes = [1 if x[0].ndim == 1 else x[0].shape[0]]
    sizes += [t.shape[0] for t in x[1:]] + [1 if x[-1].ndim == 1 else x[-1].shape[1]]
    n = len(x)
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i, j):
        if i == j:
            return x[i]
        return _ops.matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    return product(0, n - 1)


@method
def matrix_power(x, n, name=None):
    """The n-th power of square matrices; the inverse's for negative n."""
    if not isinstance(n, int):
        raise TypeError(
            f"(InvalidType) [matrix_power] n must be an int, got {type(n).__name__}."
            " Do this: pass a whole number."
        )
    if x.ndim < 2 or (x.shape[-1] != x.shape[-2] and -1 not in x.shape[-2:]):
        raise ArgumentError(
            f"(InvalidArgument) [matrix_power] x must be square, got shape {list(x.shape)}."
            " Do this: check its last two sizes."
        )
    if n < 0:
        x, n = _ops.inverse(x), -n
    if n == 0:
        return _ops.diag_embed(_ops.ones_like(x[..., 0]))
    power = None
    while n:
        if n % 2:
            power = x if power is None else _ops.matmul(power, x)
        n //= 2
        if n:
            x = _ops.matmul(x, x)
    return power


@method
@alias(input="x")
def trace(x, offset=0, axis1=0, axis2=1, name=None):
    """The sums along the diagonals, moved by offset, of the planes of axis1 and axis2."""
    dtype = "int32" if x.dtype == _core.int32 else None
    return _ops.sum(_ops.diagonal(x, offset, axis1, axis2), -1, dtype)


@method
def vecdot(x, y, axis=-1, name=None):
    """The sums of products of x and y along axis."""
    return _ops.sum(_ops.multiply(x, y), axis)


# --- norms ---


def _axis_list(axis):
    return list(axis) if isinstance(axis, (list, tuple)) else axis


def _p_norm(x, p, axis, keepdim):
    return _ops.p_norm(x, float(p), axis, keepdim)


@method
@alias(input="x", dim="axis")
def norm(x, p=None, axis=None, keepdim=False, out=None, dtype=None, name=None):
    """A norm of x as one vector (axis None), of its vectors (one axis) or matrices (two axes).

    p: 2 by default; any number, inf or -inf for vectors; 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for
    matrices: see vector_norm and matrix_norm. dtype: x is cast to it first.
    """
    if dtype is not None:
        x = _ops.cast(x, dtype)
    p = 2.0 if p is None else p
    axis = _axis_list(axis)
    if isinstance(axis, list) and len(axis) == 1:
        axis = axis[0]
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise ValueError(
            f"[norm] p must be 'fro', 'nuc' or a number, got {p!r}. Do this: pass one of these."
        )
    if isinstance(axis, list) and len(axis) == 2:
        return into(out, matrix_norm(x, p, axis, keepdim))
    if p == "nuc":
        if axis is not None:
            raise TypeError(
                f"[norm] p='nuc' needs two axes, got axis={axis}. Do this: pass axis=[-2, -1]."
            )
        return into(out, matrix_norm(x, p, [-2, -1], keepdim))
    return into(out, _p_norm(x, 2.0 if p == "fro" else p, axis, keepdim))


@alias(input="x", dim="axis")
def vector_norm(x, p=2.0, axis=None, keepdim=False, name=None, *, dtype=None, out=None):
    """(sum of |x|^p)^(1/p) over axis (None: all): the largest |x| for p = inf, the smallest for -inf,
    the number of elements that are not 0 for p = 0."""
    if isinstance(p, str):
        raise ValueError(
            f"[vector_norm] p must be a number, got {p!r}."
            " Do this: pass a number, or use matrix_norm."
        )
    if dtype is not None:
        x = _ops.cast(x, dtype)
    return into(out, _p_norm(x, p, _axis_list(axis), keepdim))


def matrix_norm(x, p="fro", axis=[-2, -1], keepdim=False, name=None):  # noqa: B006
    """A norm of the matrices of two axes.

    p: 'fro' the root of the sum of squares; 'nuc' the sum of the singular values; 2 and -2 the largest
    and the smallest of them; 1 and -1 the largest and smallest sum of absolute values of a column;
    inf and -inf of a row.
    """
    check_choice("matrix_norm", "p", p, _MATRIX_NORMS)
    axis = _axis_list(axis)
    if not isinstance(axis, list) or len(axis) != 2:
        raise ValueError(
            f"[matrix_norm] axis must be two axes, got {axis}."
            " Do this: pass two numbers such as [-2, -1]."
        )
    rows, columns = (a + x.ndim if a < 0 else a for a in axis)
    if rows == columns:
        raise ValueError(
            f"[matrix_norm] the two axes must differ, got {axis}."
            " Do this: pass two numbers such as [-2, -1]."
        )
    if p == "fro":
        return _p_norm(x, 2.0, [rows, columns], keepdim)
    if p in ("nuc", 2, -2):
        rest = [d for d in range(x.ndim) if d not in (rows, columns)]
        s = svdvals(_ops.transpose(x, [*rest, rows, columns]))
        value = _ops.sum(s, -1) if p == "nuc" else _ops.max(s, -1) if p > 0 else _ops.min(s, -1)
        return _ops.unsqueeze(value, sorted([rows, columns])) if keepdim else value
    inner, outer = (rows, columns) if abs(p) == 1 else (columns, rows)
    sums = _ops.sum(_ops.abs(x), inner, None, True)
    both = _ops.max(sums, outer, True) if p > 0 else _ops.min(sums, outer, True)
    return both if keepdim else _ops.squeeze(both, [rows, columns])


@method
def dist(x, y, p=2, name=None):
    """The p-norm of x - y as one vector."""
    return _p_norm(_ops.subtract(x, y), p, None, False)


@method
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None):
    """The p-norms of all differences of a row of x [.., m, d] and one of y [.., n, d]: [.., m, n].

    compute_mode: whether the Euclidean distance goes over a matrix product, which is faster and less
    exact: 'use_mm_for_euclid_dist' always, 'donot_use_mm_for_euclid_dist' never, '.._if_necessary'
    from 25 rows.
    """
    modes = ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in (*modes, modes[0] + "_if_necessary"):
        raise ValueError(
            f"[cdist] unknown compute_mode {compute_mode!r}."
            " Do this: pass 'use_mm_for_euclid_dist_if_necessary', 'use_mm_for_euclid_dist' or 'donot_use_mm_for_euclid_dist'."
        )
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ArgumentError(
            "[cdist] expected x [.., m, d] and y [.., n, d], got shapes"
            f" {list(x.shape)} and {list(y.shape)}."
            " Do this: make their last sizes equal."
        )
    if p < 0:
        raise ArgumentError(f"[cdist] p must not be negative, got {p}. Do this: pass 0 or more.")
    many = x.shape[-2] > 25 or y.shape[-2] > 25
    if p == 2 and (compute_mode == modes[0] or (many and compute_mode != modes[1])):
        squares = _ops.add(
            _ops.sum(_ops.square(x), -1, None, True),
            _swap(_ops.sum(_ops.square(y), -1, None, True)),
        )
        squares = _ops.subtract(squares, _ops.scale(_ops.matmul(x, y, False, True), 2.0))
        return _ops.sqrt(squares.clip(1e-30))
    difference = _ops.subtract(_ops.unsqueeze(x, -2), _ops.unsqueeze(y, -3))
    return _p_norm(difference, p, -1, False)


def pdist(x, p=2.0, name=None):
    """The p-norms of the differences of all pairs of rows of x [n, d], i < j: [n (n - 1) / 2]."""
    if x.ndim != 2:
        raise ValueError(
            f"[pdist] x must have 2 dimensions, got shape {list(x.shape)}."
            " Do this: reshape it to [n, d]."
        )
    n = x.shape[0]
    if n < 0:  # a Program that does not know how many: all pairs, of which half are taken
        norms = _p_norm(_ops.subtract(_ops.unsqueeze(x, 1), _ops.unsqueeze(x, 0)), p, -1, False)
        above = _ops.triu(_ops.ones_like(norms), 1)
        return _ops.masked_select(norms, _ops.cast(above, "bool"))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    first = _core.to_tensor([i for i, _ in pairs], "int64", True)
    second = _core.to_tensor([j for _, j in pairs], "int64", True)
    difference = _ops.subtract(_ops.index_select(x, first, 0), _ops.index_select(x, second, 0))
    return _p_norm(difference, p, -1, False)


# --- over decompositions ---


@method
def solve(x, y, left=True, name=None, *, out=None):
    """z with x z = y, or z x = y unless left: x [.., n, n], y [.., n, k] or a vector [.., n]."""
    shape = list(x.shape)
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and list(y.shape) == shape[:-1])
    if vector:
        y = _ops.unsqueeze(y, -1 if left else -2)
    z = _ops.solve_matrix(x, y) if left else _swap(_ops.solve_matrix(_swap(x), _swap(y)))
    return into(out, _ops.squeeze(z, [-1 if left else -2]) if vector else z)


@method
def cholesky_solve(x, y, upper=False, name=None):
    """z with a z = x, given the Cholesky factor y of a (lower, or upper): x [.., n, k]."""
    factor = _adjoint(y) if upper else y
    half = _ops.triangular_solve(factor, x, False, False, False)
    return _ops.triangular_solve(_adjoint(factor), half, True, False, False)


@method
def cholesky_inverse(x, upper=False, name=None):
    """The inverse of a matrix given its Cholesky factor x."""
    if x.ndim >= 2 and x.shape[-1] == 0:
        return x.clone()
    return cholesky_solve(_ops.diag_embed(_ops.ones_like(x[..., 0])), x, upper)


@method
def qr(x, mode="reduced", name=None):
    """x [.., m, n] = q r with orthonormal columns q and upper triangular r.

    mode: 'reduced' gives q [.., m, k] and r [.., k, n], k = min(m, n); 'complete' a square q; 'r'
    only r.
    """
    check_choice("qr", "mode", mode, ("reduced", "complete", "r"))
    q, r = _ops.qr_factors(x, mode == "complete")
    return r if mode == "r" else (q, r)


def svdvals(x, name=None):
    """The singular values of x [.., m, n], descending: [.., min(m, n)]."""
    return _ops.svd(x, False)[1]


@method
def eigvals(x, name=None):
    """The eigenvalues of square matrices, complex, in no order."""
    # Of the transposed, which has the same: so they come in Paddle's order.
    return _ops.eig(matrix_transpose(x) if x.ndim >= 2 else x)[0]


@method
def eigvalsh(x, UPLO="L", name=None):  # noqa: N803
    """The eigenvalues of Hermitian matrices, ascending; the triangle UPLO of x is read."""
    return _ops.eigh(x, UPLO)[0]


@method
def lu(x, pivot=True, get_infos=False, name=None):
    """x [.., m, n] = P L U: L and U packed into one matrix, and pivots (int32, 1-based: row i was
    swapped with row pivots[i]); with get_infos also where U's diagonal is first 0 (0: nowhere)."""
    if not pivot:
        raise ValueError(
            "[lu] factors without pivoting are not computed on the CPU, got False."
            " Do this: leave pivot out."
        )
    factors, pivots, infos = _ops.lu_factor(x)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@method
def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True, name=None):
    """P, L and U of what lu returned as x and y; empty tensors for what is not asked."""
    empty = _ops.zeros([0], x.dtype)
    p = lower = upper = empty
    if unpack_pivots:
        p = _ops.cast(_ops.lu_permutation(y, x), x.dtype)
    if unpack_ludata:
        lower, upper = _ops.lu_triangles(x)
    return p, lower, upper


@method
def lu_solve(b, lu, pivots, trans="N", name=None):
    """z with a z = b (trans "T": a^T z = b; "C": a^H z = b), given a's factors from lu."""
    check_choice("lu_solve", "trans", trans, ("N", "T", "C"))
    p = _ops.cast(_ops.lu_permutation(pivots, lu), lu.dtype)
    if trans == "N":
        half = _ops.triangular_solve(lu, _ops.matmul(p, b, True), False, False, True)
        return _ops.triangular_solve(lu, half, True, False, False)
    factor = _ops.conj(lu) if trans == "C" and lu.dtype in COMPLEX else lu
    half = _ops.triangular_solve(factor, b, True, True, False)
    return _ops.matmul(p, _ops.triangular_solve(factor, half, False, True, True))


@method
def lstsq(x, y, rcond=None, driver=None, name=None):
    """The z of least norm that minimizes |x z - y|, x [.., m, n], y [.., m, k].

    rcond: singular values up to rcond times the largest count as 0. driver: LAPACK's 'gels' (full
    rank), 'gelsy' (default), 'gelsd' or 'gelss'. Returns z, the sums of squared residuals ('gels',
    'gelsd' and 'gelss', m > n and full rank; else empty), the rank, and the singular values ('gelsd'
    and 'gelss').
    """
    driver = driver or "gelsy"
    check_choice("lstsq", "driver", driver, ("gels", "gelsy", "gelsd", "gelss"))
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError(
            f"[lstsq] expected matrices or stacks of them, got shapes {list(x.shape)} and"
            f" {list(y.shape)}. Do this: add a dimension with unsqueeze(-1)."
        )
    m, n = x.shape[-2], x.shape[-1]
    z, rank, singular = _ops.lstsq_solution(x, y, -1.0 if rcond is None else rcond, driver)
    residuals = _ops.zeros([0], x.dtype)
    full = driver == "gels" or (driver != "gelsy" and rank.numpy().min(initial=n) == n)
    if m > n and driver != "gelsy" and full:
        rest = _ops.abs(_ops.subtract(_ops.matmul(x, z), y))
        residuals = _ops.sum(_ops.square(rest), -2)
    if driver == "gels":
        rank = _ops.zeros([0], "int32")
    if driver in ("gels", "gelsy"):
        singular = _ops.zeros([0], singular.dtype)
    return z, residuals, rank, singular


def _spectrum(x, hermitian):
    return _ops.abs(eigvalsh(x)) if hermitian else svdvals(x)


def _epsilon(dtype):
    return 2.0**-52 if dtype in (_core.float64, _core.complex128) else 2.0**-23


@method
def matrix_rank(x, tol=None, hermitian=False, atol=None, rtol=None, name=None):
    """How many singular values (absolute eigenvalues if hermitian) of x are larger than tol.

    tol: max(m, n) * epsilon * the largest by default; or give atol and rtol: the larger of atol and
    rtol * the largest.
    """
    if x.ndim >= 2 and 0 in x.shape[-2:]:
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


def _like(value, s):
    """A number, or a tensor with one for each matrix, to compare with the rows of s."""
    if isinstance(value, Tensor):
        value = _ops.cast(value, s.dtype)
        return _ops.unsqueeze(value, -1) if value.ndim else value
    return _ops.full([], float(value), s.dtype)


@method
def pinv(x, rcond=1e-15, hermitian=False, name=None):
    """The Moore-Penrose inverse of x [.., m, n]: [.., n, m]. Singular values up to rcond times the
    largest count as 0. hermitian: x is, which is faster."""
    if x.ndim >= 2 and 0 in x.shape[-2:]:
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


@method
def cond(x, p=None, name=None):
    """The condition number of x: norm(x, p) * norm(inv(x), p); p None or 2: the largest singular value
    over the smallest; -2 the reverse. p: as matrix_norm's."""
    check_choice("cond", "p", p, (None, *_MATRIX_NORMS))
    if p in (None, 2, -2):
        s = svdvals(x)
        ends = _ops.max(s, -1), _ops.min(s, -1)
        return _ops.divide(*(ends if p != -2 else ends[::-1]))
    return _ops.multiply(matrix_norm(x, p), matrix_norm(_ops.inverse(x), p))


@method
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None):
    """The covariances of the variables, which are the rows of x (columns unless rowvar), over their
    observations.

    ddof: divide by n - 1 rather than n. fweights: how often each observation counts; aweights: its
    weight.
    """
    if x.ndim > 2:
        raise ValueError(
            f"[cov] x must have at most 2 dimensions, got shape {list(x.shape)}."
            " Do this: reshape it to [variables, observations]."
        )
    x = _ops.unsqueeze(x, 0) if x.ndim == 1 else x if rowvar else _swap(x)
    weights = None
    for name_, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.ndim != 1 or w.shape[0] != x.shape[-1]:
            raise ValueError(
                f"[cov] {name_} must have one element for each of the {x.shape[-1]} observations,"
                f" got shape {list(w.shape)}."
                " Do this: pass one weight for each."
            )
        w = _ops.cast(w, x.dtype)
        weights = w if weights is None else _ops.multiply(weights, w)
    if weights is None:
        mean = _ops.mean(x, -1, None, True)
        count = _ops.sum(_ops.ones_like(_ops.slice(x, [0], [0], [1])))
        divisor = _ops.subtract(count, _ops.full([], float(bool(ddof)), x.dtype))
    else:
        total = _ops.sum(weights)
        mean = _ops.divide(_ops.sum(_ops.multiply(x, weights), -1, None, True), total)
        less = _ops.full([], float(bool(ddof)), x.dtype)
        if ddof and aweights is not None:
            squares = _ops.sum(_ops.multiply(weights, _ops.cast(aweights, x.dtype)))
            less = _ops.divide(squares, total)
        divisor = _ops.subtract(total, less)
    centered = _ops.subtract(x, mean)
    other = centered if weights is None else _ops.multiply(centered, weights)
    value = _ops.divide(_ops.matmul(other, _adjoint(centered)), divisor)
    return _ops.squeeze(value, [0, 1]) if x.shape[0] == 1 else value


@method
def corrcoef(x, rowvar=True, name=None):
    """The correlation coefficients of the variables, which are the rows of x (columns unless
    rowvar)."""
    if x.ndim > 2 or x.ndim == 0:
        raise ValueError(
            f"[corrcoef] x must have 1 or 2 dimensions, got shape {list(x.shape)}."
            " Do this: reshape it to [variables, observations]."
        )
    c = cov(x, rowvar)
    if c.ndim == 0:
        return _ops.divide(c, c)
    deviation = _ops.sqrt(_ops.diagonal(c, 0, 0, 1))
    c = _ops.divide(c, _ops.unsqueeze(deviation, -1))
    return _ops.divide(c, _ops.unsqueeze(deviation, 0)).clip(-1.0, 1.0)


# --- reflectors, low rank, matrix functions ---


def _eye_like(x):
    """Ones on the diagonal of matrices of x's size, else zeros."""
    if -1 not in x.shape[-2:]:
        return _ops.eye(x.shape[-2], x.shape[-1], x.dtype)
    return _ops.tril(_ops.triu(_ops.ones_like(x)))


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
    """The first n columns of the product of the reflectors that LAPACK's geqrf leaves below the
    diagonal of x [.., m, n], with factors tau [.., k]."""
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
    """Q y (or y Q unless left; Q^H for Q with transpose), where Q [m, m] is the product of the
    reflectors that x and tau hold, see householder_product."""
    if left:
        return _reflected(x, tau, y, not transpose)
    return _adjoint(_reflected(x, tau, _adjoint(y), transpose))


@method
def svd_lowrank(x, q=None, niter=2, M=None, name=None):  # noqa: N803
    """The q largest singular values of x - M and their vectors, approximately: u [.., m, q], s [.., q]
    and v [.., n, q].

    q: 6, or the smaller size of x. niter: subspace iterations. Random: Halko, Martinsson and Tropp,
    "Finding structure with randomness" (2009), algorithm 5.1.
    """
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
    """svd_lowrank of x [.., m, n], with the mean of each column taken off if center."""
    mean = None
    if center:
        mean = _ops.expand_as(_ops.mean(x, -2, None, True), x)
    return svd_lowrank(x, q, niter, mean)


def matrix_exp(x, name=None):
    """The exponentials of square matrices x [.., n, n], by scaling and squaring: Higham, "The scaling
    and squaring method for the matrix exponential revisited" (2005).

    Raises:
        ValueError: if the last two sizes differ.
    """
    return _ops.matrix_exp(x)
