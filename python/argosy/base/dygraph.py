"""Names that programs look for in ``paddle.base.dygraph``."""

from __future__ import annotations

from contextlib import contextmanager

import argosy

__all__ = ["guard", "to_variable"]


@contextmanager
def guard(place=None):
    """Run ops at once within the context, on ``place`` if given."""
    was_static = not argosy.in_dynamic_mode()
    if was_static:
        argosy.disable_static()
    previous = argosy.get_device()
    try:
        if place is not None:
            argosy.set_device(place)
        yield
    finally:
        argosy.set_device(previous)
        if was_static:
            argosy.enable_static()


def to_variable(value, name=None, zero_copy=None, dtype=None):
    """A tensor with the values of a NumPy array, list or number."""
    if isinstance(value, argosy.Tensor):
        return value
    return argosy.to_tensor(value, dtype=dtype)


def enabled():
    """Whether ops run at once."""
    return argosy.in_dynamic_mode()


def __getattr__(name):
    if name == "Layer":
        return argosy.nn.Layer
    if name in ("no_grad", "grad", "enable_grad"):
        return getattr(argosy, name)
    raise AttributeError(f"module 'argosy.base.dygraph' has no attribute '{name}'")
