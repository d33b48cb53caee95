"""Names that programs look for in ``paddle.base.dygraph``."""

from __future__ import annotations

from contextlib import contextmanager

from argosy._core import Tensor
from argosy._framework import disable_static, enable_static, in_dynamic_mode
from argosy._support import no_effect
from argosy.autograd import enable_grad, grad, no_grad  # noqa: F401
from argosy.device import get_device, set_device
from argosy.nn import Layer  # noqa: F401
from argosy.tensor import to_tensor

__all__ = ["guard", "to_variable"]


@contextmanager
def guard(place=None):
    """Run ops at once within the context, on ``place`` if given."""
    was_static = not in_dynamic_mode()
    if was_static:
        disable_static()
    previous = get_device()
    try:
        if place is not None:
            set_device(place)
        yield
    finally:
        set_device(previous)
        if was_static:
            enable_static()


def to_variable(value, name=None, zero_copy=None, dtype=None):
    """A tensor with the values of a NumPy array, list or number."""
    no_effect("to_variable", "the values are copied", zero_copy=(zero_copy or None, None))
    if isinstance(value, Tensor):
        return value
    return to_tensor(value, dtype=dtype)


def enabled():
    """Whether ops run at once."""
    return in_dynamic_mode()
