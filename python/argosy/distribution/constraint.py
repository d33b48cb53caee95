"""Sets of numbers that a random variable or a parameter may be in."""

from argosy import tensor

__all__ = ["Constraint", "Positive", "Range", "Real", "Simplex", "positive", "real", "simplex"]


class Constraint:
    """A set of numbers. A subclass defines ``__call__``.

    Example:
        >>> argosy.distribution.constraint.positive(argosy.to_tensor([-1.0, 2.0])).tolist()
        [False, True]
    """

    def __call__(self, value):
        """Which elements are in the set.

        Args:
            value (Tensor): Numbers.

        Returns:
            Tensor: bool.

        Raises:
            NotImplementedError: The subclass does not say.
        """
        raise NotImplementedError(
            f"[{type(self).__name__}] __call__(value) is not defined. Do this: define it in the subclass."
        )


class Real(Constraint):
    """All numbers; NaN is none."""

    def __call__(self, value):
        return value == value


class Range(Constraint):
    """Numbers from lower to upper, both included.

    Args:
        lower (float | Tensor): The least.
        upper (float | Tensor): The greatest.

    Example:
        >>> argosy.distribution.constraint.Range(0, 1)(argosy.to_tensor([0.5, 2.0])).tolist()
        [True, False]
    """

    def __init__(self, lower, upper):
        self._lower = lower
        self._upper = upper

    def __call__(self, value):
        return tensor.logical_and(value >= self._lower, value <= self._upper)


class Positive(Constraint):
    """Numbers that are 0 or more."""

    def __call__(self, value):
        return value >= 0.0


class Simplex(Constraint):
    """Vectors along the last axis with elements of 0 or more whose sum is 1."""

    def __call__(self, value):
        sums = tensor.abs(value.sum(-1) - 1) < 1e-6
        return tensor.logical_and((value >= 0).all(-1), sums)


real = Real()
positive = Positive()
simplex = Simplex()
