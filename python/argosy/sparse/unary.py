"""Functions of one sparse tensor."""

from __future__ import annotations

from builtins import slice as _slice

from argosy import linalg, tensor
from argosy._core import OperandError
from argosy.sparse.tensor import SparseCooTensor, SparseTensor, linear, place_of, unravel


class NotSparse(OperandError, NotImplementedError):
    """A dense tensor where a sparse one is expected; Paddle calls that unimplemented."""


def check(name, *tensors):
    for x in tensors:
        if not isinstance(x, SparseTensor):
            raise NotSparse(
                f"[sparse.{name}] expected a sparse tensor, got {type(x).__name__}. Do this: make it"
                " one with to_sparse_coo(..), or use the function for dense tensors."
            )


def _elementwise(name):
    function = getattr(tensor, name)

    def apply(x, name=None):
        check(apply.__name__, x)
        return x._like(function(x.values()))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"""argosy.{name} of the stored values of a sparse tensor; 0 stays 0.

    Args:
        x (Tensor): Sparse.

    Returns:
        Tensor: Sparse, with x's places{" and bool values" if name == "isnan" else ""}.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.sparse.sparse_coo_tensor([[1, 3]], [0.25, 0.5], [4])
        >>> y = argosy.sparse.{name}(x)
        >>> bool((y.values() == argosy.{name}(x.values())).all()), y.indices().tolist()
        (True, [[1, 3]])
    """
    return apply


abs = _elementwise("abs")  # noqa: A001
asin = _elementwise("asin")
asinh = _elementwise("asinh")
atan = _elementwise("atan")
atanh = _elementwise("atanh")
deg2rad = _elementwise("deg2rad")
expm1 = _elementwise("expm1")
isnan = _elementwise("isnan")
log1p = _elementwise("log1p")
neg = _elementwise("neg")
rad2deg = _elementwise("rad2deg")
sin = _elementwise("sin")
sinh = _elementwise("sinh")
sqrt = _elementwise("sqrt")
square = _elementwise("square")
tan = _elementwise("tan")
tanh = _elementwise("tanh")


def pow(x, factor, name=None):  # noqa: A001
    """The stored values to a power.

    Args:
        x (Tensor): Sparse.
        factor (float): The exponent.

    Returns:
        Tensor: Sparse, with x's places.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.pow(x, 2).values().tolist()
        [9.0]
    """
    check("pow", x)
    return x._like(tensor.pow(x.values(), factor))


def cast(x, index_dtype=None, value_dtype=None, name=None):
    """x with other dtypes of places and values.

    Args:
        x (Tensor): Sparse.
        index_dtype (dtype | str, optional): Of the places, int32 or int64; default: as they are.
        value_dtype (dtype | str, optional): Of the values; default: as they are.

    Returns:
        Tensor: Sparse, with x's places.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> y = argosy.sparse.cast(x, "int32", "float64")
        >>> y.indices().dtype, y.values().dtype
        (paddle.int32, paddle.float64)
    """
    check("cast", x)
    found = x._like(x.values() if value_dtype is None else x.values().astype(value_dtype))
    if index_dtype is not None:
        for part in ("_indices", "_crows", "_cols"):
            if hasattr(found, part):
                setattr(found, part, getattr(found, part).astype(index_dtype))
    return found


def coalesce(x, name=None):
    """x with its places in order, the values of those that are there twice added.

    Args:
        x (Tensor): A COO tensor.

    Returns:
        Tensor: A COO tensor.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.sparse.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0])
        >>> y = argosy.sparse.coalesce(x)
        >>> y.indices().tolist(), y.values().tolist()
        ([[0, 1]], [2.0, 4.0])
    """
    check("coalesce", x)
    return x.coalesce()


def is_same_shape(x, y):
    """Whether two tensors have one shape.

    Args:
        x (Tensor): Sparse or dense.
        y (Tensor): Sparse or dense.

    Returns:
        bool: That.

    Example:
        >>> x = argosy.ones([2, 3])
        >>> argosy.sparse.is_same_shape(x, x.to_sparse_coo(2))
        True
    """
    return [int(n) for n in x.shape] == [int(n) for n in y.shape]


def _back(x, found):
    """A result in coordinates in the form that x has."""
    return found.to_sparse_csr() if x.is_sparse_csr() else found


def _coordinates(x):
    return x.to_sparse_coo() if x.is_sparse_csr() else x


def transpose(x, perm, name=None):
    """x with its dimensions in another order.

    Args:
        x (Tensor): Sparse.
        perm (list[int]): The order; sparse dimensions stay before dense ones.

    Returns:
        Tensor: Of x's layout.

    Raises:
        ValueError: perm is no order, or mixes sparse and dense dimensions.
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.transpose(x, [1, 0]).to_dense().tolist()
        [[0.0], [3.0]]
    """
    check("transpose", x)
    if sorted(perm) != list(range(x.ndim)):
        raise ValueError(
            f"[sparse.transpose] perm: expected each of 0 .. {x.ndim - 1} once, got {list(perm)}. Do"
            " this: correct it."
        )
    c = _coordinates(x)
    lead = c.sparse_dim()
    if sorted(perm[:lead]) != list(range(lead)):
        raise ValueError(
            f"[sparse.transpose] dimensions up to {lead} are sparse, the others dense; perm"
            f" {list(perm)} mixes them. Do this: use to_dense()."
        )
    values = c.values()
    if c.dense_dim():
        values = tensor.transpose(values, [0, *(p - lead + 1 for p in perm[lead:])])
    indices = tensor.stack([c.indices()[p] for p in perm[:lead]])
    return _back(x, SparseCooTensor(indices, values, [x._shape[p] for p in perm]))


