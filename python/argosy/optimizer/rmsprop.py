"""RMSProp."""

from .optimizer import Optimizer
from .records import Spec

__all__ = []


class RMSProp(Optimizer):
    """``s = rho s + (1 - rho) g^2``, ``v = momentum v + learning_rate g / sqrt(s + epsilon)``,
    ``param -= v``; if `centered`, the squared running mean of g is subtracted from s.

    Args:
        learning_rate (float | LRScheduler): The rate.
        rho (float): Decay of the averages. >= 0.
        epsilon (float): Keeps the quotient finite. >= 0.
        momentum (float): Share of the old v that is kept. >= 0.
        centered (bool): Normalize by the variance instead of the second moment.
        parameters, weight_decay, grad_clip, name: See :class:`Optimizer`.

    A parameter group may set ``rho``, ``epsilon``, ``momentum`` and ``centered``.
    Source: G. Hinton, lecture 6 of Neural Networks for Machine Learning (2012).

    Raises:
        ValueError: A number is missing or negative.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.full([1], 4.0)
        >>> argosy.optimizer.RMSProp(0.1, rho=0.75, parameters=[x]).step()
        >>> x.tolist()
        [0.8]
    """

    _op = "rmsprop_"
    _options = ("rho", "epsilon", "momentum", "centered")
    _specs = [
        Spec("momentum", dtype="wide"),
        Spec("mean_square", dtype="wide"),
        Spec("mean_grad", dtype="wide"),
    ]

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-6,
        momentum=0.0,
        centered=False,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        if learning_rate is None:
            raise ValueError(
                "[RMSProp] learning_rate is missing: expected a float, got None."
                " Do this: pass a number such as 0.001."
            )
        for label, value in (("rho", rho), ("epsilon", epsilon), ("momentum", momentum)):
            if value is None:
                raise ValueError(
                    f"[RMSProp] {label} is missing: expected a float, got None."
                    " Do this: pass a number."
                )
            if not 0.0 <= value:
                raise ValueError(
                    f"[RMSProp] {label} is out of range: expected >= 0, got {value}."
                    " Do this: pass 0 or more."
                )
        self._keep_options(rho=rho, epsilon=epsilon, momentum=momentum, centered=centered)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
