"""Functions of tensors as layers, so that hooks and quantizers find them in a model."""

from __future__ import annotations

from argosy import tensor

from ..layer.layers import Layer

__all__ = []


class FloatFunctionalLayer(Layer):
    """Base class of layers that are one function of tensors."""


class add(FloatFunctionalLayer):
    """``argosy.add``."""

    def forward(self, x, y, name=None):
        """x + y."""
        return tensor.add(x, y, name=name)


class subtract(FloatFunctionalLayer):
    """``argosy.subtract``."""

    def forward(self, x, y, name=None):
        """x - y."""
        return tensor.subtract(x, y, name=name)


class multiply(FloatFunctionalLayer):
    """``argosy.multiply``."""

    def forward(self, x, y, name=None):
        """x y, elementwise."""
        return tensor.multiply(x, y, name=name)


class divide(FloatFunctionalLayer):
    """``argosy.divide``."""

    def forward(self, x, y, name=None):
        """x / y."""
        return tensor.divide(x, y, name=name)


class reshape(FloatFunctionalLayer):
    """``argosy.reshape``."""

    def forward(self, x, shape, name=None):
        """x in another shape."""
        return tensor.reshape(x, shape, name=name)


class transpose(FloatFunctionalLayer):
    """``argosy.transpose``."""

    def forward(self, x, perm, name=None):
        """x with its axes in the order ``perm``."""
        return tensor.transpose(x, perm, name=name)


class concat(FloatFunctionalLayer):
    """``argosy.concat``."""

    def forward(self, x, axis=0, name=None):
        """The tensors of the list x, joined along ``axis``."""
        return tensor.concat(x, axis, name=name)


class flatten(FloatFunctionalLayer):
    """``argosy.flatten``."""

    def forward(self, x, start_axis=0, stop_axis=-1, name=None):
        """x with the axes from ``start_axis`` to ``stop_axis`` made one."""
        return tensor.flatten(x, start_axis, stop_axis, name=name)


class matmul(FloatFunctionalLayer):
    """``argosy.matmul``."""

    def forward(self, x, y, transpose_x=False, transpose_y=False, name=None):
        """The product of matrices x y."""
        return tensor.matmul(x, y, transpose_x, transpose_y, name=name)
