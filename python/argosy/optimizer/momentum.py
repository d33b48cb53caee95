"""Gradient descent with momentum."""

from argosy._support import no_effect

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class Momentum(Optimizer):
    """``velocity = momentum * velocity + grad; param -= learning_rate * velocity``, or with
    `use_nesterov` ``param -= learning_rate * (grad + momentum * velocity)``.

    Args:
        learning_rate (float | LRScheduler): The rate.
        momentum (float): Share of the old velocity that is kept.
        use_nesterov (bool): Look ahead along the velocity.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.
        multi_precision (bool): Keep a float32 master copy of 16-bit parameters and update that.
        rescale_grad (float): Factor on the gradients, before regularization.
        use_multi_tensor (bool): Has no effect: all parameters are always updated in one call.

    A parameter group may set ``momentum``, ``use_nesterov`` and ``rescale_grad``.
    Paper: On the importance of initialization and momentum in deep learning (ICML 2013).

    Raises:
        ValueError: learning_rate or momentum is missing.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> momentum = argosy.optimizer.Momentum(0.1, 0.5, parameters=[x])
        >>> for _ in range(2):
        ...     x.grad = argosy.ones([1])
        ...     momentum.step()
        >>> x.tolist()
        [0.75]
    """

    _op = "momentum_"
    _options = ("momentum", "use_nesterov", "rescale_grad")
    _specs = [Spec("velocity")]

    def __init__(
        self,
        learning_rate=0.001,
        momentum=0.9,
        parameters=None,
        use_nesterov=False,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        rescale_grad=1.0,
        use_multi_tensor=False,
        name=None,
    ):
        if learning_rate is None:
            raise ValueError(
                "[Momentum] learning_rate is missing: expected a float, got None."
                " Do this: pass a number such as 0.001."
            )
        if momentum is None:
            raise ValueError(
                "[Momentum] momentum is missing: expected a float, got None."
                " Do this: pass a number such as 0.9."
            )
        self._multi_precision = multi_precision
        no_effect(
            "Momentum",
            "all parameters are updated in one call",
            use_multi_tensor=(use_multi_tensor, False),
        )
        self._keep_options(
            momentum=momentum, use_nesterov=bool(use_nesterov), rescale_grad=rescale_grad
        )
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
