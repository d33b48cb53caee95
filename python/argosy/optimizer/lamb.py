"""LAMB."""

from .moments import check_rate_given, decays_of
from .optimizer import Optimizer
from .records import Spec

__all__ = []


class Lamb(Optimizer):
    """Layerwise adaptive rates for large batches: with m and v the bias-corrected moments of Adam,
    ``r = m / (sqrt(v) + epsilon) + lamb_weight_decay * param`` and
    ``param -= learning_rate * |param| / |r| * r``; the quotient of the norms is 1 where one is 0.

    Args:
        learning_rate (float | LRScheduler): The rate.
        lamb_weight_decay (float): The coefficient of weight decay.
        beta1, beta2 (float): Decay of the two moments.
        epsilon (float): Keeps the division finite.
        exclude_from_weight_decay_fn (callable, optional): Gets a parameter, returns whether weight
            decay does not apply to it.
        parameters, grad_clip, name: See :class:`Optimizer`.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.
        always_adapt (bool): Use the quotient of norms for parameters without weight decay too.

    A parameter group may set ``beta1``, ``beta2``, ``epsilon``, ``lamb_weight_decay`` and
    ``exclude_from_weight_decay_fn``.
    Paper: Large Batch Optimization for Deep Learning (https://arxiv.org/abs/1904.00962).

    Raises:
        AssertionError: A number is missing.

    Example:
        >>> x = argosy.create_parameter([2], "float32")
        >>> x.set_value(argosy.to_tensor([3.0, 4.0]))
        >>> x.grad = argosy.ones([2])
        >>> argosy.optimizer.Lamb(0.1, lamb_weight_decay=0.0, always_adapt=True, parameters=[x]).step()
        >>> x.tolist()
        [2.6464, 3.6464]
    """

    _op = "lamb_"
    _specs = [
        Spec("moment1", dtype="wide"),
        Spec("moment2", dtype="wide"),
        Spec("beta1_pow_acc", "beta1", "one", "scalar"),
        Spec("beta2_pow_acc", "beta2", "one", "scalar"),
    ]

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        multi_precision=False,
        always_adapt=False,
        name=None,
    ):
        check_rate_given("Lamb", learning_rate)
        for label, value in (("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)):
            if value is None:
                raise AssertionError(
                    f"[Lamb] {label} is missing: expected a float, got None."
                    " Do this: pass a number."
                )
        self._multi_precision = multi_precision
        self.always_adapt = always_adapt
        self._keep_options(
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            lamb_weight_decay=lamb_weight_decay,
            exclude_from_weight_decay_fn=exclude_from_weight_decay_fn,
        )
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _hyper(self, options, batch):
        excludes = options["exclude_from_weight_decay_fn"]
        decays = decays_of(
            batch,
            float(options["lamb_weight_decay"]),
            lambda p: excludes is None or not excludes(p),
            excludes,
        )
        return (
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            decays,
            self.always_adapt,
        )
