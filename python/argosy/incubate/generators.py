"""States of all generators of a device."""

from __future__ import annotations

from argosy import tensor
from argosy._support import unsupported

__all__ = ["get_rng_state", "set_rng_state"]

_REMEDY = "keep the states themselves"


def get_rng_state(device=None, use_index=False):
    """States of the generators.

    Args:
        device (str | Place, optional): Whose; all devices share one generator.
        use_index (bool): Numbers in place of states; only False is supported.

    Returns:
        list[bytes]: One state.

    Raises:
        ValueError: There is no such device.
        NotImplementedError: use_index is True.

    Examples:
        >>> states = argosy.incubate.get_rng_state()
        >>> a = argosy.rand([3])
        >>> argosy.incubate.set_rng_state(states)
        >>> bool((a == argosy.rand([3])).all())
        True
    """
    unsupported("get_rng_state", _REMEDY, use_index=(use_index, False))
    return tensor.random.get_rng_state(device)


def set_rng_state(state_list, device=None, use_index=False):
    """Continues from states of the generators.

    Args:
        state_list (list[bytes]): What get_rng_state gave.
        device (str | Place, optional): Whose; all devices share one generator.
        use_index (bool): Only False is supported.

    Raises:
        ValueError: There is no such device, or these are not a generator's states.
        NotImplementedError: use_index is True.

    Examples:
        >>> argosy.incubate.set_rng_state(argosy.incubate.get_rng_state())
    """
    unsupported("set_rng_state", _REMEDY, use_index=(use_index, False))
    if len(state_list) != 1:
        raise ValueError(
            f"[set_rng_state] state_list: expected one state, got {len(state_list)}. Do this: pass what"
            " get_rng_state gave."
        )
    tensor.random.set_rng_state(state_list, device)
