"""Sparse tensors from their parts."""

from __future__ import annotations

from argosy import tensor
from argosy._core import Tensor
from argosy.sparse.tensor import SparseCooTensor, SparseCsrTensor


def _whole(x):
    """x as a tensor of places: int64 unless it is int32."""
    x = x if isinstance(x, Tensor) else tensor.to_tensor(x)
    return x if x.dtype in ("int32", "int64") else x.astype("int64")


def _leaf(values, dtype, place, stop_gradient):
    values = tensor.to_tensor(values, dtype, place)
    values.stop_gradient = stop_gradient
    return values


def sparse_coo_tensor(indices, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse tensor with values at the places that coordinates name.

    Args:
        indices (Tensor | list): [sparse dims, n].
        values (Tensor | list): [n], or [n, ..] for a tensor with dense dimensions behind.
        shape (list | tuple, optional): The smallest that holds all places if None.
        dtype (str, optional): Of the values.
        place (Place | str, optional): The device.
        stop_gradient (bool): Whether no gradient flows to the values.

    Raises:
        ValueError: the parts do not fit one another or the shape.

    Returns:
        Tensor: A COO tensor.

    Example:
        >>> x = argosy.sparse.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0], [2, 3])
        >>> x.to_dense().tolist()
        [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    indices, values = _whole(indices), _leaf(values, dtype, place, stop_gradient)
    if indices.ndim != 2:
        raise ValueError(
            f"[sparse_coo_tensor] 'indices' must be 2-D, got shape {list(indices.shape)}. Do this:"
            " pass [sparse dims, n]."
        )
    if values.ndim == 0 or indices.shape[1] != values.shape[0]:
        raise ValueError(
            "[sparse_coo_tensor] the indices and values must have the same number of entries, got"
            f" {list(indices.shape)} and {list(values.shape)}. Do this: correct one of them."
        )
    least = [int(n) + 1 for n in indices.max(axis=1).tolist()] if indices.shape[1] else []
    least += [int(n) for n in values.shape[1:]]
    if shape is None:
        if not indices.shape[1]:
            raise ValueError(
                "[sparse_coo_tensor] shape is needed where there are no entries. Do this: pass it."
            )
        shape = least
    shape = [int(n) for n in shape]
    wanted = indices.shape[0] + values.ndim - 1
    if len(shape) != wanted or any(n < m for n, m in zip(shape, least)):
        raise ValueError(
            f"[sparse_coo_tensor] the minimum shape required is {least}, but got {shape}. Do this:"
            " correct shape or indices."
        )
    return SparseCooTensor(indices, values, shape)


def sparse_csr_tensor(crows, cols, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse matrix, or a batch of them, in compressed rows.

    Args:
        crows (Tensor | list): Where rows begin: [rows + 1], or that for each matrix of a batch.
        cols (Tensor | list): [n], the columns.
        values (Tensor | list): [n].
        shape (list | tuple, optional): [rows, columns] or [batch, rows, columns]; of a matrix the
            smallest that holds all entries if None.
        dtype, place, stop_gradient: As of :func:`sparse_coo_tensor`.

    Raises:
        ValueError: the parts do not fit one another or the shape.

    Returns:
        Tensor: A CSR tensor.

    Example:
        >>> x = argosy.sparse.sparse_csr_tensor([0, 1, 2], [2, 0], [1.0, 2.0], [2, 3])
        >>> x.to_dense().tolist()
        [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    crows, cols = _whole(crows), _whole(cols)
    values = _leaf(values, dtype, place, stop_gradient)
    for name, part in (("crows", crows), ("cols", cols), ("values", values)):
        if part.ndim != 1:
            raise ValueError(
                f"[sparse_csr_tensor] {name} must be 1-D, got shape {list(part.shape)}. Do this:"
                " flatten it."
            )
    if cols.shape[0] != values.shape[0]:
        raise ValueError(
            "[sparse_csr_tensor] the length of cols must be that of values, got"
            f" {cols.shape[0]} and {values.shape[0]}. Do this: correct one of them."
        )
    if shape is None:
        shape = [crows.shape[0] - 1, int(cols.max()) + 1 if cols.shape[0] else 0]
    shape = [int(n) for n in shape]
    if len(shape) not in (2, 3):
        raise ValueError(
            f"[sparse_csr_tensor] only matrices and batches of them have rows, got shape {shape}. Do"
            " this: pass 2 or 3 sizes."
        )
    batch = shape[0] if len(shape) == 3 else 1
    if crows.shape[0] != batch * (shape[-2] + 1):
        raise ValueError(
            f"[sparse_csr_tensor] the length of crows must be {batch * (shape[-2] + 1)} for shape"
            f" {shape} (rows + 1 of each matrix), got {crows.shape[0]}. Do this: correct it."
        )
    if int(crows[-1]) != cols.shape[0] and batch == 1:
        raise ValueError(
            f"[sparse_csr_tensor] crows must end with the number of entries, {cols.shape[0]}, got"
            f" {int(crows[-1])}. Do this: correct it."
        )
    return SparseCsrTensor(crows, cols, values, shape)
