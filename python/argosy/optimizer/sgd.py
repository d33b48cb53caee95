"""Stochastic gradient descent."""

from .optimizer import Optimizer

__all__ = []


class SGD(Optimizer):
    """``param -= learning_rate * grad``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.

    Example:
        >>> x = argosy.create_parameter([2], "float32")
        >>> x.set_value(argosy.to_tensor([1.0, 2.0]))
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=[x])
        >>> (x * x).sum().backward()
        >>> sgd.step()
        >>> sgd.clear_grad()
        >>> x.tolist()
        [0.8, 1.6]
    """

    _op = "sgd_"

    def __init__(
        self,
        learning_rate=0.001,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        self._multi_precision = multi_precision
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
