"""What rounds a tensor as integers would."""

from __future__ import annotations

import abc

from argosy.nn import Layer


class BaseQuanter(Layer, abc.ABC):
    """Base class of layers that round their input as integers would, and know the scales they go by.

    Args:
        layer (Layer, optional): whose operand it is for; its name is kept as ``layer_name``.

    Shape: any; the result has the same.

    Examples:
        >>> class Halves(argosy.quantization.BaseQuanter):
        ...     def forward(self, input):
        ...         return argosy.round(input * 2) / 2
        ...
        ...     def scales(self):
        ...         return argosy.to_tensor([63.5])
        ...
        ...     def zero_points(self):
        ...         return None
        ...
        ...     def quant_axis(self):
        ...         return -1
        ...
        ...     def bit_length(self):
        ...         return 8
        >>> Halves()(argosy.to_tensor([0.2, 0.3])).tolist()
        [0.0, 0.5]
    """

    def __init__(self, layer=None):
        super().__init__()
        # Of the layer whose operand this is for; None if it was made for none.
        self.layer_name = None if layer is None else layer.full_name()

    @abc.abstractmethod
    def forward(self, input):
        """input, rounded; an observer returns it as it is."""

    @abc.abstractmethod
    def scales(self):
        """The sizes that the largest code stands for; None if there are none.

        Returns:
            Tensor or NumPy array.
        """

    @abc.abstractmethod
    def zero_points(self):
        """The codes of 0; None means 0.

        Returns:
            Tensor or NumPy array.
        """

    @abc.abstractmethod
    def quant_axis(self):
        """The axis whose places have scales of their own; None or -1: one scale for all.

        Returns:
            int.
        """

    @abc.abstractmethod
    def bit_length(self):
        """Bits of the codes.

        Returns:
            int, or (4, 3) or (5, 2) for 8-bit floats.
        """
