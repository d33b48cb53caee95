"""Functions of many tensors or columns together: products of sets, block matrices, histograms."""

from argosy._beside import beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._support import ArgumentError, sizes_of
from argosy.tensor.registry import method


def cartesian_prod(x, name=None):
    """All combinations of an element of each of some vectors.

    Args:
        x (list[Tensor]): The vectors.

    Returns:
        Tensor: [combinations, vectors]; of one vector itself.

    Raises:
        ValueError: Something is no vector.

    Example:
        >>> argosy.cartesian_prod([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])]).tolist()
        [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    for t in x:
        if t.ndim != 1:
            raise ValueError(
                f"[cartesian_prod] expected vectors, got shape {list(t.shape)}."
                " Do this: flatten it."
            )
    if len(x) == 1:
        return x[0]
    sizes = [sizes_of(t)[0] for t in x]
    columns = []
    for d, t in enumerate(x):
        t = t.reshape([-1 if e == d else 1 for e in range(len(x))])
        columns.append(_ops.flatten(_ops.expand(t, sizes)))
    return _ops.stack(columns, 1)


@method
@beside
def block_diag(inputs, name=None):
    """Matrices along the diagonal of a matrix of zeros.

    Args:
        inputs (list[Tensor]): Matrices; vectors count as rows, 0-d tensors as 1 x 1.

    Returns:
        Tensor: A matrix.

    Raises:
        ValueError: One has more than two dimensions.

    Example:
        >>> argosy.block_diag([argosy.ones([1, 2]), argosy.to_tensor(5.0)]).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
    """
    blocks = [t.reshape([1, -1]) if t.ndim < 2 else t for t in inputs]
    for t in blocks:
        if t.ndim != 2:
            raise ValueError(
                f"[block_diag] expected at most 2 dimensions, got shape {list(t.shape)}."
                " Do this: reshape it to a matrix."
            )
    width = sum(sizes_of(t)[1] for t in blocks)
    rows, before = [], 0
    for t in blocks:
        m, n = sizes_of(t)
        left = _ops.zeros([m, before], t.dtype)
        right = _ops.zeros([m, width - before - n], t.dtype)
        rows.append(_ops.concat([left, t, right], 1))
        before += n
    return _ops.concat(rows, 0)


@method
@beside
def histogramdd(x, bins=10, ranges=None, density=False, weights=None, name=None):
    """How many rows lie in each cell of a grid of d dimensions.

    Args:
        x (Tensor): [n, d].
        bins (int | list[int] | list[Tensor]): Cells along all dimensions or each, or the edges themselves.
        ranges (list[float], optional): The first and last edge of each dimension in turn; default: those of x.
        density (bool): Whether to scale to an integral of 1.
        weights (Tensor, optional): [n]: what each row counts.

    Returns:
        tuple: Counts, of x's dtype and d dimensions, and the list of d vectors of edges.

    Raises:
        ValueError: bins are not for d dimensions.

    Example:
        >>> x = argosy.to_tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
        >>> argosy.histogramdd(x, bins=2)[0].tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    if x.ndim < 2:
        raise ArgumentError(
            f"[histogramdd] x must be [.., D] with 2 dimensions or more, got {list(x.shape)}. Do this:"
            " unsqueeze it."
        )
    rows, dims = _ops.flatten(x, 0, -2), x.shape[-1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise ArgumentError(
            f"[histogramdd] expected bins for {dims} dimensions, got {len(bins)}."
            " Do this: pass a number of bins, or edges, for each column."
        )
    edges, place, inside, total = [], None, None, 1
    for d, own in enumerate(bins):
        column = _ops.slice(rows, [1], [d], [d + 1], [1], [1])
        if not isinstance(own, Tensor):
            if ranges is not None:
                low, high = float(ranges[2 * d]), float(ranges[2 * d + 1])
            else:
                low, high = _ops.min(column), _ops.max(column)
            # An interval without length gets one around it.
            half = 0.5 * (low == high)
            low, high = low - half, high + half
            own = _ops.linspace(low, high, own + 1, x.dtype)
        n = own.shape[0] - 1
        first, last = _ops.slice(own, [0], [0], [1]), _ops.slice(own, [0], [n], [n + 1])
        fits = _ops.logical_and(_ops.greater_equal(column, first), _ops.less_equal(column, last))
        at = _ops.searchsorted(own, column, False, True).clip(1, n)
        at = _ops.subtract(at, _ops.ones_like(at))
        place = at if place is None else _ops.add(_ops.scale(place, float(n)), at)
        inside = fits if inside is None else _ops.logical_and(inside, fits)
        edges.append(own)
        total *= n
    place = _ops.where_select(inside, place, _ops.full([], total, place.dtype))
    if weights is not None:
        weights = _ops.flatten(weights)
    counts = _ops.cast(_ops.bincount(place, weights, total + 1), x.dtype)
    counts = _ops.slice(counts, [0], [0], [total])
    counts = counts.reshape([e.shape[0] - 1 for e in edges])
    if density:
        volume = None
        for d, own in enumerate(edges):
            n = own.shape[0] - 1
            width = _ops.subtract(
                _ops.slice(own, [0], [1], [n + 1]), _ops.slice(own, [0], [0], [n])
            )
            width = width.reshape([n if e == d else 1 for e in range(dims)])
            volume = width if volume is None else _ops.multiply(volume, width)
        counts = _ops.divide(_ops.divide(counts, _ops.sum(counts)), volume)
    return counts, edges
