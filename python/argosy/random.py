"""Random numbers: the state of the generator that all random ops draw from."""

from __future__ import annotations

from argosy import _core
from argosy.tensor.random import Generator, get_rng_state, seed, set_rng_state

__all__ = ["Generator", "get_rng_state", "initial_seed", "seed", "set_rng_state"]


def initial_seed():
    """The seed that the random numbers were started from last.

    Returns:
        int: It.

    Example:
        >>> _ = argosy.seed(7)
        >>> argosy.random.initial_seed()
        7
    """
    return _core.initial_seed()
