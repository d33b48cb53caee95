"""Training by several processes: collectives between processes of one host or of several, parameter servers.

A program written for several processes runs alone with rank 0 of 1. What does not work in one of
several processes yet raises there by name: a silent one-process run would train the wrong model.
"""

from argosy._core import (
    CommunicationError,
    CommunicationTimeout,
    RankLostError,
    RanksDisagreeError,
)

from . import _sync_norm  # noqa: F401
from ._groups import (
    Group,
    destroy_process_group,
    get_backend,
    get_group,
    is_initialized,
    new_group,
)
from ._spawn import spawn
from .communication import (
    P2POp,
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    gather,
    irecv,
    isend,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    stream,
    wait,
)
from .entry_attr import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from .parallel import (
    DataParallel,
    ParallelEnv,
    get_rank,
    get_world_size,
    init_parallel_env,
    is_available,
)
from .parallel_with_gloo import gloo_barrier, gloo_init_parallel_env, gloo_release

__all__ = [
    "CommunicationError",
    "CommunicationTimeout",
    "CountFilterEntry",
    "DataParallel",
    "Group",
    "P2POp",
    "ParallelEnv",
    "ParallelMode",
    "ProbabilityEntry",
    "RankLostError",
    "RanksDisagreeError",
    "ReduceOp",
    "ShowClickEntry",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "get_rank",
    "get_world_size",
    "gloo_barrier",
    "gloo_init_parallel_env",
    "gloo_release",
    "init_parallel_env",
    "irecv",
    "is_available",
    "is_initialized",
    "isend",
    "load_merged_state_dict",
    "load_state_dict",
    "new_group",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "save_state_dict",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "spawn",
    "stream",
    "wait",
]


class ParallelMode:
    """Ways of training in parallel."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


# What needs the layers of argosy.nn is loaded when it is asked for.
_PACKAGES = ("auto_parallel", "collective", "fleet", "launch", "rpc", "sharding")
_PLACING = frozenset(
    """
    DistModel Partial Placement ProcessMesh ReduceType Replicate Shard Strategy dtensor_from_fn get_mesh
    reshard set_mesh shard_dataloader shard_layer shard_optimizer split to_static unshard_dtensor
    """.split()
)
_CHECKPOINTS = frozenset({"load_merged_state_dict", "load_state_dict", "save_state_dict"})


def __getattr__(name):
    import importlib

    if name in _PACKAGES:
        return importlib.import_module(f"argosy.distributed.{name}")
    if name == "shard_tensor":  # that of auto_parallel takes other arguments
        return importlib.import_module("argosy.distributed.auto_parallel.api").shard_tensor
    if name in _PLACING:
        return getattr(importlib.import_module("argosy.distributed.auto_parallel"), name)
    if name in _CHECKPOINTS:
        return getattr(importlib.import_module("argosy.distributed.checkpoint"), name)
    if name in ("InMemoryDataset", "QueueDataset"):
        from argosy.distributed import _dataset

        return getattr(_dataset, name)
    raise AttributeError(f"module 'argosy.distributed' has no attribute {name!r}")
