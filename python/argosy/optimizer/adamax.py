"""Adamax."""

from .moments import MomentOptimizer
from .records import Spec

__all__ = []


class Adamax(MomentOptimizer):
    """Adam with the infinity norm: ``m = beta1 m + (1 - beta1) g``,
    ``u = max(|g|, beta2 u + epsilon)``, ``param -= learning_rate / (1 - beta1^t) * m / u``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        beta1, beta2 (float): Decay of m and u, in [0, 1).
        epsilon (float): Keeps the division finite.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.

    A parameter group may set ``beta1``, ``beta2`` and ``epsilon``.
    Paper: Adam (https://arxiv.org/abs/1412.6980), section 7.

    Raises:
        ValueError: A beta is not in [0, 1), or epsilon is negative.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.full([1], 4.0)
        >>> argosy.optimizer.Adamax(0.1, parameters=[x]).step()
        >>> x.tolist()
        [0.9]
    """

    _op = "adamax_"
    _specs = [
        Spec("moment", dtype="wide"),
        Spec("inf_norm", dtype="wide"),
        Spec("beta1_pow_acc", "beta1", "one", "scalar"),
    ]

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        self._keep_moments(learning_rate, beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
