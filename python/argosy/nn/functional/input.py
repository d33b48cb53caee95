"""Functions of indices."""

from __future__ import annotations

from argosy import _core
from argosy.autograd import no_grad

from ._args import alias

ops = _core.ops


@alias(input="x")
def one_hot(x, num_classes=-1, name=None):
    """A row of zeros with a 1 at the position that each element of ``x`` names.

    Args:
        x: int32 or int64 tensor of any shape.
        num_classes: length of the rows, int or tensor; -1: the largest element plus 1.

    Returns:
        float32 tensor [*x.shape, num_classes].

    Raises:
        ValueError: an element is negative or not below ``num_classes``.

    Examples:
        >>> argosy.nn.functional.one_hot(argosy.to_tensor([0, 2]), 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return ops.one_hot(x, num_classes)


def embedding_renorm_(x, weight, max_norm, norm_type=2.0):
    """Scale the rows of ``weight`` that ``x`` names, in place and without gradient, if their norm is larger.

    Args:
        x: int32 or int64 tensor of any shape.
        weight: [rows, dim].
        max_norm (float): norm that rows are scaled to.
        norm_type (float): order of the norm.

    Returns:
        ``weight``.

    Examples:
        >>> weight = argosy.to_tensor([[3.0, 4.0], [30.0, 40.0]])
        >>> argosy.nn.functional.embedding_renorm_(argosy.to_tensor([0]), weight, 1.0).tolist()
        [[0.6, 0.8], [30.0, 40.0]]
    """
    with no_grad():
        return ops.embedding_renorm_(weight, x, float(max_norm), float(norm_type))


@alias(input="x")
def embedding(
    x,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    sparse=False,
    scale_grad_by_freq=False,
    name=None,
):
    """Rows of ``weight`` that the elements of ``x`` name.

    Args:
        x: int32 or int64 tensor of any shape.
        weight: [rows, dim].
        padding_idx (int, optional): this row reads as zeros and gets no gradient; negative counts from
            the
            end.
        max_norm (float, optional): before reading, rows with a larger norm are scaled to it, in place; 0 for
            none.
        norm_type (float): order of that norm.
        sparse (bool): the gradient of ``weight`` holds only the rows that occur.
        scale_grad_by_freq (bool): divide the gradient of a row by how often it occurs.

    Returns:
        Tensor [*x.shape, dim].

    Raises:
        ValueError: ``padding_idx`` or an element of ``x`` is out of range.

    Examples:
        >>> weight = argosy.arange(6, dtype="float32").reshape([3, 2])
        >>> argosy.nn.functional.embedding(argosy.to_tensor([2, 0]), weight).tolist()
        [[4.0, 5.0], [0.0, 1.0]]
    """
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise ValueError(
            f"[embedding] padding_idx: expected a row in [-{rows}, {rows}), got "
            f"{padding_idx}. Do this: correct it."
        )
    elif padding_idx < 0:
        padding_idx += rows
    if max_norm:  # 0 and False: no limit, as in Paddle
        embedding_renorm_(x, weight, max_norm, norm_type)
    return ops.embedding(x, weight, padding_idx, bool(sparse), bool(scale_grad_by_freq))
