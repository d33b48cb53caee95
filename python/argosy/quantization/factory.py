"""Quanters that are made later, once for each place in a model."""

from __future__ import annotations

import abc
import sys


class ClassWithArguments(abc.ABC):
    """A class and what its instances will be made with.

    Args:
        args, kwargs: the arguments.
    """

    def __init__(self, *args, **kwargs):
        self._args, self._kwargs = args, kwargs

    @property
    def args(self):
        """Arguments by place, a tuple."""
        return self._args

    @property
    def kwargs(self):
        """Arguments by name, a dict."""
        return self._kwargs

    @abc.abstractmethod
    def _get_class(self):
        """The class."""

    def __str__(self):
        given = [str(a) for a in self.args] + [f"{k}={v}" for k, v in self.kwargs.items()]
        return f"{type(self).__name__}({','.join(given)})"

    __repr__ = __str__


class QuanterFactory(ClassWithArguments):
    """Makes quanters of one class, each with the layer that it is for as first argument."""

    def _instance(self, layer):
        """A quanter for a layer."""
        return self._get_class()(layer, *self.args, **self.kwargs)


ObserverFactory = QuanterFactory


def quanter(class_name):
    """Decorator of a quanter class: makes its factory, under a name in the same module.

    Args:
        class_name (str): name of the factory.

    Returns:
        The decorator; it returns the class as it is.

    Examples:
        >>> from argosy.quantization import BaseQuanter, quanter
        >>> @quanter("Rounding")
        ... class RoundingLayer(BaseQuanter):
        ...     def __init__(self, layer, digits):
        ...         super().__init__()
        ...         self.digits = digits
        ...
        ...     def forward(self, input):
        ...         return argosy.round(input, self.digits)
        ...
        ...     scales = zero_points = quant_axis = bit_length = lambda self: None
        >>> Rounding(digits=1)
        Rounding(digits=1)
    """

    def decorate(target):
        scope = sys._getframe(1).f_globals
        factory = type(
            class_name,
            (QuanterFactory,),
            {
                "__module__": target.__module__,
                "__doc__": f"Makes {target.__name__}, whose arguments it takes.",
                "_get_class": lambda self: target,
            },
        )
        scope[class_name] = factory
        if "__all__" in scope:
            scope["__all__"].append(class_name)
        return target

    return decorate
