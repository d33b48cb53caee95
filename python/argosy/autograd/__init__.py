"""Gradients: backward, grad, PyLayer, and switches of recording."""

from argosy.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from argosy.autograd.py_layer import PyLayer, PyLayerContext
from argosy.autograd.run import backward, grad

__all__ = [
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
