"""Linear algebra whose arguments need Python: Einstein sums, norms and statistics; decompositions.py
has what is made of decompositions."""

import operator

from argosy import _core
from argosy._beside import beside
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX
from argosy._support import ArgumentError, alias, check_choice, into, need_tensor, sizes_of, tells
from argosy.tensor.decompositions import _adjoint, _need_matrices, _swap, svdvals
from argosy.tensor.einsum import contract, contract_equation
from argosy.tensor.registry import method

_INF = float("inf")
_MATRIX_NORMS = ("fro", "nuc", 1, -1, _INF, -_INF, 2, -2)


@method
def matrix_transpose(x, name=None):
    """x with its last two dimensions exchanged.

    Args:
        x (Tensor): [.., m, n], of any dtype.

    Returns:
        Tensor: [.., n, m], a view.

    Raises:
        ValueError: x has fewer than two dimensions.

    Example:
        >>> argosy.matrix_transpose(argosy.ones([2, 3])).shape
        paddle.Size([3, 2])
    """
    if x.ndim < 2:
        raise ValueError(
            f"[matrix_transpose] needs a tensor of at least 2 dimensions, got {x.ndim}."
            " Do this: add an axis with unsqueeze."
        )
    return _swap(x)


# --- Einstein sums ---


def einsum(equation, *operands):
    """The sum of products of some tensors over the labels that the result has not.

    Args:
        equation (str): A letter for each dimension of each operand, as in "ij,jk->ik"; "..." stands for
            dimensions that broadcast. A label twice in one operand takes its diagonal. Without "->" the
            result has the labels that come once, in alphabetical order, after those of "...".
        operands (Tensor): One by one or as a list.

    Returns:
        Tensor: With the dimensions after "->".

    Raises:
        ValueError: The sizes of a label differ.
        AssertionError: The equation is malformed otherwise.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.einsum("ij,jk->ik", x, x).tolist()
        [[7.0, 10.0], [15.0, 22.0]]
        >>> float(argosy.einsum("ii", x))
        5.0
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return contract_equation(equation, list(operands))


@method
def tensordot(x, y, axes=2, name=None):
    """The sum of products of x and y over axes of both.

    Args:
        x (Tensor): Of a number dtype.
        y (Tensor): Of the same.
        axes (int | list | Tensor): How many: the last ones of x, the first ones of y; or a list of axes for
            both, or one for each.

    Returns:
        Tensor: With the other dimensions of x, then those of y.

    Raises:
        ValueError: axes is negative, or sizes differ.

    Example:
        >>> argosy.tensordot(argosy.ones([2, 3]), argosy.ones([3, 4]), axes=1).shape
        paddle.Size([2, 4])
    """
    if hasattr(axes, "tolist"):  # a tensor, an array or a number of NumPy
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(
                f"[tensordot] axes must not be negative, got {axes}."
                " Do this: pass how many of the last and first axes to add over."
            )
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        axes = [a.tolist() if hasattr(a, "tolist") else a for a in axes]
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
    """The product of matrices in the order of least work.

    Args:
        x (list[Tensor]): Two or more matrices; the first and the last may be vectors.

    Returns:
        Tensor: The product.

    Raises:
        ValueError: There are fewer than two, or one has another rank.

    Example:
        >>> argosy.linalg.multi_dot([argosy.ones([2, 3]), argosy.ones([3, 4]), argosy.ones([4])]).tolist()
        [12.0, 12.0]
    """
    x = list(x)
    if len(x) < 2:
        raise ValueError(
            f"(InvalidArgument) [multi_dot] expected at least 2 tensors, got {len(x)}."
            " Do this: pass a list of matrices."
        )
    for i, t in enumerate(x):
        need_tensor("multi_dot", "x", t)
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
    """The n-th power of square matrices.

    Args:
        x (Tensor): [.., m, m].
        n (int): The exponent; negative ones take powers of the inverse.

    Returns:
        Tensor: [.., m, m].

    Raises:
        TypeError: n is no int.
        ValueError: x is not square.

    Example:
        >>> argosy.linalg.matrix_power(argosy.to_tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    try:
        n = operator.index(None if isinstance(n, bool) else n)
    except TypeError:
        raise TypeError(
            f"(InvalidType) [matrix_power] n must be an int, got {type(n).__name__}."
            " Do this: pass a whole number."
        ) from None
    need_tensor("matrix_power", "x", x)
    if x.ndim < 2 or (x.shape[-1] != x.shape[-2] and -1 not in x.shape[-2:]):
        raise ArgumentError(
            f"(InvalidArgument) [matrix_power] x must be square, got shape {list(x.shape)}."
            " Do this: check its last two sizes."
        )
    if n < 0:
        x, n = _ops.inverse(x), -n
    if n == 0 and x.shape[-1] == 0:
        return x.clone()
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
@tells("diagonal", "sum")
def trace(x, offset=0, axis1=0, axis2=1, name=None):
    """Sums along diagonals.

    Args:
        x (Tensor): Of two dimensions or more.
        offset (int): Which diagonal: above the main one if positive, below it if negative.
        axis1 (int): The first axis of the planes.
        axis2 (int): The second.

    Returns:
        Tensor: Without the two axes.

    Example:
        >>> int(argosy.trace(argosy.to_tensor([[1, 2], [3, 4]])))
        5
    """
    need_tensor("trace", "x", x)
    dtype = "int32" if x.dtype == _core.int32 else None
    return _ops.sum(_ops.diagonal(x, offset, axis1, axis2), -1, dtype)


@method
def vecdot(x, y, axis=-1, name=None):
    """Sums of products of x, conjugated if it is complex, and y along an axis.

    Args:
        x (Tensor): Of a number dtype.
        y (Tensor): Its shape broadcasts with x's.
        axis (int): Which.

    Returns:
        Tensor: Without the axis.

    Example:
        >>> float(argosy.linalg.vecdot(argosy.ones([3]), argosy.full([3], 2.0)))
        6.0
    """
    need_tensor("vecdot", "x", x)
    if x.dtype in COMPLEX:
        x = _ops.conj(x)
    return _ops.sum(_ops.multiply(x, y), axis)


# --- norms ---


def _axis_list(axis):
    return list(axis) if isinstance(axis, (list, tuple)) else axis


def _p_norm(x, p, axis, keepdim):
    need_tensor("norm", "x", x)
    if x.size == 0:
        p = 2.0  # of no elements, every norm is 0
    return _ops.p_norm(x, float(p), axis, keepdim)


@method
@alias(input="x", A="x", ord="p", dim="axis")
def norm(x, p=None, axis=None, keepdim=False, out=None, dtype=None, name=None):
    """A norm of x as one vector, of its vectors, or of its matrices.

    Args:
        x (Tensor): Floating or complex.
        p (number | str, optional): 2 by default; any number, inf or -inf for vectors; 'fro', 'nuc', 1, -1, 2, -2,
            inf or -inf for matrices: see vector_norm and matrix_norm.
        axis (int | list[int], optional): One axis for vectors, two for matrices; default: x is one vector.
        keepdim (bool): Whether the axes stay, with size 1.
        out (Tensor, optional): A tensor that becomes the result.
        dtype (dtype | str, optional): What x is cast to before.

    Returns:
        Tensor: Real numbers.

    Raises:
        ValueError: p is another one.
        TypeError: p is 'nuc' and there is one axis.

    Example:
        >>> float(argosy.linalg.norm(argosy.to_tensor([3.0, 4.0])))
        5.0
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


@alias(input="x", ord="p", dim="axis")
def vector_norm(x, p=2.0, axis=None, keepdim=False, name=None, *, dtype=None, out=None):
    """``(sum of |x|^p)^(1/p)``: the largest |x| for p = inf, the smallest for -inf, the number of elements that
    are not 0 for p = 0.

    Args:
        x (Tensor): Floating or complex.
        p (float): Which norm.
        axis (int | list[int], optional): Along which; default: all.
        keepdim (bool): Whether the axes stay, with size 1.
        dtype (dtype | str, optional): What x is cast to before.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Real numbers.

    Raises:
        ValueError: p is no number.

    Example:
        >>> float(argosy.linalg.vector_norm(argosy.to_tensor([3.0, -4.0]), 1))
        7.0
    """
    if isinstance(p, str) or p is None:
        raise ValueError(
            f"[vector_norm] p must be a number, got {p!r}."
            " Do this: pass a number, or use matrix_norm."
        )
    if dtype is not None:
        x = _ops.cast(x, dtype)
    return into(out, _p_norm(x, p, _axis_list(axis), keepdim))


def matrix_norm(x, p="fro", axis=[-2, -1], keepdim=False, name=None):  # noqa: B006
    """A norm of matrices.

    Args:
        x (Tensor): Floating or complex.
        p (str | number): 'fro', the root of the sum of squares; 'nuc', the sum of the singular values; 2 and -2,
            the largest and the smallest of them; 1 and -1, the largest and smallest sum of absolute values of
            a column; inf and -inf, of a row.
        axis (list[int]): The two axes of the matrices.
        keepdim (bool): Whether the axes stay, with size 1.

    Returns:
        Tensor: Real numbers.

    Raises:
        ValueError: p is another one, or axis are not two different axes.

    Example:
        >>> float(argosy.linalg.matrix_norm(argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        6.0
    """
    need_tensor("matrix_norm", "x", x)
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
    """The p-norm of x - y as one vector.

    Args:
        x (Tensor): Floating.
        y (Tensor): Its shape broadcasts with x's.
        p (float): Which norm, see vector_norm.

    Returns:
        Tensor: 0-d.

    Example:
        >>> float(argosy.dist(argosy.to_tensor([3.0, 4.0]), argosy.zeros([2])))
        5.0
    """
    return _p_norm(_ops.subtract(x, y), p, None, False)


@method
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None):
    """The p-norms of all differences of a row of x and one of y.

    Args:
        x (Tensor): [.., m, d].
        y (Tensor): [.., n, d].
        p (float): Which norm, >= 0.
        compute_mode (str): Whether the Euclidean distance goes over a matrix product, which is faster and less
            exact: 'use_mm_for_euclid_dist' always, 'donot_use_mm_for_euclid_dist' never,
            'use_mm_for_euclid_dist_if_necessary' for more than 25 rows.

    Returns:
        Tensor: [.., m, n].

    Raises:
        ValueError: compute_mode is another one, the shapes do not fit, or p is negative.

    Example:
        >>> argosy.cdist(argosy.zeros([1, 2]), argosy.to_tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    modes = ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in (*modes, modes[0] + "_if_necessary"):
        raise ValueError(
            f"[cdist] unknown compute_mode {compute_mode!r}."
            " Do this: pass 'use_mm_for_euclid_dist_if_necessary', 'use_mm_for_euclid_dist' or 'donot_use_mm_for_euclid_dist'."
        )
    need_tensor("cdist", "x", x)
    need_tensor("cdist", "y", y)
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


@beside
def pdist(x, p=2.0, name=None):
    """The p-norms of the differences of all pairs of rows i < j.

    Args:
        x (Tensor): [n, d].
        p (float): Which norm.

    Returns:
        Tensor: [n (n - 1) / 2].

    Raises:
        ValueError: x is no matrix.

    Example:
        >>> argosy.pdist(argosy.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()
        [5.0, 1.0, 4.2426]
    """
    if x.ndim != 2:
        raise ArgumentError(
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
@beside
def cond(x, p=None, name=None):
    """The condition number, norm(x, p) * norm(inv(x), p).

    Args:
        x (Tensor): [.., n, n]; any matrices for p None, 2 and -2.
        p (str | number, optional): None or 2: the largest singular value over the smallest; -2: the reverse;
            others as for matrix_norm.

    Returns:
        Tensor: [..]; 0 for matrices without elements.

    Raises:
        ValueError: p is another one, or x is no matrix.

    Example:
        >>> float(argosy.linalg.cond(argosy.to_tensor([[4.0, 0.0], [0.0, 2.0]])))
        2.0
    """
    _need_matrices("cond", x=x)
    check_choice("cond", "p", p, (None, *_MATRIX_NORMS))
    if 0 in x.shape[-2:]:
        return _ops.zeros(sizes_of(x)[:-2], svdvals(x).dtype)
    if p in (None, 2, -2):
        s = svdvals(x)
        ends = _ops.max(s, -1), _ops.min(s, -1)
        return _ops.divide(*(ends if p != -2 else ends[::-1]))
    return _ops.multiply(matrix_norm(x, p), matrix_norm(_ops.inverse(x), p))


@method
@beside
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None):
    """Covariances of variables over their observations.

    Args:
        x (Tensor): [variables, observations], or a vector of observations of one.
        rowvar (bool): Whether rows are the variables, else columns.
        ddof (bool): Whether to divide by n - 1 rather than n.
        fweights (Tensor, optional): How often each observation counts.
        aweights (Tensor, optional): The weight of each observation.

    Returns:
        Tensor: [variables, variables]; 0-d for one variable.

    Raises:
        ValueError: x has more than two dimensions or none, or there is not one weight for each observation.

    Example:
        >>> argosy.linalg.cov(argosy.to_tensor([[1.0, 2.0, 3.0], [1.0, 3.0, 5.0]])).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """
    need_tensor("cov", "x", x)
    if x.ndim not in (1, 2):
        raise ValueError(
            f"[cov] x must have 1 or 2 dimensions, got shape {list(x.shape)}."
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
        if not w._symbolic and w.numel() and float(w.min()) < 0:
            raise ValueError(
                f"[cov] {name_}: expected weights of at least 0, got {float(w.min())}. Do this: correct them."
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
    """Correlation coefficients of variables over their observations.

    Args:
        x (Tensor): [variables, observations], or a vector of observations of one.
        rowvar (bool): Whether rows are the variables, else columns.

    Returns:
        Tensor: [variables, variables]; 0-d for one variable.

    Raises:
        ValueError: x has more than two dimensions or none.

    Example:
        >>> argosy.linalg.corrcoef(argosy.to_tensor([[1.0, 2.0, 3.0], [5.0, 3.0, 1.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
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
