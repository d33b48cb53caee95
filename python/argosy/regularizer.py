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
    """

    def __call__(self, param, grad=None, block=None):
        with no_grad():
            return tensor.scale(param, self._coeff)

    def __str__(self):
        return f"L2Decay, coeff={self._coeff:f}"
