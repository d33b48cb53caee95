"""Functions whose interface may still change in Paddle: fused layers, graphs, derivatives."""

from __future__ import annotations

from argosy.geometric import segment_max, segment_mean, segment_min, segment_sum

from . import asp, autograd, autotune, jit, layers, nn, optimizer
from .generators import get_rng_state, set_rng_state
from .graph import (
    graph_khop_sampler,
    graph_reindex,
    graph_sample_neighbors,
    graph_send_recv,
)
from .jit import inference
from .operators import identity_loss, softmax_mask_fuse, softmax_mask_fuse_upper_triangle
from .optimizer import DistributedFusedLamb, LookAhead, ModelAverage
from .word_vectors import skip_gram, skip_gram_noise

__all__ = [
    "DistributedFusedLamb",
    "LookAhead",
    "ModelAverage",
    "asp",
    "autograd",
    "autotune",
    "get_rng_state",
    "graph_khop_sampler",
    "graph_reindex",
    "graph_sample_neighbors",
    "graph_send_recv",
    "identity_loss",
    "inference",
    "jit",
    "layers",
    "nn",
    "optimizer",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "set_rng_state",
    "skip_gram",
    "skip_gram_noise",
    "softmax_mask_fuse",
    "softmax_mask_fuse_upper_triangle",
]


def __getattr__(name):
    if name in ("data_generator", "distributed"):
        import importlib

        return importlib.import_module(f"argosy.incubate.{name}")
    raise AttributeError(f"module 'argosy.incubate' has no attribute {name!r}")
