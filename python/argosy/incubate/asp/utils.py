"""Masks with n zeros among m neighbours, on NumPy arrays.

Along rows (1d): each stretch of m numbers of a row has n zeros. In blocks (2d): each row and each column
of a block [m, m] keeps at most n numbers. Rows and columns that do not divide by m count as if zeros
followed.
"""

from __future__ import annotations

import enum
import functools
import itertools

import numpy as np

__all__ = []

_MOST_PATTERNS = 6  # the largest m whose patterns are few enough to try all of them


class MaskAlgo(enum.Enum):
    """How a mask is chosen: along rows, or in blocks by the largest numbers or the largest sum."""

    MASK_1D = "get_mask_1d"
    MASK_2D_GREEDY = "get_mask_2d_greedy"
    MASK_2D_BEST = "get_mask_2d_best"


class CheckMethod(enum.Enum):
    """How sparsity is checked: along rows or in blocks."""

    CHECK_1D = "check_mask_1d"
    CHECK_2D = "check_mask_2d"

    @staticmethod
    def get_checking_method(mask_algo):
        """What checks the masks of an algorithm.

        Args:
            mask_algo (MaskAlgo): the algorithm.

        Returns:
            CheckMethod.

        Raises:
            AssertionError: ``mask_algo`` is none.

        Examples:
            >>> from argosy.incubate.asp import CheckMethod, MaskAlgo
            >>> CheckMethod.get_checking_method(MaskAlgo.MASK_2D_BEST).name
            'CHECK_2D'
        """
        _need(mask_algo, "mask_algo", MaskAlgo)
        return CheckMethod.CHECK_1D if mask_algo is MaskAlgo.MASK_1D else CheckMethod.CHECK_2D


def _need(value, name, kind):
    if not isinstance(value, kind):
        raise AssertionError(
            f"[asp] {name}: expected a {kind.__name__}, got {type(value).__name__}. Do this: pass"
            f" {kind.__name__}.{next(iter(kind)).name} or another one."
        )


def calculate_density(x):
    """How many of an array's numbers are not zero.

    Args:
        x (numpy.ndarray): any shape.

    Returns:
        float, of 1.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.calculate_density(numpy.array([[0, 1, 3, 0], [1, 1, 0, 1]]))
        0.625
    """
    return float(np.count_nonzero(x)) / x.size


def _padded(mat, rows, columns):
    """mat with zeros behind it, so that its sizes divide by rows and columns."""
    if mat.ndim != 2:
        raise AssertionError(
            f"[asp] mat: expected a matrix, got shape {list(mat.shape)}. Do this: reshape it."
        )
    return np.pad(mat, [(0, -mat.shape[0] % rows), (0, -mat.shape[1] % columns)])


