"""Scales of a trained model from a few batches."""

from __future__ import annotations

import copy

from .quantize import Quantization


class PTQ(Quantization):
    """Puts observers into a trained model: after some batches ``convert`` knows their scales.

    Args:
        config (QuantConfig): what is quantized, and how.

    Examples:
        >>> from argosy.quantization import PTQ, QuantConfig, observers
        >>> observer = observers.AbsmaxObserver()
        >>> ptq = PTQ(QuantConfig(activation=observer, weight=observer))
        >>> model = ptq.quantize(argosy.nn.Sequential(argosy.nn.Linear(2, 2), argosy.nn.ReLU()).eval())
        >>> print(model)
        Sequential(
          (0): QuantedLinear(
            (weight_quanter): AbsmaxObserverLayer()
            (activation_quanter): AbsmaxObserverLayer()
          )
          (1): ObserveWrapper(
            (_observer): AbsmaxObserverLayer()
            (_observed): ReLU()
          )
        )
    """

    def quantize(self, model, inplace=False):
        """A model whose layers observe their operands.

        Args:
            model (Layer): the model, in evaluation.
            inplace (bool): change the model itself, otherwise a copy.

        Returns:
            Layer.

        Raises:
            AssertionError: the model is in training.
        """
        if model.training:
            raise AssertionError(
                "[PTQ] model: expected one in evaluation, got one in training. Do this: call"
                " model.eval() first."
            )
        return self._prepare(model if inplace else copy.deepcopy(model))
