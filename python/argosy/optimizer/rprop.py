"""Rprop."""

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class Rprop(Optimizer):
    """Each element has its own rate: it grows while the gradient keeps its sign and shrinks when the
    sign changes (that step is then left out); only the sign of the gradient is used. Meant for
    training on the full batch.

    Args:
        learning_rate (float | LRScheduler): The first rate of every element.
        learning_rate_range (tuple): Smallest and largest rate; they enclose `learning_rate`.
        parameters, grad_clip, name: See :class:`Optimizer`.
        etas (tuple): Factors for shrinking, in (0, 1), and growing, > 1.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.

    Paper: A direct adaptive method for faster backpropagation learning (ICNN 1993).

    Raises:
        ValueError: learning_rate is missing or outside of its range, or etas do not enclose 1.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> rprop = argosy.optimizer.Rprop(0.1, parameters=[x])
        >>> for _ in range(2):
        ...     x.grad = argosy.ones([1])
        ...     rprop.step()
        >>> x.tolist()
        [0.78]
    """

    _op = "rprop_"

    def __init__(
        self,
        learning_rate=0.001,
        learning_rate_range=(1e-5, 50),
        parameters=None,
        etas=(0.5, 1.2),
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        if learning_rate is None:
            raise ValueError(
                "[Rprop] learning_rate is missing: expected a float, got None."
                " Do this: pass a number such as 0.001."
            )
        low, high = learning_rate_range
        rate = learning_rate() if callable(learning_rate) else learning_rate
        if not 0.0 < low <= rate <= high:
            raise ValueError(
                "[Rprop] learning_rate_range: expected 0 < smallest <= learning_rate <= largest, "
                f"got range {learning_rate_range} and learning_rate {rate}."
                " Do this: widen the range or change the rate."
            )
        shrink, grow = etas
        if not 0.0 < shrink < 1.0 < grow:
            raise ValueError(
                f"[Rprop] etas: expected 0 < etas[0] < 1 < etas[1], got {tuple(etas)}."
                " Do this: pass two factors such as (0.5, 1.2)."
            )
        self._learning_rate_range = [float(low), float(high)]
        self._etas = [float(shrink), float(grow)]
        self._multi_precision = multi_precision
        self._specs = [Spec("prevs"), Spec("learning_rates", float(rate))]
        super().__init__(learning_rate, parameters, None, grad_clip, name)

    def _hyper(self, options, batch):
        return (*self._learning_rate_range, *self._etas)