def _blocks(mat, m):
    """The blocks [.., .., m, m] of a matrix, a view of the padded one."""
    padded = _padded(mat, m, m)
    rows, columns = padded.shape
    return padded.reshape(rows // m, m, columns // m, m).swapaxes(1, 2)


def _matrix_of(blocks, shape):
    """The matrix of that shape whose blocks these are."""
    down, across, m, _ = blocks.shape
    return blocks.swapaxes(1, 2).reshape(down * m, across * m)[: shape[0], : shape[1]]


def check_mask_1d(mat, n, m):
    """Whether each stretch of m numbers of a row has n zeros.

    Args:
        mat (numpy.ndarray): [rows, columns] or [columns].
        n, m (int): the pattern.

    Returns:
        bool.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.check_mask_1d(numpy.array([[0, 1, 5, 4], [1, 0, 0, 1]]), 2, 4)
        False
    """
    stretches = _padded(np.atleast_2d(mat), 1, m).reshape(-1, m)
    return bool((np.count_nonzero(stretches, axis=1) <= m - n).all())


def get_mask_1d(mat, n, m):
    """The mask that keeps the largest numbers of each stretch of m numbers of a row.

    Args:
        mat (numpy.ndarray): [rows, columns].
        n, m (int): n of m become zero.

    Returns:
        numpy.ndarray like mat: 1 is kept, 0 is not.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.get_mask_1d(numpy.array([[0, 1, 5, 4], [2, 7, 3, 6]]), 2, 4).tolist()
        [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    padded = _padded(mat, 1, m)
    stretches = np.abs(padded).reshape(-1, m)
    mask = np.ones_like(stretches)
    np.put_along_axis(mask, np.argsort(stretches, axis=1)[:, :n], 0, axis=1)
    return mask.reshape(padded.shape)[:, : mat.shape[1]].astype(mat.dtype)


def check_mask_2d(mat, n, m):
    """Whether each block [m, m] has n zeros in each row, or in each column.

    Args:
        mat (numpy.ndarray): [rows, columns].
        n, m (int): the pattern.

    Returns:
        bool.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.check_mask_2d(1 - numpy.eye(4), 2, 4)
        False
    """
    kept = _blocks(mat, m) != 0
    in_rows = (kept.sum(3) <= m - n).all(2)
    in_columns = (kept.sum(2) <= m - n).all(2)
    return bool((in_rows | in_columns).all())


def get_mask_2d_greedy(mat, n, m):
    """The mask that takes the numbers of each block [m, m] from the largest on, n in a row and a column.

    Args:
        mat (numpy.ndarray): [rows, columns].
        n, m (int): n of m are kept.

    Returns:
        numpy.ndarray of float64, like mat: 1 is kept, 0 is not.

    Examples:
        >>> import numpy
        >>> x = numpy.array([[9, 8, 3, 7], [9, 2, 1, 10], [5, 1, 3, 6], [2, 4, 6, 1]])
        >>> argosy.incubate.asp.get_mask_2d_greedy(x, 2, 4).astype(int).tolist()
        [[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]]
    """
    blocks = _blocks(mat, m)
    order = np.argsort(np.abs(blocks).reshape(-1, m * m), axis=1)
    each = np.arange(len(order))
    mask = np.zeros((len(order), m, m))
    in_row, in_column = (np.zeros((len(order), m), "int64") for _ in range(2))
    for place in order.T[::-1]:
        row, column = np.divmod(place, m)
        take = (in_row[each, row] < n) & (in_column[each, column] < n)
        mask[each, row, column] = take
        in_row[each, row] += take
        in_column[each, column] += take
    return _matrix_of(mask.reshape(blocks.shape), mat.shape)


@functools.cache
def _patterns(n, m):
    """All masks [m, m] that keep n in each row and at most n in each column."""
    if m > _MOST_PATTERNS:
        raise ValueError(
            f"[asp] m: expected up to {_MOST_PATTERNS} where all patterns are tried, got {m}. Do this: use"
            " MaskAlgo.MASK_2D_GREEDY."
        )
    rows = [np.bincount(kept, minlength=m) for kept in itertools.combinations(range(m), n)]
    patterns = [()]
    for _ in range(m):
        longer = [(*begun, row) for begun in patterns for row in rows]
        patterns = [p for p in longer if (sum(p) <= n).all()]
    return np.array(patterns, "float64")


def get_mask_2d_best(mat, n, m):
    """The mask that keeps the largest sum of sizes in each block [m, m], n in a row and at most n in a column.

    Args:
        mat (numpy.ndarray): [rows, columns].
        n, m (int): n of m are kept.

    Returns:
        numpy.ndarray of float64, like mat: 1 is kept, 0 is not.

    Raises:
        ValueError: m is above 6.

    Examples:
        >>> import numpy
        >>> x = numpy.array([[2, 8, 9, 9], [9, 1, 3, 9], [5, 6, 3, 9], [2, 4, 6, 9]])
        >>> asp = argosy.incubate.asp
        >>> [float((x * mask(x, 2, 4)).sum()) for mask in (asp.get_mask_2d_greedy, asp.get_mask_2d_best)]
        [56.0, 61.0]
    """
    patterns = _patterns(n, m)
    blocks = _blocks(mat, m)
    sums = np.abs(blocks).reshape(-1, m * m) @ patterns.reshape(-1, m * m).T
    return _matrix_of(patterns[sums.argmax(1)].reshape(blocks.shape), mat.shape)


def _as_matrix(x):
    """x as a matrix of rows to be masked, and what makes its shape of such a matrix."""
    if x.ndim == 4:  # a convolution's [.., .., in, out]: rows run along its input
        turned = x.swapaxes(2, 3)
        return turned.reshape(-1, x.shape[2]), lambda y: y.reshape(turned.shape).swapaxes(2, 3)
    if not 1 <= x.ndim <= 3:
        raise ValueError(
            f"[asp] tensor: expected 1 to 4 dimensions, got shape {list(x.shape)}. Do this: reshape it."
        )
    return x.reshape(-1, x.shape[-1]), lambda y: y.reshape(x.shape)


def create_mask(tensor, func_name=MaskAlgo.MASK_1D, n=2, m=4):
    """A mask for an array of up to 4 dimensions.

    Args:
        tensor (numpy.ndarray): masked along its last axis; of 4 dimensions, along the third.
        func_name (MaskAlgo): how.
        n, m (int): the pattern.

    Returns:
        numpy.ndarray like tensor: 1 is kept, 0 is not.

    Raises:
        AssertionError: ``func_name`` is no MaskAlgo.
        ValueError: tensor has other dimensions.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.create_mask(numpy.array([[2, 8, 9, 9], [9, 1, 3, 8]])).tolist()
        [[0, 0, 1, 1], [1, 0, 0, 1]]
    """
    _need(func_name, "func_name", MaskAlgo)
    matrix, back = _as_matrix(tensor.astype("float64"))
    return back(globals()[func_name.value](matrix, n, m)).astype(tensor.dtype)


def check_sparsity(tensor, func_name=CheckMethod.CHECK_1D, n=2, m=4):
    """Whether an array of up to 4 dimensions has a pattern.

    Args:
        tensor (numpy.ndarray): see create_mask.
        func_name (CheckMethod): how.
        n, m (int): the pattern.

    Returns:
        bool.

    Raises:
        AssertionError: ``func_name`` is no CheckMethod.
        ValueError: tensor has other dimensions.

    Examples:
        >>> import numpy
        >>> argosy.incubate.asp.check_sparsity(numpy.array([[0, 0, 9, 9], [9, 0, 0, 8]]))
        True
    """
    _need(func_name, "func_name", CheckMethod)
    return globals()[func_name.value](_as_matrix(tensor.astype("float64"))[0], n, m)
