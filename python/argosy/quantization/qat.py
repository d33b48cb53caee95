"""Training that gets a model used to few bits."""

from __future__ import annotations

import copy

from .quantize import Quantization


class QAT(Quantization):
    """Puts quanters into a model that is trained further.

    Args:
        config (QuantConfig): what is quantized, and how.

    Examples:
        >>> from argosy.quantization import QAT, QuantConfig, quanters
        >>> quanter = quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        >>> qat = QAT(QuantConfig(activation=quanter, weight=quanter))
        >>> print(qat.quantize(argosy.nn.Sequential(argosy.nn.Linear(2, 2))))
        Sequential(
          (0): QuantedLinear(
            (weight_quanter): FakeQuanterWithAbsMaxObserverLayer()
            (activation_quanter): FakeQuanterWithAbsMaxObserverLayer()
          )
        )
    """

    def quantize(self, model, inplace=False):
        """A model whose layers round their operands while it is trained.

        Args:
            model (Layer): the model, in training.
            inplace (bool): change the model itself, otherwise a copy.

        Returns:
            Layer.

        Raises:
            AssertionError: the model is not in training.
        """
        if not model.training:
            raise AssertionError(
                "[QAT] model: expected one in training, got one in evaluation. Do this: call"
                " model.train() first."
            )
        return self._prepare(model if inplace else copy.deepcopy(model))
