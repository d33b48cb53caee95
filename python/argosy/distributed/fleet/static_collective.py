"""Static Programs that several processes train without servers, as one with all their samples."""

from __future__ import annotations

from argosy.distributed._groups import default_group
from argosy.distributed._program_exchange import ProgramExchange, start_alike

from .collective_model import group_of_gradients

__all__ = []

_MEGABYTE = 1 << 20


def exchange_gradients(program, strategy):
    """Lets the updates that a Program gets read gradients averaged over all processes.

    Args:
        program (Program): Of the loss. Where DataParallel layers have said how, it stays at that.
        strategy (DistributedStrategy): fuse_grad_size_in_MB, last_comm_group_size_MB, fp16_allreduce and
            communication_algorithm say how.
    """
    if program._exchanges:
        return
    limits = [
        int(size * _MEGABYTE)
        for size in (strategy.last_comm_group_size_MB, strategy.fuse_grad_size_in_MB)
    ]
    wire = "float16" if strategy.fp16_allreduce else None
    group = group_of_gradients(strategy, "fleet.minimize")
    program._exchanges.append(ProgramExchange(group, limits, wire=wire))


def begin_alike(startup):
    """Lets all state begin with what the first process drew.

    Args:
        startup (Program): The startup Program, once everything has its first value there.
    """
    start_alike(startup, default_group("fleet.minimize"), list(startup._states.values()))
