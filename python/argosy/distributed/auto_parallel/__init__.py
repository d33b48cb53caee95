"""Tensors that are placed on a grid of processes: in this version on one of a single process."""

from .api import (
    dtensor_from_fn,
    reshard,
    shard_dataloader,
    shard_layer,
    shard_optimizer,
    split,
    unshard_dtensor,
)
from .dist_model import DistModel, to_static
from .engine import Engine
from .interface import create_mesh, recompute, shard_op, shard_tensor
from .intermediate import (
    ShardingStage1,
    ShardingStage2,
    ShardingStage3,
    parallelize,
    shard_scaler,
    to_distributed,
)
from .local import LocalLayer, local_map
from .placement import Partial, Placement, ReduceType, Replicate, Shard
from .plans import (
    ColWiseParallel,
    ContextParallel,
    ConvParallel,
    PrepareContextParallel,
    PrepareLayerInput,
    PrepareLayerOutput,
    RowWiseParallel,
    SequenceParallelBegin,
    SequenceParallelDisable,
    SequenceParallelEnable,
    SequenceParallelEnd,
    SplitPoint,
)
from .process_mesh import DistAttr, ProcessMesh, get_mesh, set_mesh
from .strategy import Strategy

__all__ = [
    "ColWiseParallel",
    "ContextParallel",
    "ConvParallel",
    "DistAttr",
    "DistModel",
    "Engine",
    "LocalLayer",
    "Partial",
    "Placement",
    "PrepareContextParallel",
    "PrepareLayerInput",
    "PrepareLayerOutput",
    "ProcessMesh",
    "ReduceType",
    "Replicate",
    "RowWiseParallel",
    "SequenceParallelBegin",
    "SequenceParallelDisable",
    "SequenceParallelEnable",
    "SequenceParallelEnd",
    "Shard",
    "ShardingStage1",
    "ShardingStage2",
    "ShardingStage3",
    "SplitPoint",
    "Strategy",
    "create_mesh",
    "dtensor_from_fn",
    "get_mesh",
    "local_map",
    "parallelize",
    "recompute",
    "reshard",
    "set_mesh",
    "shard_dataloader",
    "shard_layer",
    "shard_op",
    "shard_optimizer",
    "shard_scaler",
    "shard_tensor",
    "split",
    "to_distributed",
    "to_static",
    "unshard_dtensor",
]
