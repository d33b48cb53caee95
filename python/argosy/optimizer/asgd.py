"""Stochastic average gradient."""

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class ASGD(Optimizer):
    """Gradient descent along the average of the latest gradients of the last `batch_num` batches:
    ``d += grad - y[i]; y[i] = grad; param -= learning_rate * d / min(steps, batch_num)`` with
    ``i = step mod batch_num``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        batch_num (int): Number of batches in an epoch; that many gradients are kept.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.

    Paper: Minimizing Finite Sums with the Stochastic Average Gradient
    (https://arxiv.org/abs/1309.2388).

    Raises:
        ValueError: learning_rate or batch_num is missing, or batch_num is not positive.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> asgd = argosy.optimizer.ASGD(0.1, batch_num=2, parameters=[x])
        >>> for gradient in [1.0, 3.0]:
        ...     x.grad = argosy.full([1], gradient)
        ...     asgd.step()
        >>> x.tolist()
        [0.7]
    """

    _op = "asgd_"

    def __init__(
        self,
        learning_rate=0.001,
        batch_num=1,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        if learning_rate is None:
            raise ValueError(
                "[ASGD] learning_rate is missing: expected a float, got None."
                " Do this: pass a number such as 0.001."
            )
        if batch_num is None:
            raise ValueError(
                "[ASGD] batch_num is missing: expected a positive int, got None."
                " Do this: pass the number of batches of an epoch."
            )
        if not 0 < batch_num:
            raise ValueError(
                f"[ASGD] batch_num is out of range: expected > 0, got {batch_num}."
                " Do this: pass the number of batches of an epoch."
            )
        self._n = batch_num
        self._multi_precision = multi_precision
        self._specs = [
            Spec("d"),
            Spec("y", shape=lambda shape: [batch_num, *shape]),
            Spec("m", 0, "one", "int64"),
        ]
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _hyper(self, options, batch):
        return (self._n,)
