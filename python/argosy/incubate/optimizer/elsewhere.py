"""Optimizers of Paddle that are for what is done in another way here: they raise, and say how."""

from __future__ import annotations

from argosy._programs import mode
from argosy.optimizer import Optimizer

__all__ = []


class PipelineOptimizer:
    """Cuts a Program into sections for several devices: not done here, where layers are divided instead.

    Args:
        optimizer (Optimizer): makes the updates.
        num_microbatches (int): parts of a batch.
        start_cpu_core_id (int): of the first section.

    Raises:
        RuntimeError: not in static mode.
        ValueError: ``optimizer`` is none.
        NotImplementedError: otherwise.

    Examples:
        >>> argosy.enable_static()
        >>> argosy.incubate.optimizer.PipelineOptimizer(argosy.optimizer.SGD(0.1))
        Traceback (most recent call last):
        NotImplementedError: [PipelineOptimizer] Programs are not cut into sections. Do this: divide the layers by ..
    """

    def __init__(self, optimizer, num_microbatches=1, start_cpu_core_id=0):
        if not mode.static_mode():
            raise RuntimeError(
                "[PipelineOptimizer] needs static mode: expected a Program to change, got eager calls. Do this:"
                " divide the layers by distributed.fleet.meta_parallel.PipelineLayer."
            )
        if not isinstance(optimizer, Optimizer):
            raise ValueError(
                "[PipelineOptimizer] optimizer: expected an Optimizer, got"
                f" {type(optimizer).__name__}. Do this: pass one."
            )
        raise NotImplementedError(
            "[PipelineOptimizer] Programs are not cut into sections. Do this: divide the layers by"
            " distributed.fleet.meta_parallel.PipelineLayer, and train them eagerly with"
            f" accumulate_steps={num_microbatches} (first core: {start_cpu_core_id})."
        )


class DistributedFusedLamb:
    """Lamb whose state is spread over GPUs and kept in one piece of memory: not done here.

    Args:
        learning_rate (float): and further arguments, as of ``optimizer.Lamb``.

    Raises:
        AssertionError: not in static mode.
        NotImplementedError: otherwise.

    Examples:
        >>> argosy.enable_static()
        >>> argosy.incubate.optimizer.DistributedFusedLamb(0.1)
        Traceback (most recent call last):
        NotImplementedError: [DistributedFusedLamb] state is not spread over GPUs. Do this: use optimizer.Lamb ..
    """

    def __init__(self, learning_rate=0.001, *args, **kwargs):
        if not mode.static_mode():
            raise AssertionError(
                "[DistributedFusedLamb] needs static mode: expected a Program to change, got eager calls. Do"
                " this: use optimizer.Lamb."
            )
        given = ", ".join(kwargs)
        raise NotImplementedError(
            "[DistributedFusedLamb] state is not spread over GPUs. Do this: use optimizer.Lamb with"
            f" learning_rate={learning_rate!r} and a ClipGradByGlobalNorm in fleet.distributed_optimizer"
            f" (given here beside it: {len(args)} arguments by place{', ' + given if given else ''})."
        )
