"""Exchange of gradients."""

from __future__ import annotations

from argosy.distributed.parallel import need_one_process

__all__ = []


def fused_allreduce_gradients(parameter_list, hcg, bucket_size=128 * 1024 * 1024, scale=None):
    """Lets the gradients of the parameters be their mean over processes: they stay as they are.

    Args:
        parameter_list (list[Tensor]): What was trained.
        hcg: The topology of the processes, or None.
        bucket_size (int): Bytes that would be exchanged at a time.
        scale (float, optional): What the sum would be divided by; the number of processes if None.

    Raises:
        NotImplementedError: There are several processes.
    """
    need_one_process("fused_allreduce_gradients")
