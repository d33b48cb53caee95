"""Switches of writing operations and gradients by their parts, which programs set and read back.

Operations are the same either way here: compositions and gradient rules are functions over ops, which passes take
apart at need. So no switch changes what a Program computes."""

from __future__ import annotations

from argosy._support import no_effect

__all__ = []

# Of operations, of gradients of Programs and of eager gradients.
_prim = {"forward": False, "backward": False, "eager": False}


def _set_prim(kind, value, print_flag):
    _prim[kind] = bool(value)
    if print_flag:
        print(f"{kind} prim enabled: ", _prim[kind])


def _set_prim_forward_enabled(value, print_flag=False):
    """What _is_fwd_prim_enabled says from now on."""
    _set_prim("forward", value, print_flag)


def _set_prim_backward_enabled(value, print_flag=False):
    """What _is_bwd_prim_enabled says from now on."""
    _set_prim("backward", value, print_flag)


def set_prim_eager_enabled(value, print_flag=False):
    """What _is_eager_prim_enabled says from now on."""
    _set_prim("eager", value, print_flag)


def _set_prim_all_enabled(value, print_flag=False):
    """Sets the switches of operations and of gradients."""
    _set_prim_forward_enabled(value, print_flag)
    _set_prim_backward_enabled(value, print_flag)


def _is_fwd_prim_enabled():
    """What _set_prim_forward_enabled was told."""
    return _prim["forward"]


def _is_bwd_prim_enabled():
    """What _set_prim_backward_enabled was told."""
    return _prim["backward"]


def _is_eager_prim_enabled():
    """What set_prim_eager_enabled was told."""
    return _prim["eager"]


def _is_all_prim_enabled():
    """Whether the switches of operations and of gradients are both on."""
    return _prim["forward"] and _prim["backward"]


def _check_and_set_prim_vjp_skip_default_ops():
    """Whether all gradients are written by parts that can be.

    Returns:
        bool: True.
    """
    return True


def _clear_prim_vjp_skip_default_ops():
    """Nothing: no gradients are kept whole by default."""


def _without_effect(name):
    """A function that takes the names of operations that are to be left whole."""

    def skip(*names):
        no_effect(f"core.{name}", "Programs compute the same by whole operations and by their parts",
                  names=(names, ()))  # fmt: skip

    skip.__name__ = skip.__qualname__ = name
    skip.__doc__ = "Names of operations to leave whole. Has no effect, and warns once."
    return skip


_set_prim_forward_blacklist = _without_effect("_set_prim_forward_blacklist")
_set_prim_backward_blacklist = _without_effect("_set_prim_backward_blacklist")
_set_bwd_prim_blacklist = _without_effect("_set_bwd_prim_blacklist")
_add_skip_comp_ops = _without_effect("_add_skip_comp_ops")
_remove_skip_comp_ops = _without_effect("_remove_skip_comp_ops")


def _enable_prim_dynamic_shape():
    """Whether operations of unknown sizes are written by their parts when they are recorded.

    Returns:
        bool: False.
    """
    return False
