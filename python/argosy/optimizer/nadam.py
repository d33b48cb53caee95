"""NAdam."""

from .moments import MomentOptimizer
from .records import Spec

__all__ = []


class NAdam(MomentOptimizer):
    """Adam with Nesterov momentum whose coefficient grows with the step t:
    ``mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        beta1, beta2 (float): Decay of the two moments, in [0, 1).
        epsilon (float): Keeps the division finite.
        momentum_decay (float): How fast mu grows.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.

    A parameter group may set ``beta1``, ``beta2``, ``epsilon`` and ``momentum_decay``.
    Paper: Incorporating Nesterov Momentum into Adam (ICLR 2016 workshop).

    Raises:
        ValueError: A beta is not in [0, 1), or epsilon or momentum_decay is negative.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.ones([1])
        >>> argosy.optimizer.NAdam(0.1, parameters=[x]).step()
        >>> x.tolist()
        [0.8944]
    """

    _op = "nadam_"
    _options = (*MomentOptimizer._options, "momentum_decay")
    _specs = [
        Spec("momentum_decay_pow", 1.0, "spread", "scalar"),
        Spec("beta2_pow", 1.0, "spread", "scalar"),
        Spec("mu_product", 1.0, "spread", "scalar"),
        Spec("moment1", dtype="wide"),
        Spec("moment2", dtype="wide"),
    ]

    def __init__(
        self,
        learning_rate=0.002,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        momentum_decay=0.004,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        self._keep_moments(learning_rate, beta1, beta2, epsilon, momentum_decay=momentum_decay)
        if momentum_decay is None or not 0.0 <= momentum_decay:
            raise ValueError(
                f"[NAdam] momentum_decay is out of range: expected >= 0, got {momentum_decay}."
                " Do this: pass a number such as 0.004."
            )
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
