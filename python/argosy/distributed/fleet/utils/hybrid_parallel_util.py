"""Exchange of gradients."""

from __future__ import annotations

from argosy import nn
from argosy._job import get_world_size
from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.distributed._buckets import in_buckets, scaled, sum_rows
from argosy.distributed._groups import default_group
from argosy.distributed.communication import ReduceOp, _calls
from argosy.distributed.communication.collectives import _OPERATIONS
from argosy.distributed.parallel import sync_params_buffers

__all__ = []


def fused_allreduce_gradients(parameter_list, hcg, bucket_size=128 * 1024 * 1024, scale=None):
    """Lets the gradients of the parameters be their sum over processes, divided.

    Args:
        parameter_list (list[Tensor]): What was trained; in all processes the same.
        hcg (HybridCommunicateGroup, optional): Whose group along "data" it is; all processes by default.
        bucket_size (int): Bytes that are exchanged at a time.
        scale (float, optional): What the sum is divided by; the number of processes if None.
    """
    what = "fused_allreduce_gradients"
    parameters = [p for p in parameter_list if p.grad is not None]
    dense = [p.grad for p in parameters if not p.grad.is_selected_rows()]
    with_rows = [p for p in parameters if p.grad.is_selected_rows()]
    if get_world_size() == 1:
        no_effect(
            what, "one process exchanges nothing", bucket_size=(bucket_size, 128 * 1024 * 1024)
        )
    with no_grad():
        if get_world_size() > 1:
            group = default_group(what) if hcg is None else hcg.get_data_parallel_group()
            op = ReduceOp.AVG if scale is None else ReduceOp.SUM
            for bucket in in_buckets(dense, [bucket_size]):
                _calls.call(group, "all_reduce", bucket, op=_OPERATIONS[op])
            for parameter in with_rows:
                sum_rows(parameter, group, group.nranks if scale is None else 1)
        if scale is not None:
            for gradient in dense:
                gradient.scale_(1.0 / scale)
            for parameter in with_rows:
                parameter.grad = scaled(parameter, 1.0 / scale)


def broadcast_dp_parameters(model, hcg, fuse_params=True):
    """Lets the parameters and buffers of a layer be those of the first process along "data".

    Args:
        model (Layer): The same in all processes.
        hcg (HybridCommunicateGroup): Where the processes stand.
        fuse_params (bool): No effect: they travel together.
    """
    group = hcg.get_data_parallel_group()
    source = hcg.get_data_parallel_group_src_rank()
    sync_params_buffers(model, group, source, fuse_params=fuse_params)


def _check_one_place(what, size, model, fuse_params):
    if size > 1:
        raise NotImplementedError(
            f"[{what}] layers are not divided between processes: expected one place, got {size}."
        )
    if not isinstance(model, nn.Layer):
        raise TypeError(f"[{what}] model: expected a Layer, got {type(model).__name__}.")
    no_effect(what, "there is one place", fuse_params=(fuse_params, True))


def broadcast_mp_parameters(model, hcg, fuse_params=True):
    """Nothing: along "model" there is one process.

    Args:
        model (Layer): It.
        hcg (HybridCommunicateGroup): Where the processes stand.
        fuse_params (bool): No effect.
    """
    size = hcg.get_model_parallel_world_size()
    _check_one_place("broadcast_mp_parameters", size, model, fuse_params)


def broadcast_sharding_parameters(model, hcg, fuse_params=True):
    """Nothing: along "sharding" there is one process.

    Args:
        model (Layer): It.
        hcg (HybridCommunicateGroup): Where the processes stand.
        fuse_params (bool): No effect.
    """
    size = hcg.get_sharding_parallel_world_size()
    _check_one_place("broadcast_sharding_parameters", size, model, fuse_params)
