"""What a process knows of the other ones, and training with them."""

from __future__ import annotations

import os

from argosy import nn
from argosy._job import get_rank, get_world_size, number_of
from argosy._support import alone_in, no_effect

__all__ = []


def is_initialized():
    """Whether several processes are connected: they never are."""
    return False


def is_available():
    """Whether several processes can be connected: not in this version."""
    return False


def need_one_process(what):
    """Raises NotImplementedError in the name of `what` in one of several processes: each would train
    alone."""
    if get_world_size() > 1:
        raise NotImplementedError(
            f"[{what}] this process is one of {get_world_size()} (PADDLE_TRAINERS_NUM), and this"
            " version of Argosy cannot connect them. Do this: start the program alone."
        )


def init_parallel_env():
    """Prepares for several processes; for one there is nothing to do."""
    need_one_process("init_parallel_env")
    return ParallelEnv()


class ParallelEnv:
    """What the launcher's environment says of this process."""

    @property
    def rank(self):
        """Number of this process."""
        return get_rank()

    local_rank = rank

    @property
    def world_size(self):
        """Number of processes."""
        return get_world_size()

    nranks = world_size

    @property
    def device_id(self):
        """Number of this process's GPU; 0 without one."""
        return number_of("FLAGS_selected_gpus", 0)

    dev_id = device_id

    @property
    def device_type(self):
        """Kind of device."""
        return "cpu"

    @property
    def current_endpoint(self):
        """Address of this process, empty when it runs alone."""
        return os.environ.get("PADDLE_CURRENT_ENDPOINT", "")

    @property
    def nrings(self):
        """How many rings of processes exchange gradients at once: FLAGS_nccl_nrings, else 1."""
        return number_of("FLAGS_nccl_nrings", 1)

    @property
    def pg_timeout(self):
        """Milliseconds that a group of processes waits for a member: PADDLE_PG_TIMEOUT."""
        return number_of("PADDLE_PG_TIMEOUT", 1800000)

    @property
    def trainer_endpoints(self):
        """Addresses of all processes."""
        return [e for e in os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if e]


class DataParallel(nn.Layer):
    """A layer whose gradients would be averaged over processes; with one process, the layer itself."""

    def __init__(
        self,
        layers,
        strategy=None,
        comm_buffer_size=25,
        last_comm_buffer_size=1,
        find_unused_parameters=False,
        group=None,
    ):
        super().__init__(layers.full_name() + "_data_parallel")
        need_one_process("DataParallel")
        alone_in("DataParallel", group)
        no_effect(
            "DataParallel", "one process exchanges no gradients", strategy=(strategy, None),
            comm_buffer_size=(comm_buffer_size, 25), last_comm_buffer_size=(last_comm_buffer_size, 1),
            find_unused_parameters=(find_unused_parameters, False),
        )  # fmt: skip
        self._layers = layers

    def forward(self, *inputs, **kwargs):
        """The layer's own forward."""
        return self._layers(*inputs, **kwargs)

    def scale_loss(self, loss):
        """The loss unchanged (kept for old programs)."""
        return loss

    def apply_collective_grads(self):
        """Nothing with one process (kept for old programs)."""

    def init_reducer(self):
        """Nothing with one process: there are no gradients to exchange."""

    def no_sync(self):
        """A context in which gradients are not exchanged."""
        import contextlib

        return contextlib.nullcontext()

    def state_dict(self, *args, **kwargs):
        """The wrapped layer's state."""
        return self._layers.state_dict(*args, **kwargs)

    def set_state_dict(self, *args, **kwargs):
        """Restores the wrapped layer's state."""
        return self._layers.set_state_dict(*args, **kwargs)

    set_dict = load_dict = set_state_dict
