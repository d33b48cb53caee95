"""Random states under names: what is drawn in one leaves the others alone."""

from __future__ import annotations

import contextlib

from argosy import random as seeds
from argosy.distributed import get_rank
from argosy.tensor import get_rng_state, set_rng_state

__all__ = []

MODEL_PARALLEL_RNG = "model_parallel_rng"


class RNGStatesTracker:
    """States of the random generator under names.

    Example:
        >>> from argosy.distributed.fleet.meta_parallel import RNGStatesTracker
        >>> tracker = RNGStatesTracker()
        >>> tracker.add("dropout", 5)
        >>> with tracker.rng_state("dropout"):
        ...     first = argosy.rand([1])
        >>> tracker.get_states_tracker().keys()
        dict_keys(['dropout'])
        >>> tracker.set_states_tracker(tracker.get_states_tracker())
        >>> tracker.reset()
    """

    def __init__(self):
        self.reset()

    def reset(self):
        """Forgets all."""
        self.states_ = {}
        self.seeds_ = set()

    def add(self, name, seed):
        """Makes a state of a seed.

        Args:
            name (str): The state's.
            seed (int): Another one for each state.

        Raises:
            ValueError: The name or the seed is there already.
        """
        if seed in self.seeds_:
            raise ValueError(f"[RNGStatesTracker.add] seed {seed} already exists.")
        if name in self.states_:
            raise ValueError(f"[RNGStatesTracker.add] state {name} already exists.")
        self.seeds_.add(seed)
        before = get_rng_state()
        seeds.seed(seed)
        self.states_[name] = get_rng_state()
        set_rng_state(before)

    def get_states_tracker(self):
        """The states.

        Returns:
            dict: They, by name.
        """
        return dict(self.states_)

    def set_states_tracker(self, states):
        """Takes states.

        Args:
            states (dict): What get_states_tracker gave.
        """
        self.states_ = dict(states)

    @contextlib.contextmanager
    def rng_state(self, name=MODEL_PARALLEL_RNG):
        """Lets numbers be drawn from a state, which goes on from there.

        Args:
            name (str): The state's.

        Returns:
            A context.

        Raises:
            ValueError: There is no state of this name.
        """
        if name not in self.states_:
            raise ValueError(
                f"[RNGStatesTracker.rng_state] state {name} does not exist. Do this: add(name, seed), or"
                " model_parallel_random_seed(seed)."
            )
        before = get_rng_state()
        set_rng_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = get_rng_state()
            set_rng_state(before)


_tracker = RNGStatesTracker()


def get_rng_state_tracker():
    """The process's states under names.

    Returns:
        RNGStatesTracker: It.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> meta_parallel.model_parallel_random_seed(3)
        >>> list(meta_parallel.get_rng_state_tracker().get_states_tracker())
        ['model_parallel_rng']
    """
    return _tracker


def model_parallel_random_seed(seed=None):
    """Seeds the generator, and the state under which layers that could be divided draw.

    Args:
        seed (int, optional): Other numbers come of each; by default one for each process.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> meta_parallel.model_parallel_random_seed(3)
        >>> with meta_parallel.get_rng_state_tracker().rng_state():
        ...     drawn = argosy.rand([2])
    """
    seed = seed if seed is not None else 2048 + get_rank()
    _tracker.reset()
    seeds.seed(seed)
    _tracker.add(MODEL_PARALLEL_RNG, seed + 1024)
