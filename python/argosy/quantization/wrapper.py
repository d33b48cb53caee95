"""An observer and what it observes."""

from __future__ import annotations

from argosy.nn import Layer


class ObserveWrapper(Layer):
    """A layer behind or before an observer.

    Args:
        observer (BaseQuanter): the observer.
        observed (Layer): the layer.
        observe_input (bool): it sees the layer's input, otherwise its result.

    Shape: as of the layer.
    """

    def __init__(self, observer, observed, observe_input=True):
        super().__init__()
        self._observer, self._observed, self._observe_input = observer, observed, observe_input

    def forward(self, *inputs, **kwargs):
        """The layer's result."""
        if self._observe_input:
            return self._observed(self._observer(*inputs, **kwargs), **kwargs)
        return self._observer(self._observed(*inputs, **kwargs), **kwargs)
