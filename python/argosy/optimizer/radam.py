"""RAdam."""

from .moments import MomentOptimizer
from .records import Spec

__all__ = []


class RAdam(MomentOptimizer):
    """Adam whose adaptive denominator is rectified by the variance it has after few steps, and left
    out while that variance is unbounded.

    Args:
        learning_rate (float | LRScheduler): The rate.
        beta1, beta2 (float): Decay of the two moments, in [0, 1).
        epsilon (float): Keeps the division finite.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.

    A parameter group may set ``beta1``, ``beta2`` and ``epsilon``.
    Paper: On the Variance of the Adaptive Learning Rate and Beyond
    (https://arxiv.org/abs/1908.03265).

    Raises:
        ValueError: A beta is not in [0, 1), or epsilon is negative.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.ones([1])
        >>> argosy.optimizer.RAdam(0.1, parameters=[x]).step()
        >>> x.tolist()
        [0.9]
    """

    _op = "radam_"
    _specs = [
        Spec("beta1_pow", 1.0, "spread", "scalar"),
        Spec("beta2_pow", 1.0, "spread", "scalar"),
        Spec("rho", 1.0, "spread", "scalar"),
        Spec("moment1", dtype="wide"),
        Spec("moment2", dtype="wide"),
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
