"""Places in a model where what a function is given gets quantized."""

from __future__ import annotations

from ..layer.layers import Layer


class Stub(Layer):
    """Marks a tensor for quantization: the identity, until ``QAT`` or ``PTQ`` puts an observer there.

    A function that is called in ``forward`` cannot be configured; a stub that is a sublayer can.

    Args:
        observer (QuanterFactory, optional): makes the observer; None takes that of the configuration.

    Shape: any; the result is the input.

    Examples:
        >>> stub = argosy.nn.quant.Stub()
        >>> stub(argosy.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, observer=None):
        super().__init__()
        self._observer = observer

    def forward(self, input):
        """input, unchanged."""
        return input


class QuanterStub(Layer):
    """What a Stub becomes: passes its input through the observer.

    Args:
        layer (Stub): the stub.
        q_config: what holds for it, for stubs that name no observer (see ``QuantConfig``).
    """

    def __init__(self, layer, q_config):
        super().__init__()
        factory = layer._observer if layer._observer is not None else q_config.activation
        self._observer = None if factory is None else factory._instance(layer)

    def forward(self, input):
        """input, as the observer returns it."""
        return input if self._observer is None else self._observer(input)
