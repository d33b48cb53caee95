"""Adam."""

from argosy._support import no_effect

from .moments import MomentOptimizer
from .records import Spec

__all__ = []


class Adam(MomentOptimizer):
    """Adaptive moments: with t the number of the step,

    ``m = beta1 m + (1 - beta1) g``, ``v = beta2 v + (1 - beta2) g^2``,
    ``r = learning_rate sqrt(1 - beta2^t) / (1 - beta1^t)``,
    ``param -= r m / (sqrt(v) + epsilon sqrt(1 - beta2^t))``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        beta1, beta2 (float): Decay of the two moments, in [0, 1).
        epsilon (float): Keeps the division finite.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.
        lazy_mode (bool): For row-sparse gradients, update only the rows that have a gradient.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.
        use_multi_tensor (bool): Has no effect: all parameters are always updated in one call.
        amsgrad (bool): Use the largest v so far.

    A parameter group may set ``beta1``, ``beta2``, ``epsilon`` and ``lazy_mode``.
    Papers: Adam (https://arxiv.org/abs/1412.6980), AMSGrad (https://arxiv.org/abs/1904.09237).

    Raises:
        ValueError: A beta is not in [0, 1), epsilon is negative, or learning_rate or parameters are missing.

    Example:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> adam = argosy.optimizer.Adam(0.1, parameters=layer.parameters())
        >>> before = layer.weight.clone()
        >>> layer(argosy.ones([1, 2])).sum().backward()
        >>> adam.step()
        >>> (before - layer.weight).tolist()
        [[0.1], [0.1]]
    """

    _op = "adam_"
    _plain = [
        Spec("moment1", dtype="wide"),
        Spec("moment2", dtype="wide"),
        None,
    ]
    _largest = Spec("moment2_max", dtype="wide")

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        use_multi_tensor=False,
        amsgrad=False,
        name=None,
    ):
        self._keep_moments(learning_rate, beta1, beta2, epsilon, lazy_mode=lazy_mode)
        self._multi_precision = multi_precision
        no_effect(
            "Adam",
            "all parameters are updated in one call",
            use_multi_tensor=(use_multi_tensor, False),
        )
        self._amsgrad = amsgrad
        self._specs = [
            *self._plain[:2],
            self._largest if amsgrad else None,
            # The powers are those of the step to come.
            Spec("beta1_pow_acc", "beta1", "one", "scalar"),
            Spec("beta2_pow_acc", "beta2", "one", "scalar"),
        ]
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _hyper(self, options, batch):
        return (
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            self._decays(options, batch),
            options["lazy_mode"],
        )

    def _decays(self, options, batch):
        return ()
