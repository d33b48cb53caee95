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
from argosy.autograd.saved_hooks import saved_tensors_hooks

Function = PyLayer

__all__ = [
    "Function",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "hessian",
    "inference_mode",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "saved_tensors_hooks",
    "set_grad_enabled",
]


def __getattr__(name):
    if name in ("hessian", "jacobian"):  # they need the tensor functions, which come later
        from argosy.autograd import functional

        return getattr(functional, name)
    raise AttributeError(f"module 'argosy.autograd' has no attribute {name!r}")
