"""Weight decay that an optimizer, or one parameter through ``ParamAttr``, can carry."""

from __future__ import annotations

from argosy import tensor
from argosy.autograd import no_grad

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """Base of the regularizers; calling one gives the term to add to a parameter's gradient."""

    def __init__(self, coeff=0.0):
        if coeff is None:
            raise ValueError(
                f"[{type(self).__name__}] coeff is missing: expected a number, got None. "
                "Do this: pass the decay coefficient as a float."
            )
        self._coeff = coeff
        self._regularization_coeff = coeff

    def __call__(self, param, grad=None, block=None):
        raise NotImplementedError


class L1Decay(WeightDecayRegularizer):
    """L1 weight decay: adds ``coeff * sign(param)`` to the gradient.

    Args:
        coeff: strength of the penalty ``coeff * sum(abs(param))``.

    Raises:
        ValueError: coeff is None.

    Example:
        >>> x = argosy.create_parameter([2], "float32")
        >>> x.set_value(argosy.to_tensor([3.0, -3.0]))
        >>> decay = argosy.regularizer.L1Decay(0.5)
        >>> decay(x, argosy.zeros([2]), None).tolist()
        [0.5, -0.5]
    """

    def __call__(self, param, grad=None, block=None):
        with no_grad():
            return tensor.scale(tensor.sign(param), self._coeff)

    def __str__(self):
        return f"L1Decay, coeff={self._coeff:f}"


class L2Decay(WeightDecayRegularizer):
    """L2 weight decay: adds ``coeff * param`` to the gradient.

    Args:
        coeff: strength of the penalty ``0.5 * coeff * sum(param ** 2)``.

    Raises:
        ValueError: coeff is None.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.full([1], 3.0))
        >>> x.grad = argosy.zeros([1])
        >>> decay = argosy.regularizer.L2Decay(0.5)
        >>> argosy.optimizer.SGD(0.1, parameters=[x], weight_decay=decay).step()
        >>> x.tolist()
        [2.85]
    """

    def __call__(self, param, grad=None, block=None):
        with no_grad():
            return tensor.scale(param, self._coeff)

    def __str__(self):
        return f"L2Decay, coeff={self._coeff:f}"
