"""Functions of two sparse tensors, and products with dense ones."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._core import OperandError, Tensor
from argosy.sparse.tensor import (
    SparseCooTensor,
    SparseTensor,
    from_dense,
    linear,
    place_of,
    unravel,
)
from argosy.sparse.unary import _back, _coordinates, check


def _aligned(name, x, y):
    """(coordinates, values of x, values of y) at all places that one of them stores."""
    check(name, x, y)
    if x._format != y._format:
        raise NotImplementedError(
            f"[sparse.{name}] both tensors must have coordinates, or both compressed rows, got"
            f" {x._format} and {y._format}. Do this: convert one with to_sparse_coo or"
            " to_sparse_csr."
        )
    if x._shape != y._shape:
        raise ValueError(
            f"[sparse.{name}] both tensors must have one shape, got {x._shape} and {y._shape}. Do"
            " this: reshape one."
        )
    a, b = _coordinates(x).coalesce(), _coordinates(y).coalesce()
    if a.sparse_dim() != b.sparse_dim():
        raise ValueError(
            f"[sparse.{name}] both tensors must have as many sparse dimensions, got"
            f" {a.sparse_dim()} and {b.sparse_dim()}. Do this: convert one with to_sparse_coo."
        )
    shape = x._shape[: a.sparse_dim()]
    numbers = [linear(t.indices(), shape) for t in (a, b)]
    union = tensor.unique(tensor.concat(numbers)) if a.nnz() + b.nnz() else numbers[0]
    values = []
    for t, own in zip((a, b), numbers):
        form = [union.shape[0], *t.values().shape[1:]]
        empty = tensor.zeros(form, t.dtype, device=place_of(t.values()))
        if t.nnz():
            empty = tensor.index_add(empty, tensor.searchsorted(union, own), 0, t.values())
        values.append(empty)
    return unravel(union, shape), *values


def _combined(name, function, x, y):
    indices, a, b = _aligned(name, x, y)
    return _back(x, SparseCooTensor(indices, function(a, b), x._shape, True))


def add(x, y, name=None):
    """x + y, stored where one of them is.

    Args:
        x (Tensor): Sparse.
        y (Tensor): Of x's shape and layout.

    Returns:
        Tensor: Of x's layout.

    Raises:
        TypeError: One is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.add(x, x).to_dense().tolist()
        [[0.0, 6.0]]
    """
    return _combined("add", tensor.add, x, y)


def subtract(x, y, name=None):
    """x - y, stored where one of them is.

    Args:
        x (Tensor): Sparse.
        y (Tensor): Of x's shape and layout.

    Returns:
        Tensor: Of x's layout.

    Raises:
        TypeError: One is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> y = argosy.to_tensor([[1.0, 0.0]]).to_sparse_coo(2)
        >>> argosy.sparse.subtract(x, y).to_dense().tolist()
        [[-1.0, 3.0]]
    """
    return _combined("subtract", tensor.subtract, x, y)


def multiply(x, y, name=None):
    """x * y element by element, stored where one of them is.

    Args:
        x (Tensor): Sparse.
        y (Tensor | number): Of x's shape and layout, or a number.

    Returns:
        Tensor: Of x's layout.

    Raises:
        TypeError: One is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.multiply(x, 2.0).to_dense().tolist()
        [[0.0, 6.0]]
    """
    if isinstance(y, (int, float)):
        check("multiply", x)
        return x._like(x.values() * y)
    return _combined("multiply", tensor.multiply, x, y)


def divide(x, y, name=None):
    """x / y element by element. With a sparse y every place is stored, since 0 / 0 is nan.

    Args:
        x (Tensor): Sparse.
        y (Tensor | number): Of x's shape and layout, or a number.

    Returns:
        Tensor: Of x's layout.

    Raises:
        TypeError: One is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.divide(x, 2.0).to_dense().tolist()
        [[0.0, 1.5]]
    """
    if isinstance(y, (int, float)):
        check("divide", x)
        return x._like(x.values() / y)
    indices, a, b = _aligned("divide", x, y)
    shape = x._shape[: indices.shape[0]]
    numbers = linear(indices, shape)
    places = tensor.arange(math.prod(shape), device=place_of(indices))
    whole = []
    for values in (a, b):
        form = [places.shape[0], *values.shape[1:]]
        empty = tensor.zeros(form, values.dtype, device=place_of(values))
        whole.append(tensor.index_add(empty, numbers, 0, values) if numbers.shape[0] else empty)
    quotient = tensor.divide(*whole)
    return _back(x, SparseCooTensor(unravel(places, shape), quotient, x._shape, True))


def matmul(x, y, name=None):
    """The matrix product of a sparse tensor and another.

    Args:
        x (Tensor): Sparse, [.., m, k].
        y (Tensor): [.., k, n], dense; or sparse, which is computed densely.

    Returns:
        Tensor: [.., m, n], dense; sparse for a sparse y.

    Raises:
        TypeError: x is not sparse, or y no tensor.
        ValueError: The sizes do not fit.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.matmul(x, argosy.ones([2, 2])).tolist()
        [[3.0, 3.0]]
    """
    check("matmul", x)
    if isinstance(y, SparseTensor):
        return _back(x, from_dense(tensor.matmul(x.to_dense(), y.to_dense()), x.ndim))
    if not isinstance(y, Tensor):
        raise OperandError(
            f"[sparse.matmul] y: expected a tensor, got {type(y).__name__}. Do this: make it one."
        )
    batch, shape = x._shape[:-2], [int(n) for n in y.shape]
    if y.ndim != x.ndim or shape[:-2] != batch or shape[-2] != x._shape[-1]:
        raise ValueError(
            f"[sparse.matmul] expected y [.., {x._shape[-1]}, n] for x {x._shape}, got {shape}. Do"
            " this: reshape one of them."
        )
    c = _coordinates(x)
    row = linear(c.indices()[:-1], x._shape[:-1])
    column = linear(tensor.concat([c.indices()[:-2], c.indices()[-1:]]).astype("int64"), shape[:-1])
    terms = c.values().unsqueeze(1) * tensor.index_select(y.reshape([-1, shape[-1]]), column)
    form = [math.prod(x._shape[:-1]), shape[-1]]
    found = tensor.zeros(form, terms.dtype, device=place_of(terms))
    if c.nnz():
        found = tensor.index_add(found, row, 0, terms)
    return found.reshape([*x._shape[:-1], shape[-1]])


def mv(x, vec, name=None):
    """The product of a sparse matrix and a dense vector.

    Args:
        x (Tensor): Sparse, [m, n].
        vec (Tensor): [n].

    Returns:
        Tensor: [m], dense.

    Raises:
        TypeError: x is not sparse.
        ValueError: The sizes do not fit.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.mv(x, argosy.ones([2])).tolist()
        [3.0]
    """
    return matmul(x, vec.unsqueeze(1)).squeeze(1)


def masked_matmul(x, y, mask, name=None):
    """The product of dense matrices at the places of a sparse mask only.

    Args:
        x (Tensor): Dense, [.., m, k].
        y (Tensor): Dense, [.., k, n].
        mask (Tensor): Sparse, [.., m, n].

    Returns:
        Tensor: [.., m, n], with mask's places and layout.

    Raises:
        ValueError: The sizes do not fit.
        TypeError: mask is not sparse.

    Example:
        >>> mask = argosy.to_tensor([[0.0, 1.0], [0.0, 0.0]]).to_sparse_coo(2)
        >>> argosy.sparse.masked_matmul(argosy.ones([2, 3]), argosy.ones([3, 2]), mask).to_dense().tolist()
        [[0.0, 3.0], [0.0, 0.0]]
    """
    check("masked_matmul", mask)
    c = _coordinates(mask)
    shape = c._shape
    if [*x.shape[:-1], y.shape[-1]] != shape or x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"[sparse.masked_matmul] expected x [.., m, k], y [.., k, n] and a mask [.., m, n], got"
            f" {list(x.shape)}, {list(y.shape)} and {shape}. Do this: reshape them."
        )
    k = x.shape[-1]
    row = linear(c.indices()[:-1], shape[:-1])
    lead = tensor.concat([c.indices()[:-2], c.indices()[-1:]]).astype("int64")
    column = linear(lead, [*shape[:-2], shape[-1]])
    turned = tensor.transpose(y, [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
    left = tensor.index_select(x.reshape([-1, k]), row)
    right = tensor.index_select(turned.reshape([-1, k]), column)
    values = tensor.sum(left * right, axis=1)
    return _back(mask, SparseCooTensor(c.indices(), values, shape, c.is_coalesced()))


def mask_as(x, mask, name=None):
    """A dense tensor at the places of a sparse mask.

    Args:
        x (Tensor): Dense.
        mask (Tensor): Sparse, of x's shape.

    Returns:
        Tensor: With mask's places and layout.

    Raises:
        ValueError: The shapes differ.
        TypeError: mask is not sparse.

    Example:
        >>> mask = argosy.to_tensor([[0.0, 1.0]]).to_sparse_coo(2)
        >>> argosy.sparse.mask_as(argosy.to_tensor([[5.0, 6.0]]), mask).to_dense().tolist()
        [[0.0, 6.0]]
    """
    check("mask_as", mask)
    if [int(n) for n in x.shape] != mask._shape:
        raise ValueError(
            f"[sparse.mask_as] x and mask must have one shape, got {list(x.shape)} and"
            f" {mask._shape}. Do this: reshape one."
        )
    c = _coordinates(mask)
    values = tensor.gather_nd(x, c.indices().t())
    return _back(mask, SparseCooTensor(c.indices(), values, mask._shape, c.is_coalesced()))


def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):  # noqa: A002
    """``beta * input + alpha * matmul(x, y)``.

    Args:
        input (Tensor): Dense, [m, n].
        x (Tensor): Sparse, [m, k].
        y (Tensor): Dense, [k, n].
        beta (float): Factor of input.
        alpha (float): Factor of the product.

    Returns:
        Tensor: Dense, [m, n].

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> x = argosy.to_tensor([[0.0, 3.0]]).to_sparse_coo(2)
        >>> argosy.sparse.addmm(argosy.ones([1, 1]), x, argosy.ones([2, 1])).tolist()
        [[4.0]]
    """
    return beta * input + alpha * matmul(x, y)