def reshape(x, shape, name=None):
    """x in another shape, its elements in row-major order.

    Args:
        x (Tensor): Sparse, without dense dimensions.
        shape (list[int] | tuple[int]): One size may be -1; 0 keeps a size.

    Returns:
        Tensor: Of x's layout.

    Raises:
        ValueError: x has dense dimensions, or the numbers of elements differ.
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.reshape(x, [2, -1]).to_dense().tolist()
        [[0.0], [3.0]]
    """
    check("reshape", x)
    c = _coordinates(x)
    lead = c.sparse_dim()
    if c.dense_dim():
        raise ValueError(
            "[sparse.reshape] x must have no dense dimensions. Do this: use to_dense()."
        )
    wanted = [x._shape[i] if n == 0 and i < x.ndim else int(n) for i, n in enumerate(shape)]
    known = 1
    for n in wanted:
        known *= n if n != -1 else 1
    if wanted.count(-1) == 1 and known:
        wanted[wanted.index(-1)] = known = x.size // known
    total = 1
    for n in wanted:
        total *= n
    if total != x.size:
        raise ValueError(
            f"[sparse.reshape] shape {list(shape)} does not hold the {x.size} elements of"
            f" {x._shape}. Do this: correct it."
        )
    indices = unravel(linear(c.indices(), x._shape[:lead]), wanted)
    indices = indices.astype(c.indices().dtype)
    return _back(x, SparseCooTensor(indices, c.values(), wanted))


def sum(x, axis=None, dtype=None, keepdim=False, name=None):  # noqa: A001
    """The sum over axes.

    Args:
        x (Tensor): Sparse.
        axis (int | list[int], optional): Which; default: all.
        dtype (dtype | str, optional): What the values are cast to before.
        keepdim (bool): Whether the axes stay, with size 1; those of a CSR tensor do.

    Returns:
        Tensor: Of x's layout; [1] for the sum of all without keepdim.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0], [1.0, 2.0]]).to_sparse_coo(2)
        >>> argosy.sparse.sum(x, 0).to_dense().tolist()
        [1.0, 5.0]
    """
    check("sum", x)
    c = _coordinates(x)
    values = c.values() if dtype is None else c.values().astype(dtype)
    axes = list(range(x.ndim)) if axis is None else axis
    axes = sorted(a % x.ndim for a in ([axes] if isinstance(axes, int) else axes))
    lead = c.sparse_dim()
    inner = [a - lead + 1 for a in axes if a >= lead]
    keepdim = keepdim or x.is_sparse_csr()
    if inner:
        values = tensor.sum(values, axis=inner, keepdim=keepdim)
    rows, shape = [], []
    for a, size in enumerate(x._shape):
        gone = a in axes
        if gone and not keepdim:
            continue
        shape.append(1 if gone else size)
        if a < lead:
            row = c.indices()[a]
            rows.append(tensor.zeros_like(row) if gone else row)
    if not rows:
        none = tensor.zeros([c.nnz()], "int64", device=place_of(c.values()))
        rows, shape = [none], [1, *shape]
    return _back(x, SparseCooTensor(tensor.stack(rows), values, shape).coalesce())


def slice(x, axes, starts, ends, name=None):  # noqa: A001
    """x[start:end] on each of some axes.

    Args:
        x (Tensor): Sparse.
        axes (list[int]): Which.
        starts (list[int]): Where each part begins; negative ones count from the end.
        ends (list[int]): Where each part ends, that place not included.

    Returns:
        Tensor: Of x's layout.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0], [1.0, 2.0]]).to_sparse_coo(2)
        >>> argosy.sparse.slice(x, [1], [1], [2]).to_dense().tolist()
        [[3.0], [2.0]]
    """
    check("slice", x)
    c = _coordinates(x)
    lead, shape, shift = c.sparse_dim(), list(x._shape), [0] * x.ndim
    values = c.values()
    keep = tensor.ones([c.nnz()], "bool", device=place_of(values))
    for axis, start, end in zip(axes, starts, ends):
        axis %= x.ndim
        start, end, _ = _slice(int(start), int(end)).indices(x._shape[axis])
        shape[axis], shift[axis] = max(end - start, 0), start
        if axis < lead:
            row = c.indices()[axis]
            keep = tensor.logical_and(keep, tensor.logical_and(row >= start, row < end))
        else:
            values = tensor.slice(values, [axis - lead + 1], [start], [end])
    places = tensor.nonzero(keep).flatten()
    offset = tensor.to_tensor(shift[:lead], c.indices().dtype, place_of(values)).unsqueeze(1)
    indices = tensor.index_select(c.indices(), places, 1) - offset
    return _back(x, SparseCooTensor(indices, tensor.index_select(values, places), shape))


def pca_lowrank(x, q=None, center=True, niter=2, name=None):
    """linalg.pca_lowrank of a sparse matrix, which is made dense for it.

    Args:
        x (Tensor): Sparse, [m, n].
        q (int, optional): How many singular values; default: 6, or the smaller size of x.
        center (bool): Whether to take the mean off each column.
        niter (int): Subspace iterations.

    Returns:
        tuple[Tensor, Tensor, Tensor]: Dense u [m, q], s [q] and v [n, q].

    Raises:
        TypeError: x is not sparse.

    Paper: Finding structure with randomness (Halko, Martinsson and Tropp, 2009).

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_coo(2)
        >>> argosy.sparse.pca_lowrank(x, q=2, center=False)[1].tolist()
        [4.0, 3.0]
    """
    check("pca_lowrank", x)
    return linalg.pca_lowrank(x.to_dense(), q, center, niter)
