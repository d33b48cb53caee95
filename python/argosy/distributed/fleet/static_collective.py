"""Static Programs that several processes train without servers."""

from __future__ import annotations

from argosy.distributed._groups import default_group
from argosy.distributed._program_exchange import ProgramExchange, start_alike

__all__ = ["train_together"]

_MEGABYTE = 1 << 20


def train_together(program, startup, strategy):
    """Lets processes train a Program as one with all their samples: what is drawn first is the first
    process's, and updates read gradients averaged over all.

    Args:
        program (Program): With gradients and updates.
        startup (Program): Its startup Program.
        strategy (DistributedStrategy): fuse_grad_size_in_MB, last_comm_group_size_MB and fp16_allreduce
            say how gradients are exchanged.
    """
    group = default_group("fleet.minimize")
    limits = [
        int(size * _MEGABYTE)
        for size in (strategy.last_comm_group_size_MB, strategy.fuse_grad_size_in_MB)
    ]
    wire = "float16" if strategy.fp16_allreduce else None
    ProgramExchange(group, limits, wire=wire).average(program._handle)
    start_alike(startup, group, list(startup._states.values()))
