"""Exchange of gradients."""

from __future__ import annotations

from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.distributed.parallel import need_one_process

__all__ = []


def fused_allreduce_gradients(parameter_list, hcg, bucket_size=128 * 1024 * 1024, scale=None):
    """Lets the gradients of the parameters be their sum over processes, divided: they stay as they are
    without a scale.

    Args:
        parameter_list (list[Tensor]): What was trained.
        hcg: The topology of the processes, or None.
        bucket_size (int): Bytes that would be exchanged at a time.
        scale (float, optional): What the sum is divided by; the number of processes if None.

    Raises:
        NotImplementedError: There are several processes.
    """
    need_one_process("fused_allreduce_gradients")
    no_effect(
        "fused_allreduce_gradients", "one process exchanges nothing", hcg=(hcg, None),
        bucket_size=(bucket_size, 128 * 1024 * 1024),
    )  # fmt: skip
    if scale is not None:
        with no_grad():
            for parameter in parameter_list:
                if parameter.grad is not None:
                    parameter.grad.scale_(1.0 / scale)
