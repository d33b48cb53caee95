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

__all__ = [
    "ColWiseParallel",
    "CommunicationError",
    "CommunicationTimeout",
    "ContextParallel",
    "ConvParallel",
    "CountFilterEntry",
    "DataParallel",
    "DistAttr",
    "Group",
    "LocalLayer",
    "P2POp",
    "ParallelEnv",
    "ParallelMode",
    "PrepareContextParallel",
    "PrepareLayerInput",
    "PrepareLayerOutput",
    "ProbabilityEntry",
    "RankLostError",
    "RanksDisagreeError",
    "ReduceOp",
    "RowWiseParallel",
    "SequenceParallelBegin",
    "SequenceParallelDisable",
    "SequenceParallelEnable",
    "SequenceParallelEnd",
    "ShardedStateDict",
    "ShardedWeight",
    "ShardingStage1",
    "ShardingStage2",
    "ShardingStage3",
    "ShowClickEntry",
    "SplitPoint",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "build_sharded_state_dict",
    "create_nccl_config",
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
    "local_map",
    "new_group",
    "parallelize",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "restart_process_group",
    "save_state_dict",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "shard_scaler",
    "shard_weight",
    "shutdown_process_group",
    "spawn",
    "stream",
    "to_distributed",
    "wait",
]


class ParallelMode:
    """Ways of training in parallel."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


# Loaded when they are asked for: what starts and watches other processes needs none of it.
_PACKAGES = ("auto_parallel", "collective", "fleet", "launch", "rpc", "sharding")
_HOMES = {
    "_dataset": "InMemoryDataset QueueDataset",
    "_groups": """
        Group create_nccl_config destroy_process_group get_backend get_group is_initialized new_group
        restart_process_group shutdown_process_group
    """,
    "_spawn": "spawn",
    "auto_parallel": """
        ColWiseParallel ContextParallel ConvParallel DistAttr DistModel LocalLayer Partial Placement
        PrepareContextParallel PrepareLayerInput PrepareLayerOutput ProcessMesh ReduceType Replicate
        RowWiseParallel SequenceParallelBegin SequenceParallelDisable SequenceParallelEnable
        SequenceParallelEnd Shard ShardingStage1 ShardingStage2 ShardingStage3 SplitPoint Strategy
        dtensor_from_fn get_mesh local_map parallelize reshard set_mesh shard_dataloader shard_layer
        shard_optimizer shard_scaler split to_distributed to_static unshard_dtensor
    """,
    "auto_parallel.api": "shard_tensor",  # that of auto_parallel takes other arguments
    "checkpoint": "load_merged_state_dict load_state_dict save_state_dict",
    "communication": """
        P2POp ReduceOp all_gather all_gather_object all_reduce alltoall alltoall_single barrier
        batch_isend_irecv broadcast broadcast_object_list gather irecv isend recv recv_object_list
        reduce reduce_scatter scatter scatter_object_list send send_object_list stream wait
    """,
    "entry_attr": "CountFilterEntry ProbabilityEntry ShowClickEntry",
    "parallel": """
        DataParallel ParallelEnv get_rank get_world_size init_parallel_env is_available
    """,
    "sharded_weight": "ShardedStateDict ShardedWeight build_sharded_state_dict shard_weight",
    "parallel_with_gloo": "gloo_barrier gloo_init_parallel_env gloo_release",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
# Modules that programs name without importing them.
_MODULES = ("communication", "entry_attr", "parallel", "parallel_with_gloo")


def __getattr__(name):
    import importlib

    home = _HOME.get(name)
    if home is not None:
        value = getattr(importlib.import_module(f"argosy.distributed.{home}"), name)
    elif name in _PACKAGES or name in _MODULES:
        value = importlib.import_module(f"argosy.distributed.{name}")
    else:
        raise AttributeError(f"module 'argosy.distributed' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOME, *_PACKAGES, *_MODULES})
