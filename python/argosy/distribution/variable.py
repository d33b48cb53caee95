"""Random variables as transforms see them: which numbers, and how many dimensions are one event."""

from argosy import tensor
from argosy._support import need_type

from . import constraint as constraints
from .distribution import check

__all__ = ["Independent", "Positive", "Real", "Stack", "Variable", "positive", "real"]


class Variable:
    """What a transform maps from, or to.

    Args:
        is_discrete (bool): Whether its values can be counted.
        event_rank (int): The number of dimensions that are one event; 0: elements.
        constraint (Constraint, optional): The set that its values are in.

    Example:
        >>> variable = argosy.distribution.variable
        >>> variable.Independent(variable.positive, 1).constraint(argosy.to_tensor([[1.0, -1.0]])).tolist()
        [False]
    """

    def __init__(self, is_discrete=False, event_rank=0, constraint=None):
        self._is_discrete = is_discrete
        self._event_rank = event_rank
        self._constraint = constraint

    @property
    def is_discrete(self):
        """Whether its values can be counted."""
        return self._is_discrete

    @property
    def event_rank(self):
        """The number of dimensions that are one event."""
        return self._event_rank

    def constraint(self, value):
        """Which events are in the variable's set.

        Args:
            value (Tensor): Numbers, with event_rank dimensions or more.

        Returns:
            Tensor: bool.

        Raises:
            AssertionError: No set was given.
        """
        check(
            self._constraint is not None, AssertionError, type(self).__name__,
            "there is no constraint", "pass one to __init__",
        )  # fmt: skip
        return self._constraint(value)


class Real(Variable):
    """Any numbers.

    Args:
        event_rank (int): The number of dimensions that are one event.

    Example:
        >>> argosy.distribution.variable.Real().constraint(argosy.to_tensor([1.0, float("nan")])).tolist()
        [True, False]
    """

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank, constraints.real)


class Positive(Variable):
    """Numbers that are 0 or more.

    Args:
        event_rank (int): The number of dimensions that are one event.

    Example:
        >>> argosy.distribution.variable.Positive().constraint(argosy.to_tensor([1.0, -1.0])).tolist()
        [True, False]
    """

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank, constraints.positive)


class Independent(Variable):
    """A variable of whose batch dimensions some belong to one event.

    Args:
        base (Variable): It.
        reinterpreted_batch_rank (int): How many of them, the last ones.

    Raises:
        TypeError: base is no Variable.

    Example:
        >>> variable = argosy.distribution.variable
        >>> variable.Independent(variable.Real(1), 1).event_rank
        2
    """

    def __init__(self, base, reinterpreted_batch_rank):
        need_type("Independent", "base", base, Variable, "pass a Variable")
        self._base = base
        self._added = reinterpreted_batch_rank
        super().__init__(base.is_discrete, base.event_rank + reinterpreted_batch_rank)

    def constraint(self, value):
        """Which events are in base's set with all their elements; ValueError if value has too few
        dimensions."""
        inside = self._base.constraint(value)
        check(
            inside.ndim >= self._added, ValueError, "Independent",
            f"value must have {self._added} dimensions or more, got {inside.ndim}", "reshape it",
        )  # fmt: skip
        return inside.all(list(range(-self._added, 0))) if self._added else inside


class Stack(Variable):
    """Variables one after the other along an axis.

    Args:
        vars (list[Variable]): They.
        axis (int): Along which each of them has one place.

    Example:
        >>> variable = argosy.distribution.variable
        >>> both = variable.Stack([variable.real, variable.positive])
        >>> both.constraint(argosy.to_tensor([-1.0, -1.0])).tolist()
        [True, False]
    """

    def __init__(self, vars, axis=0):  # noqa: A002
        self._vars = list(vars)
        self._axis = axis
        self._is_discrete = any(v.is_discrete for v in self._vars)

    @property
    def event_rank(self):
        """The greatest of theirs, counted with the axis where that is part of an event."""
        rank = max(v.event_rank for v in self._vars)
        return rank + 1 if self._axis + rank < 0 else rank

    def constraint(self, value):
        """Which events are in the sets of their variables; ValueError if the axis has another size."""
        check(
            value.shape[self._axis] == len(self._vars), ValueError, "Stack",
            f"axis {self._axis} must have {len(self._vars)} places, got {value.shape[self._axis]}",
            "stack one value for each variable",
        )  # fmt: skip
        parts = tensor.unbind(value, self._axis)
        return tensor.stack([v.constraint(x) for v, x in zip(self._vars, parts)], self._axis)


real = Real()
positive = Positive()
