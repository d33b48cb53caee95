"""Initializer from given values."""

from __future__ import annotations

from argosy import tensor
from argosy._core import Tensor
from argosy._support import WrongTypeError

from .initializer import Initializer


class NumpyArrayInitializer(Initializer):
    """Values of a NumPy array."""

    def __init__(self, value):
        import numpy

        if not isinstance(value, numpy.ndarray):
            raise WrongTypeError(
                f"[Assign] value: expected a numpy.ndarray, got {type(value).__name__}. Do "
                "this: use numpy.asarray."
            )
        self._value = value

    def _values(self, shape, dtype):
        return tensor.to_tensor(self._value, dtype=dtype)


class Assign(NumpyArrayInitializer):
    """The given values; the parameter takes their shape and keeps its own dtype.

    Args:
        value: NumPy array, list, tuple or tensor.

    Raises:
        AssertionError: ``value`` is none of them.

    Examples:
        >>> attr = argosy.nn.initializer.Assign([[1.0], [2.0]])
        >>> argosy.nn.Linear(2, 1, weight_attr=attr).weight.tolist()
        [[1.0], [2.0]]
    """

    def __init__(self, value, name=None):
        import numpy

        if not isinstance(value, (numpy.ndarray, list, tuple, Tensor)):
            raise WrongTypeError(
                "[Assign] value: expected a numpy.ndarray, list, tuple or Tensor, got "
                f"{type(value).__name__}. Do this: pass one of them."
            )
        if isinstance(value, Tensor):
            value = value.numpy()
        super().__init__(numpy.asarray(value))
