"""Exchange of gradients."""

from __future__ import annotations

from argosy._job import get_world_size
from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.distributed._groups import default_group
from argosy.distributed._buckets import in_buckets
from argosy.distributed.communication import ReduceOp, _calls
from argosy.distributed.communication.collectives import _OPERATIONS

__all__ = []


def fused_allreduce_gradients(parameter_list, hcg, bucket_size=128 * 1024 * 1024, scale=None):
    """Lets the gradients of the parameters be their sum over processes, divided.

    Args:
        parameter_list (list[Tensor]): What was trained; in all processes the same.
        hcg: The topology of the processes: None, as layers are not divided between processes.
        bucket_size (int): Bytes that are exchanged at a time.
        scale (float, optional): What the sum is divided by; the number of processes if None.
    """
    what = "fused_allreduce_gradients"
    gradients = [p.grad for p in parameter_list if p.grad is not None]
    no_effect(what, "all processes are one group", hcg=(hcg, None))
    if get_world_size() == 1:
        no_effect(
            what, "one process exchanges nothing", bucket_size=(bucket_size, 128 * 1024 * 1024)
        )
    with no_grad():
        if get_world_size() > 1:
            group = default_group(what)
            op = ReduceOp.AVG if scale is None else ReduceOp.SUM
            for bucket in in_buckets(gradients, [bucket_size]):
                _calls.call(group, "all_reduce", bucket, op=_OPERATIONS[op])
        if scale is not None:
            for gradient in gradients:
                gradient.scale_(1.0 / scale)
