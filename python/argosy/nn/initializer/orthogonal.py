"""Orthogonal initializer."""

from __future__ import annotations

import functools
import operator

from argosy import _core, tensor

from .initializer import Initializer, seed_of


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, from the QR decomposition of Gaussian values.

    Dimensions after the first are taken as one.

    Args:
        gain (float): factor on the values, see ``calculate_gain``.

    Raises:
        AssertionError: ``gain`` is None, or the parameter has fewer than 2 dimensions (when it is
            filled).

    Paper: Saxe et al., arXiv:1312.6120.

    Examples:
        >>> w = argosy.nn.Linear(3, 3, weight_attr=argosy.nn.initializer.Orthogonal()).weight
        >>> bool(argosy.allclose(w @ w.T, argosy.eye(3), atol=1e-5))
        True
    """

    def __init__(self, gain=1.0, name=None):
        if gain is None:
            raise AssertionError(
                "[Orthogonal] gain: expected a number, got None. Do this: leave it out."
            )
        self._gain = gain
        self._seed = 0

    def _values(self, shape, dtype):
        if len(shape) < 2:
            raise AssertionError(
                "[Orthogonal] the parameter must have 2 dimensions or more, got shape "
                f"{list(shape)}. Do this: use another initializer."
            )
        rows, cols = shape[0], functools.reduce(operator.mul, shape[1:], 1)
        kind = "float64" if _core.dtype(dtype) == "float64" else "float32"
        drawn = [max(rows, cols), min(rows, cols)]
        normal = _core.ops.gaussian(drawn, 0.0, 1.0, seed_of(self), kind)
        q = _core.ops.orthogonalize(normal, float(self._gain))
        if rows < cols:
            q = tensor.t(q)
        q = tensor.reshape(q, shape)
        return q if q.dtype == _core.dtype(dtype) else q.astype(dtype)
