"""What a strategy asks of training without servers."""

from __future__ import annotations

from argosy._framework import in_dynamic_mode
from argosy._job import get_world_size
from argosy._support import no_effect
from argosy.distributed.ps.switches import SWITCHES

__all__ = []

_DEGREES = """
dp_degree mp_degree pp_degree sharding_degree sep_degree cp_degree cp_sharding_degree
ep_degree moe_sharding_degree
""".split()
# They say how processes exchange gradients, in ways of GPUs: defaults are those of the message.
_TUNING = """
sync_nccl_allreduce use_hierarchical_allreduce fuse_all_reduce_ops cudnn_exhaustive_search
cudnn_batchnorm_spatial_persistent without_graph_optimization fuse_grad_merge
split_data calc_comm_same_stream nccl_comm_num hierarchical_allreduce_inter_nranks
fuse_grad_size_in_num conv_workspace_size_limit
""".split()
# What eager training does (fleet.distributed_model, fleet.distributed_optimizer).
_EAGER = """
amp recompute localsgd gradient_merge lars lamb fp16_allreduce sync_batch_norm
""".split()
# What static Programs do (Fleet.minimize).
_IN_PROGRAMS = ("fp16_allreduce",)
# Of DataParallel: fleet.distributed_model gives it these.
_BUCKETS = ("find_unused_parameters", "fuse_grad_size_in_MB", "last_comm_group_size_MB")


def check_collective(strategy, what):
    """Raises NotImplementedError in the name of `what` for a switch of a DistributedStrategy that changes
    what is computed; warns of those that only say how processes exchange gradients."""
    message = strategy.strategy
    for name in SWITCHES:
        if getattr(message, name) and name not in (_EAGER if in_dynamic_mode() else _IN_PROGRAMS):
            raise NotImplementedError(
                f"[{what}] strategy.{name} is not supported"
                f"{' for Programs' if name in _EAGER else ''} without parameter servers: expected False,"
                f" got True. Do this: leave it out{_INSTEAD.get(name, '')}."
            )
    for name in _DEGREES:
        degree = getattr(message.hybrid_configs, name, 1)
        if degree > 1 and (name, degree) != ("dp_degree", get_world_size()):
            raise NotImplementedError(
                f"[{what}] strategy.hybrid_configs: {name} is not supported: expected 1 or -1, got {degree};"
                f" layers are not divided between processes, of which there are {get_world_size()}. Do"
                " this: leave it out."
            )
    given = {}
    alone = get_world_size() == 1
    for name in (*_TUNING, *_BUCKETS) if alone else _TUNING:
        given[name] = getattr(message, name), message._field(name).default
    if alone:
        given["communication_hook"] = strategy.communication_hook, None
        given["communication_algorithm"] = strategy.communication_algorithm, None
    why = "one process exchanges no gradients" if alone else "gradients go through shared memory"
    no_effect("DistributedStrategy", why, **given)


_INSTEAD = {
    "amp": ", and use argosy.amp",
    "lamb": ", and use optimizer.Lamb",
    "recompute": ", and use fleet.utils.recompute in the model",
    "gradient_merge": ", and call optimizer.step() once in k_steps steps",
}
