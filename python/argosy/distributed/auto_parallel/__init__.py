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
from .placement import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, get_mesh, set_mesh
from .strategy import Strategy

__all__ = [
    "DistModel",
    "Engine",
    "Partial",
    "Placement",
    "ProcessMesh",
    "ReduceType",
    "Replicate",
    "Shard",
    "Strategy",
    "create_mesh",
    "dtensor_from_fn",
    "get_mesh",
    "recompute",
    "reshard",
    "set_mesh",
    "shard_dataloader",
    "shard_layer",
    "shard_op",
    "shard_optimizer",
    "shard_tensor",
    "split",
    "to_static",
    "unshard_dtensor",
]
