"""Helpers of gradients of Programs that programs import."""

from __future__ import annotations

from argosy.base.framework import grad_var_name

__all__ = []


def _append_grad_suffix_(name):
    """The name of a variable's gradient.

    Args:
        name (str): The variable's.

    Returns:
        str: It, with "@GRAD" behind.
    """
    return grad_var_name(name)


def _as_list(x):
    """What is in a list or tuple; a list of x if it is neither; nothing for None."""
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _some_in_set_(cands, s):
    """Whether one of the candidates is in a set."""
    return any(each in s for each in cands)


def calc_gradient(targets, inputs, target_gradients=None, no_grad_set=None):
    """As ``static.gradients``, but the one gradient of one input comes back alone, and None for none.

    Args:
        targets, inputs, target_gradients, no_grad_set: as of ``static.gradients``.

    Returns:
        list[Tensor] | Tensor: The gradients of the inputs.
    """
    from argosy.static import gradients

    found = gradients(_as_list(targets), _as_list(inputs), target_gradients, no_grad_set)
    return found[0] if len(found) == 1 else found
