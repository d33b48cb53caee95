"""Tensors that are placed on a grid of processes: in this version on one of a single process."""

from .api import (
    dtensor_from_fn,
    reshard,
    shard_dataloader,
    shard_layer,
    shard_optimizer,
    shard_tensor,
    split,
    unshard_dtensor,
)
from .placement import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, get_mesh, set_mesh

__all__ = [
    "Partial",
    "Placement",
    "ProcessMesh",
    "ReduceType",
    "Replicate",
    "Shard",
    "dtensor_from_fn",
    "get_mesh",
    "reshard",
    "set_mesh",
    "shard_dataloader",
    "shard_layer",
    "shard_optimizer",
    "shard_tensor",
    "split",
    "unshard_dtensor",
]
