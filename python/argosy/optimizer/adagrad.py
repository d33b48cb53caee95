"""Adagrad."""

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class Adagrad(Optimizer):
    """``moment += grad^2; param -= learning_rate * grad / (sqrt(moment) + epsilon)``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        epsilon (float): Keeps the division finite.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.
        initial_accumulator_value (float): First value of the moments.

    A parameter group may set ``epsilon`` and ``initial_accumulator_value``.
    Paper: Adaptive Subgradient Methods (JMLR 12, 2011).

    Raises:
        AssertionError: learning_rate or epsilon is missing.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.full([1], 4.0)
        >>> argosy.optimizer.Adagrad(0.1, parameters=[x]).step()
        >>> x.tolist()
        [0.9]
    """

    _op = "adagrad_"
    _options = ("epsilon",)
    _specs = [Spec("moment", "initial_accumulator_value", dtype="wide")]

    def __init__(
        self,
        learning_rate,
        epsilon=1e-6,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        for label, value in (("learning_rate", learning_rate), ("epsilon", epsilon)):
            if value is None:
                raise AssertionError(
                    f"[Adagrad] {label} is missing: expected a float, got None."
                    " Do this: pass a number."
                )
        self._keep_options(epsilon=epsilon, initial_accumulator_value=initial_accumulator_value)
        self.initial_accumulator_value = initial_accumulator_value
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
