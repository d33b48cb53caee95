"""Adadelta."""

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class Adadelta(Optimizer):
    """``a = rho a + (1 - rho) g^2``, ``d = sqrt((u + epsilon) / (a + epsilon)) g``,
    ``u = rho u + (1 - rho) d^2``, ``param -= learning_rate * d``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        epsilon (float): Keeps the quotient finite.
        rho (float): Decay of the averages a and u.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.

    A parameter group may set ``epsilon`` and ``rho``.
    Paper: ADADELTA (https://arxiv.org/abs/1212.5701).

    Raises:
        ValueError: A number is missing.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.ones([1])
        >>> argosy.optimizer.Adadelta(1.0, epsilon=0.01, parameters=[x]).step()
        >>> x.tolist()
        [0.5918]
    """

    _op = "adadelta_"
    _options = ("rho", "epsilon")
    _specs = [
        Spec("_avg_squared_grad", dtype="wide"),
        Spec("_avg_squared_update", dtype="wide"),
    ]

    def __init__(
        self,
        learning_rate=0.001,
        epsilon=1e-6,
        rho=0.95,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        for label, value in (("learning_rate", learning_rate), ("epsilon", epsilon), ("rho", rho)):
            if value is None:
                raise ValueError(
                    f"[Adadelta] {label} is missing: expected a float, got None."
                    " Do this: pass a number."
                )
        self._keep_options(epsilon=epsilon, rho=rho)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
