"""Layers that can be divided between processes, as they are when each process has all of them."""

from .layers import (
    ColumnParallelLinear,
    ParallelCrossEntropy,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from .pipeline import LayerDesc, PipelineLayer, SharedLayerDesc
from .random import RNGStatesTracker, get_rng_state_tracker, model_parallel_random_seed

__all__ = [
    "ColumnParallelLinear",
    "LayerDesc",
    "ParallelCrossEntropy",
    "PipelineLayer",
    "RNGStatesTracker",
    "RowParallelLinear",
    "SharedLayerDesc",
    "VocabParallelEmbedding",
    "get_rng_state_tracker",
    "model_parallel_random_seed",
]
