"""Jacobians and Hessians of tensors that were already computed."""

from __future__ import annotations

import operator

from argosy import tensor
from argosy._core import Tensor
from argosy._support import need_type

from .run import grad


def _derivative(y, x):
    """Gradient of the scalar y with respect to x; zeros where y does not depend on it."""
    if y.stop_gradient:
        return tensor.zeros_like(x)
    (found,) = grad([y], [x], create_graph=True, allow_unused=True)
    return tensor.zeros_like(x) if found is None else found


class Jacobian:
    """Derivatives of ``ys`` with respect to ``xs``, computed when they are first looked at.

    Not batched: ys [M] or a scalar, xs [N] or a scalar, result [M, N] without the dimensions of
    scalars. Batched: the first dimension of ys, xs and the result is the batch's.
    Index it (``J[:]`` is all of it) or compute with it as with a tensor.
    """

    def __init__(self, ys, xs, is_batched=False):
        for name, value in (("ys", ys), ("xs", xs)):
            ranks = (1, 2) if is_batched else (0, 1)
            if value.ndim not in ranks:
                raise ValueError(
                    f"[jacobian] {name} has a wrong number of dimensions: expected {ranks[0]} or"
                    f" {ranks[1]} with batch_axis={0 if is_batched else None}, got {value.ndim}. Do"
                    " this: flatten it, or compute rows with argosy.grad."
                )
        self._ys, self._xs, self._batched = ys, xs, is_batched
        self._value = None

    @property
    def shape(self):
        """Shape of the derivatives."""
        ys, xs = list(self._ys.shape), list(self._xs.shape)
        return ys + xs[1:] if self._batched else ys + xs

    def _all(self):
        if self._value is None:
            ys, xs, axis = self._ys, self._xs, int(self._batched)
            if ys.ndim == axis:
                self._value = _derivative(ys.sum() if axis else ys, xs)
            else:
                rows = tensor.unstack(ys, axis)
                self._value = tensor.stack(
                    [_derivative(row.sum() if axis else row, xs) for row in rows], axis
                )
        return self._value

    def __getitem__(self, key):
        return self._all()[key]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._all(), name)


class Hessian(Jacobian):
    """Second derivatives: the Jacobian of a Jacobian."""


def _operator(name):
    function = getattr(operator, name)

    def compute(self, other):
        return function(self[:], other[:] if isinstance(other, Jacobian) else other)

    def reflected(self, other):
        return function(other, self[:])

    setattr(Jacobian, f"__{name}__", compute)
    setattr(Jacobian, f"__r{name}__", reflected)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _operator(_name)
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(
        Jacobian,
        f"__{_name}__",
        lambda self, other, _f=getattr(operator, _name): _f(
            self[:], other[:] if isinstance(other, Jacobian) else other
        ),
    )
Jacobian.__hash__ = object.__hash__


def _is_batched(batch_axis):
    if batch_axis not in (None, 0):
        raise ValueError(
            f"[jacobian] batch_axis must be None or 0, got {batch_axis}. Do this: move the batch to"
            " the front."
        )
    return batch_axis == 0


def _each(ys, xs, make):
    def along_xs(y):
        return make(y, xs) if isinstance(xs, Tensor) else tuple(make(y, x) for x in xs)

    return along_xs(ys) if isinstance(ys, Tensor) else tuple(along_xs(y) for y in ys)


def jacobian(ys, xs, batch_axis=None):
    """Derivatives of ys with respect to xs, from which ys was computed.

    Args:
        ys (Tensor | list[Tensor]): A scalar or [M]; batched: [B] or [B, M].
        xs (Tensor | list[Tensor]): A scalar or [N]; batched: [B] or [B, N].
        batch_axis (int, optional): 0 if the first dimension of all is a batch whose entries do not mix.

    Returns:
        Jacobian | tuple: [M, N] when it is looked at, without the dimensions of scalars, and [B, M, N] if
        batched; a tuple for each sequence, that of ys outside.

    Raises:
        ValueError: A tensor has another number of dimensions, or batch_axis is neither None nor 0.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> argosy.autograd.jacobian(x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    batched = _is_batched(batch_axis)
    for name, value in (("ys", ys), ("xs", xs)):
        need_type("jacobian", name, value, (Tensor, list, tuple), "pass tensors")
    return _each(ys, xs, lambda y, x: Jacobian(y, x, batched))


def hessian(ys, xs, batch_axis=None):
    """Second derivatives of ys with respect to xs.

    Args:
        ys (Tensor): A scalar, or [B] with batch_axis=0.
        xs (Tensor | list[Tensor]): A scalar or [N]; batched: [B] or [B, N].
        batch_axis (int, optional): 0 if the first dimension of all is a batch whose entries do not mix.

    Returns:
        Hessian | tuple: [N, N] when it is looked at, [B, N, N] if batched; a tuple of tuples for a sequence.

    Raises:
        ValueError: ys has several elements, or batch_axis is neither None nor 0.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> argosy.autograd.hessian((x**3).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    batched = _is_batched(batch_axis)
    if ys.size != (ys.shape[0] if batched and ys.ndim else 1):
        raise ValueError(
            f"[hessian] ys must be a scalar, or [B] with batch_axis=0: got shape {list(ys.shape)}."
            " Do this: take its sum or one of its entries."
        )
    ys = ys.reshape(ys.shape[:1] if batched else [])
    first = _each(ys, xs, lambda y, x: Jacobian(y, x, batched)[:])
    return _each(first, xs, lambda y, x: Hessian(y, x, batched))
