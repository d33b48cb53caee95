"""Modes of a program, and tensors of arrays, under their old names."""

from __future__ import annotations

import functools
from contextlib import contextmanager

from argosy._core import Tensor
from argosy._framework import disable_static, enable_static, in_dynamic_mode
from argosy._support import no_effect
from argosy.autograd import enable_grad, grad, no_grad  # noqa: F401
from argosy.device import get_device, set_device
from argosy.tensor import to_tensor

__all__ = ["guard", "switch_to_static_graph", "to_variable"]


@contextmanager
def guard(place=None):
    """A context in which ops run at once.

    Args:
        place (Place, optional): Where; default: the current device.

    Returns:
        A context manager.

    Example:
        >>> argosy.enable_static()
        >>> with argosy.base.dygraph.guard():
        ...     argosy.ones([2]).tolist()
        [1.0, 1.0]
    """
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
    """A tensor with the values of something.

    Args:
        value (numpy.ndarray | list | number | Tensor): It; a tensor is returned as it is.
        name (str, optional): Of the tensor; one that is returned as it is keeps its own.
        zero_copy (bool, optional): Has no effect; True gives a warning.
        dtype (dtype | str, optional): Default: that of value.

    Returns:
        Tensor: A copy.

    Example:
        >>> argosy.base.dygraph.to_variable(np.ones([2], "float32")).tolist()
        [1.0, 1.0]
    """
    no_effect("to_variable", "the values are copied", zero_copy=(zero_copy or None, None))
    if isinstance(value, Tensor):
        return value
    made = to_tensor(value, dtype=dtype)
    if name is not None:
        made.name = name
    return made


def switch_to_static_graph(func):
    """Decorator of functions that build static Programs: a call is made in static mode, whatever the mode
    is, which is as before afterwards.

    Args:
        func (callable): It.

    Returns:
        callable: The function in static mode.

    Example:
        >>> argosy.base.dygraph.switch_to_static_graph(argosy.in_dynamic_mode)()
        False
    """

    @functools.wraps(func)
    def in_static_mode(*args, **kwargs):
        if not in_dynamic_mode():
            return func(*args, **kwargs)
        enable_static()
        try:
            return func(*args, **kwargs)
        finally:
            disable_static()

    return in_static_mode


def enabled():
    """Whether ops run at once."""
    return in_dynamic_mode()
